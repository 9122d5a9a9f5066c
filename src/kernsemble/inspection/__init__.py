"""What can be said about fitted models: their ensembles, shape functions and contributions.

Numbers come first, as arrays that `to_frame` turns into DataFrames; Display objects draw them.
"""

from kernsemble.inspection.averaged_stumps import AveragedStumps
from kernsemble.inspection.comparison import EnsembleComparison, compare_ensembles
from kernsemble.inspection.explanation import Explanation
from kernsemble.inspection.functions import Shape, StumpDensity
from kernsemble.inspection.hypotheses import HypothesisWeights
from kernsemble.inspection.margins import Margins
from kernsemble.inspection.perceptron_density import PerceptronDensity
from kernsemble.inspection.view import EnsembleView, Importances

__all__ = [
    "AveragedStumps",
    "EnsembleComparison",
    "EnsembleView",
    "Explanation",
    "HypothesisWeights",
    "Importances",
    "Margins",
    "PerceptronDensity",
    "Shape",
    "StumpDensity",
    "compare_ensembles",
]
