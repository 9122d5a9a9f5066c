"""What is done to features before rows are compared."""

from kernsemble.preprocessing.scaling import FeatureScaling, Kind

__all__ = ["FeatureScaling", "Kind"]
