"""Cells of the leaderboard: a method on a split of a set, each in a process with a time limit."""

import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kernsemble.experiments import Cell, Record, Store
from leaderboard.measures import (
    classification,
    classification_by_value,
    of_guessing,
    regression,
)
from leaderboard.methods import METHODS, Method
from leaderboard.problems import Problem, draw_problem
from leaderboard.processes import CellTimeoutError, call_within

FEW_ROWS = 100


def compute(cell: Cell) -> dict[str, float]:
    """Fit a method to the training rows, and measure its predictions on the test rows."""
    return measure(METHODS[cell.method], draw_problem(cell.data, cell.seed), cell.seed)


def measure(method: Method, problem: Problem, seed: int) -> dict[str, float]:
    """Fit a method to the training rows of a problem, and measure its predictions.

    Before, it is fitted to a few rows, so that times contain neither imports nor compilation.
    """
    warnings.simplefilter("ignore")
    is_category = problem.is_category
    with suppress(Exception):
        _fit_few_rows(method(is_category, seed, problem.task), problem)
    machine = method(is_category, seed, problem.task)
    start = time.perf_counter()
    machine.fit(problem.X_train, problem.y_train)
    fitted = time.perf_counter()
    predicted = np.ravel(machine.predict(problem.X_test))
    end = time.perf_counter()
    return {
        **_measures(machine, problem, predicted),
        "fit_seconds": fitted - start,
        "predict_seconds": end - fitted,
        "rows": len(problem.y_train),
        "columns": problem.X_train.shape[1],
    }


def _measures(machine: Any, problem: Problem, predicted: np.ndarray) -> dict[str, float]:
    if problem.task == "regression":
        return regression(problem.y_test, predicted)
    if not hasattr(machine, "predict_proba"):
        return classification_by_value(
            problem.y_test, predicted, machine.decision_function(problem.X_test)
        )
    probability = machine.predict_proba(problem.X_test)
    return classification(problem.y_test, predicted, probability)


def _fit_few_rows(machine: Any, problem: Problem) -> None:
    """Fit a machine to the first rows, of classes with several of them."""
    rows = np.arange(min(FEW_ROWS, len(problem.y_train)))
    if problem.task == "classification":
        y = problem.y_train[rows]
        rows = rows[np.bincount(y)[y] >= 5]
    X, y = problem.X_train.iloc[rows], problem.y_train[rows]
    machine.fit(X, y if problem.task == "regression" else np.unique(y, return_inverse=True)[1])
    machine.predict(X)


def guess(cell: Cell) -> dict[str, float]:
    """Return the measures of always guessing, for a cell that failed."""
    problem = draw_problem(cell.data, cell.seed)
    return of_guessing(problem.task, problem.y_train, problem.y_test)


def attempt(
    cell: Cell,
    limit: float,
    compute: Callable[[Cell], dict[str, float]] = compute,
    guess: Callable[[Cell], dict[str, float]] = guess,
) -> Record:
    """Return the record of a cell; that of a failure contains the measures of guessing."""
    start, failure = time.perf_counter(), None
    try:
        values = call_within(limit, compute, cell)
    except (CellTimeoutError, RuntimeError) as error:
        failure = str(error)
        values = guess(cell)
    seconds = time.perf_counter() - start
    rounded = {name: float(f"{value:.6g}") for name, value in values.items()}
    return Record(cell, rounded, round(seconds, 2), failure=failure, version=version("kernsemble"))


def store_of(folder: Path, method: str) -> Store:
    """Return the store of one method."""
    return Store(folder / f"{method}.jsonl")


def run_method(
    cells: Iterable[Cell],
    store: Store,
    limit: float,
    skip: Callable[[Record], bool],
    attempt: Callable[[Cell, float], Record] = attempt,
) -> None:
    """Compute the cells of one method, and store each as soon as it is done.

    Cells with a stored record are skipped if `skip` says so of the record.
    """
    with store.writing():
        for cell in cells:
            if cell in store.records and skip(store.records[cell]):
                continue
            record = attempt(cell, limit)
            store.append(record)
            print(_line(record), flush=True)


def _line(record: Record) -> str:
    cell, values = record.cell, record.values
    loss = values.get("error", values.get("rmse", np.nan))
    times = f"{values.get('fit_seconds', np.nan):.2f} + {values.get('predict_seconds', np.nan):.2f}"
    ending = f" FAILED: {record.failure}"[:120] if record.failure else ""
    return f"{cell.data}, {cell.method}, split {cell.seed}: {loss:.4f}, {times} s{ending}"
