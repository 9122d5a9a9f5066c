"""Variable selection: parallel evolution, and exhaustive, stepwise and bagged stepwise search."""

from kernsemble.selection.displays import ImportanceOrderDisplay, UniversesDisplay
from kernsemble.selection.importance_gap import largest_gap
from kernsemble.selection.selector import NoiseGapWarning, ParallelEvolutionSelector
from kernsemble.selection.subset_search import (
    AllSubsets,
    Steps,
    bagged_stepwise_search,
    exhaustive_search,
    stepwise_search,
)

__all__ = [
    "AllSubsets",
    "ImportanceOrderDisplay",
    "NoiseGapWarning",
    "ParallelEvolutionSelector",
    "Steps",
    "UniversesDisplay",
    "bagged_stepwise_search",
    "exhaustive_search",
    "largest_gap",
    "stepwise_search",
]
