"""The measure over features: which features matter is learned from the targets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.datasets import make_twonorm
from kernsemble.kernels import Exponential, Laplacian
from kernsemble.preprocessing import FeatureScaling
from kernsemble.preprocessing.learned_measure import _TwoHalves, best_round, learn_measure
from kernsemble.preprocessing.supervised import TargetScaling
from kernsemble.solvers.ridge import Ridge

pytestmark = pytest.mark.large  # too slow without compilation

RELEVANT = [2, 7, 11]
KERNELS = {"l1": Laplacian, "l2": Exponential}
BASES = {"l1": ("rank", "learned"), "l2": ("range", "learned-range")}
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0)


def three_of_twenty(n, seed):
    """Return rows with 20 features, and a function of three of them, with noise 0.1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 20))
    a, b, c = X[:, RELEVANT].T
    return X, np.sin(3.0 * a) + 2.0 * b * c + 0.1 * rng.normal(size=n)


def scaled(X, y, kind, norm):
    """Return a scaling of rows, learned if it is, and their coordinates."""
    weight = np.ones(len(X))
    if kind in {"rank", "range"}:
        scaling = FeatureScaling.from_rows(X, kind, weight)
        return scaling, scaling.transform(X)
    targets = ((y - y.mean()) / y.std())[:, np.newaxis]
    is_category = np.zeros(X.shape[1], dtype=bool)
    return TargetScaling.from_rows(kind, X, weight, is_category, targets, norm).fit()


def error_on_test_rows(X, y, T, t, kind, norm):
    """Return the least mean squared error on test rows of the machine at any C."""
    scaling, coordinates = scaled(X, y, kind, norm)
    kernel = KERNELS[norm]().bind(coordinates)
    K, across = kernel(coordinates), kernel(scaling.transform(T), coordinates)
    errors = []
    for C in STRENGTHS:
        beta, bias = Ridge.from_matrix(K, np.full(len(X), C)).solve(y[:, np.newaxis])
        errors.append(np.mean(((across @ beta + bias)[:, 0] - t) ** 2))
    return min(errors)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_relevant_features_get_the_hypotheses(norm, seed):
    X, y = three_of_twenty(1_000, seed)
    scaling, coordinates = scaled(X, y, BASES[norm][1], norm)
    shares = scaling.feature_shares(20)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[RELEVANT].min() > 0.05
    assert np.delete(shares, RELEVANT).max() < 0.05
    assert shares[RELEVANT].sum() > 0.85
    assert_allclose(scaling.transform(X), coordinates, atol=1e-9)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_learned_measure_halves_the_error_of_equal_weights(norm):
    (X, y), (T, t) = three_of_twenty(1_000, 0), three_of_twenty(2_000, 100)
    plain, learned = (error_on_test_rows(X, y, T, t, kind, norm) - 0.01 for kind in BASES[norm])
    assert learned < 0.5 * plain  # of the excess over the noise


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_features_that_are_all_relevant_lose_little(norm):
    (X, y), (T, t) = (make_twonorm(n, random_state=n) for n in (1_000, 3_000))
    plain, learned = (error_on_test_rows(X, y, T, t, kind, norm) for kind in BASES[norm])
    assert learned < plain + 0.04
    scaling, _ = scaled(X, np.float64(y), BASES[norm][1], norm)
    assert (scaling.feature_shares(20) > 0.0).sum() >= 15


def test_directions_find_an_oblique_one():
    rng = np.random.default_rng(0)
    oblique = rng.normal(size=10)
    X, T = rng.uniform(-1.0, 1.0, (300, 10)), rng.uniform(-1.0, 1.0, (2_000, 10))
    y, t = np.tanh(X @ oblique), np.tanh(T @ oblique)
    scaling, _ = scaled(X, y, "learned-directions", "l2")
    values, vectors = np.linalg.eigh(scaling.weights)
    assert abs(vectors[:, -1] @ oblique) > 0.98 * np.linalg.norm(oblique)
    assert values[-2] < 0.5 * values[-1]
    plain, learned = (
        error_on_test_rows(X, y, T, t, k, "l2") for k in ("range", "learned-directions")
    )
    assert learned < 0.7 * plain


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_products_of_the_slopes_of_two_halves_vanish_where_they_are_noise(norm):
    """The mean over many pairs of halves, of features that the target does not depend on."""
    products, squares = [], []
    for seed in range(30):
        X, y = three_of_twenty(150, seed)
        y, halves = (y / y.std())[:, np.newaxis], (np.arange(75), np.arange(75, 150))
        fit = _TwoHalves.from_rows(np.float32(X), y, np.ones(150), halves, norm, [6.0])
        products.append(fit.squared_slopes())
        squares.append(np.einsum("i,kid->d", fit.counts, fit._slopes(0) ** 2))
    products, squares = np.mean(products, axis=0), np.mean(squares, axis=0)
    noise = np.delete(np.arange(20), RELEVANT)
    assert abs(products[noise].mean()) < 0.05 * squares[noise].mean()
    assert np.abs(products[noise]).max() < 0.3 * squares[noise].min()
    assert products[RELEVANT[0]] > 5.0 * np.abs(products[noise]).max()


def test_the_first_round_has_equal_weights_and_the_best_one_is_kept():
    X, y = three_of_twenty(1_000, 0)
    rounds = learn_measure(X, y[:, np.newaxis], np.ones(1_000))
    assert 2 <= len(rounds) <= 5
    assert_array_equal(rounds[0].weights, np.ones(20))
    errors = [each.left_out_error for each in rounds]
    assert best_round(rounds).left_out_error == min(errors) < errors[0]
    for each in rounds[1:]:
        assert each.weights.max() == 1.0
        assert each.weights.min() >= 0.0


def test_rows_that_are_absent_are_not_learned_from():
    X, y = three_of_twenty(200, 3)
    weight = np.r_[np.ones(120), np.zeros(80)]
    rounds = learn_measure(X, y[:, np.newaxis], weight)
    same = learn_measure(X[:120], y[:120, np.newaxis], weight[:120])
    assert_array_equal(rounds[-1].weights, same[-1].weights)


def test_equal_rows_keep_equal_weights():
    (only,) = learn_measure(np.ones((9, 3)), np.arange(9.0)[:, np.newaxis], np.ones(9))
    assert_array_equal(only.weights, np.ones(3))


@pytest.mark.parametrize("kind", ["learned", "learned-range", "learned-distinct"])
def test_a_scaling_of_some_rows_does_not_depend_on_the_others(kind):
    X, y = three_of_twenty(150, 4)
    kept, others = np.arange(0, 150, 2), np.arange(1, 150, 2)
    changed, damaged = y.copy(), X.copy()
    changed[others], damaged[others] = 100.0, -5.0
    known = np.ones(150), np.zeros(20, dtype=bool)
    first = TargetScaling.from_rows(kind, X, *known, y[:, np.newaxis]).fit(kept)
    second = TargetScaling.from_rows(kind, damaged, *known, changed[:, np.newaxis]).fit(kept)
    assert_array_equal(first.coordinates, second.coordinates)
    assert_array_equal(first.scaling.transform(X), second.scaling.transform(X))
    everything = TargetScaling.from_rows(kind, X, *known, y[:, np.newaxis]).fit()
    assert np.abs(everything.coordinates[kept] - first.coordinates).max() > 1e-3


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_mean_distance_of_coordinates_is_one(norm):
    X, y = three_of_twenty(150, 5)
    _, u = scaled(X, y, BASES[norm][1], norm)
    order = 1 if norm == "l1" else 2
    distances = np.linalg.norm(u[:, np.newaxis] - u, ord=order, axis=2)
    assert distances.sum() == pytest.approx(150 * 149)  # of pairs of rows


def test_rows_that_no_measure_can_be_learned_from_are_errors():
    X, y = three_of_twenty(20, 0)
    known = np.ones(20), np.zeros(20, dtype=bool), y[:, np.newaxis]
    with pytest.raises(ValueError, match=r"missing values: use scaling='learned-effects'"):
        TargetScaling.from_rows("learned", np.where(X > 0.9, np.nan, X), *known)
    with pytest.raises(ValueError, match="has categories: use"):
        TargetScaling.from_rows("learned", X, np.ones(20), np.ones(20, dtype=bool), known[2])
    with pytest.raises(ValueError, match="needs a kernel of Euclidean distances"):
        TargetScaling.from_rows("learned-directions", X, *known, norm="l1")
