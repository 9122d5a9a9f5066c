"""The fit of one machine, or one per class, to rows in blocks."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernsemble._progress import Task
from kernsemble._typing import FloatArray
from kernsemble._validation import refuse_one_class
from kernsemble.exceptions import ArgumentError
from kernsemble.preprocessing.supervised import is_learned
from kernsemble.solvers.additive.look_up import encode
from kernsemble.solvers.additive.row_blocks import LocalEngine
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.backends.base import Candidate, Machines, SolverSettings
from kernsemble.svm.calibration import Calibration
from kernsemble.svm.multiclass import as_reduction, class_factors
from kernsemble.svm.problem import TargetScale
from kernsemble.svm.streams.encoding import Dealing, RowEncoding
from kernsemble.svm.streams.prepared import BlockProblem, BlocksWorkspace, PreparedBlocks
from kernsemble.svm.streams.row_sample import RowSample
from kernsemble.svm.streams.sources import RowSource, SurveySettings
from kernsemble.svm.streams.survey import Survey

SOLVER = "additive"


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows in blocks, encoded, and what is needed to prepare them for kernels and scalings."""

    survey: Survey
    workspace: BlocksWorkspace
    settings: SolverSettings
    scale: TargetScale

    @classmethod
    def read(
        cls,
        estimator: Any,
        source: RowSource,
        candidates: Sequence[tuple[Any, Any]],
        n_folds: int = 0,
    ) -> Self:
        """Survey and encode the rows of a source, and store their columns and classes.

        Parameters
        ----------
        estimator : KernelMachine
            The estimator, whose attributes are set.
        source : RowSource
            The rows.
        candidates : sequence of (kernel, scaling)
            The kernels and scalings that will be prepared.
        n_folds : int
            Number of folds to deal the rows out to; 0 for none.
        """
        check_solver(estimator)
        backend = BACKENDS[SOLVER]
        estimator.solver_, estimator.loss_ = SOLVER, estimator._loss_for(SOLVER)
        settings = estimator._solver_settings(backend)
        seed = 0 if estimator.random_state is None else settings.draw_seed()
        is_classifier = estimator._task == "classification"
        how = SurveySettings(is_classifier, estimator.max_levels, seed)
        survey = source.survey(how)
        encoding, sample = RowEncoding.from_survey(survey, estimator.max_levels)
        _store_columns(estimator, encoding)
        if is_classifier:
            _store_classes(estimator, survey)
        on_sample = _on_sample(survey, encoding, sample, settings, seed)
        encoding = replace(encoding, coder=_common_coder(estimator, on_sample, candidates))
        if n_folds > 0:
            _check_folds(survey, n_folds, is_classifier)
            encoding = replace(encoding, dealing=Dealing(n_folds, seed))
        engine, tally = source.encode(encoding, how, survey.n_rows, settings.budget)
        encoding = encoding.with_members(tally)
        workspace = replace(
            _on_sample(survey, encoding, sample, settings, seed),
            engine=engine,
            is_parallel=source.is_parallel,
            is_coded=encoding.coder is not None,
        )
        return cls(survey, workspace, settings, _target_scale(survey))

    def prepare(self, estimator: Any, kernel: Any, scaling: Any) -> PreparedBlocks:
        """Return the rows prepared for a kernel and a scaling."""
        kernel = estimator._kernel_on_columns(kernel, scaling)
        return self.workspace.prepare(Candidate(kernel, scaling))

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


def fit_to_blocks(estimator: Any, source: RowSource, last: Machines | None) -> None:
    """Fit an estimator with a single setting, and store its attributes."""
    candidates = [(estimator.kernel, estimator.scaling)]
    is_classifier = estimator._task == "classification"
    rows = EncodedRows.read(estimator, source, candidates)
    epsilon = 0.0
    if not is_classifier:
        estimator.epsilon_ = estimator._width(rows.scale.spread)
        epsilon = estimator.epsilon_ / rows.scale.spread
    problems = rows.problems(estimator, epsilon)
    if is_classifier:
        estimator.calibration_ = link(estimator)
    with Task.of_fit(estimator, len(problems), RowShape(rows), None, None) as task:
        prepared = rows.prepare(estimator, estimator.kernel, estimator.scaling)
        estimator.C_ = estimator._penalty(prepared, problems[0].penalty_unit)
        estimator._fit_machines(prepared, problems, rows.settings, last, task)


def link(estimator: Any) -> Calibration | None:
    """Return the link of the loss; raise an error if values were to be calibrated."""
    if estimator._loss.has_probabilities:
        return Calibration.from_loss(estimator.loss_, estimator.reduction_)
    if estimator.calibration is not None:
        raise ArgumentError(
            "calibration",
            estimator.calibration,
            f"loss = {estimator.loss_!r} would need the values of all rows to calibrate, which "
            "are in blocks: use loss='logistic', or calibration=None",
        )
    return None


class RowShape:
    """The shape of encoded rows, for progress."""

    def __init__(self, rows: EncodedRows) -> None:
        self.shape = rows.survey.n_rows, len(rows.workspace.is_category)

    def __len__(self) -> int:
        return self.shape[0]


def check_solver(estimator: Any) -> None:
    """Raise an error for settings that need all rows in memory."""
    if estimator.solver not in {"auto", SOLVER}:
        raise ArgumentError(
            "solver", estimator.solver, "rows in blocks need the additive solver: use 'additive'"
        )
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
    spread = float(np.sqrt(target.squares / target.total))
    is_constant = spread <= 1e-14 * abs(target.mean)  # rounding
    return TargetScale(target.mean, 1.0 if is_constant else spread or 1.0)


def _on_sample(
    survey: Survey,
    encoding: RowEncoding,
    sample: RowSample,
    settings: SolverSettings,
    seed: int,
) -> BlocksWorkspace:
    """Return the workspace of the sample, whose scalings and kernels are those of all rows.

    A sample that is not all rows gets two more: the ends of all columns.
    """
    X, weight = sample.X, sample.weight
    if len(X) < survey.n_present:
        lowest, highest = ends(survey, encoding)
        X, weight = np.vstack([X, lowest, highest]), np.append(weight, [weight.min()] * 2)
    columns = encoding.levels, encode(X, encoding.levels)
    return BlocksWorkspace(
        X,
        weight,
        encoding.is_category,
        settings,
        seed,
        columns,
        LocalEngine([]),
        survey.target.total,
        False,
    )


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


def _common_coder(
    estimator: Any, workspace: BlocksWorkspace, candidates: Sequence[tuple[Any, Any]]
) -> Any:
    """Return the coder of tables that all candidates share; None if they differ."""
    coders = {}
    for kernel, scaling in candidates:
        kernel = estimator._kernel_on_columns(kernel, scaling)
        coder = workspace.prepare(Candidate(kernel, scaling)).coder
        coders[pickle.dumps(coder)] = coder
    return next(iter(coders.values())) if len(coders) == 1 else None


def _check_folds(survey: Survey, n_folds: int, is_classifier: bool) -> None:
    if survey.n_present < n_folds:
        raise ValueError(
            f"cv = {n_folds}: there are {survey.n_present} rows of positive weight: use fewer folds"
        )
    if not is_classifier:
        return
    target = survey.target
    if target.counts.min() < 2:
        rarest = target.classes.tolist()[int(target.counts.argmin())]
        raise ValueError(
            f"cv: class {rarest!r} has {target.counts.min()} rows of positive weight, which cannot "
            "be held out: pass more rows of it, or leave the class out"
        )
