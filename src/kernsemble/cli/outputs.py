"""Checks of the output paths of commands."""

from pathlib import Path

from kernsemble.cli.console import CommandError

__all__ = ["check_output"]


def check_output(
    option: str, path: Path, force: bool, inputs: tuple[Path | None, ...] = ()
) -> None:
    """Raise an error if a path cannot be written, is an input, or exists without `force`."""
    if not path.parent.is_dir():
        raise CommandError(f"{option} {path}: there is no folder {path.parent}; create it first")
    if path.is_dir():
        raise CommandError(f"{option} {path} is a folder: give the name of a file")
    if any(each is not None and each.resolve() == path.resolve() for each in inputs):
        raise CommandError(f"{option} {path} is an input of this command: give another name")
    if path.exists() and not force:
        raise CommandError(f"{option} {path} exists: give another name, or --force to replace it")
