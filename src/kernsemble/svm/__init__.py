"""Support vector machines that are infinite ensembles."""

from kernsemble.svm.infinite_ensemble import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleRegressor,
)
from kernsemble.svm.selection import InfiniteEnsembleClassifierCV

__all__ = [
    "InfiniteEnsembleClassifier",
    "InfiniteEnsembleClassifierCV",
    "InfiniteEnsembleRegressor",
]
