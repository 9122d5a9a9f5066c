"""Atomic writing of files."""

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4
from zlib import crc32

__all__ = ["atomic_write", "check_folder"]

# The name of a temporary file: computer, process, a random number, and the name of the file.
PART = re.compile(r"\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.part\.")


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`, and rename it to `path` at the end.

    The file is complete or absent: after an error or an interrupt the temporary file is
    removed, and an existing file at `path` is unchanged. Temporary files of processes that were
    killed are removed when the same file is written again.
    """
    part = path.with_name(f".{_computer()}-{os.getpid()}-{uuid4().hex[:8]}.part.{path.name}")
    try:
        _remove_abandoned(path)
        yield part  # it has the ending of the file, which readers need
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        if error.errno is None or str(error.filename) not in ("None", str(part)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            part.unlink()


def _computer() -> str:
    return f"{crc32(platform.node().encode()):08x}"


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files of `path` whose processes on this computer have ended."""
    if os.name != "posix":  # where a signal cannot ask whether a process exists
        return
    with suppress(OSError):
        for name in os.listdir(path.parent):  # noqa: PTH208 (names are enough)
            found = PART.match(name)
            if found is None or not name.endswith(f".part.{path.name}"):
                continue
            if found[1] == _computer() and not _is_running(int(found[2])):
                path.with_name(name).unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def check_folder(path: Path) -> None:
    """Raise an error if the folder of a file does not exist."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"path = {str(path)!r}: there is no folder {str(path.parent)!r}; create it first, "
            "Path(path).parent.mkdir(parents=True)"
        )
