"""Lin & Li 2008, section 6: unions, XOR, AND, regions and trees; Definition 15."""

from itertools import product

import numpy as np
import pytest
from cases import ENSEMBLES, random_rows, samples, svm_decisions
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from kernsemble.datasets import make_threenorm
from kernsemble.hypotheses import And, FiniteSet, StumpSet, Union, Xor
from kernsemble.kernels import (
    Constant,
    DecisionTree,
    Exponential,
    Laplacian,
    MiddleStump,
    Perceptron,
    Stump,
    StumpRegion,
)

SEEDS = st.integers(0, 2**32 - 1)
STUMPS = [Stump(), Stump("empirical"), MiddleStump()]
PAIRS = list(product(STUMPS, STUMPS))


def votes_and_measure(kernel, X):
    cells = kernel.bind(X).hypotheses.cells(X)
    return cells.vote(X), cells.measure


def kernel_of_pairs(combine, left, right):
    """The kernel of combine(h1, h2) over all pairs, each with the product of the measures."""
    (left_votes, left_measure), (right_votes, right_measure) = left, right
    votes = combine(left_votes[:, :, np.newaxis], right_votes[:, np.newaxis, :])
    measure = np.outer(left_measure, right_measure)
    return np.einsum("iab,jab,ab->ij", votes, votes, measure)


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=repr)
@given(X=samples(max_rows=6, max_columns=2))
def test_theorem_13_the_sum_holds_the_hypotheses_of_both(left, right, X):
    (votes, measure), (others, other_measure) = (
        votes_and_measure(kernel, X) for kernel in (left, right)
    )
    both = np.hstack([votes, others])
    expected = (both * np.concatenate([measure, other_measure])) @ both.T
    assert_allclose((left + right).bind(X)(X), expected, atol=1e-9)


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=repr)
@given(X=samples(max_rows=6, max_columns=2))
def test_theorem_14_the_product_holds_the_xor_of_all_pairs(left, right, X):
    expected = kernel_of_pairs(
        lambda g, h: np.where((g > 0) ^ (h > 0), 1.0, -1.0),
        votes_and_measure(left, X),
        votes_and_measure(right, X),
    )
    assert_allclose((left * right).bind(X)(X), expected, atol=1e-8)


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=repr)
@given(X=samples(max_rows=6, max_columns=2))
def test_theorem_16_the_and_holds_conjunctions_and_their_negations(left, right, X):
    conjunctions = kernel_of_pairs(
        lambda g, h: np.where((g > 0) & (h > 0), 1.0, -1.0),
        votes_and_measure(left, X),
        votes_and_measure(right, X),
    )
    expected = 2 * 2 * conjunctions  # r = sqrt(2) r1 r2, and both signs
    assert_allclose((left & right).bind(X)(X), expected, atol=1e-8)


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=repr)
@given(X=samples(max_rows=6, max_columns=2))
def test_theorem_16_disjunctions_have_the_same_kernel(left, right, X):
    disjunctions = kernel_of_pairs(
        lambda g, h: np.where((g > 0) | (h > 0), 1.0, -1.0),
        votes_and_measure(left, X),
        votes_and_measure(right, X),
    )
    assert_allclose((left & right).bind(X)(X), 4 * disjunctions, atol=1e-8)


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=repr)
@given(X=samples(max_rows=6, max_columns=2))
def test_logic_kernels_hold_rules_and_their_products_conjunctions(left, right, X):
    (votes, measure), other = votes_and_measure(left, X), votes_and_measure(right, X)
    rules = (1 + votes) / 2
    assert_allclose(left.logic.bind(X)(X), (rules * measure) @ rules.T, atol=1e-9)
    conjunctions = kernel_of_pairs(
        lambda g, h: np.where((g > 0) & (h > 0), 1.0, 0.0), (votes, measure), other
    )
    assert_allclose((left.logic * right.logic).bind(X)(X), conjunctions, atol=1e-9)


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=repr)
def test_total_measures_combine_as_in_the_theorems(left, right):
    X = random_rows()
    a, b = left.bind(X), right.bind(X)
    assert (a + b).delta == pytest.approx(a.delta + b.delta)
    assert (a * b).delta == pytest.approx(a.delta * b.delta)
    assert (a & b).delta == pytest.approx(4 * a.delta * b.delta)
    assert (3 * a).delta == pytest.approx(3 * a.delta)


@pytest.mark.parametrize(
    "kernel", [k for k in ENSEMBLES if k.is_neutral], ids=lambda kernel: repr(kernel)
)
def test_definition_15_the_votes_of_neutral_sets_cancel_and_delta_is_the_diagonal(kernel):
    X = random_rows(8)
    bound = kernel.bind(X)
    assert bound.hypotheses.is_neutral
    assert bound.hypotheses.is_negation_complete
    assert_allclose(bound.diagonal(X), bound.delta)
    votes = bound.hypotheses.sample(40_000, 0).vote(X)
    assert set(np.unique(votes)) == {-1.0, 1.0}
    assert np.abs(votes.mean(axis=1)).max() < 5 / np.sqrt(40_000)


@pytest.mark.parametrize("kernel", ENSEMBLES, ids=repr)
def test_random_hypotheses_converge_to_the_kernel(kernel):
    X = 0.3 * random_rows(7)
    bound, n = kernel.bind(X), 60_000
    K, sample = bound(X), bound.hypotheses.sample(n, 0)
    noise = _standard_error(sample, X)
    assert noise.max() < 0.05 * np.abs(K).max()  # small enough to tell a wrong kernel
    assert (np.abs(sample.kernel(X) - K) <= 5 * noise + 1e-12).all()


def _standard_error(sample: FiniteSet, X):
    votes, n = sample.vote(X), len(sample.measure)
    terms = n * sample.measure * votes[:, np.newaxis] * votes  # one estimate a hypothesis
    return terms.std(axis=2) / np.sqrt(n)


@given(X=samples(min_rows=2), level=st.integers(1, 6))
def test_definition_17_recursion_and_closed_form_agree(X, level):
    stump = Stump().bind(X)
    if stump.delta == 0:
        return
    u = (stump(X) + stump.delta) / (2 * stump.delta)
    closed = (2 * stump.delta) ** level * sum(u**power for power in range(1, level + 1))
    bound = StumpRegion(level).bind(X)
    assert_allclose(bound(X), closed, rtol=1e-10, atol=1e-10 * closed.max())
    assert bound.level_constant == pytest.approx((2 * stump.delta) ** level)


def test_definition_17_agrees_with_literal_ands_up_to_level_two_and_parts_at_three():
    X = random_rows()
    stump = Stump().bind(X)
    first = stump + Constant(stump.delta).bind(X)
    second = first & stump
    third = second & stump
    assert_allclose(StumpRegion(1).bind(X)(X), first(X))
    assert_allclose(StumpRegion(2).bind(X)(X), second(X))
    surplus = (2 * stump.delta) ** 2 * (stump(X) + stump.delta)  # (2Δ)³ u
    assert_allclose(third(X) - StumpRegion(3).bind(X)(X), surplus)
    assert StumpRegion(2).bind(X).level_constant == pytest.approx(second.delta / 2)


@given(seed=SEEDS)
def test_theorem_18_the_tree_kernel_is_a_positive_sum_of_region_kernels(seed):
    X, gamma = random_rows(seed=seed), 0.05
    stump, expected, factorial = Stump().bind(X), 0.0, 1.0
    for level in range(1, 30):
        factorial *= level
        weight = gamma**level / factorial * (1 - 2 * gamma * stump.delta / (level + 1))
        assert weight > 0
        expected = expected + weight * StumpRegion(level).bind(X)(X)
    assert_allclose(DecisionTree(gamma).bind(X)(X), expected)


def test_theorem_18_is_checked_when_bound():
    X = random_rows()
    limit = 1 / Stump().bind(X).delta
    DecisionTree(0.999 * limit).bind(X)
    with pytest.raises(ValueError, match=r"use a value below 1/Δ_S = .*Laplacian\(gamma="):
        DecisionTree(1.001 * limit).bind(X)


@given(seed=SEEDS)
def test_the_tree_kernel_is_the_laplacian_up_to_a_factor_and_a_constant(seed):
    X, gamma = random_rows(seed=seed), 0.05
    K, L = DecisionTree(gamma).bind(X)(X), Laplacian(gamma)(X)
    factor = np.exp(2 * gamma * Stump().bind(X).delta)
    assert_allclose(K, factor * L - 1)


@given(seed=SEEDS)
@settings(max_examples=10)
def test_the_tree_and_laplacian_kernels_give_the_same_svm(seed):
    X, y = make_threenorm(60, random_state=seed)
    tree, gamma = DecisionTree(0.01).bind(X), 0.01
    factor = np.exp(2 * gamma * tree.stump.delta)
    assert_allclose(
        svm_decisions(tree, X, y, X, C=1.0),
        svm_decisions(Laplacian(gamma), X, y, X, C=factor),
        atol=1e-4,
    )


@pytest.mark.large
@given(seed=SEEDS, gamma=st.floats(0.01, 1.0))
def test_the_laplacian_embodies_xors_of_any_number_of_stumps(seed, gamma):
    X = random_rows(seed=seed)
    stump = Stump().bind(X)
    terms = [1.0]
    for level in range(1, 120):  # the product of `level` stump kernels, weighed by a Poisson law
        terms.append(terms[-1] * gamma * stump(X) / level)
    assert_allclose(np.exp(-gamma * stump.delta) * sum(terms), Laplacian(gamma)(X), atol=1e-8)


@pytest.mark.parametrize("simple", [Stump(), Perceptron()])
@given(seed=SEEDS)
def test_laplacian_and_exponential_are_power_series_in_simple_kernels(simple, seed):
    X, gamma = random_rows(seed=seed), 0.1
    bound = simple.bind(X)
    radial = {Stump: Laplacian, Perceptron: Exponential}[type(simple)](gamma).bind(X)
    regions = radial.hypotheses
    u = (bound(X) + bound.delta) / (2 * bound.delta)
    assert regions.weights.sum() == pytest.approx(1.0)  # a Poisson law
    assert_allclose(sum(w * u**power for power, w in enumerate(regions.weights)), radial(X))


def test_sets_combine_as_their_kernels_do():
    X = random_rows()
    a, b = Stump().bind(X), Perceptron().bind(X)
    assert (a + b).hypotheses == Union((a.hypotheses, b.hypotheses))
    assert (a * b).hypotheses == Xor(a.hypotheses, b.hypotheses)
    assert (a & b).hypotheses == And(a.hypotheses, b.hypotheses)
    assert a.hypotheses == StumpSet.spanning(X)
