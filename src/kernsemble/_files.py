"""Atomic writing of files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

__all__ = ["atomic_write", "check_folder"]


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`, and rename it to `path` at the end.

    The file is complete or absent: after an error or an interrupt the temporary file is
    removed, and an existing file at `path` is unchanged.
    """
    part = path.with_name(f".{uuid4().hex}.part.{path.name}")  # readers need the file's ending
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def check_folder(path: Path) -> None:
    """Raise an error if the folder of a file does not exist."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"path = {str(path)!r}: there is no folder {str(path.parent)!r}; create it first, "
            "Path(path).parent.mkdir(parents=True)"
        )
