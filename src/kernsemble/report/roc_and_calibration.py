"""ROC, precision-recall and calibration curves of a classifier."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from kernsemble._typing import Array, FloatArray
from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import wilson

MAX_POINTS = 200  # maximum number of points of a curve
MAX_CLASSES = 8  # maximum number of classes with a curve
N_BINS = 10  # number of bins of a calibration curve


class AreaCurve(NamedTuple):
    """A ROC or precision-recall curve of one class against the rest, and its area."""

    name: str
    x: list[float]
    y: list[float]
    area: float


class CalibrationCurve(NamedTuple):
    """Observed frequency of a class in bins of rows of similar probability."""

    name: str
    probability: list[float]  # mean probability in the bin
    share: list[float]  # observed frequency, with its confidence interval
    low: list[float]
    high: list[float]
    n_rows: list[int]


@dataclass(frozen=True, eq=False)
class ClassifierCurves:
    """The curves of a classifier, and the share of rows of each class."""

    roc: list[AreaCurve]
    precision_recall: list[AreaCurve]
    calibration: list[CalibrationCurve]
    base_rates: dict[str, float]
    left_out: int  # number of classes without curves


def classifier_curves(predictions: Predictions) -> ClassifierCurves | None:
    """Return the curves of the positive class, or of each of several classes against the rest.

    Return None for regressors, without decision values, or if a class has no rows.
    """
    classes, y = predictions.classes, predictions.y
    if classes is None or predictions.values is None or not predictions.has_every_class:
        return None
    counts = np.array([(y == each).sum() for each in classes])
    if len(classes) == 2:
        codes = [1]
    else:
        codes = sorted(np.argsort(-counts, kind="stable")[:MAX_CLASSES].tolist())
    found = ClassifierCurves([], [], [], {}, len(classes) - len(codes) if len(classes) > 2 else 0)
    for code in codes:
        name, is_class, value = str(classes[code]), y == classes[code], predictions.values[:, code]
        found.roc.append(roc(name, is_class, value))
        found.precision_recall.append(precision_recall(name, is_class, value))
        found.base_rates[name] = float(is_class.mean())
        if predictions.probabilities is not None:
            found.calibration.append(
                calibration(name, is_class, predictions.probabilities[:, code])
            )
    return found


def roc(name: str, is_class: Array, value: FloatArray) -> AreaCurve:
    """Return the ROC curve: true positive rate by false positive rate."""
    false_positives, true_positives, _ = roc_curve(is_class, value)
    area = float(auc(false_positives, true_positives))
    return AreaCurve(name, *_thinned(false_positives, true_positives), area)


def precision_recall(name: str, is_class: Array, value: FloatArray) -> AreaCurve:
    """Return the precision-recall curve, with the average precision as its area."""
    precision, recall, _ = precision_recall_curve(is_class, value)
    area = float(average_precision_score(is_class, value))
    return AreaCurve(name, *_thinned(recall[::-1], precision[::-1]), area)


def calibration(name: str, is_class: Array, probability: FloatArray) -> CalibrationCurve:
    """Return the calibration curve, in bins of about equally many rows."""
    edges = np.unique(np.quantile(probability, np.linspace(0.0, 1.0, N_BINS + 1)))
    bins = np.searchsorted(edges[1:-1], probability)
    found = CalibrationCurve(name, [], [], [], [], [])
    for k in range(max(len(edges) - 1, 1)):
        mine = bins == k
        n, n_right = int(mine.sum()), int(is_class[mine].sum())
        if n == 0:
            continue
        low, high = wilson(n_right, n)
        row = (float(probability[mine].mean()), n_right / n, low, high, n)
        for column, item in zip(found[1:], row, strict=True):
            column.append(item)  # type: ignore[attr-defined]
    return found


def _thinned(x: FloatArray, y: FloatArray) -> tuple[list[float], list[float]]:
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), MAX_POINTS)).astype(int))
    return x[kept].tolist(), y[kept].tolist()
