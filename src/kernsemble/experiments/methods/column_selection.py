"""Selection of columns, compared with the true ones (Zhu 2008, Section 4.3)."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.linear_model import LassoCV

from kernsemble._typing import BoolArray, FloatArray
from kernsemble.experiments.methods.measures import Method, Values
from kernsemble.experiments.paper_data import TrainTestData
from kernsemble.selection import (
    ParallelEvolutionSelector,
    bagged_stepwise_search,
    exhaustive_search,
    largest_gap,
    stepwise_search,
)

Selection: TypeAlias = Callable[[FloatArray, FloatArray, int], BoolArray]

GENERATIONS = 6  # number of generations in the paper
UNIVERSES = 10


def above_the_gap(importances: FloatArray) -> BoolArray:
    """Return the columns above the largest gap."""
    order = np.argsort(-importances, kind="stable")
    support = np.zeros(len(importances), dtype=bool)
    support[order[: largest_gap(importances).n_above]] = True
    return support


def by_evolution(
    n_universes: int, n_generations: Any, X: FloatArray, y: FloatArray, seed: int
) -> BoolArray:
    """Return the columns selected by parallel evolution."""
    selector = ParallelEvolutionSelector(
        n_universes=n_universes, n_generations=n_generations, random_state=seed
    )
    return selector.fit(X, y).support_


def by_all_subsets(criterion: str, X: FloatArray, y: FloatArray, _: int) -> BoolArray:
    """Return the subset with the least criterion."""
    return exhaustive_search(X, y, criterion).best


def by_steps(X: FloatArray, y: FloatArray, _: int) -> BoolArray:
    """Return the subset found by a stepwise search for the least AIC."""
    return stepwise_search(X, y).subset


def by_bagging(X: FloatArray, y: FloatArray, seed: int) -> BoolArray:
    """Return the columns selected by most stepwise searches on bootstrap samples."""
    return above_the_gap(bagged_stepwise_search(X, y, random_state=seed).mean(axis=0))


def by_lasso(X: FloatArray, y: FloatArray, seed: int) -> BoolArray:
    """Return the columns selected by the lasso."""
    return np.asarray(LassoCV(cv=5, random_state=seed).fit(X, y).coef_ != 0.0)


SELECTIONS: dict[str, Selection] = {
    "evolution, B = 25": partial(by_evolution, 25, "auto"),
    "evolution, B = 10": partial(by_evolution, UNIVERSES, "auto"),
    "evolution, B = 1": partial(by_evolution, 1, "auto"),
    "evolution, B = 25, six generations": partial(by_evolution, 25, GENERATIONS),
    "evolution, B = 10, six generations": partial(by_evolution, UNIVERSES, GENERATIONS),
    "evolution, B = 1, six generations": partial(by_evolution, 1, GENERATIONS),
    "all subsets, AIC": partial(by_all_subsets, "aic"),
    "all subsets, BIC": partial(by_all_subsets, "bic"),
    "stepwise, AIC": by_steps,
    "bagging + stepwise AIC": by_bagging,
    "lasso, cross-validated": by_lasso,
}


def selection_values(select: Selection, data: TrainTestData, seed: int) -> Values:
    """Return 100 unless exactly the true columns are selected, and the numbers of wrong columns."""
    selected, true = select(data.X, data.y, seed), true_columns(data)
    return {
        "missed": 100.0 * float(np.any(selected != true)),
        "absent": float(np.sum(true & ~selected)),
        "spurious": float(np.sum(selected & ~true)),
    }


def true_columns(data: TrainTestData) -> BoolArray:
    """Return a mask of the columns that y depends on."""
    return np.isin(np.arange(data.X.shape[1]), data.columns)


def _groups(data: TrainTestData, _: int) -> Values:
    """Compare the AIC of subsets that contain all true columns with that of the others.

    "overlap" is the share, in per cent, of the subsets with all true columns whose AIC is not
    below that of every other subset; "close" is the number within two of the least AIC.
    """
    table, true = exhaustive_search(data.X, data.y), true_columns(data)
    has_all = table.subsets[:, true].all(axis=1)
    within, others = table.scores[has_all], table.scores[~has_all]
    return {
        "wrong": 100.0 * float(np.any(table.best != true)),
        "too many": float(np.sum(table.best & ~true)),
        "close": float(np.sum(table.scores <= table.scores.min() + 2.0)),
        "overlap": 100.0 * float(np.mean(within >= others.min())),
    }


def _votes(data: TrainTestData, seed: int) -> Values:
    """Return the votes of the first B of ten universes for each column, "x5@3" for the fifth.

    "lacking" is the number of universes without the true column that has the fewest votes,
    "spurious" the number of votes for the false column that has the most.
    """
    selector = ParallelEvolutionSelector(
        n_universes=UNIVERSES, n_generations=GENERATIONS, random_state=seed
    )
    subsets = selector.fit(data.X, data.y).subsets_
    votes, true = subsets.cumsum(axis=0), true_columns(data)
    others = np.sort(votes[-1, ~true])[::-1]
    return {
        "lacking": float(UNIVERSES - votes[-1, true].min()),
        "spurious": float(others[0]),
        "spurious, second": float(others[1]),
        "one universe wrong": 100.0 * float(np.any(subsets[0] != true)),
        **{
            f"x{column + 1}@{n_universes}": float(votes[n_universes - 1, column])
            for column in range(len(true))
            for n_universes in range(1, UNIVERSES + 1)
        },
    }


METHODS: dict[str, Method] = {
    **{name: partial(selection_values, select) for name, select in SELECTIONS.items()},
    "groups of subsets": _groups,
    "votes of universes": _votes,
}
