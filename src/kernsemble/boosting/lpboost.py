"""LPBoost: weights from a linear program; and with C or nu selected by cross-validation."""

import warnings
from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kernsemble._arguments import (
    check_choice,
    check_count,
    check_flag,
    check_penalty,
    check_positive,
    check_share,
)
from kernsemble._folds import PAPERS_PENALTIES, as_grid
from kernsemble._jobs import within_n_jobs
from kernsemble._last_fit import restoring_last_fit
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble.boosting.cross_validation import VotingEnsembleCV
from kernsemble.boosting.lpboost_program import LPBoostProgram
from kernsemble.boosting.voting_ensemble import VotingEnsemble
from kernsemble.learners.hypothesis_search import Cases
from kernsemble.learners.voters import Voters, add_vote
from kernsemble.solvers.column_generation import (
    Ending,
    Generated,
    Price,
    generate_columns,
    generate_path,
)
from kernsemble.solvers.linear_program import Form

Pricing: TypeAlias = Literal["several", "one"]

SCALE = 50.0  # C times the number of cases, for C="scale"


class LPBoostClassifier(VotingEnsemble):
    r"""LPBoost: the weighted vote of hypotheses with the largest soft margin in the 1-norm.

    .. math:: \min_{w, \xi \ge 0} \textstyle\sum_t w_t + C \sum_i \xi_i
              \quad\text{s.t.}\quad y_i \textstyle\sum_t w_t h_t(x_i) \ge 1 - \xi_i

    over all hypotheses of a base learner, problem (P4) of Lin and Li, by column generation: the
    linear program over the hypotheses found so far is solved, and the base learner finds the one
    that violates its dual constraint most, until there is none. With stumps the search is exact,
    so the result is the optimum over all middle stumps. With K > 2 classes there is a constraint
    for each row and each wrong class, :math:`\sum_t w_t ([h_t(x_i) = y_i] - [h_t(x_i) = k]) \ge
    1 - \xi_i`.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner: any classifier whose `fit` supports `sample_weight`; None: stumps.
    C : float or "scale", default="scale"
        Penalty of the errors; the larger, the less regularization. "scale" is 50 over the number
        of cases, inf is a hard margin.
    nu : float or None, default=None
        Maximum fraction of rows within the margin, an alternative to C, which is then ignored:
        :math:`\max \rho - \frac1{\nu n} \sum_i \xi_i`, with margins of at least
        :math:`\rho - \xi_i` and weights that sum to 1.
    max_columns : int, default=1000
        Maximum number of hypotheses, including those of a warm start.
    pricing : {"several", "one"}, default="several"
        Whether a round adds all hypotheses of one search that improve the objective (for stumps,
        the best of each feature), or the best only, as in the papers. The optimum is the same, and
        "several" needs fewer rounds.
    tol : float, default=1e-6
        Relative duality gap to stop at.
    warm_start : bool, default=False
        Whether `fit` starts from the hypotheses of the last fit, even an interrupted one.
    random_state : int, RandomState or None, default=None
        Random seed of the base learners.
    n_jobs : int or None, default=None
        Maximum number of threads of base learners of this library and of BLAS; −1 is all cores.
        Boosting itself takes one round after another, in one thread.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    classes_ : array
        The classes.
    estimators_ : list of classifiers
        The hypotheses in the order in which they were found, including those of weight zero.
    estimator_weights_ : array
        Their weights :math:`w_t`.
    stage_weights_ : sparse matrix of shape (n_rounds, n_estimators)
        The weights after each round.
    voters_ : Voters
        The hypotheses in the form used for voting; arrays for stumps.
    margins_ : array
        The margins of the training rows with positive weight.
    objective_ : float
        The objective above, or :math:`\rho - \frac1{\nu n}\sum_i\xi_i`.
    duality_gap_ : float
        Upper bound of its distance from the optimum over all hypotheses, if the base learner is
        exhaustive.
    violation_ : float
        Largest violation of a dual constraint.
    n_iter_ : int
        Number of calls of the base learner.
    ending_ : str
        The reason why the search ended.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from kernsemble.boosting import LPBoostClassifier
    >>> from kernsemble.datasets import make_twonorm
    >>> X, y = make_twonorm(300, random_state=0)
    >>> X_test, y_test = make_twonorm(3000, random_state=1)
    >>> machine = LPBoostClassifier().fit(X, y)
    >>> machine.score(X_test, y_test), bool(machine.n_voters_ < 100)
    (0.94, True)
    """

    def __init__(
        self,
        estimator: Any = None,
        C: float | Literal["scale"] = "scale",
        nu: float | None = None,
        max_columns: int = 1000,
        pricing: Pricing = "several",
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.nu = nu
        self.max_columns = max_columns
        self.pricing = pricing
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restoring_last_fit
    @with_callbacks
    @within_n_jobs
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        self._check_settings()
        cases, counts = self._present(*self._read(X, y, sample_weight))
        rng = check_random_state(self.random_state)
        program = LPBoostProgram.of(self._learner, cases, counts, rng)
        with Task.of_fit(self, self.max_columns + 1, X, y, sample_weight) as task:
            self._solve(program, *self._strength(cases.n_cases), cases, task)
        return self

    def _check_settings(self) -> None:
        check_count("max_columns", self.max_columns)
        check_choice("pricing", self.pricing, get_args(Pricing))
        check_positive("tol", self.tol)
        check_flag("warm_start", self.warm_start)

    def _price(self, program: LPBoostProgram) -> Price:
        return program.price if self.pricing == "one" else program.price_several

    def _strength(self, n_cases: float) -> tuple[Form, float]:
        """Return the form of the problem, and its C or nu."""
        if self.nu is not None:
            check_nu("nu", self.nu)
            return Form.MARGIN, float(self.nu)
        C: Any = self.C
        if isinstance(C, str) and C == "scale":
            return Form.SOFT, SCALE / n_cases
        check_penalty("C", C, "scale")
        return Form.SOFT, float(C)

    def _solve(
        self, program: LPBoostProgram, form: Form, strength: float, cases: Cases, task: Task
    ) -> None:
        """Solve the program and store the ensemble, also after an interrupt."""
        previous = self._last_voters()
        known = [] if previous is None else program.known(previous)
        numbers = count()
        found = generate_columns(
            program.master(form, strength),
            self._price(program),
            tol=self.tol,
            max_columns=self.max_columns,
            start_columns=known,
            on_round=lambda *_: task.note("round", next(numbers)),
        )
        if found.status is Ending.INSEPARABLE:
            self.__dict__.pop("voters_", None)  # there is no ensemble
            raise ValueError(f"C = {strength}: {found.status.value}")
        self._store(program, found, previous)
        self.margins_ = self._margins(cases)
        if found.status is Ending.INTERRUPTED:
            raise KeyboardInterrupt(found.status.value)
        self._warn(found, strength)

    def _store(self, program: LPBoostProgram, found: Generated, previous: Voters | None) -> None:
        self.voters_ = program.voters(found.hypotheses, self.classes_, previous)
        self.estimator_weights_ = found.weights
        self.stage_weights_ = found.stages
        self.objective_, self.duality_gap_ = found.objective, found.upper - found.lower
        self.violation_, self.n_iter_ = found.violation, found.n_rounds
        self.ending_ = found.status.value

    def _warn(self, found: Generated, strength: float) -> None:
        """Warn if the optimum was not reached or the ensemble is empty."""
        if found.status in (Ending.COLUMNS_USED_UP, Ending.MEMORY_USED_UP, Ending.FAILED):
            warnings.warn(
                f"max_columns = {self.max_columns}, tol = {self.tol}: {found.status.value}",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif not found.weights.any():
            warnings.warn(
                f"C = {strength:g}: all weights are zero at the optimum, so the ensemble is empty; "
                "raise C",
                UserWarning,
                stacklevel=5,
            )

    def _staged_votes(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the votes of the optimum after each round."""
        rows = self._read_again(X)
        codes = list(self.voters_.codes(rows))
        for first, last in pairwise(self.stage_weights_.indptr):
            places = self.stage_weights_.indices[first:last]
            weights = self.stage_weights_.data[first:last]
            votes = np.zeros((rows.shape[0], len(self.classes_)))
            for place, weight in zip(places, weights, strict=True):
                add_vote(votes, codes[place], weight)
            yield votes


class LPBoostClassifierCV(VotingEnsembleCV, LPBoostClassifier):
    r"""LPBoost with C or nu selected by cross-validation, on one linear program per fold.

    A fold goes from the smallest C to the largest (or the largest nu to the smallest): hypotheses
    and basis are kept, only the bounds of the dual variables change. The first of equally good
    values is selected, and the program of all rows is solved with it.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner: any classifier whose `fit` supports `sample_weight`; None: stumps.
    Cs : sequence of float or None, default=None
        Values of C to select from; None: :math:`2^{-17}, 2^{-15}, \dots, 2^3` as in the papers.
    nus : sequence of float or None, default=None
        Values of nu to select from, instead of C.
    max_columns : int, default=1000
        Maximum number of hypotheses per fold, for all C together.
    pricing : {"several", "one"}, default="several"
        Whether a round adds all hypotheses of one search that improve the objective (for stumps,
        the best of each feature), or the best only, as in the papers. The optimum is the same, and
        "several" needs fewer rounds.
    tol : float, default=1e-6
        Relative duality gap to stop at.
    cv : int, splitter or iterable, default=5
        The folds.
    scoring : str, callable or None, default=None
        The score to maximise; None: accuracy.
    n_jobs : int or None, default=None
        Number of folds solved in parallel, by joblib: None is 1, −1 all cores.
    random_state : int, RandomState or None, default=None
        Random seed of the base learners.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    C_, nu_ : float or None
        The selected C or nu; the other is None.
    best_score_ : float
        Its mean cross-validated score.
    best_params_, best_index_, cv_results_
        As in GridSearchCV.
    classes_ : array
        The classes.
    estimators_ : list of classifiers
        The hypotheses in the order in which they were found, including those of weight zero.
    estimator_weights_ : array
        Their weights :math:`w_t`.
    stage_weights_ : sparse matrix of shape (n_rounds, n_estimators)
        The weights after each round.
    voters_ : Voters
        The hypotheses in the form used for voting; arrays for stumps.
    margins_ : array
        The margins of the training rows with positive weight.
    ending_ : str
        The reason why the search ended.
    objective_ : float
        The objective above, or :math:`\rho - \frac1{\nu n}\sum_i\xi_i`.
    duality_gap_ : float
        Upper bound of its distance from the optimum over all hypotheses, if the base learner is
        exhaustive.
    violation_ : float
        Largest violation of a dual constraint.
    n_iter_ : int
        Number of calls of the base learner.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from kernsemble.boosting import LPBoostClassifierCV
    >>> from kernsemble.datasets import make_twonorm
    >>> X, y = make_twonorm(300, random_state=0)
    >>> X_test, y_test = make_twonorm(3000, random_state=1)
    >>> machine = LPBoostClassifierCV(Cs=[0.03, 0.1, 0.3, 1.0]).fit(X, y)
    >>> machine.C_, machine.score(X_test, y_test)
    (0.3, 0.94)
    """

    warm_start = False

    def __init__(
        self,
        estimator: Any = None,
        Cs: Sequence[float] | None = None,
        nus: Sequence[float] | None = None,
        max_columns: int = 1000,
        pricing: Pricing = "several",
        tol: float = 1e-6,
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.Cs = Cs
        self.nus = nus
        self.max_columns = max_columns
        self.pricing = pricing
        self.tol = tol
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @restoring_last_fit
    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Select C or nu, and fit the ensemble to all rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, in the program and in the scores; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        self._check_settings()
        name, form, grid = self._grid()
        rows, codes, counts = self._read(X, y, sample_weight)
        cases, weight = self._present(rows, codes, counts)
        rng = check_random_state(self.random_state)

        def path(training: IntArray, tested: IntArray, seed: int) -> Iterator[FloatArray]:
            part, part_weight = self._present(rows[training], codes[training], counts[training])
            fold_rng = np.random.RandomState(seed)
            program = LPBoostProgram.of(self._learner, part, part_weight, fold_rng)
            return self._path(program, form, grid, rows[tested])

        with Task.of_fit(self, 2, X, y, sample_weight) as task:
            best = self._select(name, grid, (rows, codes, counts), path, rng, task)
            self.C_ = best if form is Form.SOFT else None
            self.nu_ = best if form is Form.MARGIN else None
            program = LPBoostProgram.of(self._learner, cases, weight, rng)
            with task.part("refit", 1, self.max_columns + 1) as part:
                self._solve(program, form, best, cases, part)
        return self

    def _grid(self) -> tuple[str, Form, list[float]]:
        if self.nus is None:
            Cs = PAPERS_PENALTIES if self.Cs is None else self.Cs
            return "C", Form.SOFT, as_grid("Cs", Cs, check_penalty)
        if self.Cs is not None:
            raise ValueError(f"Cs = {self.Cs!r} and nus = {self.nus!r}: use one of the two")
        return "nu", Form.MARGIN, as_grid("nus", self.nus, check_nu)[::-1]

    def _path(
        self, program: LPBoostProgram, form: Form, grid: list[float], X: FloatArray
    ) -> Iterator[FloatArray]:
        """Yield the votes for new rows at each C or nu of the grid."""
        found = generate_path(
            program.master(form, grid[0]),
            self._price(program),
            [program.limits(form, strength) for strength in grid],
            tol=self.tol,
            max_columns=self.max_columns,
        )
        for each in found:
            if each.status is Ending.INTERRUPTED:
                raise KeyboardInterrupt(each.status.value)
            voters = program.search.voters(each.hypotheses, self.classes_)
            yield voters.votes(X, each.weights, len(self.classes_))


def check_nu(argument: str, value: Any) -> None:
    """Raise an error unless `value` is in (0, 1]."""
    check_share(argument, value)
    check_positive(argument, value)
