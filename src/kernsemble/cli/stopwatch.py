"""Wall time of a command, by its parts."""

import time
from collections.abc import Callable

__all__ = ["Stopwatch"]


class Stopwatch:
    """The seconds that each part of a command took, which add up to all of its time.

    Parameters
    ----------
    start : float, optional
        Time at which the command began, by default now.
    clock : callable
        Function that returns the time in seconds.

    Examples
    --------
    >>> from kernsemble.cli.stopwatch import Stopwatch
    >>> times = iter([10.0, 10.5, 14.5, 15.0])
    >>> watch = Stopwatch(clock=lambda: next(times))
    >>> for part in ("reading", "selection", "reading"):
    ...     watch.lap(part)
    >>> print(watch)
    reading 1.0 s, selection 4.0 s; 5.0 seconds in all
    """

    def __init__(
        self, start: float | None = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._clock, self._last = clock, clock() if start is None else start
        self.parts: dict[str, float] = {}

    def lap(self, part: str) -> None:
        """Add the time since the last lap to a part."""
        now = self._clock()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._last
        self._last = now

    @property
    def seconds(self) -> float:
        """Time from the start to the last lap."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in self.parts.items())
        return f"{parts}; {self.seconds:.1f} seconds in all"
