"""Support vector machines that are infinite ensembles."""

from kernsemble.svm.classifier import InfiniteEnsembleClassifier
from kernsemble.svm.classifier_cv import InfiniteEnsembleClassifierCV
from kernsemble.svm.partial_training import MultiplicativeSVC
from kernsemble.svm.perceptron import KernelPerceptron
from kernsemble.svm.regressor import InfiniteEnsembleRegressor
from kernsemble.svm.regressor_cv import InfiniteEnsembleRegressorCV
from kernsemble.svm.regularization_path import SVMPath

__all__ = [
    "InfiniteEnsembleClassifier",
    "InfiniteEnsembleClassifierCV",
    "InfiniteEnsembleRegressor",
    "InfiniteEnsembleRegressorCV",
    "KernelPerceptron",
    "MultiplicativeSVC",
    "SVMPath",
]
