"""Lin & Li 2008, section 4; spec page 1, and page 5 for the measures."""

import numpy as np
import pytest
from cases import pairs_of_samples, random_rows, samples, svm_decisions
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn.svm import SVC

from kernsemble.datasets import make_threenorm, make_xor
from kernsemble.hypotheses import MiddleStumpSet, StumpSet
from kernsemble.kernels import (
    Category,
    DecisionTree,
    HistogramIntersection,
    Laplacian,
    MiddleStump,
    Perceptron,
    Stump,
    StumpRegion,
    definiteness,
)
from kernsemble.kernels.geometry import DefinitenessKind

MEASURES = st.sampled_from(["uniform", "empirical", "distinct"])


@given(X=samples(), measure=MEASURES)
def test_definition_3_stump_kernel_is_the_inner_product_of_all_stump_votes(X, measure):
    cells = StumpSet.spanning(X, measure).cells(X)
    votes = cells.vote(X)
    assert set(np.unique(votes)) <= {-1.0, 1.0}
    expected = (votes * cells.measure) @ votes.T
    assert_allclose(Stump(measure).bind(X)(X), expected, atol=1e-10)


@given(X=samples(min_rows=2))
def test_definition_3_constants(X):
    bound = Stump(margin=0.25).bind(X)
    delta = 0.5 * (1.5 * np.ptp(X, axis=0)).sum()
    assert bound.delta == pytest.approx(delta)
    assert_allclose(bound(X), delta - cdist(X, X, "cityblock"), atol=1e-10)


@given(X=samples(), Z=samples(max_columns=1), measure=MEASURES)
def test_the_kernel_is_the_inner_product_of_votes_outside_the_sample_too(X, Z, measure):
    X, Z = X[:, :1], 4.0 * Z
    stumps = StumpSet.spanning(X, measure)
    cells = stumps.cells(np.vstack([X, Z]))
    assert_allclose(Stump(measure).bind(X)(Z, X), cells.kernel(Z, X), atol=1e-10)


@given(X=samples(), measure=MEASURES)
def test_cells_partition_the_measure(X, measure):
    stumps = StumpSet.spanning(X, measure)
    assert stumps.cells(X).measure.sum() == pytest.approx(stumps.total_measure)


@given(X=samples(), Z=samples(max_columns=1), measure=MEASURES)
def test_theorem_8_averaged_stumps(X, Z, measure):
    X = X[:, :1]
    cells = StumpSet.spanning(X, measure).cells(X)
    expected = (cells.vote(X) * cells.measure) @ cells.average_vote(Z).T
    assert_allclose(Stump(measure).bind(X)(X, Z), expected, atol=1e-10)


def test_theorem_8_the_average_of_a_group_is_a_ramp():
    cells = StumpSet.spanning(np.array([[0.0], [1.0]])).cells(np.array([[0.0], [1.0]]))
    between = (cells.members.polarity == 1.0) & (cells.members.threshold == 0.0)
    ramp = cells.average_vote(np.array([[-1.0], [0.0], [0.25], [0.5], [1.0], [9.0]]))
    assert_allclose(ramp[:, between].ravel(), [-1.0, -1.0, -0.5, 0.0, 1.0, 1.0])


@pytest.mark.parametrize("C", [2.0**-9, 1.0, 2.0**9])
@pytest.mark.parametrize("measure", ["uniform", "empirical", "distinct"])
@given(seed=st.integers(0, 2**31))
@settings(max_examples=10)
def test_theorem_4_simplified_and_full_kernels_give_the_same_svm(measure, C, seed):
    X, y = make_threenorm(60, random_state=seed)
    Z, _ = make_threenorm(40, random_state=seed + 1)
    full = Stump(measure).bind(X)
    assert_allclose(
        svm_decisions(full, X, y, Z, C), svm_decisions(full.simplified, X, y, Z, C), atol=1e-4
    )


def test_histogram_intersection_gives_the_same_svm():
    X, y = make_threenorm(60, random_state=0)
    expected = svm_decisions(Stump().bind(X), X, y, X)
    assert_allclose(svm_decisions(HistogramIntersection().bind(X), X, y, X), expected, atol=1e-4)


@given(rows=pairs_of_samples())
def test_histogram_intersection_is_twice_the_sum_of_minima(rows):
    X, Z = map(np.abs, rows)
    expected = 2.0 * np.minimum(X[:, np.newaxis], Z).sum(axis=2)
    assert_allclose(HistogramIntersection().bind(X)(X, Z), expected, atol=1e-10)


def test_beyond_the_ends_the_svm_is_the_same_as_with_plain_distances():
    X, y = make_threenorm(60, random_state=0)
    Z = 5.0 * make_threenorm(40, random_state=1)[0]
    assert (X.max(axis=0) < Z).any()

    def plain(A, B=None):
        return -cdist(A, A if B is None else B, "cityblock")

    assert_allclose(
        svm_decisions(Stump().bind(X), X, y, Z), svm_decisions(plain, X, y, Z), atol=1e-4
    )


@given(rows=st.integers(2, 10), seed=st.integers(0, 2**32 - 1), measure=MEASURES)
def test_theorem_5_positive_definite_when_one_feature_has_distinct_values(rows, seed, measure):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(rows), rng.integers(0, 2, size=rows)])
    assert definiteness(Stump(measure).bind(X)(X)).kind is DefinitenessKind.PD


def test_theorem_5_needs_distinct_values():
    X, _ = make_xor()
    assert definiteness(Stump().bind(X)(X)).kind is DefinitenessKind.PSD


@pytest.mark.parametrize("C", 2.0 ** np.arange(-5, 16, 4))
def test_xor_cannot_be_separated_by_stumps_at_any_penalty(C):
    X, y = make_xor()
    for kernel in (Stump(), MiddleStump(), Category()):
        bound = kernel.bind(X)
        assert SVC(kernel=bound, C=C).fit(X, y).score(X, y) < 1.0


@pytest.mark.parametrize(
    "kernel", [StumpRegion(2), DecisionTree(0.2), Laplacian(1.0), Perceptron(), Stump() & Stump()]
)
def test_xor_can_be_separated_by_regions_trees_and_perceptrons(kernel):
    X, y = make_xor()
    assert SVC(kernel=kernel.bind(X), C=2.0**15).fit(X, y).score(X, y) == 1.0


@given(X=samples(), factor=st.sampled_from([0.25, 3.0, 1000.0]))
def test_simplified_kernels_are_scale_invariant(X, factor):
    for kernel in (Stump().simplified, Perceptron().simplified):
        expected = factor * kernel.bind(X)(X)
        assert_allclose(kernel.bind(factor * X)(factor * X), expected, atol=1e-8 * factor)


@given(X=samples())
def test_the_empirical_measure_follows_the_distribution_function(X):
    share_below = (rankdata(X, axis=0) - 0.5) / len(X)  # ties count half
    varying = np.ptp(X, axis=0) > 0
    expected = -cdist(share_below[:, varying], share_below[:, varying], "cityblock")
    assert_allclose(Stump("empirical").simplified.bind(X)(X), expected, atol=1e-10)
    assert Stump("empirical").bind(X).delta == pytest.approx(0.5 * varying.sum())


@given(X=samples())
def test_the_distinct_measure_is_the_middle_stump_measure_on_the_sample(X):
    assert_allclose(
        Stump("distinct").simplified.bind(X)(X), MiddleStump().simplified.bind(X)(X), atol=1e-10
    )


@pytest.mark.parametrize("measure", ["empirical", "distinct"])
@pytest.mark.parametrize("transform", [np.exp, lambda x: x**3, np.negative])
def test_empirical_and_distinct_measures_are_invariant_to_monotone_transforms(measure, transform):
    X = np.round(random_rows(40), 1)
    expected = Stump(measure).bind(X)(X)
    assert_allclose(Stump(measure).bind(transform(X))(transform(X)), expected, atol=1e-10)


def test_the_uniform_measure_is_not_invariant_to_monotone_transforms():
    X = random_rows()
    assert not np.allclose(Stump().bind(np.exp(X))(np.exp(X)), Stump().bind(X)(X))


@given(rows=pairs_of_samples())
def test_middle_stump_kernel_is_half_the_sum_over_all_middle_stumps(rows):
    X, Z = rows
    expected = np.zeros((len(X), len(Z)))
    for x, z in zip(X.T, Z.T, strict=True):
        levels = np.unique(x)
        for threshold in (levels[:-1] + levels[1:]) / 2:
            expected += 0.5 * np.outer(
                np.where(x > threshold, 1, -1), np.where(z > threshold, 1, -1)
            )
    bound = MiddleStump().bind(X)
    assert_allclose(bound(X, Z), expected, atol=1e-10)
    assert_allclose(bound.hypotheses.cells(np.vstack([X, Z])).kernel(X, Z), expected, atol=1e-10)


@given(X=samples())
def test_middle_stump_kernel_is_a_stump_kernel_on_ranks(X):
    ranks = np.column_stack([np.unique(x, return_inverse=True)[1] for x in X.T]).astype(float)
    expected = -cdist(ranks, ranks, "cityblock")
    assert_allclose(MiddleStump().simplified.bind(X)(X), expected, atol=1e-10)


def test_neighbouring_floats_still_have_a_stump_between_them():
    x = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    assert_allclose(MiddleStumpSet.between(x).positions(x).ravel(), [0.0, 1.0])
    assert np.isfinite(Stump().bind(x)(x)).all()


def test_zero_one_columns_have_the_same_stump_and_category_kernels():
    X = np.random.default_rng(0).integers(0, 2, size=(20, 5)).astype(float)
    assert_allclose(Category().simplified.bind(X)(X), Stump().simplified.bind(X)(X))
