"""Early stopping: a validation set, and the number of rounds with the best score on it."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.model_selection import train_test_split

from kernsemble._typing import FloatArray, IntArray
from kernsemble.boosting.adaboost_rounds import AdaBoostEnding, AdaBoostRounds
from kernsemble.boosting.voting_ensemble import winners
from kernsemble.learners.hypothesis_search import Cases
from kernsemble.learners.voters import add_vote


def split_validation(
    rows: IntArray, strata: Any, fraction: float, rng: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Return the training rows and the validation rows, stratified unless `strata` is None."""
    try:
        training, validation = train_test_split(
            rows, test_size=fraction, stratify=strata, random_state=rng
        )
    except ValueError as error:
        raise ValueError(
            f"validation_fraction = {fraction}: {error}; use more rows, another fraction, or "
            "n_iter_no_change=None"
        ) from error
    return training, validation


class EarlyStopping:
    """The accuracy on the validation set after each round, and the round where it was best."""

    def __init__(self, cases: Cases, counts: FloatArray, classes: Any, patience: int) -> None:
        self._X, self._counts, self._classes, self.patience = cases.X, counts, classes, patience
        self._labels = np.searchsorted(classes, cases.classes)[cases.codes]
        self._votes = np.zeros((len(counts), len(classes)))
        self._n_scored = 0
        self.best, self._best_score = 0, -np.inf

    @classmethod
    def split(
        cls,
        cases: Cases,
        counts: FloatArray,
        classes: Any,
        fraction: float,
        patience: int,
        rng: np.random.RandomState,
    ) -> tuple[Cases, FloatArray, Self]:
        """Return the training cases with their weights, and the early stopping on the others."""
        training, validation = split_validation(np.arange(len(counts)), cases.codes, fraction, rng)
        held_out = cls(cases.among(validation, counts), counts[validation], classes, patience)
        return cases.among(training, counts), counts[training], held_out

    def update(self, rounds: AdaBoostRounds) -> None:
        """Score the rounds since the last call; end boosting if the score stopped improving."""
        new = rounds.ensemble(self._classes, self._n_scored)
        for predicted, weight in zip(new.voters.codes(self._X), new.weights, strict=True):
            add_vote(self._votes, predicted, weight)
            self._n_scored += 1
            is_right = winners(self._votes) == self._labels
            score = float(np.average(is_right, weights=self._counts))
            if score > self._best_score:
                self.best, self._best_score = self._n_scored, score
            if self._n_scored - self.best >= self.patience:
                rounds.ending = AdaBoostEnding.NO_CHANGE
                return


def run_rounds(
    rounds: AdaBoostRounds,
    n_rounds: int,
    stopping: EarlyStopping | None,
    on_round: Callable[[int], None],
) -> None:
    """Boost for at most `n_rounds`; with early stopping, drop the rounds after the best."""
    n_per_check = n_rounds if stopping is None else stopping.patience
    while len(rounds) < n_rounds and not rounds.has_ended:
        n_done = len(rounds)
        rounds.advance(min(n_rounds - n_done, n_per_check))
        for place in range(n_done, len(rounds)):
            on_round(place)
        if stopping is not None:
            stopping.update(rounds)
    if stopping is not None:
        rounds.truncate(stopping.best)
