"""The hypotheses of boosted ensembles, with their weights."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.inspection.dataframes import as_frame
from kernsemble.learners import C45Tree, DecisionStump, RCDPerceptron

TERMS_SHOWN = 3  # of a perceptron


class HypothesisWeights(NamedTuple):
    """Different hypotheses that have weight, the largest first.

    Attributes
    ----------
    texts : list of str
        What each says.
    weights : array of shape (T,)
        The weight of each, those of equal hypotheses added up.
    estimators : list of classifiers
        The hypotheses.
    """

    texts: list[str]
    weights: FloatArray
    estimators: list[Any]

    def to_frame(self) -> Any:
        """Return a DataFrame with a row for each hypothesis."""
        return as_frame({"hypothesis": self.texts, "weight": self.weights})


def hypothesis_weights(ensemble: Any, names: Sequence[str]) -> HypothesisWeights:
    """Return the hypotheses of a fitted ensemble."""
    totals: dict[Any, float] = {}
    first: dict[Any, tuple[str, Any]] = {}
    for place, (estimator, weight) in enumerate(
        zip(ensemble.estimators_, ensemble.estimator_weights_.tolist(), strict=True)
    ):
        if weight == 0.0:
            continue
        key = _key(estimator, place)
        totals[key] = totals.get(key, 0.0) + weight
        first.setdefault(key, (_text(estimator, names), estimator))
    weights = np.array(list(totals.values()))
    order = np.argsort(-weights, kind="stable")
    found = list(first.values())
    return HypothesisWeights(
        [found[place][0] for place in order], weights[order], [found[place][1] for place in order]
    )


def _key(estimator: Any, place: int) -> Any:
    """Return what equal hypotheses have in common; others are told apart by their place."""
    if isinstance(estimator, DecisionStump):
        sides = str(estimator.below_), str(estimator.above_)
        return estimator.feature_, estimator.threshold_, *sides
    return place


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
