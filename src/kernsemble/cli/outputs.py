"""Output files: written atomically, and never over existing files without --force."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from kernsemble.cli.console import CommandError

__all__ = ["check_output", "whole_file"]


def check_output(
    option: str, path: Path, force: bool, inputs: tuple[Path | None, ...] = ()
) -> None:
    """Raise an error if a file cannot be written, is an input, or exists without --force."""
    if not path.parent.is_dir():
        raise CommandError(f"{option} {path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise CommandError(f"{option} {path} is a folder: give a file name")
    if any(each is not None and each.resolve() == path.resolve() for each in inputs):
        raise CommandError(f"{option} {path} is an input of this command: give another name")
    if path.exists() and not force:
        raise CommandError(f"{option} {path} exists: give another name, or --force to overwrite it")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Lend a place in the same folder, which becomes `path` unless there is an error."""
    part = path.with_name(f".{uuid4().hex}.part.{path.name}")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
