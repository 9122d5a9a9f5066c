"""The fit of one machine, or one per class, to rows in blocks."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from kernsemble._progress import Task
from kernsemble.exceptions import ArgumentError
from kernsemble.solvers.additive.look_up import encode
from kernsemble.solvers.additive.row_blocks import LocalEngine
from kernsemble.svm.backends.base import Candidate, Machines, PreparedRows
from kernsemble.svm.calibration import Calibration
from kernsemble.svm.streams.encoding import Dealing, RowEncoding
from kernsemble.svm.streams.local import LOCAL, prepare_regions
from kernsemble.svm.streams.prepared import BlocksWorkspace, PreparedBlocks
from kernsemble.svm.streams.sources import RowSource
from kernsemble.svm.streams.survey import Survey
from kernsemble.svm.streams.surveyed import SurveyedRows, check_settings

SOLVER = "additive"


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows in blocks, encoded, and what is needed to prepare them for kernels and scalings."""

    surveyed: SurveyedRows
    workspace: BlocksWorkspace

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
        surveyed = SurveyedRows.read(estimator, source, SOLVER)
        encoding = surveyed.encoding
        coder = _common_coder(estimator, _on_sample(surveyed, encoding), candidates)
        encoding = replace(encoding, coder=coder)
        if n_folds > 0:
            _check_folds(surveyed.survey, n_folds, surveyed.how.is_classifier)
            encoding = replace(encoding, dealing=Dealing(n_folds, surveyed.how.seed))
        n_rows, budget = surveyed.survey.n_rows, surveyed.settings.budget
        engine, tally = source.encode(encoding, surveyed.how, n_rows, budget)
        workspace = replace(
            _on_sample(surveyed, encoding.with_members(tally)),
            engine=engine,
            is_parallel=source.is_parallel,
            is_coded=encoding.coder is not None,
        )
        return cls(surveyed, workspace)

    def prepare(self, estimator: Any, kernel: Any, scaling: Any) -> PreparedBlocks:
        """Return the rows prepared for a kernel and a scaling."""
        kernel = estimator._kernel_on_columns(kernel, scaling)
        return self.workspace.prepare(Candidate(kernel, scaling))


def fit_to_blocks(estimator: Any, source: RowSource, last: Machines | None) -> None:
    """Fit an estimator with a single setting, and store its attributes."""
    prepared: PreparedRows
    if estimator.solver == LOCAL:
        prepared, surveyed = prepare_regions(estimator, source)
    else:
        rows = EncodedRows.read(estimator, source, [(estimator.kernel, estimator.scaling)])
        surveyed = rows.surveyed
        prepared = rows.prepare(estimator, estimator.kernel, estimator.scaling)
    epsilon = 0.0
    if surveyed.how.is_classifier:
        estimator.calibration_ = link(estimator)
    else:
        estimator.epsilon_ = estimator._width(surveyed.scale.spread)
        epsilon = estimator.epsilon_ / surveyed.scale.spread
    problems = surveyed.problems(estimator, epsilon)
    with Task.of_fit(estimator, len(problems), RowShape(surveyed), None, None) as task:
        estimator.C_ = estimator._penalty(prepared, problems[0].penalty_unit)
        estimator._fit_machines(prepared, problems, surveyed.settings, last, task)


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
    """The shape of rows in blocks, for progress."""

    def __init__(self, rows: SurveyedRows) -> None:
        self.shape = rows.survey.n_rows, len(rows.encoding.levels)

    def __len__(self) -> int:
        return self.shape[0]


def check_solver(estimator: Any) -> None:
    """Raise an error for settings that need all rows in memory."""
    if estimator.solver not in {"auto", SOLVER}:
        raise ArgumentError(
            "solver", estimator.solver, "rows in blocks need the additive solver: use 'additive'"
        )
    check_settings(estimator)


def _on_sample(surveyed: SurveyedRows, encoding: RowEncoding) -> BlocksWorkspace:
    """Return the workspace of the sample, whose scalings and kernels are those of all rows."""
    X, weight = surveyed.sampled()
    return BlocksWorkspace(
        X,
        weight,
        encoding.is_category,
        surveyed.settings,
        surveyed.how.seed,
        (encoding.levels, encode(X, encoding.levels)),
        LocalEngine([]),
        surveyed.survey.target.total,
        False,
    )


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
