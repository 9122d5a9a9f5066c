"""The lines of Python that read the training rows of a command, for the program in its report."""

from collections.abc import Sequence

from kernsemble.cli.table_files import TableFile

__all__ = ["reading_program"]


def reading_program(
    table: TableFile,
    target: str,
    drop: Sequence[str] | None,
    keep: Sequence[str] | None,
    task: str | None,
    max_rows: int | None,
    holdout: float | None,
    seed: int,
) -> str:
    """Return the lines that define X and y as the command read them; "" for standard input."""
    if str(table.path) == "-":
        return ""
    reading = table.reading
    settings = {
        "drop": tuple(drop or ()),
        "keep": tuple(keep or ()),
        "task": task,
        "max_rows": max_rows,
        "seed": seed if max_rows is not None else 0,
    }
    given = [f"{name}={value!r}" for name, value in settings.items() if value]
    imported = "TableFile" if reading == type(reading)() else "Reading, TableFile"
    how = "" if imported == "TableFile" else f", {reading!r}"
    lines = [
        "from pathlib import Path",
        f"from kernsemble.cli.table_files import {imported}",
        "from kernsemble.cli.training_data import read_training_data",
        f"table = TableFile(Path({str(table.path)!r}){how})",
        f"data = read_training_data({', '.join(['table', repr(target), *given])})",
    ]
    if holdout is not None:
        lines.insert(1, "from kernsemble.cli.held_out_rows import hold_out")
        lines.append(f"data, _ = hold_out(data, {holdout!r}, {seed!r})")
    return "\n".join([*lines, "X, y = data.X, data.y"])
