"""What commands say: answers as tables or JSON, notes and errors as single lines."""

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = [
    "CommandError",
    "InterruptedCommandError",
    "answer",
    "heard_warnings",
    "note",
    "one_line",
    "say",
    "show_table",
]


class CommandError(Exception):
    """A command cannot do what it was asked; the message names the cause and the remedy."""


class InterruptedCommandError(CommandError):
    """A command was interrupted and left something; the message says what, and how to go on."""


def one_line(message: object) -> str:
    """Return a message on one line."""
    return " ".join(str(message).split())


def say(line: str) -> None:
    """Say a line of an answer, on standard output."""
    print(line)


def note(line: object) -> None:
    """Say a line beside the answer, on standard error."""
    print(f"kernsemble: note: {one_line(line)}", file=sys.stderr)


def answer(told: Mapping[str, Any]) -> None:
    """Say an answer for machines: one object in JSON, numbers that are none as null."""
    print(json.dumps(_plain(told), ensure_ascii=False, allow_nan=False))


def _plain(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {str(name): _plain(each) for name, each in item.items()}
    if isinstance(item, (list, tuple)):
        return [_plain(each) for each in item]
    if hasattr(item, "tolist"):  # of NumPy
        return _plain(item.tolist())
    if isinstance(item, float):
        return item if abs(item) < float("inf") else None
    return item if isinstance(item, (str, int, bool, type(None))) else str(item)


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Say a table, whose cells are words or texts of rich."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    console = Console(file=sys.stdout)
    if not console.is_terminal:
        console = Console(file=sys.stdout, width=160)
    console.print(Text(title, style="bold"))
    console.print(table)


@contextmanager
def heard_warnings() -> Iterator[None]:
    """Say warnings as notes, each once."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # for those who write programs
        try:
            yield
        finally:
            for line in dict.fromkeys(one_line(warning.message) for warning in heard):
                note(line)
