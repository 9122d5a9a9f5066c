"""Parallel execution of the cells of an experiment, with joblib here or Dask on a cluster."""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any, TypeAlias

from kernsemble._threads import single_threaded
from kernsemble.experiments.dask_runner import run_on_dask
from kernsemble.experiments.records import Cell, Record, Store

Compute: TypeAlias = Callable[[Cell], dict[str, float]]
OnRecord: TypeAlias = Callable[[Record], None]


def run_cells(
    cells: Iterable[Cell],
    compute: Compute,
    store: Store,
    n_jobs: int = 1,
    dask: str | None = None,
    on_record: OnRecord | None = None,
) -> list[Record]:
    """Compute the cells that a store does not have, and store each as soon as it is done.

    Parameters
    ----------
    cells : iterable of Cell
        Cells to compute.
    compute : callable
        ``compute(cell)`` returns named numbers, the same for a cell on every worker. An
        exception is recorded as a failure, which a later run tries again.
    store : Store
        Store of the records; only this process writes to it.
    n_jobs : int
        Number of processes on this computer, as in joblib.
    dask : str, optional
        Address of a Dask scheduler whose workers are used instead.
    on_record : callable, optional
        Function that is called with each new record.

    Returns
    -------
    list of Record
        Records of all cells in their order, old and new.
    """
    cells = list(dict.fromkeys(cells))
    work = partial(attempt, compute)
    with store.writing():
        missing = [cell for cell in cells if not store.has(cell)]
        records = run_on_dask(work, missing, dask) if dask else _run_here(work, missing, n_jobs)
        for record in records:
            store.append(record)
            if on_record is not None:
                on_record(record)
    return [store.records[cell] for cell in cells]


def attempt(compute: Compute, cell: Cell) -> Record:
    """Compute a cell in a single thread, and return its record, also if it fails."""
    start, processor = time.perf_counter(), time.process_time()
    values: dict[str, float] = {}
    failure = None
    try:
        with warnings.catch_warnings(), single_threaded():
            warnings.simplefilter("ignore")
            values = {name: float(value) for name, value in compute(cell).items()}
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    return Record(
        cell,
        values,
        time.perf_counter() - start,
        time.process_time() - processor,
        failure,
        version("kernsemble"),
    )


def _run_here(work: Callable[[Cell], Record], cells: list[Cell], n_jobs: int) -> Iterator[Record]:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    records: Any = parallel(delayed(work)(cell) for cell in cells)
    yield from records
