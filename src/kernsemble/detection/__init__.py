"""Rare classes: ranked by kernels around their rows, and rankings judged."""

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
