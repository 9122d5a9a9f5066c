"""Execution of the cells of an experiment on a Dask cluster."""

from collections.abc import Callable, Iterator

from kernsemble.experiments.records import Cell, Record

RETRIES = 5  # number of times a cell is tried again after its worker was lost


def run_on_dask(
    work: Callable[[Cell], Record], cells: list[Cell], address: str, retries: int = RETRIES
) -> Iterator[Record]:
    """Yield the record of each cell as soon as it is done.

    Parameters
    ----------
    work : callable
        ``work(cell)`` returns the record of a cell.
    cells : list of Cell
        Cells to compute.
    address : str
        Address of the Dask scheduler.
    retries : int
        Number of times a cell is tried again after its worker was lost; then it is a failure.
    """
    from distributed import Client, KilledWorker, as_completed

    with Client(address) as client:  # type: ignore[no-untyped-call]
        cell_of = {client.submit(work, cell, pure=False, retries=retries): cell for cell in cells}
        for future in as_completed(list(cell_of)):  # type: ignore[no-untyped-call]
            try:
                yield future.result()
            except KilledWorker as error:  # every worker that computed the cell died
                yield Record(cell_of[future], failure=f"KilledWorker: {error}")
            future.release()
