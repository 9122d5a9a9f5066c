"""Progress without a terminal: a line every few seconds on standard error."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import Self

from kernsemble._counts import duration

__all__ = ["ProgressLines"]

EVERY = 5.0  # seconds between lines, and before the first
MIN_SHARE = 0.01  # share of the work from which the time left is estimated


@dataclass
class _Part:
    name: str
    total: float | None
    start: float
    done: float = 0.0
    is_finished: bool = False


class ProgressLines:
    """Lines about the part that is being worked on, with an estimate of the time left.

    The methods are those of `rich.progress.Progress` that this package uses. Lines are written by
    a thread, so that they also appear during long computations.

    Parameters
    ----------
    clock : callable
        Function that returns the time in seconds.
    write : callable
        Function that writes a line; by default to standard error.
    every : float
        Seconds between lines, and before the first.

    Examples
    --------
    >>> from kernsemble.cli.progress_lines import ProgressLines
    >>> times = iter([0.0, 0.0, 10.0])
    >>> lines = ProgressLines(clock=lambda: next(times), write=print)
    >>> task = lines.add_task("selecting kernel and C", total=1.0)
    >>> lines.advance(task, 0.4)
    >>> lines.write_if_due()
    selecting kernel and C: 40 %, about 15 s left
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        write: Callable[[str], None] | None = None,
        every: float = EVERY,
    ) -> None:
        self._clock, self._write, self._every = clock, write or _write_line, every
        self._parts: list[_Part] = []
        self._lock, self._has_ended = Lock(), Event()
        self._last = clock()

    def __enter__(self) -> Self:
        self._thread = Thread(target=self._keep_writing, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._has_ended.set()
        self._thread.join()

    def _keep_writing(self) -> None:
        while not self._has_ended.wait(self._every / 10.0):
            self.write_if_due()

    def add_task(self, name: str, total: float | None = None) -> int:
        """Begin a part of the work; without a total its end is not known."""
        with self._lock:
            self._parts.append(_Part(name, total, self._clock()))
            return len(self._parts) - 1

    def advance(self, task: int, amount: float) -> None:
        """Advance a part by an amount."""
        with self._lock:
            self._parts[task].done += amount

    def update(self, task: int, *, total: float, completed: float) -> None:
        """Set the total of a part and the amount done, which ends it if they are equal."""
        with self._lock:
            part = self._parts[task]
            part.total, part.done, part.is_finished = total, completed, completed >= total

    def write_if_due(self) -> None:
        """Write a line about the latest part that has not ended, if it is time for one."""
        now = self._clock()
        with self._lock:
            parts = [part for part in self._parts if not part.is_finished]
            if now - self._last < self._every or not parts:
                return
            self._last = now
            line = _text(parts[-1], now - parts[-1].start)
        self._write(line)


def _text(part: _Part, elapsed: float) -> str:
    if not part.total:
        return f"{part.name}: {duration(elapsed)} so far"
    share = min(part.done / part.total, 1.0)
    if share < MIN_SHARE:
        return f"{part.name}: {100 * share:.0f} %, {duration(elapsed)} so far"
    left = elapsed * (1.0 - share) / share
    return f"{part.name}: {100 * share:.0f} %, about {duration(left)} left"


def _write_line(line: str) -> None:
    print(f"kernsemble: {line}", file=sys.stderr, flush=True)
