"""Support vector machines trained by multiplicative updates, and the average of their iterates."""

from kernsemble.svm.partial_training.classifier import MultiplicativeSVC

__all__ = ["MultiplicativeSVC"]
