"""Cells computed side by side, each once, whatever ends the run."""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from typing import Any, TypeAlias

from kernsemble._threads import single_threaded
from kernsemble.experiments.cells import Cell, Record
from kernsemble.experiments.store import Store

Compute: TypeAlias = Callable[[Cell], dict[str, float]]
OnRecord: TypeAlias = Callable[[Record], None]

RETRIES = 5  # of a cell whose worker on a cluster was lost


def run_cells(
    cells: Iterable[Cell],
    compute: Compute,
    store: Store,
    n_jobs: int = 1,
    dask: str | None = None,
    on_record: OnRecord | None = None,
) -> list[Record]:
    """Compute the cells that a store does not have, and add each as soon as it is known.

    Parameters
    ----------
    cells : iterable of Cell
        What is wanted.
    compute : callable
        ``compute(cell)`` returns named numbers, the same for a cell wherever it is computed. An
        exception is recorded as a failure, which a later run tries again.
    store : Store
        Where records are kept; the one writer is this process.
    n_jobs : int
        How many processes of this machine work, as joblib counts them.
    dask : str, optional
        The address of a Dask scheduler, whose workers are used instead.
    on_record : callable, optional
        Called with each new record.

    Returns
    -------
    list of Record
        Those of the cells asked for, in their order, old and new.
    """
    cells = list(dict.fromkeys(cells))
    with store.writing():
        missing = [cell for cell in cells if not store.has(cell)]
        work = _on_dask(compute, missing, dask) if dask else _here(compute, missing, n_jobs)
        for record in work:
            store.append(record)
            if on_record is not None:
                on_record(record)
    return [store.records[cell] for cell in cells]


def attempt(compute: Compute, cell: Cell) -> Record:
    """Compute a cell in one thread, so that no other cell slows it, and record what came of it."""
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


def _here(compute: Compute, cells: list[Cell], n_jobs: int) -> Iterator[Record]:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    records: Any = parallel(delayed(attempt)(compute, cell) for cell in cells)
    yield from records


def _on_dask(compute: Compute, cells: list[Cell], address: str) -> Iterator[Record]:
    """Yield records as they are known; a cell whose worker is lost is computed by another."""
    from distributed import Client, KilledWorker, as_completed

    with Client(address) as client:  # type: ignore[no-untyped-call]
        cell_of = {
            client.submit(attempt, compute, cell, pure=False, retries=RETRIES): cell
            for cell in cells
        }
        for future in as_completed(list(cell_of)):  # type: ignore[no-untyped-call]
            try:
                yield future.result()
            except KilledWorker as error:  # whoever computed the cell died of it
                yield Record(cell_of[future], failure=f"KilledWorker: {error}")
            future.release()
