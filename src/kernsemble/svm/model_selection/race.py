r"""The race of ``kernel="auto"``: a successive halving of kernels and scalings.

The rounds of a race have :math:`\dots, n/8, n/4, n/2` rows, or all of them if these are few, each
sample within the next, and few folds. After every round the better candidates stay, and each
continues with the values of C near its best. The cost of a machine grows at least as the square
of its rows, so the many candidates of the early rounds cost less than the few of the last. The
finalists are then cross-validated on all rows and all folds, so that their scores are comparable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernsemble._folds import FoldRows, comparable_means, is_partition
from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.kernels import Exponential, Kernel, Laplacian, Mixed, Perceptron, Stump
from kernsemble.kernels.radial import Radial
from kernsemble.preprocessing import FeatureScaling, ScalingKind
from kernsemble.solvers import Status
from kernsemble.svm.backends.base import Backend, Candidate, PreparedRows, TrainingRows
from kernsemble.svm.columns import has_missing
from kernsemble.svm.model_selection.cross_validation import CrossValidation, Trial
from kernsemble.svm.model_selection.grid import PenaltyGrid
from kernsemble.svm.problem import Problem

FAMILIES: dict[type[Any], str] = {
    Laplacian: "trees",
    Exponential: "polytopes",
    Perceptron: "perceptrons",
    Stump: "stumps",
}
MAX_SEARCH_ROWS = 20_000  # number of rows above which the search uses a sample of them
MAX_ROWS = 10_000  # number of rows above which kernels that need a matrix do not race by default
WIDTHS = (0.5, 1.0, 2.0, 4.0)  # gamma, in units of 1 over the mean distance
MANY_MACHINES = 50  # number of machines above which fewer candidates race
FEW_WIDTHS = (1.0, 2.0)
FEW_SCALINGS = ("rank", "range")
MULTIPLES = tuple(2.0**power for power in range(-2, 7))  # values of C, in units of C="scale"
STRIDE = 3  # step along the grid of C in the first round; later rounds stay near the best
REACH = 2  # number of values of C on each side of the best for the winner of the last round
MIN_ROWS = 250  # number of rows in the first round
N_FOLDS = 3
N_LAST = 3  # number of finalists: candidates of the last round
LOOSENESS = 10.0  # factor of the tolerance during the race


@dataclass(frozen=True)
class RaceEntry:
    """A candidate, and the places of the grid of C that it tries."""

    candidate: Candidate
    places: tuple[int, ...]

    def near(self, place: int, reach: int, n_places: int) -> Self:
        """Return the same candidate at the places around one of them."""
        start, stop = max(place - reach, 0), min(place + reach + 1, n_places)
        return replace(self, places=tuple(range(start, stop)))


@dataclass(frozen=True, eq=False)
class RaceRound:
    """The rows of a round, the folds among them, and the number of candidates that stay."""

    rows: IntArray
    splits: tuple[FoldRows, ...]
    n_stay: int


Score = Callable[[Sequence[RaceEntry], RaceRound], Sequence[FloatArray]]


def race(
    candidates: Sequence[Candidate], rounds: Sequence[RaceRound], n_places: int, score: Score
) -> list[RaceEntry]:
    """Return the candidates that remain after all rounds, the best first.

    The best one has more values of C than the others.

    Parameters
    ----------
    candidates : sequence of Candidate
        The candidates; of equal scores the first one wins.
    rounds : sequence of RaceRound
        As `plan_rounds` returns them.
    n_places : int
        The number of values of C in the grid.
    score : callable
        ``score(entries, round)`` returns an array of scores per entry, larger is better: a row
        for each of its places, a column for each fold.
    """
    some_places = tuple(range(min(STRIDE // 2, n_places - 1), n_places, STRIDE))
    entries = [RaceEntry(candidate, some_places) for candidate in candidates]
    for number, each in enumerate(rounds, start=1):
        means = [comparable_means(found) for found in score(entries, each)]
        best = [int(np.argmax(along_grid)) for along_grid in means]
        order = np.argsort([-along_grid.max() for along_grid in means], kind="stable")
        reaches = [STRIDE // 2] * each.n_stay
        if number == len(rounds):
            reaches[0] = REACH
        entries = [
            entries[k].near(entries[k].places[best[k]], reach, n_places)
            for k, reach in zip(order, reaches, strict=False)
        ]
    return entries


class Race:
    """A race on cross-validated samples of the rows.

    Attributes
    ----------
    results : dict of lists
        The rows, kernel, scaling, best C, and the mean and standard deviation of the scores of
        its folds, for every trial in the order of the race.
    statuses : list of Status
        The status of every machine that was fitted.
    """

    def __init__(
        self,
        validation: CrossValidation,
        backend: Backend,
        problems: Sequence[Problem],
        grid: PenaltyGrid,
    ) -> None:
        self.validation, self.backend = validation, backend
        self.problems, self.grid = problems, grid
        self.results: dict[str, list[Any]] = {}
        self.statuses: list[Status] = []

    def finalists(
        self,
        candidates: Sequence[Candidate],
        strata: IntArray,
        rng: np.random.Generator,
        task: Task,
    ) -> list[RaceEntry]:
        """Return the candidates that remain, the best first, with places near their best C.

        Samples are stratified by `strata`, the classes of a classification.
        """
        weight, splits = self.validation.rows.weight, self.validation.splits
        rounds = plan_rounds(len(candidates), strata, weight, splits, rng)
        n_trials = len(candidates) + sum(each.n_stay for each in rounds[:-1])
        with task.part("race", n_parts=n_trials * len(self.problems)) as part:

            def score(entries: Sequence[RaceEntry], each: RaceRound) -> list[FloatArray]:
                return self._scores(entries, each, part)

            return race(candidates, rounds, len(self.grid.values), score)

    def _scores(
        self, entries: Sequence[RaceEntry], each: RaceRound, task: Task
    ) -> list[FloatArray]:
        """Return the scores of every entry at its values of C (rows) on every fold (columns)."""
        found: dict[int, FloatArray] = {}
        tol = LOOSENESS * self.validation.settings.tol
        sample = self.validation.among(each.rows, each.splits, tol)
        problems = [problem.among(each.rows) for problem in self.problems]
        for kind in dict.fromkeys(entry.candidate.scaling for entry in entries):
            mine = [k for k, entry in enumerate(entries) if entry.candidate.scaling == kind]

            def evaluate(place: int, prepared: PreparedRows, mine: list[int] = mine) -> None:
                entry = entries[mine[place]]
                Cs = self.grid.at(prepared, entry.places)
                trial = sample.run(prepared, problems, Cs, task)
                found[mine[place]] = trial.scores
                self._record(entry.candidate, len(each.rows), trial)

            rows = replace(sample.rows, X=scaled_rows(self.validation.rows, kind)[each.rows])
            workspace = self.backend.open(rows, sample.settings)
            kernels = [Candidate(entries[k].candidate.kernel, None) for k in mine]
            workspace.map(kernels, evaluate)
        return [found[k] for k in range(len(entries))]

    def _record(self, candidate: Candidate, n_rows: int, trial: Trial) -> None:
        means = trial.scores.mean(axis=1)
        best = int(np.argmax(np.where(np.isnan(means), -np.inf, means)))
        record = {
            "n_rows": n_rows,
            "kernel": candidate.kernel,
            "scaling": candidate.scaling,
            "C": trial.Cs[best],
            "mean_test_score": float(means[best]),
            "std_test_score": float(trial.scores[best].std()),
        }
        for name, value in record.items():
            self.results.setdefault(name, []).append(value)
        self.statuses.extend(trial.statuses)


def race_candidates(
    rows: TrainingRows,
    scalings: Sequence[ScalingKind | None] | None = None,
    n_machines: int = 1,
) -> list[Candidate]:
    """Return the kernels and scalings that race on weighted rows.

    Trees and polytopes at several widths, perceptrons and stumps, on every scale. Trees on ranks,
    the safest candidate on the data sets that were tried, come first. Kernels of rows with
    categories or missing values are within `Mixed`. Many machines, as many classes need, have
    fewer widths and scales.
    """
    is_long = n_machines > MANY_MACHINES
    wrap = wrapper(rows)
    found = []
    kinds = [each for each in distinct_scalings(rows) if not is_long or each in FEW_SCALINGS]
    for kind in scalings or kinds:
        scaled = scaled_rows(rows, kind)
        for family in FAMILIES:
            widths: list[Kernel] = [family()]
            if issubclass(family, Radial):
                bound = wrap(family()).bind(scaled, rows.weight)
                radial = bound.kernel if isinstance(bound, Mixed) else bound
                assert isinstance(radial, Radial)
                assert radial.rate is not None  # bound
                multiples = FEW_WIDTHS if is_long else WIDTHS
                widths = [family(width * radial.rate) for width in multiples]
            found += [Candidate(wrap(kernel), kind) for kernel in widths]
    return found


def scaled_rows(rows: TrainingRows, kind: Any) -> Rows:
    """Return scaled rows, their categories unchanged."""
    scaling = FeatureScaling.from_rows(rows.X, kind, rows.weight)
    return scaling.sparing(rows.is_category).transform(rows.X)


def wrapper(rows: TrainingRows) -> Callable[[Kernel], Kernel]:
    """Return the function that makes a kernel of numbers one of these rows."""
    if not rows.is_category.any() and not has_missing(rows.X):
        return lambda kernel: kernel
    columns = tuple(np.flatnonzero(rows.is_category).tolist())
    return lambda kernel: Mixed(kernel, columns)


def distinct_scalings(rows: TrainingRows) -> tuple[ScalingKind, ...]:
    """Return the scalings that differ by more than a factor, as on columns of two values."""
    stumps = FeatureScaling.from_rows(rows.X, "distinct", rows.weight).stumps
    assert stumps is not None
    n_levels = stumps.feature_measure[~rows.is_category].max(initial=0.0)
    return ("rank", "range", "distinct") if n_levels > 2.0 else ("range",)


def plan_rounds(
    n_candidates: int,
    codes: IntArray,
    counts: FloatArray,
    splits: Sequence[FoldRows],
    rng: np.random.Generator,
) -> list[RaceRound]:
    """Return the rounds of a race that ends with a few finalists, which the last round ranks.

    Parameters
    ----------
    n_candidates : int
        The number of candidates at the start.
    codes, counts : arrays of shape (n,)
        The class code and the weight of each row; rows of weight zero are not drawn.
    splits : sequence of FoldRows
        The folds of all rows. Rounds hold out the same rows, in fewer folds.
    rng : Generator
        Random number generator of the samples.

    Returns
    -------
    list of RaceRound
        Rounds of increasing size. Samples are stratified by class, and contain a row of each
        class from each fold that has one.
    """
    folds = _few(splits)
    order = _nested_order(codes, counts, folds, rng)
    sizes = _sizes(len(order), max(MIN_ROWS, N_FOLDS * len(np.unique(codes))))
    n_entries = np.geomspace(n_candidates, min(N_LAST, n_candidates), len(sizes))
    n_stay = np.rint([*n_entries[1:], n_entries[-1]]).astype(int)
    return [
        _round(np.sort(order[:size]), folds, int(n)) for size, n in zip(sizes, n_stay, strict=True)
    ]


def sample_rows(
    n: int,
    codes: IntArray,
    counts: FloatArray,
    splits: Sequence[FoldRows],
    rng: np.random.Generator,
) -> RaceRound:
    """Return a sample of n weighted rows, stratified by class and fold, with all folds."""
    return _round(np.sort(_nested_order(codes, counts, splits, rng)[:n]), splits, 1)


def _sizes(n: int, fewest: int) -> list[int]:
    """Return the number of rows per round: doubling, up to half of them or all."""
    sizes = [min(n, max(n // 2, 2 * fewest))]
    while sizes[0] // 2 >= fewest:
        sizes.insert(0, sizes[0] // 2)
    return sizes if len(sizes) > 1 else [min(n, fewest), n]


def _few(splits: Sequence[FoldRows]) -> list[FoldRows]:
    """Return few folds: joined if every row is held out once, else the last ones."""
    return joined_folds(splits, N_FOLDS)


def joined_folds(splits: Sequence[FoldRows], n_folds: int) -> list[FoldRows]:
    """Return at most `n_folds` folds: joined if every row is held out once, else the last ones."""
    if len(splits) <= n_folds or not is_partition(splits):
        return list(splits[-n_folds:])
    joined = (np.concatenate([s.tested for s in splits[k::n_folds]]) for k in range(n_folds))
    return [FoldRows(np.sort(rows), np.sort(rows)) for rows in joined]


def _nested_order(
    codes: IntArray, counts: FloatArray, folds: Sequence[FoldRows], rng: np.random.Generator
) -> IntArray:
    """Return the weighted rows in an order whose every beginning is a stratified sample.

    The strata are the classes within the folds. Each row is placed at the share of its
    stratum that comes before it, and the first row of every stratum before all others.
    """
    fold = np.zeros(len(codes), dtype=int)
    for number, split in enumerate(folds, start=1):
        fold[split.tested] = number
    rows = rng.permutation(np.flatnonzero(counts > 0.0))
    strata, stratum, sizes = np.unique(
        codes[rows] * (len(folds) + 1) + fold[rows], return_inverse=True, return_counts=True
    )
    by_stratum = np.argsort(stratum, kind="stable")
    rank = np.empty(len(rows))
    rank[by_stratum] = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    offset = rng.random(len(strata))
    place = np.where(rank == 0.0, -1.0, (rank + offset[stratum]) / sizes[stratum])
    return rows[np.argsort(place, kind="stable")]


def _round(rows: IntArray, folds: Sequence[FoldRows], n_stay: int) -> RaceRound:
    """Return the round of some rows, with the folds that test any of them."""
    among = [
        FoldRows(*(np.flatnonzero(np.isin(rows, part)) for part in (fold.held_out, fold.tested)))
        for fold in folds
    ]
    return RaceRound(rows, tuple(fold for fold in among if len(fold.tested)), n_stay)
