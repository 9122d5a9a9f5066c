"""The error for models that cannot be exported."""

from importlib import import_module
from typing import Any


class NotExportableError(ValueError):
    """Error for a model, or a part of one, that a format cannot express."""


def import_extra(module: str, extra: str = "export") -> Any:
    """Import a module of an optional extra; an error names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{module.partition('.')[0]} is needed and not installed ({error}): "
            f"pip install 'kernsemble[{extra}]'"
        ) from error
