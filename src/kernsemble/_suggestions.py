"""Suggestions for names that are not known."""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_LISTED = 12


def suggest(name: object, known: Iterable[object], otherwise: str = "", n: int = 1) -> str:
    """Return a hint for an unknown name: the most similar names, else all names.

    Parameters
    ----------
    name : object
        Name that was given.
    known : iterable of object
        Names to select from.
    otherwise : str, default=""
        Hint if no name is similar; the first names by default.
    n : int, default=1
        Maximum number of similar names.

    Examples
    --------
    >>> from kernsemble._suggestions import suggest
    >>> suggest("stmp", ["stump", "perceptron"])
    "did you mean 'stump'?"
    >>> suggest("forest", ["stump", "perceptron"])
    "use one of 'stump', 'perceptron'"
    """
    names = [str(each) for each in known]
    matches = get_close_matches(str(name), names, n=n)
    if matches:
        return f"did you mean {' or '.join(map(repr, matches))}?"
    more = ", …" if len(names) > MAX_LISTED else ""
    return otherwise or f"use one of {', '.join(map(repr, names[:MAX_LISTED]))}{more}"
