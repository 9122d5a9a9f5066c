"""Finite ensembles, found one hypothesis after another; and kernels that are."""

from kernsemble.boosting.adaboost import AdaBoostClassifier
from kernsemble.boosting.adaboost_cv import AdaBoostClassifierCV
from kernsemble.boosting.kernel_boost import KernelBoost
from kernsemble.boosting.lpboost import LPBoostClassifier
from kernsemble.boosting.lpboost_cv import LPBoostClassifierCV

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostClassifierCV",
    "KernelBoost",
    "LPBoostClassifier",
    "LPBoostClassifierCV",
]
