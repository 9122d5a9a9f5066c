"""Hypotheses of boosted ensembles and their weights."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble._value_object import short_repr
from kernsemble.inspection.dataframes import as_frame
from kernsemble.learners import C45Tree, DecisionStump, RCDPerceptron

TERMS_SHOWN = 3  # number of terms of a perceptron that are printed


class HypothesisWeights(NamedTuple):
    """Distinct hypotheses with nonzero weight, the largest weight first.

    Attributes
    ----------
    texts : list of str
        Description of each hypothesis.
    weights : array of shape (T,)
        Weight of each hypothesis; the weights of equal hypotheses are added.
    estimators : list of classifiers
        Hypotheses.
    """

    texts: list[str]
    weights: FloatArray
    estimators: list[Any]

    def __repr__(self) -> str:
        return short_repr(self)

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per hypothesis."""
        return as_frame({"hypothesis": self.texts, "weight": self.weights})


def hypothesis_weights(ensemble: Any, names: Sequence[str]) -> HypothesisWeights:
    """Return the hypotheses of a fitted boosted ensemble."""
    totals: dict[Any, float] = {}
    first: dict[Any, tuple[str, Any]] = {}
    for index, (estimator, weight) in enumerate(
        zip(ensemble.estimators_, ensemble.estimator_weights_.tolist(), strict=True)
    ):
        if weight == 0.0:
            continue
        key = _key(estimator, index)
        totals[key] = totals.get(key, 0.0) + weight
        first.setdefault(key, (_text(estimator, names), estimator))
    weights = np.array(list(totals.values()))
    order = np.argsort(-weights, kind="stable")
    found = list(first.values())
    return HypothesisWeights(
        [found[index][0] for index in order], weights[order], [found[index][1] for index in order]
    )


def _key(estimator: Any, index: int) -> Any:
    """Return a key that equal stumps share; other hypotheses are identified by their index."""
    if isinstance(estimator, DecisionStump):
        sides = str(estimator.below_), str(estimator.above_)
        return estimator.feature_, estimator.threshold_, *sides
    return index


def _text(estimator: Any, names: Sequence[str]) -> str:
    if isinstance(estimator, DecisionStump):
        if np.isneginf(estimator.threshold_):
            return f"{estimator.above_}"
        name = names[estimator.feature_]
        return f"{estimator.above_} if {name} > {estimator.threshold_:.6g} else {estimator.below_}"
    if isinstance(estimator, C45Tree):
        tree = estimator.tree_
        used = [names[d] for d in np.unique(tree.feature[tree.feature >= 0])]
        return f"a tree with {tree.n_leaves} leaves on {', '.join(used) or 'nothing'}"
    if isinstance(estimator, RCDPerceptron) and len(estimator.coef_) == 1:
        return _plane(estimator.coef_[0], float(estimator.intercept_[0]), names)
    return repr(estimator)


def _plane(coef: FloatArray, intercept: float, names: Sequence[str]) -> str:
    largest = np.argsort(-np.abs(coef), kind="stable")[:TERMS_SHOWN]
    terms = " ".join(f"{coef[d]:+.3g} {names[d]}" for d in largest)
    more = " …" if len(coef) > TERMS_SHOWN else ""
    return f"{terms}{more} > {-intercept:.3g}"
