"""What can be said about fitted models: their ensembles, shape functions and contributions.

Numbers come first, as arrays that `to_frame` turns into DataFrames; Display objects draw them.
"""

from kernsemble.inspection.averaged_stumps import AveragedStumps
from kernsemble.inspection.boundary_display import DecisionBoundaryDisplay
from kernsemble.inspection.comparison import EnsembleComparison, compare_ensembles
from kernsemble.inspection.explanation import Explanation
from kernsemble.inspection.function_displays import EnsembleDisplay, ShapeDisplay
from kernsemble.inspection.functions import Shape, StumpDensity
from kernsemble.inspection.hypotheses import HypothesisWeights
from kernsemble.inspection.importances import Importances
from kernsemble.inspection.margins import Margins
from kernsemble.inspection.nu_comparison import NuComparison, NuComparisonDisplay
from kernsemble.inspection.perceptron_density import PerceptronDensity
from kernsemble.inspection.row_displays import ContributionDisplay, MarginDisplay
from kernsemble.inspection.training_curves import TrainingCurves, TrainingCurvesDisplay
from kernsemble.inspection.view import EnsembleView

__all__ = [
    "AveragedStumps",
    "ContributionDisplay",
    "DecisionBoundaryDisplay",
    "EnsembleComparison",
    "EnsembleDisplay",
    "EnsembleView",
    "Explanation",
    "HypothesisWeights",
    "Importances",
    "MarginDisplay",
    "Margins",
    "NuComparison",
    "NuComparisonDisplay",
    "PerceptronDensity",
    "Shape",
    "ShapeDisplay",
    "StumpDensity",
    "TrainingCurves",
    "TrainingCurvesDisplay",
    "compare_ensembles",
]
