"""Output of commands (text, tables, JSON, notes) and their errors."""

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

__all__ = [
    "CommandError",
    "InterruptedCommandError",
    "WrongUsageError",
    "import_optional",
    "join_names",
    "note",
    "one_line",
    "printable",
    "show_table",
    "warnings_as_notes",
    "write_json",
    "write_line",
]


class CommandError(Exception):
    """Failure of a command; the message contains the cause and the remedy."""


class InterruptedCommandError(CommandError):
    """Interrupt of a command that kept part of its results; the message contains their path."""


class WrongUsageError(CommandError):
    """Failure because an option is missing or contradicts another one."""


def import_optional(
    module: str, name: str, purpose: str, remedy: str = "install a newer version"
) -> Any:
    """Import an object of this library when it is needed; raise an error if that fails."""
    try:
        return getattr(import_module(f"kernsemble.{module}"), name)
    except (ImportError, AttributeError) as error:
        raise CommandError(f"{purpose} is not possible here ({error}): {remedy}") from error


def printable(text: str) -> str:
    r"""Return text for a terminal: control and bidirectional characters as escapes.

    Examples
    --------
    >>> from kernsemble.cli.console import printable
    >>> print(printable("grün \x1b[31mred"))
    grün \x1b[31mred
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode()
        for each in text
    )


def one_line(message: object) -> str:
    """Return a message on one line, without characters that change what a terminal shows."""
    return printable(" ".join(str(message).split()))


def join_names(names: Sequence[object], n: int = 5) -> str:
    """Return the first `n` names, quoted and separated by commas."""
    return ", ".join(repr(each) for each in names[:n]) + (", …" if len(names) > n else "")


def write_line(line: str) -> None:
    """Write a line of results to standard output."""
    print(printable(line))


def note(line: object) -> None:
    """Write a line that is not a result to standard error."""
    print(f"kernsemble: note: {one_line(line)}", file=sys.stderr)


def write_json(results: Mapping[str, Any]) -> None:
    """Write results as one JSON object, with null for NaN and infinity."""
    text = json.dumps(_as_json(results), ensure_ascii=False, allow_nan=False)
    print(text if text.isprintable() else json.dumps(_as_json(results), allow_nan=False))


def _as_json(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {str(name): _as_json(each) for name, each in item.items()}
    if isinstance(item, (list, tuple)):
        return [_as_json(each) for each in item]
    if hasattr(item, "tolist"):  # NumPy's arrays and numbers
        return _as_json(item.tolist())
    if isinstance(item, float):
        return item if abs(item) < float("inf") else None
    return item if isinstance(item, (str, int, bool, type(None))) else str(item)


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write a table, whose cells are strings or rich texts, to standard output."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for name in header:
        table.add_column(Text(printable(name)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) if isinstance(cell, str) else cell for cell in row))
    console = Console(file=sys.stdout)
    if not console.is_terminal:
        console = Console(file=sys.stdout, width=160)
    console.print(Text(printable(title), style="bold"))
    console.print(table)


@contextmanager
def warnings_as_notes(reworded: Callable[[object], str] = one_line) -> Iterator[None]:
    """Write each distinct warning as one note, when it is raised."""
    written: set[str] = set()

    def show(message: object, *_: object) -> None:
        line = reworded(message)
        if line not in written:
            written.add(line)
            note(line)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # meant for programmers
        warnings.showwarning = show  # type: ignore[assignment]
        yield
