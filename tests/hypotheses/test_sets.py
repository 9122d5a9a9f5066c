"""Properties of sets of hypotheses; the theorems are in tests/theorems."""

import numpy as np
import pytest
from cases import ENSEMBLES, random_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernsemble.exceptions import NotNeutralError
from kernsemble.hypotheses import (
    And,
    CategorySet,
    ConstantSet,
    MiddleStumpSet,
    PerceptronSet,
    Regions,
    Reweighted,
    StumpSet,
    Union,
    Xor,
)
from kernsemble.kernels import Category, Laplacian, Stump

X = random_rows(12, 3)


@pytest.mark.parametrize("kernel", ENSEMBLES, ids=repr)
def test_samples_repeat_with_the_seed_and_carry_the_whole_measure(kernel):
    hypotheses = kernel.bind(X).hypotheses
    sample, again = hypotheses.sample(50, 7), hypotheses.sample(50, 7)
    assert sample == again
    assert sample != hypotheses.sample(50, 8)
    assert sample.measure.sum() == pytest.approx(hypotheses.total_measure)
    assert sample.vote(X).shape == (12, 50)
    assert_allclose(sample.kernel(X, X[:4]), sample.kernel(X)[:, :4])


@pytest.mark.parametrize("kernel", ENSEMBLES, ids=repr)
def test_has_constant_agrees_with_the_hypotheses(kernel):
    hypotheses = kernel.bind(X).hypotheses
    votes = hypotheses.sample(20_000, 0).vote(X)
    if hypotheses.has_constant:
        assert (votes == votes[0]).all(axis=0).any()


def test_sets_that_meet_themselves_hold_constants():
    middle, stumps = MiddleStumpSet.between(X), StumpSet.spanning(X)
    for combined in (Xor(middle, middle), And(middle, middle)):
        assert combined.has_constant
        votes = combined.sample(5_000, 0).vote(X)
        assert (votes == votes[0]).all(axis=0).any()
    assert not Xor(middle, stumps).has_constant  # not known


def test_and_is_refused_between_sets_that_do_not_vote_with_signs():
    boxes, stumps = Laplacian(0.1).bind(X).hypotheses, StumpSet.spanning(X)
    for sets in ((boxes, stumps), (stumps, Xor(boxes, stumps))):
        with pytest.raises(NotNeutralError, match="vote ±1 and cancel"):
            And(*sets)


def test_a_set_votes_through_random_members():
    stumps = StumpSet.spanning(X)
    assert_array_equal(stumps.vote(X, 20, 3), stumps.sample(20, 3).vote(X))
    assert stumps.vote(X).shape == (12, 1_000)


def test_middle_stumps_have_no_constant():
    votes = MiddleStumpSet.between(X).sample(5_000, 0).vote(X)
    assert not (votes == votes[0]).all(axis=0).any()


def test_negation_completeness():
    stumps, boxes = StumpSet.spanning(X), Laplacian(0.1).bind(X).hypotheses
    assert stumps.is_negation_complete
    assert not boxes.is_negation_complete
    assert not boxes.is_neutral
    assert not Union((stumps, boxes)).is_negation_complete
    assert not Union((stumps, boxes)).is_neutral
    assert Xor(boxes, stumps).is_negation_complete
    assert Xor(boxes, stumps).is_neutral
    assert not Reweighted(boxes, 2.0).is_neutral
    assert not Reweighted(boxes, 2.0).is_negation_complete
    assert Stump().on([0]).bind(X).hypotheses.is_neutral
    assert Stump().on([0]).bind(X).hypotheses.is_negation_complete


def test_thresholds_are_drawn_from_the_measure():
    skewed = np.array([[0.0], [1.0], [10.0]])
    for measure, expected in (("uniform", 0.1), ("distinct", 0.5), ("empirical", 0.5)):
        thresholds = StumpSet.spanning(skewed, measure).draw(40_000, np.random.default_rng(0))
        inside = thresholds.threshold[(thresholds.threshold > 0) & (thresholds.threshold < 10)]
        assert np.mean(inside < 1) == pytest.approx(expected, abs=0.02)


def test_perceptrons_are_spread_over_all_directions():
    drawn = PerceptronSet.spanning(X).draw(20_000, np.random.default_rng(0))
    assert_allclose(np.linalg.norm(drawn.direction, axis=1), 1.0)
    assert_allclose(drawn.direction.T @ drawn.direction / 20_000, np.eye(3) / 3, atol=0.02)


def test_the_ball_of_perceptrons_of_sparse_rows():
    dense = np.where(X > 0, X, 0.0)
    found, expected = (PerceptronSet.spanning(rows) for rows in (sparse.csr_array(dense), dense))
    assert found.radius == pytest.approx(expected.radius)
    assert_allclose(found.centre, expected.centre)


def test_every_category_membership_has_the_same_measure():
    rows = np.array([["a", "x"], ["b", "x"], ["c", "x"]])
    memberships = CategorySet.within(rows)
    assert memberships.total_measure == pytest.approx(4 / 4)
    assert memberships.has_constant  # the second column has one category
    exact = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert_allclose(Category().bind(rows)(rows), exact)
    assert_allclose(memberships.sample(40_000, 0).kernel(rows), exact, atol=0.03)
    assert_array_equal(memberships.indicators(rows).toarray()[:, 3], 1.0)


def test_boxes_are_conjunctions():
    stumps = StumpSet.spanning(X)
    boxes = Regions(stumps, np.array([0.5, 0.0, 1.0]))
    assert_allclose(boxes.length_measure, [0.5, 0.0, 4.0])
    sample = boxes.sample(1_000, 0)
    conditions, lengths = sample.members.conditions.vote(X), sample.members.lengths
    assert set(lengths) == {0, 2}
    start = 0
    for column, length in enumerate(lengths):
        holds = (conditions[:, start : start + length] > 0).all(axis=1)
        assert_array_equal(sample.vote(X)[:, column], holds)
        start += length
    assert boxes.has_constant


def test_constants_vote_alike():
    constants = ConstantSet(3.0)
    votes = constants.sample(100, 0).vote(X)
    assert (votes == votes[0]).all()
    assert_allclose(constants.sample(100, 0).kernel(X), 3.0)
