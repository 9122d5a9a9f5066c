"""Scalings that are learned from the targets: effects of columns, and a measure over features.

They adapt to the rows that they are learned from, so left-out predictions need a scaling that was
learned without the left-out rows. `TargetScaling.fit` learns it from any part of the rows.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np
from scipy import sparse

from kernsemble._typing import BoolArray, FloatArray, IntArray, Rows
from kernsemble.kernels import Exponential, Laplacian
from kernsemble.preprocessing.effects import EffectLearner, EffectScaling
from kernsemble.preprocessing.indicators import IndicatorScaling
from kernsemble.preprocessing.learned_measure import (
    MAX_ROWS,
    LearnedScaling,
    Norm,
    best_round,
    learn_measure,
    weighted,
)
from kernsemble.preprocessing.scaling import FeatureScaling, ScalingKind

if TYPE_CHECKING:
    from typing_extensions import TypeIs

LearnedKind: TypeAlias = Literal[
    "learned", "learned-range", "learned-distinct", "learned-directions", "effects",
    "learned-effects", "learned-indicators",
]  # fmt: skip
AnyKind: TypeAlias = Literal[
    "range", "rank", "distinct", "learned", "learned-range", "learned-distinct",
    "learned-directions", "effects", "learned-effects", "learned-indicators",
]  # fmt: skip
AnyScaling: TypeAlias = FeatureScaling | LearnedScaling | EffectScaling

INDICATORS = "learned-indicators"

BASES: dict[str, ScalingKind] = {
    "learned": "rank",
    "learned-range": "range",
    "learned-distinct": "distinct",
    "learned-directions": "range",
}


MAX_KNOWN = 6  # number of scalings that a learner keeps: of all rows, and of five folds


def is_learned(kind: str | None) -> "TypeIs[LearnedKind]":
    """Return whether a scaling is learned from the targets."""
    return kind in get_args(LearnedKind)


def accepts_categories(kind: str | None) -> bool:
    """Return whether a scaling makes numbers of categories and missing values."""
    return kind in {"effects", "learned-effects", INDICATORS}


class Scaled(NamedTuple):
    """A scaling, and the coordinates of the rows that it was learned from."""

    scaling: AnyScaling
    coordinates: FloatArray


class _Base(NamedTuple):
    """A scaling below a learned measure, and the coordinates of rows."""

    scaling: FeatureScaling | EffectScaling | IndicatorScaling
    coordinates: FloatArray


@dataclass(frozen=True, eq=False)
class TargetScaling:
    """Rows and targets, from which a scaling is learned.

    Attributes
    ----------
    kind : str
        The name of the scaling.
    X : array of shape (n, n_features)
        Rows; columns of categories contain codes from 0.
    weight : array of shape (n,)
        Weights of the rows.
    is_category : array of shape (n_features,)
        Whether each column contains categories.
    targets : array of shape (n, n_targets)
        Signs of classes, or standardised numbers.
    norm : {"l1", "l2"}
        Norm of the kernel's distance.
    parts : array of shape (n,) or None
        The part of each row that is left out together for effects; random parts by default.
    max_rows : int
        Number of rows above which a measure is learned from a sample of them.
    seed : int
        Random seed of the sample, and of its halves.
    """

    kind: LearnedKind
    X: FloatArray
    weight: FloatArray
    is_category: BoolArray
    targets: FloatArray
    norm: Norm = "l1"
    parts: IntArray | None = None
    max_rows: int = MAX_ROWS
    seed: int = 0
    known: dict[bytes, Scaled] = field(default_factory=dict)  # the latest scalings, by their rows
    effects: list[EffectLearner] = field(default_factory=list)  # one, once it is needed

    @classmethod
    def from_rows(
        cls,
        kind: LearnedKind,
        X: Rows,
        weight: FloatArray,
        is_category: BoolArray,
        targets: FloatArray,
        norm: Norm = "l1",
        parts: IntArray | None = None,
        max_rows: int = MAX_ROWS,
        seed: int = 0,
    ) -> Self:
        """Check that the scaling can be learned from these rows."""
        if sparse.issparse(X):
            raise ValueError(
                f"scaling = {kind!r} needs dense rows, and X is sparse: pass X.toarray(), or use "
                "scaling='range'"
            )
        if not accepts_categories(kind) and (is_category.any() or np.isnan(X).any()):
            found = "categories" if is_category.any() else "missing values"
            raise ValueError(
                f"scaling = {kind!r} needs columns of numbers without missing values, and X has "
                f"{found}: use scaling='learned-effects', or encode them"
            )
        if kind == "learned-directions" and norm == "l1":
            raise ValueError(
                "scaling = 'learned-directions' needs a kernel of Euclidean distances: use "
                "Exponential(), Gaussian() or Perceptron(), or scaling='learned'"
            )
        return cls(kind, X, weight, is_category, targets, norm, parts, max_rows, seed)

    def sibling(self, kind: LearnedKind, norm: Norm, seed: int) -> Self:
        """Return another scaling of the same rows and targets, with the same additive machines."""
        return replace(self, kind=kind, norm=norm, seed=seed, known={})

    def effect_learner(self) -> EffectLearner:
        """Return the additive machines, whose C all rows select."""
        if not self.effects:
            self.effects.append(
                EffectLearner.from_rows(
                    self.X, self.weight, self.is_category, self.targets, self.parts
                )
            )
        return self.effects[0]

    def fit(self, rows: IntArray | None = None) -> Scaled:
        """Return the scaling that is learned from some rows, all by default.

        The mean distance of these rows becomes 1.
        """
        rows = np.arange(len(self.X)) if rows is None else rows
        key = rows.tobytes()
        if key not in self.known:
            if len(self.known) >= MAX_KNOWN:
                del self.known[next(iter(self.known))]
            self.known[key] = self._learn(rows)
        return self.known[key]

    def uses_sample_of(self, rows: IntArray) -> bool:
        """Return whether the measure is learned from a sample of these rows, more do not help."""
        has_more = int(np.count_nonzero(self.weight[rows])) > self.max_rows
        return has_more and not accepts_categories(self.kind)

    def _learn(self, rows: IntArray) -> Scaled:
        base = self._base(rows)
        if self.kind == "effects":
            assert isinstance(base.scaling, EffectScaling)
            found = Scaled(base.scaling, base.coordinates)
            return self._in_mean_distances(found, self.weight[rows])
        rounds = learn_measure(
            base.coordinates,
            self.targets[rows],
            self.weight[rows],
            self.norm,
            has_directions=self.kind == "learned-directions",
            max_rows=self.max_rows,
            seed=self.seed,
        )
        weights = best_round(rounds).weights
        scaling = LearnedScaling(base.scaling, weights, rounds)
        coordinates = weighted(base.coordinates, weights)
        return self._in_mean_distances(Scaled(scaling, coordinates), self.weight[rows])

    def _in_mean_distances(self, scaled: Scaled, weight: FloatArray) -> Scaled:
        """Return coordinates in units of the mean distance of rows."""
        assert not isinstance(scaled.scaling, FeatureScaling)
        kernel = Laplacian() if self.norm == "l1" else Exponential()
        unit = kernel.bind(scaled.coordinates, weight).rate
        assert unit is not None
        return Scaled(replace(scaled.scaling, unit=unit), unit * scaled.coordinates)

    def _base(self, rows: IntArray) -> _Base:
        """Return the scaling below the learned measure."""
        X, weight = self.X[rows], self.weight[rows]
        if self.kind == INDICATORS:
            indicators = IndicatorScaling.from_rows(X, weight, self.is_category)
            return _Base(indicators, indicators.transform(X))
        if accepts_categories(self.kind):
            return _Base(*self.effect_learner().fit(rows))
        scaling = FeatureScaling.from_rows(X, BASES[self.kind], weight)
        return _Base(scaling, scaling.transform(X))
