"""Selection of kernel, scaling and C by cross-validation on rows in blocks.

The folds are random, dealt out within each block and class. Nothing but sums leaves the blocks:
every fold and setting is fitted along C, and the scores of its held-out rows are sums too.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, get_args

import numpy as np

from kernsemble._arguments import check_not_negative
from kernsemble._folds import as_grid
from kernsemble._progress import Task
from kernsemble.exceptions import ArgumentError
from kernsemble.preprocessing import ScalingKind
from kernsemble.solvers import Status
from kernsemble.solvers.additive import AdditiveSolution
from kernsemble.solvers.additive.folds import solve_path_on_blocks
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.backends.tables.backend import max_iter
from kernsemble.svm.model_selection.cross_validation import Trial, warn_unless_converged
from kernsemble.svm.model_selection.grid import PenaltyGrid, RankedTrials
from kernsemble.svm.model_selection.search_summary import SearchSummary
from kernsemble.svm.streams.fitting import SOLVER, EncodedRows, RowShape, link
from kernsemble.svm.streams.prepared import BlockProblem, PreparedBlocks
from kernsemble.svm.streams.scores import Fitted, HeldOutScorer, held_out_sums
from kernsemble.svm.streams.sources import RowSource

MAX_FOLDS = 255
MAX_CELLS = 8  # maximum number of folds and settings solved at a time on a cluster


@dataclass(frozen=True, eq=False)
class Setting:
    """A kernel, a scaling and epsilon, with the problems of all machines."""

    kernel: Any
    scaling: Any
    epsilon: float | None
    prepared: PreparedBlocks
    problems: list[BlockProblem]

    @property
    def params(self) -> dict[str, Any]:
        """The setting, without C."""
        epsilon = {} if self.epsilon is None else {"epsilon": self.epsilon}
        return {"kernel": self.kernel, "scaling": self.scaling, **epsilon}


class HeldOutFold(NamedTuple):
    """The scores of a fold at every C, and the statuses of its machines."""

    scores: list[float]
    statuses: list[Status]


def select_on_blocks(estimator: Any, source: RowSource) -> None:
    """Select the settings of an estimator by cross-validation, fit it to all rows, and store."""
    n_folds = _n_folds(estimator.cv)
    kernels = estimator._requested_kernels()
    default = list(get_args(ScalingKind)) if estimator._is_automatic else ["range"]
    pairs = list(product(kernels, estimator._requested_scalings() or default))
    rows = EncodedRows.read(estimator, source, pairs, n_folds)
    is_classifier = estimator._task == "classification"
    curves = link(estimator) if is_classifier else None
    if is_classifier:
        estimator.calibration_ = curves
    reduction = estimator.reduction_ if is_classifier else None
    scorer = HeldOutScorer.by_name(estimator.scoring, reduction, curves)
    epsilons: Sequence[float | None] = [None]
    if not is_classifier:
        asked = as_grid("epsilons", estimator.epsilons, check_not_negative)
        epsilons = asked if estimator._loss.has_epsilon else [0.0]
    settings = [
        Setting(*pair, epsilon, prepared, rows.surveyed.problems(estimator, epsilon or 0.0))
        for pair, prepared in [(pair, rows.prepare(estimator, *pair)) for pair in pairs]
        for epsilon in epsilons
    ]
    grid = estimator._penalty_grid(BACKENDS[SOLVER].penalty_multiples)
    with Task.of_fit(estimator, 2, RowShape(rows.surveyed), None, None) as task:
        with task.part("selection", 0, len(settings) * n_folds) as part:
            trials = _trials(settings, grid, n_folds, scorer, rows, part)
        ranked = RankedTrials.from_trials(
            [each.params for each in settings], trials, [grid] * len(settings), estimator.scoring
        )
        best = settings[ranked.place]
        estimator.cv_results_, estimator.best_index_ = ranked.results, ranked.index
        estimator.best_params_, estimator.best_score_ = ranked.params, ranked.score
        estimator.search_summary_ = SearchSummary.of_grid(kernels, len(pairs) // len(kernels))
        statuses = [status for trial in trials for status in trial.statuses]
        warn_unless_converged(statuses, rows.surveyed.settings)
        estimator.C_ = ranked.params["C"] * best.problems[0].penalty_unit
        if best.epsilon is not None:
            estimator.epsilon_ = best.epsilon * rows.surveyed.scale.spread
        with task.part("refit", 1, len(best.problems)) as part:
            estimator._fit_machines(
                best.prepared, best.problems, rows.surveyed.settings, None, part
            )


def _n_folds(cv: Any) -> int:
    if not isinstance(cv, int) or not 2 <= cv <= MAX_FOLDS:
        raise ArgumentError(
            "cv", cv, f"rows in blocks need a number of folds from 2 to {MAX_FOLDS}"
        )
    return cv


def _trials(
    settings: Sequence[Setting],
    grid: PenaltyGrid,
    n_folds: int,
    scorer: HeldOutScorer,
    rows: EncodedRows,
    task: Task,
) -> list[Trial]:
    """Return the scores of every setting at every C on every fold.

    On a cluster several folds are solved at a time, as most of the time is spent waiting.
    """
    grids = [grid.at(each.prepared) for each in settings]
    cells = list(product(range(len(settings)), range(n_folds)))

    def solve(cell: tuple[int, int]) -> HeldOutFold:
        place, fold = cell
        found = _held_out(settings[place], grids[place], fold, scorer, rows)
        task.note("problem")
        return found

    if settings[0].prepared.is_parallel:
        with ThreadPoolExecutor(min(len(cells), MAX_CELLS)) as pool:
            found = list(pool.map(solve, cells))
    else:
        found = [solve(cell) for cell in cells]
    trials = []
    for place, Cs in enumerate(grids):
        mine = found[place * n_folds : (place + 1) * n_folds]
        n_machines = len(settings[place].problems)
        scores = np.column_stack([each.scores for each in mine])
        statuses = tuple(status for each in mine for status in each.statuses)
        trials.append(Trial(Cs, scores, np.empty((0, n_machines)), statuses))
    return trials


def _held_out(
    setting: Setting, Cs: Sequence[float], fold: int, scorer: HeldOutScorer, rows: EncodedRows
) -> HeldOutFold:
    """Fit all machines along C without the rows of a fold, and score these."""
    prepared, problems = setting.prepared, setting.problems
    paths = [_path(prepared, problem, Cs, fold, rows) for problem in problems]
    fits = [
        Fitted(
            np.array([prepared.tables.levels_of(each.z) for each in machines]),
            np.array([each.bias for each in machines]),
            problems[0].scale,
        )
        for machines in zip(*paths, strict=True)
    ]
    message = prepared.tables, prepared.block_coder, fold, fits, scorer.sums
    parts = prepared.engine.ask(held_out_sums, *message)
    totals = np.sum([each for each in parts if each is not None], axis=0)
    return HeldOutFold(
        [scorer.score(each) for each in totals],
        [solution.status for path in paths for solution in path],
    )


def _path(
    prepared: PreparedBlocks,
    problem: BlockProblem,
    Cs: Sequence[float],
    fold: int,
    rows: EncodedRows,
) -> list[AdditiveSolution]:
    """Return the solutions along C without the rows of a fold."""
    held = prepared.rows(problem, fold)
    tol, most = rows.surveyed.settings.tol, max_iter(rows.surveyed.settings)
    path = list(solve_path_on_blocks(held, Cs, tol=tol, max_iter=most))
    held.close()
    return path
