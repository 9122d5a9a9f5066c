"""Comparison of two ensembles, feature by feature."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernsemble._typing import ArrayLike, FloatArray
from kernsemble._value_object import Value
from kernsemble.inspection.dataframes import as_frame
from kernsemble.inspection.ensemble_view import EnsembleView


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleComparison(Value):
    r"""Comparison of the contributions of two ensembles on the same rows.

    Contributions are divided by the standard deviation of their machine's decision values, so that
    machines of different scale can be compared.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the features.
    first, second : arrays of shape (n_features,)
        Root mean square of the contributions of each ensemble.
    correlation : array of shape (n_features,)
        Correlation of their contributions; NaN if one is constant.
    distance : array of shape (n_features,)
        Root mean square of the difference of their contributions.
    value_correlation, value_distance : float
        The same for the decision values.
    agreement : float
        Share of rows on which both decision values have the same sign.
    """

    feature_names: tuple[str, ...]
    first: FloatArray
    second: FloatArray
    correlation: FloatArray
    distance: FloatArray
    value_correlation: float
    value_distance: float
    agreement: float

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per feature."""
        columns = {name: getattr(self, name) for name in ("first", "second")}
        columns |= {"correlation": self.correlation, "distance": self.distance}
        return as_frame(columns, index=list(self.feature_names))


def compare_ensembles(
    first: EnsembleView, second: EnsembleView, X: ArrayLike, **settings: Any
) -> EnsembleComparison:
    """Compare two ensembles on the same rows.

    Parameters
    ----------
    first, second : EnsembleView
        Views of machines on the same features.
    X : array-like or DataFrame of shape (n, n_features)
        Rows. Contributions are centred on them.
    **settings
        Settings of `EnsembleView.explain`.

    Returns
    -------
    EnsembleComparison

    Examples
    --------
    >>> from kernsemble.boosting import AdaBoostClassifier
    >>> from kernsemble.datasets import make_twonorm
    >>> from kernsemble.inspection import EnsembleView, compare_ensembles
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = make_twonorm(200, n_features=3, random_state=0)
    >>> every = EnsembleView.from_estimator(InfiniteEnsembleClassifier().fit(X, y), X)
    >>> some = EnsembleView.from_estimator(AdaBoostClassifier().fit(X, y), X)
    >>> compare_ensembles(every, some, X).correlation
    array([0.967, 0.978, 0.985])
    """
    if first.feature_names != second.feature_names:
        raise ValueError(
            f"first has the features {list(first.feature_names)}, second "
            f"{list(second.feature_names)}: pass ensembles on the same columns"
        )
    sides = [view.explain(X, **settings) for view in (first, second)]
    a, b = (_centred(side.contributions, side.values) for side in sides)
    f, g = (_centred(side.values, side.values) for side in sides)
    return EnsembleComparison(
        tuple(first.feature_names),
        _size(a),
        _size(b),
        _correlation(a, b),
        _size(a - b),
        float(_correlation(f, g)),
        float(_size(f - g)),
        float(np.mean((sides[0].values > 0.0) == (sides[1].values > 0.0))),
    )


def _centred(items: FloatArray, values: FloatArray) -> FloatArray:
    return (items - items.mean(axis=0)) / (float(_size(values - values.mean())) or 1.0)


def _size(items: FloatArray) -> FloatArray:
    unit = np.abs(items).max(axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)  # so that squares do not overflow
    return unit * np.sqrt(((items / unit) ** 2).mean(axis=0))


def _correlation(a: FloatArray, b: FloatArray) -> FloatArray:
    sizes = np.array([_size(a), _size(b)])
    a, b = (
        items / np.where(size > 0.0, size, 1.0) for items, size in zip((a, b), sizes, strict=True)
    )
    return np.where((sizes > 0.0).all(axis=0), (a * b).mean(axis=0), np.nan)
