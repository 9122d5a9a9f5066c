"""Base learners: classifiers on weighted data, for boosting here or with scikit-learn."""

from kernsemble.learners.c45.classifier import C45Tree
from kernsemble.learners.rcd_perceptron import RCDPerceptron
from kernsemble.learners.stump import DecisionStump

__all__ = ["C45Tree", "DecisionStump", "RCDPerceptron"]
