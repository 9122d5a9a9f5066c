"""Which columns tell y: evolution in parallel universes, and what it is compared with."""

from kernsemble.selection.comparison import (
    AllSubsets,
    Steps,
    bagged_stepwise_search,
    exhaustive_search,
    stepwise_search,
)
from kernsemble.selection.displays import ImportanceOrderDisplay, UniversesDisplay
from kernsemble.selection.selector import NoiseGapWarning, ParallelEvolutionSelector
from kernsemble.selection.votes import largest_gap

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
