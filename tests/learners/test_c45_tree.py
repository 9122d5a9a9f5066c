"""C4.5: splits and pruning by hand, a plain implementation as an oracle, weights, bad input."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernsemble.learners.c45.classifier import C45Tree
from kernsemble.learners.c45.growth import grow
from kernsemble.learners.c45.pruning import expected_errors, prune
from kernsemble.learners.c45.sorted_rows import SortedRows
from kernsemble.learners.c45.tree import Tree
from kernsemble.persistence import load, save


@parametrize_with_checks([C45Tree(), C45Tree(prune=False)])
@pytest.mark.large
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


# Quinlan's golf data where the outlook is sunny: temperature, humidity, play.
GOLF = [(85, 85, 0), (80, 90, 0), (72, 95, 0), (69, 70, 1), (75, 70, 1)]


def cases(*groups):
    """Return rows and classes from (number of cases, values..., class)."""
    table = np.array([group[1:] for group in groups for _ in range(group[0])], dtype=float)
    return table[:, :-1], table[:, -1].astype(int)


def leaf_sizes(tree):
    return tree.n_cases[tree.feature < 0]


def test_humidity_is_tested_on_a_sunny_day():
    # H(2/5) = 0.971. Humidity: {2 yes} | {3 no}, one of T = 2 thresholds (the other is 87.5), so
    # the gain is 0.971 - 1/5 = 0.771. Temperature: at best {2 yes, 1 no} | {2 no}, with the gain
    # 0.971 - 3/5 * 0.918 - 1/5 = 0.220, below the average 0.495.
    table = np.array(GOLF, dtype=float)
    model = C45Tree().fit(table[:, :2], table[:, 2])
    assert model.tree_.feature.tolist() == [1, -1, -1]
    assert model.tree_.threshold[0] == 77.5
    assert model.tree_.distribution.tolist() == [[3, 2], [0, 2], [3, 0]]


# Of 8 cases of each class x0 sends {6, 2} left and {2, 6} right: gain 1 - H(1/4) = 0.189, and the
# ratio is the same. x1 splits {2, 0} off {6, 8}: gain 1 - 14/16 H(6/14) = 0.138, ratio
# 0.138 / H(1/8) = 0.254. x2 sends {5, 3} left and {3, 5} right: gain 1 - H(3/8) = 0.046.
RATIOS = cases(
    (2, 0, 0, 0, 0),
    (3, 0, 1, 0, 0),
    (1, 0, 1, 1, 0),
    (2, 1, 1, 1, 0),
    (2, 0, 1, 0, 1),
    (1, 1, 1, 0, 1),
    (5, 1, 1, 1, 1),
)


def test_the_gain_ratio_is_compared_only_among_features_with_an_average_gain():
    X, y = RATIOS
    # x0 and x1: the average gain is 0.163, which x1 does not reach.
    assert C45Tree(max_depth=1, prune=False).fit(X[:, :2], y).tree_.feature[0] == 0
    # With x2 it is 0.124: x1 does, and its ratio is the largest.
    assert C45Tree(max_depth=1, prune=False).fit(X, y).tree_.feature[0] == 1


def test_gains_are_those_of_known_cases_times_their_share():
    # x0 separates the classes of the 6 of 16 cases in which it is known: gain 6/16 * 1 = 0.375. x1
    # sends {7, 1} left and {1, 7} right: gain 1 - H(1/8) = 0.456. The average is 0.416.
    X, y = cases(
        (3, 0, 0, 0),
        (4, np.nan, 0, 0),
        (1, np.nan, 1, 0),
        (3, 1, 1, 1),
        (4, np.nan, 1, 1),
        (1, np.nan, 0, 1),
    )
    assert C45Tree(max_depth=1, prune=False).fit(X, y).tree_.feature[0] == 1


def test_missing_values_are_shared_out_between_branches():
    X, y = cases((2, 0, 0), (6, 1, 1), (1, np.nan, 0), (1, np.nan, 1))
    model = C45Tree(prune=False).fit(X, y)
    # A quarter of the known cases is on the left, and so a quarter of each missing case.
    assert model.tree_.distribution.tolist() == [[3, 7], [2.25, 0.25], [0.75, 6.75]]
    assert_allclose(model.predict_proba([[0.0], [1.0]]), [[0.9, 0.1], [0.1, 0.9]])
    assert_allclose(model.predict_proba([[np.nan]]), [[0.3, 0.7]])


def test_the_split_information_of_missing_values_lowers_the_ratio():
    # x0 is unknown for 2 of 18 cases: gain 16/18 (1 - H(1/8)) = 0.406, split information of
    # (8, 8, 2)/18 1.392, ratio 0.292. x1 errs once more: {7, 2} | {2, 7}: gain 1 - H(2/9) = 0.236.
    # x2 is x1 on 8 | 10: {7, 1} | {2, 8}: gain 1 - 8/18 H(1/8) - 10/18 H(1/5) = 0.357, split
    # information 0.991, ratio 0.361. The average is 0.333.
    X, y = cases(
        (6, 0, 0, 0, 0),
        (1, 0, 1, 1, 0),
        (1, np.nan, 0, 0, 0),
        (1, 1, 1, 1, 0),
        (6, 1, 1, 1, 1),
        (1, 1, 0, 1, 1),
        (1, np.nan, 1, 1, 1),
        (1, 0, 0, 0, 1),
    )
    assert C45Tree(max_depth=1, prune=False).fit(X, y).tree_.feature[0] == 2


def test_many_thresholds_cost_gain():
    # Alternating classes: the best of 5 thresholds gains 0.049 of a bit, less than log2(5)/8.
    X, y = np.arange(8.0)[:, np.newaxis], np.arange(8) % 2
    assert C45Tree(prune=False).fit(X, y).get_n_leaves() == 1
    assert C45Tree(prune=False, threshold_penalty=False).fit(X, y).get_n_leaves() > 1


@pytest.mark.parametrize(
    ("n", "n_left", "n_leaves"),
    [(4, 2, 2), (4, 1, 1), (100, 5, 2), (100, 4, 1), (1000, 25, 2), (1000, 24, 1)],
)
def test_a_branch_needs_a_tenth_of_its_share_of_cases_but_25_suffice(n, n_left, n_leaves):
    X, y = cases((n_left, 0, 0), (n - n_left, 1, 1))
    assert C45Tree(prune=False).fit(X, y).get_n_leaves() == n_leaves


@pytest.mark.parametrize(
    ("n_cases", "errors", "rate"), [(6, 0, 0.206), (9, 0, 0.143), (1, 0, 0.750), (16, 1, 0.157)]
)
def test_the_error_limit_is_that_of_quinlans_book(n_cases, errors, rate):
    assert expected_errors(n_cases, errors) / n_cases == pytest.approx(rate, abs=5e-4)


def test_the_error_limit_by_hand():
    # c = 0.25 lies a quarter of the way from 0.20 to 0.40 in the table, z = 0.84 - 0.59/4 = 0.6925.
    z, E = 0.6925, 3.5
    p = (E + z**2 / 2 + z * np.sqrt(E * (1 - E / 10) + z**2 / 4)) / (10 + z**2)
    assert expected_errors(10, 3) == pytest.approx(10 * p)
    none, one = expected_errors(10, 0), expected_errors(10, 1)
    assert expected_errors(10, 0.5) == pytest.approx((none + one) / 2)
    assert expected_errors(2, 1.8) == pytest.approx(1.8 + 0.67 * 0.2)
    assert expected_errors(5, 0, confidence=0.0) == 5.0


def built(tests, X, y, weight=None):
    """Return arguments of `prune` for a tree given as rows (feature, threshold, left, right)."""
    feature, threshold, left, right = (np.array(each) for each in zip(*tests, strict=True))
    distribution = np.zeros((len(tests), y.max() + 1))
    tree = Tree(feature, threshold.astype(float), left, right, distribution)
    return tree, SortedRows.from_rows(X), y, np.ones(len(y)) if weight is None else weight


def test_three_leaves_are_one_in_quinlans_votes():
    # Leaves of 6, 9 and 1 cases without errors: 6 * 0.206 + 9 * 0.143 + 0.750 = 3.273 errors are
    # expected. One leaf of 16 cases, 1 of them of the other class: 16 * 0.157 = 2.512.
    X, y = cases((6, 0, 0), (9, 1, 0), (1, 2, 1))
    tests = [(0, 0.5, 1, 2), (-1, 0, -1, -1), (0, 1.5, 3, 4), (-1, 0, -1, -1), (-1, 0, -1, -1)]
    pruned = prune(*built(tests, X, y), subtree_raising=False)
    assert pruned.n_leaves == 1
    assert pruned.distribution.tolist() == [[15, 1]]


# x0 splits off 2 cases, one of each class; x1 separates the classes of all.
RAISED = cases((1, 0, 0, 0), (1, 0, 1, 1), (10, 1, 0, 0), (10, 1, 1, 1))
RAISED_TESTS = [(0, 0.5, 1, 2), (-1, 0, -1, -1), (1, 0.5, 3, 4), (-1, 0, -1, -1), (-1, 0, -1, -1)]


def test_the_larger_branch_is_raised_where_that_errs_less():
    # The tree: U(1, 2) and twice U(0, 10), 1.80 + 2 * 1.29 = 4.39 errors. The branch with all
    # cases: twice U(0, 11), 2 * 1.30 = 2.61. A leaf: more than 11.
    pruned = prune(*built(RAISED_TESTS, *RAISED))
    assert pruned.feature.tolist() == [1, -1, -1]
    assert pruned.distribution.tolist() == [[11, 11], [11, 0], [0, 11]]


def test_without_raising_a_node_becomes_a_leaf_or_stays():
    pruned = prune(*built(RAISED_TESTS, *RAISED), subtree_raising=False)
    assert pruned.feature.tolist() == [0, -1, 1, -1, -1]
    assert pruned.distribution.tolist() == [[11, 11], [1, 1], [10, 10], [10, 0], [0, 10]]


def test_a_long_chain_with_fewer_expected_errors_is_kept():
    n = 80
    X, y = np.arange(float(n))[:, np.newaxis], np.arange(n) % 2
    # The test of node k is x <= n - 1.5 - k; its right branch is a leaf, its left the next node.
    chain = [(0, n - 1.5 - k, k + 1, n + k) for k in range(n - 2)]
    chain += [(0, 0.5, 2 * n - 2, n - 1), *([(-1, 0.0, -1, -1)] * n)]
    pruned = prune(*built(chain, X, y, np.full(n, 100.0)))
    assert pruned.n_leaves == n
    assert pruned.depth == n - 1


# A plain recursive implementation of the definition, as an oracle.

ROUNDING = 1e-10


def entropy(weights):
    shares = np.array([each for each in weights if each > 0.0])
    shares = shares / shares.sum()
    return -float((shares * np.log2(shares)).sum())


def counted(y, weight, K):
    return np.bincount(y, weight, minlength=K)


def plain_threshold(x, y, weight, K, settings):
    known, N, best = ~np.isnan(x), weight.sum(), None
    n_known, levels = weight[known].sum(), np.unique(x[known])
    least = max(settings["min_cases"], min(25.0, 0.1 * n_known / settings["n_present"]))
    H, splits = entropy(counted(y[known], weight[known], K)) if known.any() else 0.0, []
    for lower, upper in pairwise(levels):
        left, right = known & (x <= lower), known & (x >= upper)
        n_left, n_right = weight[left].sum(), weight[right].sum()
        if min(n_left, n_right) >= least * (1 - ROUNDING):
            after = n_left * entropy(counted(y[left], weight[left], K))
            after += n_right * entropy(counted(y[right], weight[right], K))
            parts = [n_left, n_right, N - n_known]
            splits.append(
                (n_known / N * (H - after / n_known), entropy(parts), (lower + upper) / 2)
            )
    penalty = np.log2(len(splits)) / N if splits and settings["threshold_penalty"] else 0.0
    for gain, information, threshold in splits:
        if best is None or gain - penalty > best[0] + ROUNDING:
            best = gain - penalty, information, threshold
    return best if best is not None and best[0] > ROUNDING else None


def plain_send(X, y, weight, feature, threshold):
    """Return rows, classes and weights of the left and of the right branch."""
    x = X[:, feature]
    missing, left = np.isnan(x), x <= threshold
    share = weight[left].sum() / weight[~missing].sum()
    for part, here in ((share, left), (1 - share, ~left & ~missing)):
        scaled = np.where(missing, part * weight, weight)
        yield X[here | missing], y[here | missing], scaled[here | missing]


def plain_tree(X, y, weight, K, settings):
    """Return nested (distribution, feature, threshold, left, right), or (distribution,)."""
    total = counted(y, weight, K)
    if np.count_nonzero(total) < 2 or weight.sum() < 2 * settings["min_cases"] * (1 - ROUNDING):
        return (total,)
    found = {d: plain_threshold(X[:, d], y, weight, K, settings) for d in range(X.shape[1])}
    found = {d: each for d, each in found.items() if each is not None}
    average, best = np.mean([gain for gain, _, _ in found.values()]) if found else 0.0, None
    for d, (gain, information, threshold) in found.items():
        is_better = best is None or gain / information > best[0] + ROUNDING
        if gain >= average - 1e-3 and information > 1e-3 and is_better:
            best = gain / information, d, threshold
    if best is None:
        return (total,)
    _, d, threshold = best
    branches = [plain_tree(*each, K, settings) for each in plain_send(X, y, weight, d, threshold)]
    if sum(map(plain_errors, branches)) >= total.sum() - total.max() - 1e-3:
        return (total,)
    return (total, d, threshold, *branches)


def plain_errors(node):
    if len(node) == 1:
        return node[0].sum() - node[0].max()
    return plain_errors(node[3]) + plain_errors(node[4])


def plain_estimate(node, X, y, weight, K):
    if len(node) == 1:
        total = counted(y, weight, K)
        return expected_errors(total.sum(), total.sum() - total.max())
    branches = zip(node[3:], plain_send(X, y, weight, *node[1:3]), strict=True)
    return sum(plain_estimate(branch, *each, K) for branch, each in branches)


def plain_pruned(node, X, y, weight, K, raising):
    """Return the pruned tree and its expected errors."""
    total = counted(y, weight, K)
    of_leaf = expected_errors(total.sum(), total.sum() - total.max())
    if len(node) == 1:
        return (total,), of_leaf
    parts = list(plain_send(X, y, weight, *node[1:3]))
    pruned = [
        plain_pruned(branch, *part, K, raising)
        for branch, part in zip(node[3:], parts, strict=True)
    ]
    branches, of_tree = [tree for tree, _ in pruned], sum(errors for _, errors in pruned)
    n_left, n_right = (part[2].sum() for part in parts)
    larger = branches[int(n_right >= n_left * (1 - ROUNDING))]
    of_branch = plain_estimate(larger, X, y, weight, K) if raising else np.inf
    if of_leaf <= min(of_branch, of_tree) + 0.1:
        return (total,), of_leaf
    if of_branch <= of_tree + 0.1:
        return plain_pruned(larger, X, y, weight, K, raising)
    return (total, *node[1:3], *branches), of_tree


def flat(node, rows):
    """Append the nodes of a nested tree to a list, each before its branches."""
    rows.append((node[1] if len(node) > 1 else -1, node[2] if len(node) > 1 else np.nan, node[0]))
    for branch in node[3:]:
        flat(branch, rows)
    return rows


def assert_same(tree, node):
    feature, threshold, distribution = zip(*flat(node, []), strict=True)
    assert_array_equal(tree.feature, feature)
    is_test = tree.feature >= 0
    assert_allclose(tree.threshold[is_test], np.array(threshold)[is_test])
    assert_allclose(tree.distribution, np.array(distribution), atol=1e-9)


@st.composite
def weighted_cases(draw, weights=(0.0, 0.3, 1.0, 2.5), missing=True):
    """Return rows with few levels, codes of three classes that follow them, and weights."""
    n, D = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    levels = [0.0, 1.0, 2.0, 3.0, 5.0, 8.0, *([np.nan] if missing else [])]
    X = draw(arrays(np.float64, (n, D), elements=st.sampled_from(levels), fill=st.nothing()))
    noise = draw(arrays(np.intp, n, elements=st.integers(0, 2), fill=st.nothing()))
    is_noise = draw(arrays(np.bool_, n, fill=st.nothing()))
    y = np.where(is_noise, noise, np.nan_to_num(X).sum(axis=1).astype(int) % 3)
    weight = draw(arrays(np.float64, n, elements=st.sampled_from(weights), fill=st.nothing()))
    weight[0] = 1.0
    return X, y, weight


@given(data=weighted_cases(), penalty=st.booleans(), min_cases=st.sampled_from([1.0, 2.0]))
def test_trees_are_grown_as_defined(data, penalty, min_cases):
    X, y, weight = data
    here = weight > 0.0
    settings = {"min_cases": min_cases, "threshold_penalty": penalty}
    settings["n_present"] = len(np.unique(y[here]))
    expected = plain_tree(X[here], y[here], weight[here], 3, settings)
    rows = SortedRows.from_rows(X)
    assert_same(grow(rows, y, weight, 3, min_cases, threshold_penalty=penalty), expected)


@given(data=weighted_cases(), raising=st.booleans())
def test_trees_are_pruned_as_defined(data, raising):
    X, y, weight = data
    here = weight > 0.0
    settings = {"min_cases": 1.0, "threshold_penalty": False}
    settings["n_present"] = len(np.unique(y[here]))
    grown = plain_tree(X[here], y[here], weight[here], 3, settings)
    expected, _ = plain_pruned(grown, X[here], y[here], weight[here], 3, raising)
    rows = SortedRows.from_rows(X)
    tree = grow(rows, y, weight, 3, min_cases=1.0, threshold_penalty=False)
    assert_same(prune(tree, rows, y, weight, subtree_raising=raising), expected)


@given(seed=st.integers(0, 2**32 - 1))
def test_continuous_features_are_split_as_defined(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=60) > 0.0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.exponential(size=60)
    settings = {"min_cases": 2.0, "threshold_penalty": True, "n_present": len(np.unique(y))}
    expected = plain_tree(X, y, weight, 2, settings)
    rows = SortedRows.from_rows(X)
    tree = grow(rows, y, weight, 2)
    assert_same(tree, expected)
    assert_same(prune(tree, rows, y, weight), plain_pruned(expected, X, y, weight, 2, True)[0])


@given(data=weighted_cases(weights=(0.0, 1.0, 2.0, 3.0)), is_pruned=st.booleans())
def test_weights_are_repetitions_and_zero_is_absence(data, is_pruned):
    X, y, weight = data
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    model = C45Tree(min_cases=1, prune=is_pruned, threshold_penalty=False)
    tree = model.learn(SortedRows.from_rows(X), y, weight, 3)
    again = model.learn(SortedRows.from_rows(X[repeated]), y[repeated], np.ones(len(repeated)), 3)
    assert_array_equal(tree.feature, again.feature)
    assert_allclose(tree.threshold, again.threshold)
    assert_allclose(tree.distribution, again.distribution, atol=1e-9)


@given(data=weighted_cases())
def test_pruning_never_adds_leaves_nor_loses_cases(data):
    X, y, weight = data
    rows = SortedRows.from_rows(X)
    tree = grow(rows, y, weight, 3, min_cases=1.0, threshold_penalty=False)
    pruned = prune(tree, rows, y, weight)
    assert pruned.n_leaves <= tree.n_leaves
    assert leaf_sizes(pruned).sum() == pytest.approx(weight.sum())


@given(data=weighted_cases(weights=(1.0, 2.0), missing=False))
def test_only_the_order_of_values_matters_to_growth(data):
    X, y, weight = data
    tree, cubed = (
        grow(SortedRows.from_rows(each), y, weight, 3, min_cases=1.0) for each in (X, X**3)
    )
    assert_array_equal(tree.feature, cubed.feature)
    assert_array_equal(tree.shares(X), cubed.shares(X**3))


@given(data=weighted_cases())
def test_a_row_of_missing_values_has_the_distribution_of_the_root(data):
    X, y, weight = data
    model = C45Tree(min_cases=1, prune=False).fit(X, y, weight)
    shares = model.predict_proba(np.full((1, X.shape[1]), np.nan))
    assert_allclose(shares[0], model.tree_.distribution[0] / weight.sum())


def test_a_single_class_is_a_leaf():
    model = C45Tree().fit([[1.0], [2.0], [3.0]], ["a", "a", "a"])
    assert model.get_n_leaves() == 1
    assert model.get_depth() == 0
    assert model.predict([[5.0]]).tolist() == ["a"]
    assert model.export_text() == "a (3.0)"


def test_constant_and_missing_columns_are_not_tested():
    X = np.column_stack([np.ones(8), np.full(8, np.nan), np.arange(8.0) > 3])
    model = C45Tree().fit(X, np.arange(8) > 3)
    assert model.tree_.feature.tolist() == [2, -1, -1]


def test_equal_rows_of_different_classes_share_a_leaf():
    X, y = cases((4, 1, 0), (4, 1, 1), (2, 1, 2))
    model = C45Tree(prune=False).fit(X, y)
    assert model.tree_.distribution.tolist() == [[4, 4, 2]]
    assert model.predict([[1.0]]).tolist() == [0]  # the first of equally frequent classes


def test_a_split_separates_neighbouring_floats():
    lower = 1.0
    upper = np.nextafter(lower, 2.0)
    X, y = cases((3, lower, 0), (3, upper, 1))
    assert C45Tree().fit(X, y).predict([[lower], [upper]]).tolist() == [0, 1]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_chain_of_tests_may_be_as_long_as_the_data(sign):
    # Each row has twice the weight of the next, so that splitting it off always gains most.
    n = 100
    X, y = sign * np.arange(float(n))[:, np.newaxis], np.arange(n) % 2
    model = C45Tree().fit(X, y, sample_weight=25.0 * 3.0 ** np.arange(n - 1, -1, -1))
    assert model.get_depth() == n - 1
    assert model.score(X, y) == 1.0
    assert len(model.export_text().splitlines()) == 2 * (n - 1)


def test_missing_values_may_be_anywhere():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = (X[:, 0] > 0.0) ^ (X[:, 1] > 0.0)
    X[rng.random(X.shape) < 0.3] = np.nan
    model = C45Tree(prune=False).fit(X, y)
    assert_allclose(leaf_sizes(model.tree_).sum(), 200.0)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert_array_equal(model.classes_[model.tree_.codes(X)], model.predict(X))


def test_max_depth_limits_the_tests():
    X, y = load_iris(return_X_y=True)
    assert [C45Tree(max_depth=depth).fit(X, y).get_depth() for depth in (0, 1, 2)] == [0, 1, 2]


def test_models_survive_clone_pickle_and_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = C45Tree(confidence=0.1).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    for again in (pickle.loads(pickle.dumps(model)), load(save(model, tmp_path / "tree.skops"))):
        assert again.tree_ == model.tree_
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_text_contains_cases_and_errors():
    table = pd.DataFrame({"wind": [0.0] * 6 + [1.0] * 10}), ["stay"] * 5 + ["go"] * 11
    model = C45Tree().fit(*table)
    assert model.export_text().splitlines() == [
        "wind <= 0.5 : stay (6.0/1.0)",
        "wind > 0.5 : go (10.0)",
    ]
    assert model.export_text(["w"]).startswith("w <= 0.5")
    with pytest.raises(ValueError, match="feature_names has 2 names: pass 1"):
        model.export_text(["a", "b"])


def test_shares_of_zero_have_the_logarithm_minus_infinity():
    X, y = cases((3, 0, 0), (3, 1, 1))
    assert C45Tree().fit(X, y).predict_log_proba([[0.0]]).tolist() == [[0.0, -np.inf]]


@pytest.mark.parametrize(
    ("setting", "value"),
    [("min_cases", 0), ("confidence", 1.5), ("max_depth", -1), ("max_depth", 2.5)],
)
def test_settings_out_of_range_are_refused(setting, value):
    with pytest.raises(ValueError, match=f"{setting} = {value}"):
        C45Tree(**{setting: value}).fit([[0.0], [1.0]], [0, 1])
