"""Rows in blocks after the first pass: their columns, classes and a sample."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble._validation import refuse_one_class
from kernsemble.exceptions import ArgumentError
from kernsemble.preprocessing.supervised import is_learned
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.backends.base import SolverSettings
from kernsemble.svm.multiclass import as_reduction, class_factors
from kernsemble.svm.problem import TargetScale
from kernsemble.svm.streams.encoding import RowEncoding
from kernsemble.svm.streams.prepared import BlockProblem
from kernsemble.svm.streams.row_sample import RowSample
from kernsemble.svm.streams.sources import RowSource, SurveySettings
from kernsemble.svm.streams.survey import Survey


@dataclass(frozen=True, eq=False)
class SurveyedRows:
    """The survey of rows in blocks, their encoding, and the settings of the fit.

    Attributes
    ----------
    survey : Survey
        The summary of all blocks.
    encoding : RowEncoding
        The columns of all blocks as numbers and codes.
    sample : RowSample
        A random sample of the rows, in these columns.
    how : SurveySettings
        What the survey of a block depends on.
    settings : SolverSettings
        The settings of the estimator.
    """

    survey: Survey
    encoding: RowEncoding
    sample: RowSample
    how: SurveySettings
    settings: SolverSettings

    @classmethod
    def read(cls, estimator: Any, source: RowSource, solver: str) -> Self:
        """Survey the rows of a source, and store their columns and classes."""
        estimator.solver_, estimator.loss_ = solver, estimator._loss_for(solver)
        settings = estimator._solver_settings(BACKENDS[solver])
        seed = 0 if estimator.random_state is None else settings.draw_seed()
        is_classifier = estimator._task == "classification"
        how = SurveySettings(is_classifier, estimator.max_levels, seed)
        survey = source.survey(how)
        encoding, sample = RowEncoding.from_survey(survey, estimator.max_levels)
        _store_columns(estimator, encoding)
        if is_classifier:
            _store_classes(estimator, survey)
        return cls(survey, encoding, sample, how, settings)

    @property
    def scale(self) -> TargetScale:
        """The unit of the targets."""
        return _target_scale(self.survey)

    def sampled(self) -> tuple[FloatArray, FloatArray]:
        """Return the rows and the weights of the sample.

        A sample that is not all rows gets two more: the ends of all columns.
        """
        X, weight = self.sample.X, self.sample.weight
        if len(X) < self.survey.n_present:
            lowest, highest = ends(self.survey, self.encoding)
            X, weight = np.vstack([X, lowest, highest]), np.append(weight, [weight.min()] * 2)
        return X, weight

    def problems(self, estimator: Any, epsilon: float = 0.0) -> list[BlockProblem]:
        """Return the problems of all machines; `epsilon` is in standard deviations."""
        if self.survey.target.classes is None:
            return [BlockProblem(estimator.loss_, scale=self.scale, epsilon=epsilon)]
        target, reduction = self.survey.target, estimator.reduction_
        classes, codes = target.classes, np.arange(len(target.classes))
        factors = class_factors(estimator.class_weight, classes, codes, target.weights)
        factors = None if (factors == 1.0).all() else factors
        return [
            BlockProblem(estimator.loss_, reduction, machine, factors)
            for machine in range(reduction.n_machines)
        ]


def check_settings(estimator: Any) -> None:
    """Raise an error for settings that need all rows in memory."""
    for scaling in estimator._scalings():
        if is_learned(scaling):
            raise ArgumentError(
                "scaling", scaling, "rows in blocks need 'range', 'rank', 'distinct' or None"
            )
    if estimator._is_hard_margin:
        raise ArgumentError("C", estimator.C, "rows in blocks need a finite number, or 'scale'")
    for name in ("n_pairs", "pairs"):
        if requested := getattr(estimator, name):
            raise ArgumentError(
                name, requested, "pairs are searched among rows in memory: leave it out for blocks"
            )


def _store_columns(estimator: Any, encoding: RowEncoding) -> None:
    names = encoding.names
    n_columns = len(encoding.levels) if encoding.table is None else len(names or ())
    estimator.mixed_table_, estimator.n_features_in_ = encoding.table, n_columns
    if names is not None and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _store_classes(estimator: Any, survey: Survey) -> None:
    classes = survey.target.classes
    if classes.dtype.kind == "f" and not (classes == np.floor(classes)).all():
        raise ValueError(
            f"y contains numbers such as {classes[classes != np.floor(classes)][0]}, not classes: "
            "use a regressor"
        )
    refuse_one_class(classes)
    estimator.classes_ = classes
    estimator.reduction_ = as_reduction(
        estimator.multiclass, len(classes), estimator.decision_function_shape
    )


def _target_scale(survey: Survey) -> TargetScale:
    target = survey.target
    if target.classes is not None:
        return TargetScale()
    if not np.isfinite(target.squares):
        raise ValueError("the variance of y exceeds the range of floats: divide y by a number")
    spread = float(np.sqrt(target.squares / target.total))
    is_constant = spread <= 1e-14 * abs(target.mean)  # rounding
    return TargetScale(target.mean, 1.0 if is_constant else spread or 1.0)


def ends(survey: Survey, encoding: RowEncoding) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest number of each encoded column, NaN if there is none."""
    names = survey.column_names
    encoded = list(range(len(encoding.levels)))
    if encoding.table is not None:
        table_names = names[: survey.n_table_columns]
        encoded = [names.index(each) for each in encoding.table.encoded_names(table_names)]
    columns = [survey.columns[place] for place in encoded]
    low = np.array([0.0 if each.kind == "category" else each.low for each in columns])
    high = np.array([0.0 if each.kind == "category" else each.high for each in columns])
    return np.where(low > high, np.nan, low), np.where(low > high, np.nan, high)
