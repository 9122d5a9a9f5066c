"""What came of a paper's cells, small enough to be kept with the code, the same on any machine."""

import json
from collections.abc import Iterable
from pathlib import Path

from kernsemble.experiments.cells import Cell, Record
from kernsemble.experiments.store import Store

OF_THE_MACHINE = ("fit",)  # quantities, and series of them, that are seconds
DIGITS = 6


def write_results(cells: Iterable[Cell], store: Store, path: Path) -> None:
    """Write a line of JSON for each data set and method: the version, the seeds, the numbers.

    Seconds, which other machines would not see again, are left out; failed cells too.
    """
    pairs = dict.fromkeys((cell.data, cell.method) for cell in cells)
    lines = [_line(store.records_of(*pair)) for pair in sorted(pairs)]
    path.write_text("".join(line for line in lines if line), encoding="utf-8")


def read_results(path: Path) -> Store:
    """Return the records that were written, without seconds, as a store that is not on disk."""
    store = Store(path.with_suffix(".none"))
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        for place, seed in enumerate(told["seeds"]):
            values = {
                name: numbers[place]
                for name, numbers in told["values"].items()
                if numbers[place] is not None
            }
            cell = Cell(told["data"], told["method"], seed)
            store.keep(Record(cell, values, version=told["version"]))
    return store


def _line(records: list[Record]) -> str:
    records = [record for record in records if record.failure is None]
    if not records:
        return ""
    told_by_any = dict.fromkeys(name for record in records for name in record.values)
    names = [name for name in told_by_any if name.partition(",")[0] not in OF_THE_MACHINE]
    told = {
        "data": records[0].cell.data,
        "method": records[0].cell.method,
        "version": max(record.version for record in records),
        "seeds": [record.cell.seed for record in records],
        "values": {
            name: [_rounded(record.values.get(name)) for record in records] for name in names
        },
    }
    return json.dumps(told) + "\n"


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.{DIGITS}g}")
