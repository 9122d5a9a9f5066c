"""Detection of rare classes: the classifier LAGO, average precision and hit curves."""

from kernsemble.detection.displays import HitCurveDisplay
from kernsemble.detection.lago import LagoClassifier
from kernsemble.detection.ranking import HitCurve, average_precision, hit_curve

__all__ = [
    "HitCurve",
    "HitCurveDisplay",
    "LagoClassifier",
    "average_precision",
    "hit_curve",
]
