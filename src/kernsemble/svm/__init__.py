"""Support vector machines that are infinite ensembles."""

from kernsemble.svm.classifier_cv import InfiniteEnsembleClassifierCV
from kernsemble.svm.infinite_ensemble import InfiniteEnsembleClassifier
from kernsemble.svm.kernel_perceptron import KernelPerceptron
from kernsemble.svm.multiplicative_svc import MultiplicativeSVC
from kernsemble.svm.regressor import InfiniteEnsembleRegressor
from kernsemble.svm.regressor_cv import InfiniteEnsembleRegressorCV
from kernsemble.svm.svm_path import SVMPath

__all__ = [
    "InfiniteEnsembleClassifier",
    "InfiniteEnsembleClassifierCV",
    "InfiniteEnsembleRegressor",
    "InfiniteEnsembleRegressorCV",
    "KernelPerceptron",
    "MultiplicativeSVC",
    "SVMPath",
]
