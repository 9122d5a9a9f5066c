"""Association of a column with the target, as one number between 0 and 1 in absolute value."""

from typing import NamedTuple

import numpy as np

from kernsemble._typing import Array, BoolArray, FloatArray


class Association(NamedTuple):
    """A measure of association: its symbol and its value, NaN if something is constant."""

    symbol: str
    value: float


MEANINGS = {
    "r": "Pearson's correlation; of two classes, with the indicator of the second",
    "η": "correlation ratio: the square root of the share of the variance between groups",
    "V": "Cramér's V of two categorical variables",
}


def association(values: FloatArray, is_category: bool, y: Array, is_classes: bool) -> Association:
    """Return the association of a column, categories as codes, with the target in the same rows.

    Missing numbers are left out.
    """
    present = ~np.isnan(values)
    values, y = values[present], y[present]
    codes = np.unique(y, return_inverse=True)[1] if is_classes else None
    if is_category and codes is not None:
        return Association("V", cramers_v(values, codes))
    if is_category:
        return Association("η", correlation_ratio(values, y.astype(np.float64)))
    if codes is not None and codes.max(initial=0) > 1:
        return Association("η", correlation_ratio(codes, values))
    return Association("r", correlation(values, y.astype(np.float64) if codes is None else codes))


def correlation(x: FloatArray, y: Array) -> float:
    """Return Pearson's correlation."""
    if len(x) < 2:
        return np.nan
    x, y = _centred(x), _centred(y)
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0.0 else np.nan


def correlation_ratio(groups: Array, values: FloatArray) -> float:
    """Return the square root of the share of the variance that lies between groups."""
    if len(values) < 2:
        return np.nan
    members, values = _members(groups), _centred(values)
    sizes = members.sum(axis=0)
    total, between = float(values @ values), float(sizes @ (values @ members / sizes) ** 2)
    return float(np.sqrt(between / total)) if total > 0.0 else np.nan


def _centred(values: Array) -> FloatArray:
    """Return numbers minus their mean, in a unit in which squares do not overflow."""
    scaled: FloatArray = values / (float(np.abs(values).max()) or 1.0)
    return scaled - scaled.mean()


def cramers_v(first: Array, second: Array) -> float:
    """Return Cramér's V, from the chi-squared statistic of the table of counts."""
    if len(first) == 0:
        return np.nan
    counts = _members(first).T.astype(np.float64) @ _members(second)
    n, smaller = counts.sum(), min(counts.shape) - 1
    if smaller == 0:
        return np.nan
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
    return float(np.sqrt(((counts - expected) ** 2 / expected).sum() / (n * smaller)))


def _members(groups: Array) -> BoolArray:
    """Return the indicator of each group (columns)."""
    return np.asarray(groups)[:, np.newaxis] == np.unique(groups)
