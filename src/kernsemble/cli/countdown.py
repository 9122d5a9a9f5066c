"""How long a run of cells will take, from those that are known."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable

from kernsemble.experiments.cells import Cell, Record
from kernsemble.experiments.rendering import duration

__all__ = ["Countdown"]


class Countdown:
    """What is done of a run of cells, weighed by how long cells take.

    A cell takes the mean of those of its method on its data set, else of its method, else of all
    that are known, of earlier runs too. The time left is that of all cells to come at the pace of
    this run so far, which holds for any number of workers.

    Parameters
    ----------
    cells : iterable of Cell
        Those to be computed.
    known : iterable of Record
        Of earlier runs.
    clock : callable
        Tells the seconds.
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

    def _seconds_of(self, data: str, method: str) -> float:
        for key in ((data, method), (method,), ()):
            total, n = self._sums[key]
            if n:
                return total / n
        return 1.0  # as good as any, if nothing is known

    def count(self, record: Record) -> None:
        """Hear of a cell that was computed."""
        self._left[record.cell[:2]] -= 1
        self.n_done += 1
        self.n_failed += record.failure is not None
        self._spent += record.seconds
        self._learn(record)

    @property
    def work_left(self) -> float:
        """Seconds of one core that cells to come will take."""
        return sum(n * self._seconds_of(*pair) for pair, n in self._left.items() if n)

    @property
    def share(self) -> float:
        """The share of the work that is done."""
        work = self._spent + self.work_left
        return self._spent / work if work > 0.0 else 1.0

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take, None before the first cell is done."""
        if self._spent <= 0.0:
            return None
        return self.work_left * (self._clock() - self._start) / self._spent

    def __str__(self) -> str:
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        left = self.seconds_left
        about = "" if not left else f", about {duration(left)} left"
        return f"{self.n_done} of {self.n_cells} cells{failed}{about}"
