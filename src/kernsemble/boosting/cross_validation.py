"""Cross-validation of voting ensembles: one run per fold scores every setting."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import softmax
from sklearn.metrics import get_scorer
from sklearn.utils.metaestimators import available_if

from kernsemble._folds import (
    FoldRows,
    HeldOutClassifier,
    check_classes,
    check_means,
    comparable_means,
    cross_validation_results,
    read_splits,
    share_right,
)
from kernsemble._progress import Task
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble.boosting.voting_ensemble import VotingEnsemble, decisions, winners

VotesOfPath = Callable[[IntArray, IntArray, int], Iterable[FloatArray]]


class HeldOutVotes(HeldOutClassifier):
    """The votes for held-out rows, as a fitted classifier that scorers can evaluate."""

    def __init__(self, classes: Any, votes: FloatArray, has_probabilities: bool) -> None:
        super().__init__(classes)
        self.votes, self.has_probabilities = votes, has_probabilities

    def decision_function(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return decisions(self.votes)

    def winners(self) -> IntArray:
        return winners(self.votes)

    @available_if(lambda self: self.has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return softmax(self.votes, axis=1)


class VotingEnsembleCV(VotingEnsemble):
    """A voting ensemble with one setting selected by cross-validation, one run per fold."""

    cv: Any
    scoring: Any
    n_jobs: int | None

    def _select(
        self,
        name: str,
        values: Sequence[float],
        data: tuple[FloatArray, IntArray, FloatArray],
        path: VotesOfPath,
        rng: np.random.RandomState,
        task: Task,
    ) -> Any:
        """Return the first of the best values of a setting, and store all scores.

        `path(training, tested, seed)` yields, for each value, the votes for the tested rows.
        """
        X, codes, counts = data
        y = self.classes_[codes]
        splits = read_splits(self.cv, X, y, counts, is_classifier=True)
        check_classes(splits, codes, counts, self.classes_)
        jobs = [
            delayed(self._scores_of_fold)(X, y, counts, split, path, rng.randint(2**31))
            for split in splits
        ]
        columns = []
        with task.part("selection", 0, len(splits)) as part:
            found = Parallel(self.n_jobs, prefer="threads", return_as="generator")(jobs)
            for place, column in enumerate(found):
                columns.append(column)
                part.note("fold", place)
        scores = np.transpose(columns)
        means = comparable_means(scores)
        check_means(means, self.scoring)
        self.best_index_ = int(means.argmax())
        self.best_score_ = float(means[self.best_index_])
        self.cv_results_ = cross_validation_results([{name: each} for each in values], scores)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        return values[self.best_index_]

    def _scores_of_fold(
        self,
        X: FloatArray,
        y: Any,
        counts: FloatArray,
        split: FoldRows,
        path: VotesOfPath,
        seed: int,
    ) -> list[float]:
        scorer = share_right if self.scoring is None else get_scorer(self.scoring)
        tested, weight = split.tested, counts[split.tested]
        settings = {} if (weight == weight[0]).all() else {"sample_weight": weight}
        return [
            scorer(self._as_classifier(votes), X[tested], y[tested], **settings)
            for votes in path(split.kept(len(y)), tested, seed)
        ]

    def _as_classifier(self, votes: FloatArray) -> HeldOutVotes:
        return HeldOutVotes(self.classes_, votes, hasattr(self, "predict_proba"))
