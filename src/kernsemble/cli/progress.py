"""How far a command is, on standard error: bars of rich that hear scikit-learn's callbacks."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

__all__ = ["FitProgress", "ShownTask", "bars", "follow", "working"]

NAMES = {"selection": "choosing kernel and C", "refit": "fitting to all rows", "fit": "fitting"}


class ShownTask:
    """A bar, or nothing where none is wanted."""

    def __init__(self, progress: Any, name: str, total: float | None) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task(name, total=total)

    def advance(self, amount: float) -> None:
        """Move on."""
        if self._progress is not None:
            self._progress.advance(self._task, amount)

    def show(self, name: str, done: float) -> None:
        """Show another name, and what is done of the total."""
        if self._progress is not None:
            self._progress.update(self._task, description=name, completed=done)

    def finish(self) -> None:
        """Show that all is done."""
        if self._progress is not None:
            self._progress.update(self._task, total=1.0, completed=1.0)


@contextmanager
def bars(wanted: bool | None) -> Iterator[Any]:
    """Lend what draws bars; None if they are not wanted, or unasked where nobody looks."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(file=sys.stderr, force_terminal=True if wanted else None)
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    with Progress(
        *columns, TimeElapsedColumn(), console=console, redirect_stdout=False
    ) as progress:
        yield progress


class FitProgress:
    """A callback of scikit-learn that shows a bar for each of the main parts of a fit.

    A part that has m parts is 1/m further when one of them ends, and so on for theirs.
    """

    max_propagation_depth = 0

    def __init__(self, progress: Any) -> None:
        self._progress, self._lock = progress, Lock()
        self._before = ShownTask(progress, "preparing the rows", None)
        self._shown: dict[tuple[Any, ...], ShownTask] = {}
        self._told: dict[tuple[Any, ...], float] = {}  # of every part, what its own parts told

    def setup(self, estimator: Any, context: Any) -> None:
        """Hear that a fit begins."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Hear that it ended."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:  # noqa: ARG002
        """Show a main part that begins."""
        self._before.finish()
        path = _path(context)
        if len(path) == 2 and context.max_subtasks != 0:
            with self._lock:
                name = NAMES.get(context.task_name, context.task_name)
                self._shown[path] = ShownTask(self._progress, name, 1.0)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:  # noqa: ARG002
        """Move on by the share of what ended that was not told yet."""
        path = _path(context)
        if len(path) < 2:
            return
        main = self._shown.get(path[:2])
        if main is None:
            self._count(path[:1], context.parent.max_subtasks)
            return
        if len(path) == 2:
            main.finish()
            return
        share, ancestor = 1.0, context.parent
        while ancestor.parent is not None:
            if not ancestor.max_subtasks:
                return
            share, ancestor = share / ancestor.max_subtasks, ancestor.parent
        with self._lock:
            untold = share - self._told.pop(path, 0.0)
            for depth in range(3, len(path)):
                self._told[path[:depth]] = self._told.get(path[:depth], 0.0) + untold
        main.advance(untold)

    def _count(self, whole: tuple[Any, ...], n_parts: int | None) -> None:
        """Move the bar of the whole fit on by one of its parts, which have none themselves."""
        with self._lock:
            if whole not in self._shown:
                self._shown[whole] = ShownTask(self._progress, NAMES["fit"], 1.0)
        self._shown[whole].advance(1.0 / n_parts if n_parts else 0.0)


def _path(context: Any) -> tuple[Any, ...]:
    places = []
    while context is not None:
        places.append(context.task_id)
        context = context.parent
    return tuple(reversed(places))


@contextmanager
def working(name: str, wanted: bool | None) -> Iterator[None]:
    """Show that work is going on of which nobody knows how far it is."""
    with bars(wanted) as progress:
        task = ShownTask(progress, name, None)
        yield
        task.finish()


@contextmanager
def follow(estimator: Any, wanted: bool | None) -> Iterator[None]:
    """Show how far the fits of an estimator are, if it tells."""
    with bars(wanted) as progress:
        tells = progress is not None and hasattr(estimator, "set_callbacks")
        if tells:
            estimator.set_callbacks(FitProgress(progress))
        try:
            yield
        finally:
            if tells:
                estimator.set_callbacks()
