"""Scaling of features to the range, ranks or distinct values of a sample."""

from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
from scipy import sparse

from kernsemble._arguments import check_choice
from kernsemble._typing import BoolArray, FloatArray, IntArray, Rows
from kernsemble._validation import column_ends
from kernsemble._value_object import Value
from kernsemble.hypotheses import StumpSet
from kernsemble.hypotheses.thresholds import Measure

ScalingKind: TypeAlias = Literal["range", "rank", "distinct"]


@dataclass(frozen=True, eq=False, repr=False)
class FeatureScaling(Value):
    """Transformation of each feature before rows are compared.

    "range" maps the range of the sample to [−1, 1], as the papers do (a sparse sample is only
    scaled, so that zeros stay zero); "rank" maps values to the distribution function of
    the sample; "distinct" puts equal steps between its neighbouring values. Constant
    features become zero. Missing values (NaN) are ignored, and stay missing.
    """

    kind: ScalingKind | None
    centre: FloatArray | None = None
    half_range: FloatArray | None = None
    stumps: StumpSet | None = None

    accepts_categories = False

    @classmethod
    def from_rows(cls, X: Rows, kind: ScalingKind | None, weight: FloatArray) -> Self:
        """Return the scaling of a weighted sample."""
        if kind is None:
            return cls(None)
        check_choice("scaling", kind, (*get_args(ScalingKind), None))  # type: ignore[arg-type]
        if kind != "range":
            measure: Measure = "empirical" if kind == "rank" else "distinct"
            return cls(kind, stumps=_stumps(X, measure, weight))
        is_present = weight > 0.0
        smallest, largest = column_ends(_known(X if is_present.all() else X[is_present]))
        half_range = 0.5 * largest - 0.5 * smallest
        centre = None if sparse.issparse(X) else smallest + half_range
        return cls(kind, centre=centre, half_range=half_range)

    def sparing(self, is_spared: BoolArray) -> Self:
        """Return the scaling that leaves some columns, of whole numbers from −1, unchanged."""
        if not is_spared.any():
            return self
        if self.stumps is not None:
            line = np.array([-1.0, np.iinfo(np.int32).max])
            knots, measures = list(self.stumps.knots), list(self.stumps.measures)
            for d in np.flatnonzero(is_spared):
                knots[d], measures[d] = line, line + 1.0
            return replace(self, stumps=StumpSet(tuple(knots), tuple(measures)))
        if self.centre is None or self.half_range is None:
            return self
        return replace(
            self,
            centre=np.where(is_spared, 0.0, self.centre),
            half_range=np.where(is_spared, 1.0, self.half_range),
        )

    def of_column(self, column: int) -> Self:
        """Return the scaling of rows that have this column only."""
        if self.stumps is not None:
            one = StumpSet((self.stumps.knots[column],), (self.stumps.measures[column],))
            return replace(self, stumps=one)
        if self.half_range is None:
            return self
        centre = None if self.centre is None else self.centre[[column]]
        return replace(self, centre=centre, half_range=self.half_range[[column]])

    def columns_of(self, coordinates: IntArray) -> IntArray:
        """Return the column that each coordinate depends on, which is its own."""
        return coordinates

    def bends(self, column: int) -> FloatArray:
        """Return the values of a column between which its scale is a straight line."""
        return np.empty(0) if self.stumps is None else self.stumps.knots[column]

    def restored(self, column: int, values: FloatArray) -> FloatArray:
        """Return the values of a column for scaled values; beyond the scale, its end."""
        if self.stumps is not None:
            origin = self.stumps._measure_below(column, np.zeros(1))
            return self.stumps._threshold_at(column, values + origin)
        if self.half_range is None:
            return values
        centre = 0.0 if self.centre is None else self.centre[column]
        return centre + self.half_range[column] * values

    def transform(self, X: Rows) -> Rows:
        """Return rows on the scale of the sample."""
        if self.stumps is not None:
            positions = self.stumps.positions(X)
            return positions if sparse.issparse(X) else np.where(np.isnan(X), X, positions)
        if self.half_range is None:
            return X
        largest = np.finfo(X.dtype).max
        half_range = self.half_range.astype(np.float64)
        is_wide = half_range > 1.0 / float(largest)  # the inverse of a smaller one is infinite
        factor = np.divide(1.0, half_range, where=is_wide, out=np.zeros_like(half_range))
        if self.centre is None:
            factor = factor.astype(X.dtype)
            return X.multiply(factor).tocsr() if sparse.issparse(X) else X * factor
        dense = X.toarray() if sparse.issparse(X) else X
        try:
            with np.errstate(over="raise"):
                scaled = dense - self.centre.astype(X.dtype)
                scaled *= factor.astype(X.dtype)
        except FloatingPointError:  # far outside the range of the sample
            with np.errstate(over="ignore", invalid="ignore"):
                scaled = 2.0 * ((0.5 * dense.astype(np.float64) - 0.5 * self.centre) * factor)
            scaled = np.where(factor > 0.0, np.clip(scaled, -largest, largest), 0.0)
        return scaled.astype(X.dtype, copy=False)


def _known(X: Rows) -> Rows:
    """Return rows in which a known value of the column is in place of each missing one."""
    is_missing = np.zeros((1, 1), dtype=bool) if sparse.issparse(X) else np.isnan(X)
    if not is_missing.any():
        return X
    first = np.argmin(is_missing, axis=0)  # of the known values, or 0 in a column without any
    known = np.nan_to_num(X[first, np.arange(X.shape[1])])
    return np.where(is_missing, known, X)


def _stumps(X: Rows, measure: Measure, weight: FloatArray) -> StumpSet:
    """Return the stumps that span the known values of each column."""
    if sparse.issparse(X) or not np.isnan(X).any():
        return StumpSet.spanning(X, measure, weight=weight)
    knots, measures = [], []
    for column in X.T:
        is_known = ~np.isnan(column) & (weight > 0.0)
        values, counts = (column[is_known], weight[is_known]) if is_known.any() else (0.0, 1.0)
        one = StumpSet.spanning(np.reshape(values, (-1, 1)), measure, weight=np.ravel(counts))
        knots.append(one.knots[0])
        measures.append(one.measures[0])
    return StumpSet(tuple(knots), tuple(measures))
