"""Finite ensembles, found one hypothesis after another."""

from kernsemble.boosting.adaboost import AdaBoostClassifier
from kernsemble.boosting.adaboost_cv import AdaBoostClassifierCV

__all__ = ["AdaBoostClassifier", "AdaBoostClassifierCV"]
