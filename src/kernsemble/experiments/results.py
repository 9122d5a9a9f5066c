"""Results of a paper in ``results.jsonl``: committed with the code, equal on any computer."""

import json
from collections.abc import Iterable
from pathlib import Path

from kernsemble._files import atomic_write
from kernsemble.experiments.records import Cell, Record, Store

TIMES = ("fit",)  # quantities, and series of them, that are measured in seconds
DIGITS = 6


def write_results(cells: Iterable[Cell], store: Store, path: Path) -> None:
    """Write a line of JSON for each data set and method: version, seeds and values.

    Times, which differ between computers, and failed cells are left out.
    """
    pairs = dict.fromkeys((cell.data, cell.method) for cell in cells)
    lines = [_line(store.records_of(*pair)) for pair in sorted(pairs)]
    with atomic_write(path) as part:
        part.write_text("".join(line for line in lines if line), encoding="utf-8")


def read_results(path: Path) -> Store:
    """Return the records of a file, without times, as a store in memory."""
    store = Store(path.with_suffix(".none"))
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        for place, seed in enumerate(fields["seeds"]):
            values = {
                name: numbers[place]
                for name, numbers in fields["values"].items()
                if numbers[place] is not None
            }
            cell = Cell(fields["data"], fields["method"], seed)
            store.keep(Record(cell, values, version=fields["version"]))
    return store


def _line(records: list[Record]) -> str:
    records = [record for record in records if record.failure is None]
    if not records:
        return ""
    names = dict.fromkeys(name for record in records for name in record.values)
    kept = [name for name in names if name.partition(",")[0] not in TIMES]
    fields = {
        "data": records[0].cell.data,
        "method": records[0].cell.method,
        "version": max(record.version for record in records),
        "seeds": [record.cell.seed for record in records],
        "values": {
            name: [_rounded(record.values.get(name)) for record in records] for name in kept
        },
    }
    return json.dumps(fields) + "\n"


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.{DIGITS}g}")
