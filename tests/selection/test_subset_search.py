"""Exhaustive, stepwise and bagged stepwise search, against plain loops."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.datasets import make_sparse_sum
from kernsemble.selection import bagged_stepwise_search, exhaustive_search, stepwise_search

X, y = make_sparse_sum(60, 6, (1, 4), random_state=0)


def aic(subset, X=X, y=y):
    design = np.column_stack([np.ones(len(X)), X[:, subset]])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return len(y) * np.log(residual @ residual / len(y)) + 2.0 * subset.sum()


def test_every_subset_is_scored_once():
    found = exhaustive_search(X, y)
    assert {tuple(row) for row in found.subsets} == set(product([False, True], repeat=6))
    assert_allclose(found.scores, [aic(subset) for subset in found.subsets])
    assert_array_equal(found.best, found.subsets[found.scores.argmin()])


def test_no_single_column_improves_where_steps_end():
    found = stepwise_search(X, y)
    assert found.score == pytest.approx(aic(found.subset))
    assert all(aic(found.subset ^ column) >= found.score for column in np.eye(6, dtype=bool))
    assert found.n_steps >= found.subset.sum()


def test_bagging_searches_on_repeated_rows():
    found = bagged_stepwise_search(X, y, n_samples=4, random_state=0)
    rng = np.random.RandomState(0)
    for subset in found:
        rows = rng.randint(60, size=60)
        assert_array_equal(stepwise_search(X[rows], y[rows]).subset, subset)
    assert_array_equal(found, bagged_stepwise_search(X, y, n_samples=4, random_state=0, n_jobs=2))


def test_weights_are_repetitions():
    times = np.arange(60) % 3
    rows = np.repeat(np.arange(60), times)
    weighted = exhaustive_search(X, y, sample_weight=times)
    assert_allclose(weighted.scores, exhaustive_search(X[rows], y[rows]).scores)


def test_survival_is_accepted():
    survival = np.column_stack([np.exp(-y), np.ones(60)])
    assert_array_equal(np.flatnonzero(stepwise_search(X, survival, "cox-bic").subset), [1, 4])


def test_too_many_subsets_are_refused():
    with pytest.raises(MemoryError, match="X has 50 columns"):
        exhaustive_search(np.random.default_rng(0).normal(size=(60, 50)), y)


def test_responses_of_another_length_are_refused():
    survival = np.column_stack([np.exp(-y), np.ones(60)])
    for response, criterion in ((y[:-1], "aic"), (survival[:-1], "cox-bic")):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            stepwise_search(X, response, criterion)
