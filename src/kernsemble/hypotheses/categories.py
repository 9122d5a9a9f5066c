"""Hypotheses of the form "feature d is category c"."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from kernsemble._typing import Array, FloatArray, IntArray, Rows
from kernsemble._validation import as_categories
from kernsemble.hypotheses.base import Hypotheses, HypothesisSet

SQUARED_EMBEDDING = 0.125


@dataclass(frozen=True, eq=False, repr=False)
class Memberships(Hypotheses):
    """Hypotheses stored as arrays: +polarity if ``x[feature] == category``, else −polarity."""

    polarity: FloatArray
    feature: IntArray
    category: tuple[Any, ...]

    def vote(self, X: Rows) -> FloatArray:
        table = as_categories(X)
        member = np.empty((len(table), len(self.category)), dtype=bool)
        for t, (d, c) in enumerate(zip(self.feature, self.category, strict=True)):
            member[:, t] = table[:, d] == c
        return np.where(member, self.polarity, -self.polarity)


@dataclass(frozen=True, eq=False, repr=False)
class CategorySet(HypothesisSet):
    r"""Every "x_d is category c", for the categories of a sample, and its negation.

    With :math:`r^2 = 1/8` on each, :math:`\Delta = \tfrac14 \sum_d k_d` (:math:`k_d`
    categories in feature d), and the kernel is Δ minus the number of features in which
    two rows differ: a 0/1 column counts as it does for stumps. A category that is not in the
    sample has no memberships.
    """

    categories: tuple[Array, ...]

    @classmethod
    def within(cls, X: Rows) -> Self:
        """Return the category memberships of a sample."""
        table = as_categories(X)
        return cls(tuple(_distinct(table[:, d], d) for d in range(table.shape[1])))

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.categories)

    @property
    def total_measure(self) -> float:
        return 2.0 * SQUARED_EMBEDDING * sum(len(known) for known in self.categories)

    @property
    def has_constant(self) -> bool:
        return any(len(known) == 1 for known in self.categories)

    def indicators(self, X: Rows) -> Rows:
        """Return the 0/1 memberships of every row: a CSR matrix with one column per category."""
        table = as_categories(X, self.n_features)
        blocks = [_indicators(table[:, d], known) for d, known in enumerate(self.categories)]
        return sparse.hstack(blocks, format="csr")

    def draw(self, n: int, rng: np.random.Generator) -> Memberships:
        every = [(d, c) for d, known in enumerate(self.categories) for c in known.tolist()]
        chosen = [every[index] for index in rng.integers(len(every), size=n)]
        return Memberships(
            polarity=rng.choice([-1.0, 1.0], size=n),
            feature=np.array([d for d, _ in chosen], dtype=np.intp),
            category=tuple(c for _, c in chosen),
        )


def _distinct(column: Array, feature: int) -> Array:
    try:
        return np.unique(column)
    except TypeError as error:
        kinds = sorted({type(item).__name__ for item in column})
        raise ValueError(
            f"column {feature} of X mixes {' and '.join(kinds)}, which have no order: "
            "turn it into one kind, for example with astype(str)"
        ) from error


def _indicators(column: Array, known: Array) -> Rows:
    if isinstance(column[0], str) != isinstance(known[0], str):
        raise ValueError(
            f"X contains {type(column[0]).__name__} ({column[0]!r}) where the kernel was bound to "
            f"{type(known[0]).__name__} ({known[0]!r}): convert the column as in training"
        )
    code_of = {category: code for code, category in enumerate(known.tolist())}
    code = np.array([code_of.get(category, -1) for category in column.tolist()])
    rows = np.flatnonzero(code >= 0)
    return sparse.csr_array(
        (np.ones(len(rows)), (rows, code[rows])), shape=(len(column), len(known))
    )
