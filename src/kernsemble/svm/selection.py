"""Infinite ensembles that choose C, and the kernel and the scaling if several are given."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv

from kernsemble._arguments import check_positive
from kernsemble._typing import FloatArray, IntArray
from kernsemble.kernels import Kernel
from kernsemble.solvers import solve_folds
from kernsemble.svm.infinite_ensemble import (
    InfiniteEnsembleClassifier,
    choose,
    decide,
    pair_signs,
)
from kernsemble.svm.scaling import Kind

PAPERS_GRID = tuple(2.0**power for power in range(-17, 4, 2))


class InfiniteEnsembleClassifierCV(InfiniteEnsembleClassifier):
    r"""An infinite ensemble whose C is chosen by cross-validation on one kernel matrix.

    Every C and every fold is solved on the matrix of the whole sample: nothing is copied,
    each C starts from the solution before it, and the folds share the cores. The constants
    of the kernel and of the scaling come from all training rows, as in the papers, which
    scale the data first. Of equally good settings the smallest C is taken, and the kernel
    that was named first.

    Parameters
    ----------
    kernel : str, Kernel or list of those, default="stump"
        What the ensemble is made of, or the choices.
    Cs : sequence of float, default=(2**-17, 2**-15, ..., 2**3)
        The values of C to choose from; the default is the papers'.
    cv : int, splitter or iterable, default=5
        The folds, as everywhere in scikit-learn.
    scoring : str, callable or None, default=None
        What is best, as everywhere in scikit-learn, from decision values or classes; None
        is the share of right classes.
    scaling : {"range", "rank", "distinct"}, None or list of those, default="range"
        The scale on which features are compared, or the choices.
    class_weight, tol, max_iter
        As for `InfiniteEnsembleClassifier`.

    Attributes
    ----------
    C_, kernel_, scaling_
        What was chosen, the last two bound to all training rows.
    best_score_ : float
        The mean score of the choice over the folds.
    cv_results_ : dict
        All scores, in the form of scikit-learn's GridSearchCV.
    classes_, support_, support_vectors_, dual_coef_, intercept_, objective_, n_iter_
        As for `InfiniteEnsembleClassifier`.

    Examples
    --------
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.svm import InfiniteEnsembleClassifierCV
    >>> X, y = make_threenorm(300, random_state=0)
    >>> X_test, y_test = make_threenorm(3000, random_state=1)
    >>> machine = InfiniteEnsembleClassifierCV(["stump", "perceptron"]).fit(X, y)
    >>> machine.kernel_, machine.C_
    (Perceptron().bind(X), 0.5)
    >>> machine.score(X_test, y_test)
    0.860
    """

    warm_start = False

    def __init__(
        self,
        kernel: str | Kernel | Sequence[str | Kernel] = "stump",
        Cs: Sequence[float] = PAPERS_GRID,
        cv: Any = 5,
        scoring: Any = None,
        scaling: Kind | Sequence[Kind | None] | None = "range",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
    ) -> None:
        self.kernel = kernel  # type: ignore[assignment]
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.scaling = scaling  # type: ignore[assignment]
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose, then find the ensemble on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts in the machines and in the scores; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        Cs = _increasing(self.Cs)
        X, codes, counts, weight = self._read(X, y, sample_weight)
        splits = list(check_cv(self.cv, codes, classifier=True).split(X, codes))
        candidates = list(product(_as_list(self.kernel), _as_list(self.scaling)))
        scores = np.array(
            [
                self._scores(self._gram(X, counts, *each), codes, counts, weight, Cs, splits)
                for each in candidates
            ]
        )
        means = scores.mean(axis=2)
        place, best = np.unravel_index(np.argmax(means.T), means.T.shape)
        self.cv_results_ = _results(candidates, Cs, scores)
        self.best_score_ = float(means[best, place])
        self.C_ = Cs[place]
        self._fit_pairs(X, self._gram(X, counts, *candidates[best]), codes, weight)
        return self

    def _scores(
        self,
        K: FloatArray,
        codes: IntArray,
        counts: FloatArray,
        weight: FloatArray,
        Cs: list[float],
        splits: list[tuple[IntArray, IntArray]],
    ) -> FloatArray:
        """Return the score at every C (rows) on every fold (columns)."""
        held_out = [test for _, test in splits]
        machines = []
        for pair in combinations(range(len(self.classes_)), 2):
            signs = pair_signs(codes, *pair)
            low, high = np.minimum(0.0, weight * signs), np.maximum(0.0, weight * signs)
            machines.append(
                solve_folds(K, signs, low, high, Cs, held_out, tol=self.tol, max_iter=self.max_iter)
            )
        scorer = get_scorer("accuracy" if self.scoring is None else self.scoring)
        uniform = bool((counts == counts[0]).all())
        scores = np.empty((len(Cs), len(splits)))
        for fold, test in enumerate(held_out):
            values = np.stack([each[fold].decisions for each in machines], axis=2)
            extra = {} if uniform else {"sample_weight": counts[test]}
            for place in range(len(Cs)):
                foreseen = _Foreseen(self.classes_, values[place])
                scores[place, fold] = scorer(foreseen, test, self.classes_[codes[test]], **extra)
        return scores


class _Foreseen(ClassifierMixin, BaseEstimator):
    """What the machines of a fold said, in the form that scikit-learn's scorers ask."""

    def __init__(self, classes: Any, values: FloatArray) -> None:
        self.classes, self.values = classes, values
        self.classes_ = classes

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: ARG002
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return decide(self.values, len(self.classes_))

    def predict(self, X: ArrayLike) -> Any:
        return choose(self.classes_, self.decision_function(X))


def _as_list(choices: Any) -> list[Any]:
    return list(choices) if isinstance(choices, (list, tuple)) else [choices]


def _increasing(Cs: Sequence[float]) -> list[float]:
    for C in Cs:
        check_positive("Cs", C)
    if len(Cs) == 0:
        raise ValueError("Cs is empty: give at least one value")
    return sorted({float(C) for C in Cs})


def _results(
    candidates: list[tuple[Any, Any]], Cs: list[float], scores: FloatArray
) -> dict[str, Any]:
    """Return all scores in the form of GridSearchCV."""
    flat = scores.reshape(-1, scores.shape[2])
    params = [
        {"kernel": kernel, "scaling": scaling, "C": C}
        for (kernel, scaling), C in product(candidates, Cs)
    ]
    names = {f"param_{name}": [each[name] for each in params] for name in params[0]}
    folds = {f"split{fold}_test_score": column for fold, column in enumerate(flat.T)}
    return {
        "params": params,
        **names,
        **folds,
        "mean_test_score": flat.mean(axis=1),
        "std_test_score": flat.std(axis=1),
        "rank_test_score": rankdata(-flat.mean(axis=1), method="min").astype(int),
    }
