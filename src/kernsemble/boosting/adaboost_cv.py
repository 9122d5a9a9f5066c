"""AdaBoost whose number of rounds is chosen by cross-validation."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from kernsemble._arguments import check_count, check_positive
from kernsemble._model_selection import as_grid
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import FloatArray, IntArray
from kernsemble.boosting.adaboost import AdaBoostClassifier
from kernsemble.boosting.rounds import Rounds
from kernsemble.boosting.selection import Selection
from kernsemble.learners.search import search_for

PAPERS_ROUNDS = tuple(range(10, 1501, 10))


class AdaBoostClassifierCV(Selection, AdaBoostClassifier):
    r"""AdaBoost that chooses the number of rounds T, from one run for each fold.

    The votes after T rounds are those after T − 1 and one more, so a fold that is boosted once,
    as far as the largest T, tells the score of every T. Of equally good ones the smallest is
    taken, and all rows are boosted that far.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner, as for `AdaBoostClassifier`.
    ns_estimators : sequence of int or None, default=None
        The numbers of rounds T to choose from; None: 10, 20, …, 1500 as in the papers.
    learning_rate : float, default=1.0
        What multiplies the weights of hypotheses.
    cv : int, splitter or iterable, default=5
        The folds.
    scoring : str, callable or None, default=None
        What is best; None: the share of rows that are right.
    n_jobs : int or None, default=None
        How many folds are boosted at once, by joblib.
    random_state : int, RandomState or None, default=None
        What learners that draw are seeded with.

    Attributes
    ----------
    n_estimators_ : int
        The T that was chosen.
    best_score_ : float
        Its mean score on held-out rows.
    best_params_, best_index_, cv_results_
        As in GridSearchCV.
    classes_, estimators_, estimator_weights_, estimator_errors_, voters_, margins_, ending_
        As for `AdaBoostClassifier`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from kernsemble.boosting import AdaBoostClassifierCV
    >>> from kernsemble.datasets import make_threenorm
    >>> X, y = make_threenorm(300, random_state=0)
    >>> X_test, y_test = make_threenorm(3000, random_state=1)
    >>> machine = AdaBoostClassifierCV().fit(X, y)
    >>> machine.n_estimators_, machine.score(X_test, y_test)
    (140, 0.786)
    """

    n_iter_no_change = None
    warm_start = False

    def __init__(
        self,
        estimator: Any = None,
        ns_estimators: Sequence[int] | None = None,
        learning_rate: float = 1.0,
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.ns_estimators = ns_estimators
        self.learning_rate = learning_rate
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the number of rounds, and boost all rows that far.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, in boosting and in the scores; zero is absence.

        Returns
        -------
        self
        """
        check_positive("learning_rate", self.learning_rate)
        asked = PAPERS_ROUNDS if self.ns_estimators is None else self.ns_estimators
        grid = [int(T) for T in as_grid("ns_estimators", asked, check_count)]
        rows, codes, counts = self._read(X, y, sample_weight)
        cases, weight = self._present(rows, codes, counts)
        rng = check_random_state(self.random_state)

        def path(learned: IntArray, tested: IntArray, seed: int) -> Iterator[FloatArray]:
            part, its = self._present(rows[learned], codes[learned], counts[learned])
            search = search_for(self._learner, part, np.random.RandomState(seed))
            rounds = Rounds.of(search, part, its, self.learning_rate)
            return rounds.staged_votes(rows[tested], self.classes_, grid)

        with Task.of_fit(self, 2, X, y, sample_weight) as task:
            data = rows, codes, counts
            self.n_estimators_ = self._choose("n_estimators", grid, data, path, rng, task)
            with task.part("refit", 1, self.n_estimators_) as part:
                self._boost(cases, weight, self.n_estimators_, rng, part)
        return self
