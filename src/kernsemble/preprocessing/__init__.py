"""Features before rows are compared: scaling, and encoding of tables as numbers."""

from kernsemble.preprocessing.effects import EffectScaling
from kernsemble.preprocessing.indicators import IndicatorScaling
from kernsemble.preprocessing.learned_measure import LearnedScaling, MeasureRound
from kernsemble.preprocessing.scaling import FeatureScaling, ScalingKind
from kernsemble.preprocessing.supervised import AnyKind, AnyScaling, LearnedKind
from kernsemble.preprocessing.table_encoder import TableEncoder

__all__ = [
    "AnyKind",
    "AnyScaling",
    "EffectScaling",
    "FeatureScaling",
    "IndicatorScaling",
    "LearnedKind",
    "LearnedScaling",
    "MeasureRound",
    "ScalingKind",
    "TableEncoder",
]
