"""Counts in sentences: "1 cell is", "2 cells are"."""

__all__ = ["counted", "is_or_are"]


def counted(n: int, noun: str) -> str:
    """Return a count with its noun, which gets an "s" unless there is one.

    Examples
    --------
    >>> from kernsemble._counts import counted
    >>> counted(1, "cell"), counted(1_200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def is_or_are(n: int) -> str:
    """Return the verb of a count."""
    return "is" if n == 1 else "are"
