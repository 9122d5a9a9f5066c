"""Average precision and hit curves are means over every order of tied rows."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score

from kernsemble.detection import average_precision, hit_curve


@st.composite
def rankings(draw):
    n = draw(st.integers(1, 6))
    y = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(any))
    scores = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return np.array(y), np.array(scores, dtype=float)


def orders(y, scores):
    """Yield the classes in every order that the scores allow."""
    for order in permutations(range(len(y))):
        if (np.diff(scores[list(order)]) <= 0.0).all():
            yield y[list(order)]


def precision_of(order):
    places = np.flatnonzero(order) + 1
    return np.mean(np.arange(1, len(places) + 1) / places)


@given(rankings())
def test_average_precision_is_the_expectation_over_orders_of_ties(ranking):
    y, scores = ranking
    expected = np.mean([precision_of(order) for order in orders(y, scores)])
    assert_allclose(average_precision(y, scores), expected, rtol=1e-12)


@given(rankings())
def test_the_hit_curve_is_the_expectation_over_orders_of_ties(ranking):
    y, scores = ranking
    expected = np.mean([np.cumsum(order) for order in orders(y, scores)], axis=0)
    curve = hit_curve(y, scores)
    assert_allclose(curve.hits(np.arange(len(y) + 1)), [0.0, *expected], atol=1e-12)


@given(rankings(), st.data())
def test_weights_are_repetitions(ranking, data):
    y, scores = ranking
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    if not weight[y].any():
        return
    repeated = np.repeat(y, weight), np.repeat(scores, weight)
    weighted = average_precision(y, scores, sample_weight=weight)
    assert_allclose(weighted, average_precision(*repeated), rtol=1e-10)
    curve, expected = hit_curve(y, scores, sample_weight=weight), hit_curve(*repeated)
    assert_allclose(curve.n_hits, expected.n_hits)
    assert_allclose(curve.n_selected, expected.n_selected)


def test_without_ties_it_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, scores = rng.random(50_000) < 0.02, rng.normal(size=50_000)
    scores[y] += 1.0
    assert_allclose(average_precision(y, scores), average_precision_score(y, scores), rtol=1e-11)


def test_many_ties_among_many_rows_lose_no_precision():
    rng = np.random.default_rng(0)
    y, scores = rng.random(200_000) < 0.3, rng.integers(0, 1000, 200_000).astype(float)
    a = b = expected = 0.0
    for score in np.unique(scores)[::-1]:
        tied = y[scores == score]
        p, t, s = tied.sum(), len(tied), np.arange(1, len(tied) + 1)
        expected += p / t * np.sum((a + 1 + (s - 1) * (p - 1) / (t - 1)) / (b + s))
        a, b = a + p, b + t
    assert_allclose(average_precision(y, scores), expected / a, rtol=1e-10)


@given(st.floats(0.01, 100.0), st.integers(0, 1000))
def test_any_weights_give_a_value_between_0_and_1(factor, seed):
    rng = np.random.default_rng(seed)
    y, scores = np.append(True, rng.random(20) < 0.3), rng.integers(0, 8, 21)
    value = average_precision(y, scores, sample_weight=factor * rng.random(21))
    assert 0.0 < value <= 1.0 + 1e-12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0], [1.0, 2.0, 3.0]), "y_true has shape"),
        (([1, 0], [1.0, np.nan]), "y_score is NaN for row 1"),
        (([0, 0], [1.0, 2.0]), "pos_label = 1"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        average_precision(*arguments)
