"""Features before rows are compared: scaling, and encoding of tables as numbers."""

from kernsemble.preprocessing.scaling import FeatureScaling, ScalingKind
from kernsemble.preprocessing.table_encoder import TableEncoder

__all__ = ["FeatureScaling", "ScalingKind", "TableEncoder"]
