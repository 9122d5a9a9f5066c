"""Boosting: finite ensembles of hypotheses, and kernels learned in the same way."""

from kernsemble.boosting.adaboost import AdaBoostClassifier, AdaBoostClassifierCV
from kernsemble.boosting.kernel_boost import KernelBoost
from kernsemble.boosting.lpboost import LPBoostClassifier, LPBoostClassifierCV

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostClassifierCV",
    "KernelBoost",
    "LPBoostClassifier",
    "LPBoostClassifierCV",
]
