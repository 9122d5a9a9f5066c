"""Inspection of fitted models: ensembles, shape functions, feature importance, contributions.

Results are arrays that `to_frame` converts into DataFrames; Display objects plot them.
"""

from kernsemble.inspection.average_effects import AverageEffect
from kernsemble.inspection.averaged_stumps import AveragedStumps
from kernsemble.inspection.boundary_display import DecisionBoundaryDisplay
from kernsemble.inspection.class_machines import by_class, feature_importances
from kernsemble.inspection.contribution_display import ContributionDisplay
from kernsemble.inspection.ensemble_comparison import EnsembleComparison, compare_ensembles
from kernsemble.inspection.ensemble_display import EnsembleDisplay
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.explanation import Explanation
from kernsemble.inspection.feature_importance import Importances
from kernsemble.inspection.hypothesis_weights import HypothesisWeights
from kernsemble.inspection.margin_display import MarginDisplay
from kernsemble.inspection.margins import Margins
from kernsemble.inspection.nu_comparison import NuComparison, NuComparisonDisplay
from kernsemble.inspection.pair_display import PairDisplay
from kernsemble.inspection.pair_functions import PairFunction
from kernsemble.inspection.perceptron_density import PerceptronDensity
from kernsemble.inspection.shape_display import ShapeDisplay
from kernsemble.inspection.shape_functions import Shape, StumpDensity
from kernsemble.inspection.training_curves import TrainingCurves, TrainingCurvesDisplay

__all__ = [
    "AverageEffect",
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
    "PairDisplay",
    "PairFunction",
    "PerceptronDensity",
    "Shape",
    "ShapeDisplay",
    "StumpDensity",
    "TrainingCurves",
    "TrainingCurvesDisplay",
    "by_class",
    "compare_ensembles",
    "feature_importances",
]
