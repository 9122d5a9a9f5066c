"""A run of a command: the words that were typed, and the time since then."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple, Self

from kernsemble.cli.stopwatch import Stopwatch

__all__ = ["Invocation"]


class Invocation(NamedTuple):
    """A run of a command; commands find it as ``context.obj``.

    Examples
    --------
    >>> from kernsemble.cli.invocation import Invocation
    >>> Invocation.from_words(["fit", "my table.csv", "-t", "y"]).command
    "kernsemble fit 'my table.csv' -t y"
    """

    command: str  # the command line
    watch: Stopwatch

    @classmethod
    def from_words(cls, words: Sequence[str], watch: Stopwatch | None = None) -> Self:
        """Return the run of a command with some words, by default from now on."""
        return cls(shlex.join(["kernsemble", *words]), watch or Stopwatch())
