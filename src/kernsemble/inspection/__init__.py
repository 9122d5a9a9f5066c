"""What can be said about fitted models: numbers first, Display objects on top."""

from kernsemble.inspection.nu_comparison import NuComparison, NuComparisonDisplay
from kernsemble.inspection.training_curves import TrainingCurves, TrainingCurvesDisplay

__all__ = ["NuComparison", "NuComparisonDisplay", "TrainingCurves", "TrainingCurvesDisplay"]
