"""Measures of a ranking of rare rows: average precision and hit curve, averaged over ties."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma
from sklearn.utils import column_or_1d

from kernsemble._typing import ArrayLike, BoolArray, FloatArray
from kernsemble._validation import ANY_SHAPE, checked_rows, read_classes, read_weights
from kernsemble._value_object import short_repr
from kernsemble.exceptions import ArgumentError


class TiedScores(NamedTuple):
    """Distinct scores in descending order, with the weights of the rare and of all rows."""

    scores: FloatArray
    rare: FloatArray
    total: FloatArray

    @classmethod
    def from_rows(cls, is_rare: BoolArray, scores: FloatArray, weight: FloatArray) -> "TiedScores":
        """Group rows by their scores."""
        distinct, places = np.unique(-scores, return_inverse=True)
        rare: FloatArray = np.bincount(places, weight * is_rare)  # type: ignore[assignment]
        total: FloatArray = np.bincount(places, weight)  # type: ignore[assignment]
        return cls(-distinct, rare, total)


class HitCurve(NamedTuple):
    """The number of rare rows among the n ranked first, for every n.

    Attributes
    ----------
    n_selected : array
        Numbers of rows n, from 0 to all, at the boundaries of tied scores.
    n_hits : array
        Numbers of rare rows among them; linear in between.
    """

    n_selected: FloatArray
    n_hits: FloatArray

    def __repr__(self) -> str:
        return short_repr(self)

    def hits(self, n: ArrayLike) -> FloatArray:
        """Return the expected number of rare rows among the first `n`."""
        return np.interp(np.asarray(n), self.n_selected, self.n_hits)


def average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Compute the average precision: the mean over rare rows of the precision at their rank.

    .. math:: \frac1{|C_1|} \sum_{x_i \in C_1} \frac{\#\{C_1 \text{ down to } i\}}
              {\#\{\text{all down to } i\}}

    For tied scores it is the expectation over all their orders. scikit-learn's
    `average_precision_score` is the same if no scores are tied.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes.
    y_score : array-like of shape (n,)
        Scores, high where the rare class is expected.
    pos_label : label, default=1
        The rare class.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; a weight of 2 is two tied rows.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    A tied group of t rows, p of them rare, after b rows, a of them rare, adds

    .. math:: \frac pt \sum_{s=1}^t \frac{1}{b + s}
              \left(a + 1 + (s - 1) \frac{p - 1}{t - 1}\right),

    which is summed in closed form, so that sorting dominates the cost. Weights that are not
    integers are put into the same formula; if any is below one, all are multiplied so
    that the smallest is one.

    Examples
    --------
    >>> from kernsemble.detection import average_precision
    >>> average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    0.833...
    >>> average_precision([1, 0], [0.5, 0.5])  # rank 1 or 2, equally likely
    0.75
    """
    is_rare, scores, weight = _read(y_true, y_score, pos_label, sample_weight)
    _, p, t = TiedScores.from_rows(is_rare, scores, weight / min(weight.min(), 1.0))
    has_rare = p > 0.0
    a, b = (np.cumsum(p) - p)[has_rare], (np.cumsum(t) - t)[has_rare]
    p, t = p[has_rare], t[has_rare]
    harmonic = digamma(b + t + 1.0) - digamma(b + 1.0)
    others = (p - 1.0) / np.where(t > 1.0, t - 1.0, 1.0)
    added = p / t * ((a + 1.0) * harmonic + others * (t - (b + 1.0) * harmonic))
    return float(added.sum() / p.sum())


def hit_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
) -> HitCurve:
    """Compute the hit curve: the number of rare rows among the n ranked first, for every n.

    Within tied scores it is the expectation over their orders, a straight line.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes.
    y_score : array-like of shape (n,)
        Scores, high where the rare class is expected.
    pos_label : label, default=1
        The rare class.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    HitCurve
        Numbers of rows and of hits.

    Examples
    --------
    >>> from kernsemble.detection import hit_curve
    >>> curve = hit_curve([1, 0, 0, 1], [0.9, 0.5, 0.5, 0.1])
    >>> curve.n_selected, curve.n_hits
    (array([0., 1., 3., 4.]), array([0., 1., 1., 2.]))
    >>> float(curve.hits(1))
    1.0
    """
    groups = TiedScores.from_rows(*_read(y_true, y_score, pos_label, sample_weight))
    selected, hits = np.cumsum(groups.total), np.cumsum(groups.rare)
    return HitCurve(np.append(0.0, selected), np.append(0.0, hits))


def _read(
    y_true: ArrayLike, y_score: ArrayLike, pos_label: Any, sample_weight: ArrayLike | None
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return rare flags, scores and weights of the rows with positive weight."""
    labels = np.asarray(column_or_1d(y_true))
    scores = checked_rows(y_score, "y_score", dtype=np.float64, **ANY_SHAPE)
    if labels.ndim != 1 or labels.shape != scores.shape:
        raise ValueError(
            f"y_true has shape {labels.shape} and y_score {scores.shape}: pass one class and one "
            "score per row"
        )
    if np.isnan(scores).any():
        raise ValueError(
            f"y_score is NaN for row {np.isnan(scores).argmax()}: leave such rows out, or give "
            "them the lowest score"
        )
    weight = read_weights(sample_weight, len(scores))
    present = weight > 0.0
    if not np.isscalar(pos_label):
        raise ArgumentError("pos_label", pos_label, "use one class of y_true")
    classes, codes = read_classes(labels[present])
    is_rare = np.asarray(classes == pos_label)[codes]
    if not is_rare.any():
        raise ValueError(
            f"pos_label = {pos_label!r}: no row of y_true has this class; use one of "
            f"{classes.tolist()}"
        )
    return is_rare, scores[present], weight[present]
