"""Scaling of features before rows are compared."""

from kernsemble.preprocessing.scaling import FeatureScaling, ScalingKind

__all__ = ["FeatureScaling", "ScalingKind"]
