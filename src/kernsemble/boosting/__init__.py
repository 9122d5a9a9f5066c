"""Finite ensembles, found one hypothesis after another."""

from kernsemble.boosting.adaboost import AdaBoostClassifier
from kernsemble.boosting.adaboost_cv import AdaBoostClassifierCV
from kernsemble.boosting.lpboost import LPBoostClassifier
from kernsemble.boosting.lpboost_cv import LPBoostClassifierCV

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostClassifierCV",
    "LPBoostClassifier",
    "LPBoostClassifierCV",
]
