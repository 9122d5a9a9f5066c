"""A summary of model selection: the compared settings, and those left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from kernsemble._value_object import Value

MAX_NAMED = 4  # maximum number of kernels that a summary names


@dataclass(frozen=True, eq=False, repr=False)
class SearchSummary(Value):
    """The settings that a model selection compared, and the reason to leave out others.

    ``str(summary)`` is one line, in words that suit Python and the command line.

    Attributes
    ----------
    tried : str
        The compared settings.
    left_out : str
        The settings that "auto" left out, empty if none.
    reason : str
        The reason to leave them out, and what to do; empty if none.

    Examples
    --------
    >>> from kernsemble.svm.model_selection.search_summary import SearchSummary
    >>> print(SearchSummary("stumps on 3 scales", "trees", "60,000 rows: use fewer"))
    compared stumps on 3 scales; left out trees: 60,000 rows: use fewer
    """

    tried: str
    left_out: str = ""
    reason: str = ""

    @classmethod
    def of_grid(cls, kernels: Sequence[Any], n_scales: int) -> Self:
        """Return the summary of a grid search over given kernels."""
        named = [str(each) for each in kernels[:MAX_NAMED]]
        n_more = len(kernels) - len(named)
        return cls(f"{listed([*named, f'{n_more} more'] if n_more else named)} {scales(n_scales)}")

    def __str__(self) -> str:
        return f"compared {self.tried}" + (
            f"; left out {self.left_out}: {self.reason}" if self.left_out else ""
        )


def listed(names: Sequence[str]) -> str:
    """Return names as an enumeration: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def scales(n: int) -> str:
    """Return the number of scales in words."""
    return f"on {n} scale{'s' if n > 1 else ''}"
