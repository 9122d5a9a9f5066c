"""Estimated time left of a run of cells, from the times of known cells."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable

from kernsemble._counts import counted, duration
from kernsemble.experiments.records import Cell, Record

__all__ = ["Countdown"]


class Countdown:
    """Progress of a run of cells, weighted by the time they take.

    The expected time of a cell is the mean of known cells of its method on its data set, else of
    its method, else of all, earlier runs included. The time left is the expected time of all
    remaining cells at the pace of this run so far, whatever the number of workers.

    Parameters
    ----------
    cells : iterable of Cell
        Cells to be computed.
    known : iterable of Record
        Records of earlier runs.
    clock : callable
        Function that returns the time in seconds.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        known: Iterable[Record] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._left: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.n_cells = self.n_done = self.n_failed = 0
        for data, method, _ in cells:
            self._left[data, method] += 1
            self.n_cells += 1
        self._sums: defaultdict[tuple[str, ...], tuple[float, int]] = defaultdict(lambda: (0.0, 0))
        self._spent, self._clock, self._start = 0.0, clock, clock()
        for record in known:
            self._learn(record)

    def _learn(self, record: Record) -> None:
        data, method, _ = record.cell
        for key in ((data, method), (method,), ()):
            total, n = self._sums[key]
            self._sums[key] = total + record.seconds, n + 1

    def _expected_seconds(self, data: str, method: str) -> float:
        for key in ((data, method), (method,), ()):
            total, n = self._sums[key]
            if n:
                return total / n
        return 1.0  # arbitrary, since no cell is known

    def count(self, record: Record) -> None:
        """Count a cell that was computed."""
        self._left[record.cell[:2]] -= 1
        self.n_done += 1
        self.n_failed += record.failure is not None
        self._spent += record.seconds
        self._learn(record)

    @property
    def work_left(self) -> float:
        """Expected seconds of one core for the remaining cells."""
        return sum(n * self._expected_seconds(*pair) for pair, n in self._left.items() if n)

    @property
    def share(self) -> float:
        """Share of the work that is done."""
        work = self._spent + self.work_left
        return self._spent / work if work > 0.0 else 1.0

    @property
    def seconds_left(self) -> float | None:
        """Expected seconds left, None before the first cell is done."""
        if self._spent <= 0.0:
            return None
        return self.work_left * (self._clock() - self._start) / self._spent

    def __str__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        left = self.seconds_left
        about = "" if not left else f", about {duration(left)} left"
        return f"{self.n_done:,} of {counted(self.n_cells, 'cell')}{failed}{about}"
