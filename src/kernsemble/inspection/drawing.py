"""Where Displays draw; matplotlib is loaded when the first one does."""

from typing import Any


def axes_of(ax: Any = None) -> Any:
    """Return the axes asked for, or new ones."""
    if ax is not None:
        return ax
    return pyplot().subplots()[1]


def pyplot() -> Any:
    """Return matplotlib's pyplot, or say how to get it."""
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "drawing needs matplotlib: install kernsemble[plot], or use the numbers"
        ) from error
    return plt
