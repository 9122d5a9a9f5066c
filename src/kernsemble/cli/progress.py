"""Progress on standard error, driven by scikit-learn's callbacks: bars, or lines in logs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from kernsemble._counts import duration

__all__ = ["FitProgress", "ShownTask", "bars", "bars_or_lines", "follow", "working"]

NAMES = {"selection": "selecting kernel and C", "refit": "fitting to all rows", "fit": "fitting"}


class ShownTask:
    """A progress bar, or nothing if bars are switched off."""

    def __init__(self, progress: Any, name: str, total: float | None) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task(name, total=total)

    def advance(self, amount: float) -> None:
        """Advance by an amount."""
        if self._progress is not None:
            self._progress.advance(self._task, amount)

    def show(self, name: str, done: float) -> None:
        """Set the name and the amount done."""
        if self._progress is not None:
            self._progress.update(self._task, description=name, completed=done)

    def finish(self) -> None:
        """Complete the bar."""
        if self._progress is not None:
            self._progress.update(self._task, total=1.0, completed=1.0)


@contextmanager
def bars(wanted: bool | None, is_brief: bool = False) -> Iterator[Any]:
    """Yield rich's progress display, or None: by default there is one only on a terminal.

    Bars of brief work disappear when it is done.
    """
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        """Estimate of the time left, once there is one."""

        def render(self, task: Any) -> Text:
            left = None if task.finished else task.time_remaining
            return Text("" if left is None else f"about {duration(left)} left")

    console = Console(file=sys.stderr, force_terminal=True if wanted else None)
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TimeLeft(),
        console=console,
        transient=is_brief,
        redirect_stdout=False,
    ) as progress:
        yield progress


@contextmanager
def bars_or_lines(wanted: bool | None, is_brief: bool = False) -> Iterator[Any]:
    """Yield rich's progress display or, by default without a terminal, lines; None if unwanted."""
    if wanted is None and not sys.stderr.isatty():
        from kernsemble.cli.progress_lines import ProgressLines

        with ProgressLines() as lines:
            yield lines
        return
    with bars(wanted, is_brief) as progress:
        yield progress


class FitProgress:
    """A scikit-learn callback that shows a bar for each main part of a fit.

    The end of one of m sub-parts advances its part by 1/m, recursively.
    """

    max_propagation_depth = 0

    def __init__(self, progress: Any) -> None:
        self._progress, self._lock = progress, Lock()
        self._before = ShownTask(progress, "preparing the rows", None)
        self._shown: dict[tuple[Any, ...], ShownTask] = {}
        self._counted: dict[tuple[Any, ...], float] = {}  # share of each part shown so far

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing when a fit begins; scikit-learn requires the method."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing when a fit ends; scikit-learn requires the method."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:  # noqa: ARG002
        """Show a bar when a main part begins."""
        self._before.finish()
        path = _path(context)
        if len(path) == 2 and context.max_subtasks != 0:
            with self._lock:
                name = NAMES.get(context.task_name, context.task_name)
                self._shown[path] = ShownTask(self._progress, name, 1.0)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:  # noqa: ARG002
        """Advance by the share of the finished part that was not counted yet."""
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
            new = share - self._counted.pop(path, 0.0)
            for depth in range(3, len(path)):
                self._counted[path[:depth]] = self._counted.get(path[:depth], 0.0) + new
        main.advance(new)

    def _count(self, whole: tuple[Any, ...], n_parts: int | None) -> None:
        """Advance the bar of the whole fit by one of its parts, which have no sub-parts."""
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
    """Show that work without a known total goes on."""
    with bars_or_lines(wanted, is_brief=True) as progress:
        task = ShownTask(progress, name, None)
        yield
        task.finish()


@contextmanager
def follow(estimator: Any, wanted: bool | None) -> Iterator[None]:
    """Show the progress of an estimator's fits, with its parts if it supports callbacks."""
    if not hasattr(estimator, "set_callbacks"):
        with working(NAMES["fit"], wanted):
            yield
        return
    with bars_or_lines(wanted) as progress:
        if progress is not None:
            estimator.set_callbacks(FitProgress(progress))
        try:
            yield
        finally:
            if progress is not None:
                estimator.set_callbacks()
