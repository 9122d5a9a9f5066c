"""ClassifierCurves of what a classifier says: ROC, precision against recall, calibration."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from kernsemble._typing import Array, FloatArray
from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import wilson

MAX_POINTS = 200
MAX_CLASSES = 8
N_BINS = 10


class AreaCurve(NamedTuple):
    """A curve of one class against the rest, and the area below it."""

    name: str
    x: list[float]
    y: list[float]
    area: float


class CalibrationCurve(NamedTuple):
    """Bins of rows with about the same probability: how often it came true in each."""

    name: str
    probability: list[float]  # the mean in the bin
    share: list[float]
    low: list[float]
    high: list[float]
    n_rows: list[int]


@dataclass(frozen=True, eq=False)
class ClassifierCurves:
    """The curves of a classifier, and what share of rows each class has."""

    roc: list[AreaCurve]
    precision_recall: list[AreaCurve]
    calibration: list[CalibrationCurve]
    base_rates: dict[str, float]
    left_out: int  # classes


def classifier_curves(predictions: Predictions) -> ClassifierCurves | None:
    """Return the curves of two classes, or of each of several against the rest; None if none."""
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
    """Return the share of rightly found rows against that of false alarms."""
    false_alarms, found, _ = roc_curve(is_class, value)
    return AreaCurve(name, *_thinned(false_alarms, found), float(auc(false_alarms, found)))


def precision_recall(name: str, is_class: Array, value: FloatArray) -> AreaCurve:
    """Return precision against recall, and the average precision."""
    precision, recall, _ = precision_recall_curve(is_class, value)
    area = float(average_precision_score(is_class, value))
    return AreaCurve(name, *_thinned(recall[::-1], precision[::-1]), area)


def calibration(name: str, is_class: Array, probability: FloatArray) -> CalibrationCurve:
    """Return the share of a class among rows with about the same probability of it."""
    edges = np.unique(np.quantile(probability, np.linspace(0.0, 1.0, N_BINS + 1)))
    place = np.searchsorted(edges[1:-1], probability)
    found = CalibrationCurve(name, [], [], [], [], [])
    for k in range(max(len(edges) - 1, 1)):
        mine = place == k
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
