"""Parts of the library that commands need, imported when they do."""

from importlib import import_module
from typing import Any

from kernsemble.cli.console import CommandError

__all__ = ["part"]


def part(module: str, name: str, purpose: str, remedy: str = "install a newer version") -> Any:
    """Return an object of a module of this library, or say what it would be needed for."""
    try:
        return getattr(import_module(f"kernsemble.{module}"), name)
    except (ImportError, AttributeError) as error:
        raise CommandError(f"{purpose} is not possible here ({error}): {remedy}") from error
