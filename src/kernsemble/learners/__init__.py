"""Finite hypotheses found on weighted data: classifiers to boost, here or with scikit-learn."""

from kernsemble.learners.stump import DecisionStump

__all__ = ["DecisionStump"]
