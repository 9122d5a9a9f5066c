"""AdaBoost on stumps or any weighted classifier; and with rounds selected by cross-validation."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.utils import check_random_state

from kernsemble._arguments import check_count, check_flag, check_positive, check_share
from kernsemble._folds import as_grid
from kernsemble._jobs import within_n_jobs
from kernsemble._last_fit import restoring_last_fit
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble.boosting.adaboost_rounds import AdaBoostEnding, AdaBoostRounds, Ensemble
from kernsemble.boosting.cross_validation import VotingEnsembleCV
from kernsemble.boosting.early_stopping import EarlyStopping, run_rounds
from kernsemble.boosting.voting_ensemble import VotingEnsemble
from kernsemble.learners.hypothesis_search import Cases, search_for

PAPERS_ROUNDS = tuple(range(10, 1501, 10))


class AdaBoostClassifier(VotingEnsemble):
    r"""AdaBoost: a weighted vote of hypotheses, each fitted to the rows the previous ones missed.

    .. math:: f(x) = \textstyle\sum_{t=1}^T w_t h_t(x), \qquad
              w_t = \ln\frac{1 - \varepsilon_t}{\varepsilon_t}

    Discrete AdaBoost: hypothesis t has weighted error :math:`\varepsilon_t` on rows whose weights
    were multiplied by :math:`e^{-w}` whenever an earlier hypothesis classified them correctly. The
    training error is at most :math:`\prod_t 2\sqrt{\varepsilon_t (1 - \varepsilon_t)}`. With K > 2
    classes it is SAMME, which adds :math:`\ln(K - 1)` to :math:`w_t`. Stumps are boosted by
    compiled code, in O(n D) per round with two classes and O(n D K) with more, on columns sorted
    once.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner: any classifier whose `fit` supports `sample_weight`; None: stumps. Its
        weights sum to those of the training rows.
    n_estimators : int, default=100
        Maximum number of rounds. Boosting ends earlier at a hypothesis without error, or when none
        is better than chance.
    learning_rate : float, default=1.0
        Factor of every weight :math:`w_t`.
    n_iter_no_change : int or None, default=None
        Number of rounds for early stopping: a part of the rows is held out, boosting ends when
        the score on it has not improved for that many rounds, and the rounds after the best are
        dropped. None: no early stopping.
    validation_fraction : float, default=0.1
        Fraction of the rows to hold out for early stopping.
    warm_start : bool, default=False
        Whether `fit` continues from the hypotheses of the last fit, even an interrupted one.
    random_state : int, RandomState or None, default=None
        Random seed of the base learners and of the validation set.
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
        The hypotheses, in the order of the rounds.
    estimator_weights_ : array of shape (T,)
        Their weights :math:`w_t`.
    estimator_errors_ : array of shape (T,)
        Their weighted errors :math:`\varepsilon_t`.
    voters_ : Voters
        The hypotheses in the form used for voting; arrays for stumps.
    margins_ : array
        The margins of the training rows with positive weight.
    ending_ : str
        The reason why boosting ended.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from kernsemble.boosting import AdaBoostClassifier
    >>> from kernsemble.datasets import make_twonorm
    >>> X, y = make_twonorm(300, random_state=0)
    >>> X_test, y_test = make_twonorm(3000, random_state=1)
    >>> AdaBoostClassifier().fit(X, y).score(X_test, y_test)
    0.948
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        learning_rate: float = 1.0,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
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
        rng, stopping = check_random_state(self.random_state), None
        if self.n_iter_no_change is not None:
            cases, counts, stopping = EarlyStopping.split(
                cases,
                counts,
                self.classes_,
                self.validation_fraction,
                self.n_iter_no_change,
                rng,
            )
        with Task.of_fit(self, self.n_estimators, X, y, sample_weight) as task:
            self._boost(cases, counts, self.n_estimators, rng, task, stopping)
        return self

    def _check_settings(self) -> None:
        check_count("n_estimators", self.n_estimators)
        check_positive("learning_rate", self.learning_rate)
        check_flag("warm_start", self.warm_start)
        if self.n_iter_no_change is not None:
            check_count("n_iter_no_change", self.n_iter_no_change)
            check_share("validation_fraction", self.validation_fraction)
            if self.warm_start:
                raise ValueError(
                    f"warm_start = True and n_iter_no_change = {self.n_iter_no_change}: the rounds "
                    "of the last fit were not scored on the validation set of this one; use only "
                    "one of the two"
                )

    def _boost(
        self,
        cases: Cases,
        counts: FloatArray,
        n_rounds: int,
        rng: np.random.RandomState,
        task: Task,
        stopping: EarlyStopping | None = None,
    ) -> None:
        """Run the rounds and store the ensemble, also after an interrupt."""
        search = search_for(self._learner, cases, rng)
        rounds = AdaBoostRounds.for_search(search, cases, counts, self.learning_rate)
        previous = self._last_ensemble()
        if previous is not None:
            rounds.continue_from(previous, self.classes_)
        n_previous = 0 if previous is None else len(previous.weights)
        try:
            run_rounds(
                rounds,
                n_rounds - n_previous,
                stopping,
                on_round=lambda place: task.note("round", place),
            )
        except KeyboardInterrupt:
            rounds.ending = AdaBoostEnding.INTERRUPTED
            if len(rounds) > 0:
                self._store(rounds, previous)
            raise
        if len(rounds) + n_previous == 0:
            rounds.take_one()
            warnings.warn(
                f"estimator = {self._learner!r}: its first hypothesis is no better than chance on "
                "these rows, and is the whole ensemble; use a learner with more hypotheses, such "
                "as C45Tree()",
                UserWarning,
                stacklevel=4,
            )
        self._store(rounds, previous)

    def _last_ensemble(self) -> Ensemble | None:
        """Return the ensemble of the last fit for a warm start, else None."""
        voters = self._last_voters()
        if voters is None:
            return None
        return Ensemble(voters, self.estimator_weights_, self.estimator_errors_)

    def _store(self, rounds: AdaBoostRounds, previous: Ensemble | None) -> None:
        found = rounds.ensemble(self.classes_)
        if previous is not None:
            found = previous.followed_by(found)
        self.voters_ = found.voters
        self.estimator_weights_, self.estimator_errors_ = found.weights, found.errors
        self.ending_ = rounds.ending.value
        self.margins_ = self._margins(rounds.cases)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        r"""Return class probabilities, as implied by the exponential loss.

        .. math:: P(k \mid x) \propto \exp\left(\textstyle\sum_t w_t [h_t(x) = k]\right)

        They are close to 0 or 1 wherever most hypotheses agree: for calibrated probabilities, use
        scikit-learn's CalibratedClassifierCV.
        """
        return softmax(self._votes(X), axis=1)

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithms of the class probabilities."""
        return log_softmax(self._votes(X), axis=1)


class AdaBoostClassifierCV(VotingEnsembleCV, AdaBoostClassifier):
    r"""AdaBoost with the number of rounds T selected by cross-validation, one run per fold.

    The votes after T rounds are those after T − 1 and one more, so a fold boosted once, up to the
    largest T, gives the score of every T. The smallest of the best T is selected, and all rows are
    boosted for that many rounds.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner: any classifier whose `fit` supports `sample_weight`; None: stumps. Its
        weights sum to those of the training rows.
    ns_estimators : sequence of int or None, default=None
        Numbers of rounds T to select from; None: 10, 20, …, 1500 as in the papers.
    learning_rate : float, default=1.0
        Factor of the weights of hypotheses.
    cv : int, splitter or iterable, default=5
        The folds.
    scoring : str, callable or None, default=None
        The score to maximise; None: accuracy.
    n_jobs : int or None, default=None
        Number of folds boosted in parallel, by joblib: None is 1, −1 all cores.
    random_state : int, RandomState or None, default=None
        Random seed of the base learners.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    n_estimators_ : int
        The selected T.
    best_score_ : float
        Its mean cross-validated score.
    best_params_, best_index_, cv_results_
        As in GridSearchCV.
    classes_ : array
        The classes.
    estimators_ : list of classifiers
        The hypotheses, in the order of the rounds.
    estimator_weights_ : array of shape (T,)
        Their weights :math:`w_t`.
    estimator_errors_ : array of shape (T,)
        Their weighted errors :math:`\varepsilon_t`.
    voters_ : Voters
        The hypotheses in the form used for voting; arrays for stumps.
    margins_ : array
        The margins of the training rows with positive weight.
    ending_ : str
        The reason why boosting ended.
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
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.ns_estimators = ns_estimators
        self.learning_rate = learning_rate
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @restoring_last_fit
    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Select the number of rounds, and boost all rows for that many.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, in boosting and in the scores; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        check_positive("learning_rate", self.learning_rate)
        values = PAPERS_ROUNDS if self.ns_estimators is None else self.ns_estimators
        grid = [int(T) for T in as_grid("ns_estimators", values, check_count)]
        rows, codes, counts = self._read(X, y, sample_weight)
        cases, weight = self._present(rows, codes, counts)
        rng = check_random_state(self.random_state)

        def path(training: IntArray, tested: IntArray, seed: int) -> Iterator[FloatArray]:
            part, part_weight = self._present(rows[training], codes[training], counts[training])
            search = search_for(self._learner, part, np.random.RandomState(seed))
            rounds = AdaBoostRounds.for_search(search, part, part_weight, self.learning_rate)
            return rounds.staged_votes(rows[tested], self.classes_, grid)

        with Task.of_fit(self, 2, X, y, sample_weight) as task:
            data = rows, codes, counts
            self.n_estimators_ = self._select("n_estimators", grid, data, path, rng, task)
            with task.part("refit", 1, self.n_estimators_) as part:
                self._boost(cases, weight, self.n_estimators_, rng, part)
        return self
