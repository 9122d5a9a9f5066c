"""Which columns are selected, and whether they are the true ones (Zhu 2008, Section 4.3)."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.linear_model import LassoCV

from kernsemble._typing import BoolArray, FloatArray
from kernsemble.experiments.methods.measures import Method, Values
from kernsemble.experiments.problems import Problem
from kernsemble.selection import (
    ParallelEvolutionSelector,
    bagged_stepwise_search,
    exhaustive_search,
    largest_gap,
    stepwise_search,
)

Selection: TypeAlias = Callable[[FloatArray, FloatArray, int], BoolArray]

GENERATIONS = 6  # of the paper
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
    """Return what an evolution selects."""
    selector = ParallelEvolutionSelector(
        n_universes=n_universes, n_generations=n_generations, random_state=seed
    )
    return selector.fit(X, y).support_


def by_all_subsets(criterion: str, X: FloatArray, y: FloatArray, _: int) -> BoolArray:
    """Return the subset of the least criterion."""
    return exhaustive_search(X, y, criterion).best


def by_steps(X: FloatArray, y: FloatArray, _: int) -> BoolArray:
    """Return where a stepwise search for the least AIC ends."""
    return stepwise_search(X, y).subset


def by_bagging(X: FloatArray, y: FloatArray, seed: int) -> BoolArray:
    """Return what stepwise searches on bootstrap samples agree on."""
    return above_the_gap(bagged_stepwise_search(X, y, random_state=seed).mean(axis=0))


def by_lasso(X: FloatArray, y: FloatArray, seed: int) -> BoolArray:
    """Return what the lasso keeps."""
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


def told_of_selection(select: Selection, problem: Problem, seed: int) -> Values:
    """Return 100 where the true columns are missed, how many are absent and how many too many."""
    selected, true = select(problem.X, problem.y, seed), true_columns(problem)
    return {
        "missed": 100.0 * float(np.any(selected != true)),
        "absent": float(np.sum(true & ~selected)),
        "spurious": float(np.sum(selected & ~true)),
    }


def true_columns(problem: Problem) -> BoolArray:
    """Return the columns that make y, as a mask."""
    return np.isin(np.arange(problem.X.shape[1]), problem.columns)


def _groups(problem: Problem, _: int) -> Values:
    """Return what AIC says of subsets that hold all true columns, and of the others.

    "overlap" is the share, in per cent, of the subsets with all true columns whose AIC is not
    below that of every other subset; "close" is how many are within two of the least AIC.
    """
    table, true = exhaustive_search(problem.X, problem.y), true_columns(problem)
    holds_all = table.subsets[:, true].all(axis=1)
    within, others = table.scores[holds_all], table.scores[~holds_all]
    return {
        "wrong": 100.0 * float(np.any(table.best != true)),
        "too many": float(np.sum(table.best & ~true)),
        "close": float(np.sum(table.scores <= table.scores.min() + 2.0)),
        "overlap": 100.0 * float(np.mean(within >= others.min())),
    }


def _votes(problem: Problem, seed: int) -> Values:
    """Return in how many of the first B of ten universes each column is, "x5@3" of the fifth.

    "lacking" is how many of the ten do not hold the true column that fewest hold, "spurious" how
    many hold the false one that most hold.
    """
    selector = ParallelEvolutionSelector(
        n_universes=UNIVERSES, n_generations=GENERATIONS, random_state=seed
    )
    subsets = selector.fit(problem.X, problem.y).subsets_
    votes, true = subsets.cumsum(axis=0), true_columns(problem)
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
    **{name: partial(told_of_selection, select) for name, select in SELECTIONS.items()},
    "groups of subsets": _groups,
    "votes of universes": _votes,
}
