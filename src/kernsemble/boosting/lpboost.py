"""LPBoost: the weights of hypotheses as the optimum of a linear program."""

import warnings
from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kernsemble._arguments import (
    check_choice,
    check_count,
    check_penalty,
    check_positive,
    check_share,
)
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import FloatArray
from kernsemble.boosting.program import Program
from kernsemble.boosting.voting import VotingEnsemble
from kernsemble.learners.search import search_for
from kernsemble.learners.voters import Voters, add_vote
from kernsemble.solvers.column_generation import Ending, Generated, Price, generate_columns
from kernsemble.solvers.linear_program import Form

Pricing: TypeAlias = Literal["several", "one"]

SCALE = 50.0  # times the mean limit of a row: the C that is asked for as "scale"


class LPBoostClassifier(VotingEnsemble):
    r"""The weighted vote of hypotheses with the largest soft margin in the 1-norm.

    .. math:: \min_{w, \xi \ge 0} \textstyle\sum_t w_t + C \sum_i \xi_i
              \quad\text{s.t.}\quad y_i \textstyle\sum_t w_t h_t(x_i) \ge 1 - \xi_i

    over all hypotheses of a base learner, problem (P4) of Lin and Li, by column generation: the
    linear program over the hypotheses found so far is solved, and the base learner looks for the
    one that its dual weights ask for most, until there is none. With stumps the search is exact,
    so the result is the optimum over all middle stumps. With K > 2 classes there is a constraint
    for each row and each wrong class, :math:`\sum_t w_t ([h_t(x_i) = y_i] - [h_t(x_i) = k]) \ge
    1 - \xi_i`.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner: any classifier whose `fit` honours `sample_weight`; None: stumps.
    C : float or "scale", default="scale"
        How much errors count against the size of the weights; "scale" is 50 over the number of
        cases, inf is a hard margin.
    nu : float or None, default=None
        If given, C has no part, and at most this share of rows is within the margin:
        :math:`\max \rho - \frac1{\nu n} \sum_i \xi_i`, with margins of at least
        :math:`\rho - \xi_i` and weights that sum to 1.
    max_columns : int, default=1000
        At most so many hypotheses are found, those of a warm start among them.
    pricing : {"several", "one"}, default="several"
        Whether a round adds all hypotheses that the search finds at once and that improve the
        objective (of stumps, the best of each feature), or the best only, as in the papers. The
        optimum is the same, and several need fewer rounds.
    tol : float, default=1e-6
        The relative distance to the optimum, as the bounds tell it, to stop at.
    warm_start : bool, default=False
        Whether `fit` begins with the hypotheses of the last one, also of an interrupted one.
    random_state : int, RandomState or None, default=None
        What learners that draw are seeded with.

    Attributes
    ----------
    classes_ : array
        The classes.
    estimators_ : list of classifiers
        The hypotheses in the order in which they were found, those without weight too.
    estimator_weights_ : array
        Their weights :math:`w_t`.
    stage_weights_ : sparse matrix of shape (n_rounds, n_estimators)
        The weights after each round.
    voters_ : Voters
        The hypotheses in the form in which they vote; of stumps, arrays.
    margins_ : array
        The margins of the training rows that count.
    objective_ : float
        What the weights attain: the objective above, or :math:`\rho - \frac1{\nu n}\sum_i\xi_i`.
    duality_gap_ : float
        How far the optimum over all hypotheses may be from it, if the base learner is exhaustive.
    violation_ : float
        By how much the dual constraint of the best hypothesis is violated.
    n_iter_ : int
        How often the base learner was asked.
    ending_ : str
        Why there were no more rounds.
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
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.nu = nu
        self.max_columns = max_columns
        self.pricing = pricing
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the ensemble.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        cases, counts = self._present(*self._read(X, y, sample_weight))
        rng = check_random_state(self.random_state)
        program = Program(cases, counts, search_for(self._learner, cases, rng))
        with Task.of_fit(self, self.max_columns + 1, X, y, sample_weight) as task:
            self._solve(program, *self._strength(cases.n_cases), task)
        return self

    def _check_settings(self) -> None:
        check_count("max_columns", self.max_columns)
        check_choice("pricing", self.pricing, get_args(Pricing))
        check_positive("tol", self.tol)

    def _price(self, program: Program) -> Price:
        return program.price if self.pricing == "one" else program.price_several

    def _strength(self, n_cases: float) -> tuple[Form, float]:
        """Return which problem is asked for, and its C or nu."""
        if self.nu is not None:
            check_nu("nu", self.nu)
            return Form.MARGIN, float(self.nu)
        asked: Any = self.C
        if isinstance(asked, str) and asked == "scale":
            return Form.SOFT, SCALE / n_cases
        check_penalty("C", asked, "scale")
        return Form.SOFT, float(asked)

    def _solve(self, program: Program, form: Form, strength: float, task: Task) -> None:
        """Find the optimum and keep it; an interrupt keeps what was reached."""
        before = self._last_voters()
        known = [] if before is None else program.known(before)
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
            self.__dict__.pop("voters_", None)  # no ensemble is left
            raise ValueError(f"C = {strength}: {found.status.value}")
        self._keep(program, found, before)
        if found.status is Ending.INTERRUPTED:
            raise KeyboardInterrupt(found.status.value)
        self._tell(found, strength)

    def _keep(self, program: Program, found: Generated, before: Voters | None) -> None:
        self.voters_ = program.voters(found.hypotheses, self.classes_, before)
        self.estimator_weights_ = found.weights
        self.stage_weights_ = found.stages
        self.objective_, self.duality_gap_ = found.objective, found.upper - found.lower
        self.violation_, self.n_iter_ = found.violation, found.n_rounds
        self.ending_ = found.status.value
        self.margins_ = self._margins(program.cases)

    def _tell(self, found: Generated, strength: float) -> None:
        """Warn of what a user may want to change."""
        if found.status in (Ending.COLUMNS_USED_UP, Ending.MEMORY_USED_UP, Ending.FAILED):
            warnings.warn(
                f"max_columns = {self.max_columns}, tol = {self.tol}: {found.status.value}",
                ConvergenceWarning,
                stacklevel=5,
            )
        elif not found.weights.any():
            warnings.warn(
                f"C = {strength:g}: no hypothesis is worth its weight, and the ensemble is empty; "
                "raise C",
                UserWarning,
                stacklevel=5,
            )

    def _staged_votes(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the votes of the optimum after each round."""
        rows = self._read_again(X)
        said = list(self.voters_.codes(rows))
        for first, last in pairwise(self.stage_weights_.indptr):
            places = self.stage_weights_.indices[first:last]
            weights = self.stage_weights_.data[first:last]
            votes = np.zeros((rows.shape[0], len(self.classes_)))
            for place, weight in zip(places, weights, strict=True):
                add_vote(votes, said[place], weight)
            yield votes


def check_nu(argument: str, value: Any) -> None:
    """Demand a share of rows, above zero."""
    check_share(argument, value)
    check_positive(argument, value)
