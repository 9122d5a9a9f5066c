"""Progress of a fit: scikit-learn's callbacks, if it has them, and the lines of ``verbose``."""

import time
from collections.abc import Callable, Iterator
from itertools import count
from threading import Lock
from typing import Any, Self, TypeVar

from kernsemble._counts import counted, duration

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks as _managed
except ImportError:  # before scikit-learn 1.9
    CallbackSupportMixin, _managed = type("CallbackSupportMixin", (), {}), None

__all__ = ["CallbackSupportMixin", "ProgressLines", "Task", "with_callbacks"]

INTERVAL = 2.0  # minimum number of seconds between two lines
FEWEST = 0.02  # finished share from which the time left is estimated
STAGES = ("selection", "refit")  # parts of a fit with a percentage of their own

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """Return a `fit` that ends the callbacks it began, however it ends."""
    return method if _managed is None else _managed(method)


class ProgressLines:
    """The lines that ``verbose`` prints: at most one per interval, and the outcome.

    Parameters
    ----------
    estimator : estimator
        The estimator; its class is named in every line.
    interval : float
        Minimum number of seconds between two lines of progress.
    clock, write : callables
        The time in seconds, and the function that prints a line.
    """

    def __init__(
        self,
        estimator: Any,
        interval: float = INTERVAL,
        clock: Callable[[], float] = time.perf_counter,
        write: Callable[[str], None] = print,
    ) -> None:
        self._estimator, self._interval = estimator, interval
        self._clock, self._write, self._lock = clock, write, Lock()
        self._start = self._last = clock()
        self._begun: dict[str, float] = {}
        self._printed = ""

    @classmethod
    def of_fit(cls, estimator: Any, X: Any) -> "ProgressLines | None":
        """Return the lines of a fit to rows, None unless ``verbose`` is positive."""
        verbose = getattr(estimator, "verbose", 0)
        if not verbose:
            return None
        lines = cls(estimator, INTERVAL if verbose == 1 else 0.0)
        shape = getattr(X, "shape", (len(X),))
        size = " and ".join(
            counted(n, name) for n, name in zip(shape, ("row", "column"), strict=False)
        )
        lines.print(f"fitting {size}")
        return lines

    def print(self, text: str) -> None:
        """Print a line."""
        self._write(f"[{type(self._estimator).__name__}] {text}")

    def begin(self, stage: str) -> None:
        """Note the time at which a stage begins."""
        self._begun.setdefault(stage, self._clock())

    def show(self, stage: str, share: float) -> None:
        """Print the finished share of a stage, and the time left at this pace."""
        with self._lock:
            now, progress = self._clock(), f"{stage} {100.0 * share:.0f} %"
            if now - self._last < self._interval or progress == self._printed:
                return
            self._last, self._printed = now, progress
            elapsed = now - self._begun.get(stage, self._start)
            if FEWEST <= share < 1.0:
                progress += f", about {duration(elapsed * (1.0 / share - 1.0))} left"
            self.print(progress)

    def finish(self) -> None:
        """Print the outcome of the fit."""
        for line in outcome(self._estimator):
            self.print(line)
        self.print(f"fitted in {duration(self._clock() - self._start)}")


def outcome(estimator: Any) -> Iterator[str]:
    """Yield lines about the settings that were compared and selected."""
    if getattr(estimator, "search_summary_", None) is not None:
        yield str(estimator.search_summary_)
    if hasattr(estimator, "best_params_"):
        items = estimator.best_params_.items()
        params = ", ".join(
            f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in items
        )
        yield f"selected {params}: mean cross-validated score {estimator.best_score_:.3f}"


class Task:
    """A part of a fit; callbacks are notified when it begins and ends.

    The end of one of m parts is progress of 1/m, recursively.
    """

    def __init__(
        self,
        estimator: Any,
        context: Any,
        reported: dict[str, Any],
        lines: ProgressLines | None = None,
        parent: "Task | None" = None,
        name: str = "fit",
        n_parts: int | None = 0,
    ) -> None:
        self._estimator, self._context, self._reported = estimator, context, reported
        self._lines, self._parent, self._name, self._n_parts = lines, parent, name, n_parts
        self._numbers, self._lock = count(), Lock()
        self._done = 0.0  # the finished share

    @classmethod
    def of_fit(cls, estimator: Any, n_parts: int, X: Any, y: Any, sample_weight: Any) -> Self:
        """Return the task of a whole fit, which has `n_parts` parts."""
        begin = getattr(estimator, "_init_callback_context", None)
        context = begin and begin(max_subtasks=n_parts, sequential_subtasks=False)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        reported = {"X": X, "y": y, "metadata": metadata, "reconstruction_attributes": {}}
        lines = ProgressLines.of_fit(estimator, X)
        return cls(estimator, context, reported, lines, n_parts=n_parts)

    @classmethod
    def silent(cls) -> Self:
        """Return a task that reports nothing."""
        return cls(None, None, {})

    def part(self, name: str, number: int | None = None, n_parts: int | None = 0) -> "Task":
        """Return one of the parts, which may run in any order and in any thread.

        Without a number it is the next one. It has `n_parts` parts itself, None if unknown.
        """
        number = next(self._numbers) if number is None else number
        context = self._context and self._context.subcontext(
            task_name=name, task_id=number, max_subtasks=n_parts, sequential_subtasks=False
        )
        return Task(self._estimator, context, {}, self._lines, self, name, n_parts)

    def note(self, name: str, number: int | None = None) -> None:
        """Report that one of the parts is done."""
        if self._context is not None or self._lines is not None:
            with self.part(name, number):
                pass

    def __enter__(self) -> Self:
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=self._estimator)
        if self._lines is not None and self._is_stage:
            self._lines.begin(self._name)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._reported)
        if self._lines is None:
            return
        if self._parent is None:
            self._lines.finish()
        elif not self._is_stage:
            self._parent._advance(1.0 - self._done, self._lines)

    @property
    def _is_stage(self) -> bool:
        return self._parent is None or (self._parent._parent is None and self._name in STAGES)

    def _advance(self, share: float, lines: ProgressLines) -> None:
        """Add a share of one part, here and above, and print the progress of the stage."""
        share = share / self._n_parts if self._n_parts else 0.0
        with self._lock:
            self._done += share
        if self._is_stage or self._parent is None:
            lines.show(self._name, self._done)
        else:
            self._parent._advance(share, lines)
