"""LPBoost whose C or nu is chosen by cross-validation."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from kernsemble._arguments import check_penalty
from kernsemble._choice import PAPERS_PENALTIES, as_grid
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import FloatArray, IntArray
from kernsemble.boosting.lpboost import LPBoostClassifier, Pricing, check_nu
from kernsemble.boosting.program import Program
from kernsemble.boosting.selection import Selection
from kernsemble.learners.search import search_for
from kernsemble.solvers.column_generation import Ending, generate_path
from kernsemble.solvers.linear_program import Form


class LPBoostClassifierCV(Selection, LPBoostClassifier):
    r"""LPBoost that chooses C or nu, on one linear program for each fold.

    A fold goes from the smallest C to the largest (or the largest nu to the smallest): hypotheses
    and basis are kept, only the limits of the dual weights change. Of equally good ones the first
    is taken, and the program of all rows is solved with it.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner, as for `LPBoostClassifier`.
    Cs : sequence of float or None, default=None
        The penalties to choose from; None: :math:`2^{-17}, 2^{-15}, \dots, 2^3` as in the papers.
    nus : sequence of float or None, default=None
        If given, choose from these shares instead.
    max_columns : int, default=1000
        At most so many hypotheses are found in a fold, for all C together.
    pricing : {"several", "one"}, default="several"
        How many hypotheses a round adds, as for `LPBoostClassifier`.
    tol : float, default=1e-6
        The relative distance to the optimum to stop at.
    cv : int, splitter or iterable, default=5
        The folds.
    scoring : str, callable or None, default=None
        What is best; None: the share of rows that are right.
    n_jobs : int or None, default=None
        How many folds are solved at once, by joblib.
    random_state : int, RandomState or None, default=None
        What learners that draw are seeded with.

    Attributes
    ----------
    C_, nu_ : float or None
        The penalty or the share that was chosen.
    best_score_ : float
        Its mean score on held-out rows.
    best_params_, best_index_, cv_results_
        As in GridSearchCV.
    classes_, estimators_, estimator_weights_, stage_weights_, voters_, margins_, ending_
        As for `LPBoostClassifier`.
    objective_, duality_gap_, violation_, n_iter_
        As for `LPBoostClassifier`.
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

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose C or nu, and find the ensemble of all rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, in the program and in the scores; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        name, form, grid = self._grid()
        rows, codes, counts = self._read(X, y, sample_weight)
        cases, weight = self._present(rows, codes, counts)
        rng = check_random_state(self.random_state)

        def path(learned: IntArray, tested: IntArray, seed: int) -> Iterator[FloatArray]:
            part, its = self._present(rows[learned], codes[learned], counts[learned])
            search = search_for(self._learner, part, np.random.RandomState(seed))
            return self._path(Program(part, its, search), form, grid, rows[tested])

        with Task.of_fit(self, 2, X, y, sample_weight) as task:
            best = self._choose(name, grid, (rows, codes, counts), path, rng, task)
            self.C_ = best if form is Form.SOFT else None
            self.nu_ = best if form is Form.MARGIN else None
            program = Program(cases, weight, search_for(self._learner, cases, rng))
            with task.part("refit", 1, self.max_columns + 1) as part:
                self._solve(program, form, best, part)
        return self

    def _grid(self) -> tuple[str, Form, list[float]]:
        if self.nus is None:
            Cs = PAPERS_PENALTIES if self.Cs is None else self.Cs
            return "C", Form.SOFT, as_grid("Cs", Cs, check_penalty)
        if self.Cs is not None:
            raise ValueError(f"Cs = {self.Cs!r} and nus = {self.nus!r}: give one of the two")
        return "nu", Form.MARGIN, as_grid("nus", self.nus, check_nu)[::-1]

    def _path(
        self, program: Program, form: Form, grid: list[float], X: FloatArray
    ) -> Iterator[FloatArray]:
        """Yield the votes at other rows for one strength after another."""
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
