"""Exact counts of true and false positives at every threshold of a class's score."""

from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from kernsemble._typing import Array, BoolArray, FloatArray, IntArray
from kernsemble.inspection.predictions import Predictions

MAX_THRESHOLDS = 4_000  # maximum number of thresholds of all classes
MAX_CLASSES = 20  # maximum number of classes to select from


class ClassCounts(TypedDict):
    """Counts of the rows of one class, and of the rest, whose score is above each threshold.

    A threshold t between two of `scores` has the counts of the lower one, one below all of them
    has all rows.
    """

    name: str
    rest: str  # name of the other class, or of all others
    scores: list[float]  # increasing
    true_positives: list[int]
    false_positives: list[int]
    n_positive: int
    n_negative: int
    start: float  # threshold to begin with
    is_thinned: bool  # whether some scores are left out


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The counts of each class against the rest.

    Attributes
    ----------
    score : {"probability", "decision value"}
        The number that is compared with the threshold.
    classes : list of ClassCounts
        The positive one of two classes, or each of several.
    left_out : int
        Number of classes that are not shown.
    """

    score: str
    classes: list[ClassCounts]
    left_out: int = 0


def thresholds(
    predictions: Predictions, max_thresholds: int = MAX_THRESHOLDS, max_classes: int = MAX_CLASSES
) -> Thresholds | None:
    """Return the counts at thresholds; None for regressors, and without a score per class."""
    classes = predictions.classes
    has_probabilities = predictions.probabilities is not None
    scores = predictions.probabilities if has_probabilities else predictions.values
    if classes is None or scores is None:
        return None
    codes = _shown_classes(classes, predictions.y, max_classes)
    found = []
    for code in codes:
        is_class, score = predictions.y == classes[code], scores[:, code]
        start = _start(score, is_class, has_probabilities, len(classes))
        rest = str(classes[0]) if len(classes) == 2 else f"not {classes[code]}"
        names = str(classes[code]), rest
        found.append(class_counts(names, score, is_class, start, max_thresholds // len(codes)))
    left_out = 0 if len(classes) == 2 else len(classes) - len(codes)
    return Thresholds("probability" if has_probabilities else "decision value", found, left_out)


def class_counts(
    names: tuple[str, str],
    score: FloatArray,
    is_class: BoolArray,
    start: float,
    max_thresholds: int,
) -> ClassCounts:
    """Return the counts of rows above each distinct score; `names` are of the class and the rest.

    Of more than `max_thresholds` scores, evenly spread ones are kept, with the one that decides at
    `start` and those of the convex hull of the ROC curve, which contains the cheapest threshold
    whatever the costs of errors.
    """
    distinct, which = np.unique(score, return_inverse=True)
    positive = np.bincount(which, is_class, len(distinct)).astype(np.intp)
    negative = np.bincount(which, ~is_class, len(distinct)).astype(np.intp)
    true, false = (each.sum() - np.cumsum(each) for each in (positive, negative))
    kept = np.arange(len(distinct))
    if len(distinct) > max_thresholds:
        spread = np.linspace(0, len(distinct) - 1, max_thresholds).round().astype(np.intp)
        at_start = max(int(np.searchsorted(distinct, start, side="right")) - 1, 0)
        kept = np.unique(np.concatenate([spread, [at_start], _hull(false, true)]))
    return {
        "name": names[0],
        "rest": names[1],
        "scores": distinct[kept].tolist(),
        "true_positives": true[kept].tolist(),
        "false_positives": false[kept].tolist(),
        "n_positive": int(positive.sum()),
        "n_negative": int(negative.sum()),
        "start": start,
        "is_thinned": len(kept) < len(distinct),
    }


def _shown_classes(classes: Array, y: Array, max_classes: int) -> list[int]:
    """Return the second of two classes, or the most frequent of several."""
    if len(classes) == 2:
        return [1]
    counts = np.array([(y == each).sum() for each in classes])
    return sorted(np.argsort(-counts, kind="stable")[:max_classes].tolist())


def _start(
    score: FloatArray, is_class: BoolArray, has_probabilities: bool, n_classes: int
) -> float:
    """Return the threshold of `predict` for two classes.

    For decision values of several it is the one above which as many rows are as the class has.
    """
    if has_probabilities:
        return 0.5
    if n_classes == 2:
        return 0.0
    return float(np.sort(score)[max(len(score) - int(is_class.sum()) - 1, 0)])


def _hull(x: IntArray, y: IntArray) -> IntArray:
    """Return the places of the upper convex hull of points that fall along both axes."""
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    hull: list[int] = []
    for place, (x2, y2) in enumerate(points):
        while len(hull) > 1:
            (x0, y0), (x1, y1) = points[hull[-2]], points[hull[-1]]
            if (x1 - x0) * (y2 - y0) > (y1 - y0) * (x2 - x0):
                break
            hull.pop()
        hull.append(place)
    return np.array(hull, dtype=np.intp)
