"""Rows that are held out to tell when boosting no longer gains."""

from typing import Any, Self

import numpy as np
from sklearn.model_selection import train_test_split

from kernsemble._typing import FloatArray
from kernsemble.boosting.rounds import Ending, Rounds
from kernsemble.boosting.voting import winners
from kernsemble.learners.search import Cases
from kernsemble.learners.voters import add_vote


class HeldOut:
    """The score of held-out rows after every round, and the number of rounds where it was best."""

    def __init__(self, cases: Cases, counts: FloatArray, classes: Any, patience: int) -> None:
        self._X, self._counts, self._classes, self.patience = cases.X, counts, classes, patience
        self._places = np.searchsorted(classes, cases.classes)[cases.codes]
        self._votes = np.zeros((len(counts), len(classes)))
        self._n_heard = 0
        self.best, self._best_score = 0, -np.inf

    @classmethod
    def part(
        cls,
        cases: Cases,
        counts: FloatArray,
        classes: Any,
        share: float,
        patience: int,
        rng: np.random.RandomState,
    ) -> tuple[Cases, FloatArray, Self]:
        """Return the rows to learn from with their counts, and those that are held out."""
        try:
            kept, held = train_test_split(
                np.arange(len(counts)), test_size=share, stratify=cases.codes, random_state=rng
            )
        except ValueError as error:
            raise ValueError(
                f"validation_fraction = {share}: {error}; give more rows, another share, or "
                "n_iter_no_change=None"
            ) from error
        learned, others = (cases.among(rows, counts) for rows in (kept, held))
        return learned, counts[kept], cls(others, counts[held], classes, patience)

    def hear(self, rounds: Rounds) -> None:
        """Score the rounds since the last call, and end them once the best is long ago."""
        heard = rounds.ensemble(self._classes, self._n_heard)
        for said, weight in zip(heard.voters.codes(self._X), heard.weights, strict=True):
            add_vote(self._votes, said, weight)
            self._n_heard += 1
            is_right = winners(self._votes) == self._places
            score = float(np.average(is_right, weights=self._counts))
            if score > self._best_score:
                self.best, self._best_score = self._n_heard, score
            if self._n_heard - self.best >= self.patience:
                rounds.ending = Ending.NO_CHANGE
                return
