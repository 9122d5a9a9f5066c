"""AdaBoost on stumps, or on any learner that honours weights."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, softmax
from sklearn.utils import check_random_state

from kernsemble._arguments import check_count, check_positive, check_share
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import FloatArray
from kernsemble.boosting.early_stopping import HeldOut
from kernsemble.boosting.rounds import Ending, Ensemble, Rounds
from kernsemble.boosting.voting import VotingEnsemble
from kernsemble.learners.search import Cases, search_for


class AdaBoostClassifier(VotingEnsemble):
    r"""A weighted vote of hypotheses that are found one after another, each on harder rows.

    .. math:: f(x) = \textstyle\sum_{t=1}^T w_t h_t(x), \qquad
              w_t = \ln\frac{1 - \varepsilon_t}{\varepsilon_t}

    Discrete AdaBoost: hypothesis t has weighted error :math:`\varepsilon_t` on rows whose weights
    were multiplied by :math:`e^{-w}` whenever an earlier one had them right. The training error
    is at most :math:`\prod_t 2\sqrt{\varepsilon_t (1 - \varepsilon_t)}`. With K > 2 classes it
    is SAMME, which adds :math:`\ln(K - 1)` to :math:`w_t`. Stumps are boosted by compiled code,
    in O(n D) a round with two classes and O(n D K) with more, on columns sorted once.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The base learner: any classifier whose `fit` honours `sample_weight`; None: stumps. Its
        weights sum to those of the training rows, so that they count cases.
    n_estimators : int, default=100
        At most so many rounds. It ends earlier at a hypothesis without error, or when none is
        better than chance.
    learning_rate : float, default=1.0
        What multiplies every :math:`w_t`.
    n_iter_no_change : int or None, default=None
        If given, a part of the rows is held out, and boosting ends when their score has not
        risen for so many rounds; those after the best are dropped.
    validation_fraction : float, default=0.1
        The share of rows to hold out for that.
    warm_start : bool, default=False
        Whether `fit` goes on from the hypotheses of the last one, also of an interrupted one.
    random_state : int, RandomState or None, default=None
        What learners that draw are seeded with, and rows are held out by.

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
        The hypotheses in the form in which they vote; of stumps, arrays.
    margins_ : array
        The margins of the training rows that count.
    ending_ : str
        Why there were no more rounds.
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
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
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
        rng, held_out = check_random_state(self.random_state), None
        if self.n_iter_no_change is not None:
            cases, counts, held_out = HeldOut.part(
                cases,
                counts,
                self.classes_,
                self.validation_fraction,
                self.n_iter_no_change,
                rng,
            )
        with Task.of_fit(self, self.n_estimators, X, y, sample_weight) as task:
            self._boost(cases, counts, self.n_estimators, rng, task, held_out)
        return self

    def _check_settings(self) -> None:
        check_count("n_estimators", self.n_estimators)
        check_positive("learning_rate", self.learning_rate)
        if self.n_iter_no_change is not None:
            check_count("n_iter_no_change", self.n_iter_no_change)
            check_share("validation_fraction", self.validation_fraction)
            if self.warm_start:
                raise ValueError(
                    f"warm_start = True and n_iter_no_change = {self.n_iter_no_change}: rounds of "
                    "the last fit were not scored on the rows held out by this one; give one of "
                    "the two"
                )

    def _boost(
        self,
        cases: Cases,
        counts: FloatArray,
        n_rounds: int,
        rng: np.random.RandomState,
        task: Task,
        held_out: HeldOut | None = None,
    ) -> None:
        """Do the rounds and keep what they found; an interrupt keeps what was reached."""
        search = search_for(self._learner, cases, rng)
        rounds = Rounds.of(search, cases, counts, self.learning_rate)
        before = self._before()
        if before is not None:
            rounds.go_on_from(before, self.classes_)
        n_before = 0 if before is None else len(before.weights)
        try:
            _advance(rounds, n_rounds - n_before, task, held_out)
        except KeyboardInterrupt:
            rounds.ending = Ending.INTERRUPTED
            if len(rounds) > 0:
                self._keep(rounds, before)
            raise
        if len(rounds) + n_before == 0:
            rounds.take_one()
            warnings.warn(
                f"estimator = {self._learner!r}: its first hypothesis is no better than chance on "
                "these rows, and is the whole ensemble; give a learner with more hypotheses, such "
                "as C45Tree()",
                UserWarning,
                stacklevel=4,
            )
        self._keep(rounds, before)

    def _before(self) -> Ensemble | None:
        """Return the ensemble of the last fit, if this one is to go on from it."""
        voters = self._last_voters()
        if voters is None:
            return None
        return Ensemble(voters, self.estimator_weights_, self.estimator_errors_)

    def _keep(self, rounds: Rounds, before: Ensemble | None) -> None:
        found = rounds.ensemble(self.classes_)
        if before is not None:
            found = before.followed_by(found)
        self.voters_ = found.voters
        self.estimator_weights_, self.estimator_errors_ = found.weights, found.errors
        self.ending_ = rounds.ending.value
        self.margins_ = self._margins(rounds.cases)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        r"""Return the probability of each class at each row, as the exponential loss implies it.

        .. math:: P(k \mid x) \propto \exp\left(\textstyle\sum_t w_t [h_t(x) = k]\right)

        It is nearly certain wherever most hypotheses agree: for probabilities that are meant as
        such, calibrate with scikit-learn's CalibratedClassifierCV.
        """
        return softmax(self._votes(X), axis=1)

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithm of the probability of each class at each row."""
        return log_softmax(self._votes(X), axis=1)


def _advance(rounds: Rounds, n_rounds: int, task: Task, held_out: HeldOut | None) -> None:
    at_once = n_rounds if held_out is None else held_out.patience
    while len(rounds) < n_rounds and not rounds.has_ended:
        n_done = len(rounds)
        rounds.advance(min(n_rounds - n_done, at_once))
        for place in range(n_done, len(rounds)):
            task.note("round", place)
        if held_out is not None:
            held_out.hear(rounds)
    if held_out is not None:
        rounds.cut(held_out.best)
