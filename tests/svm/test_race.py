"""The race of candidates: those that remain, their rows and their folds."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from kernsemble._folds import read_splits
from kernsemble.datasets import make_threenorm
from kernsemble.kernels import Exponential, Laplacian, Perceptron, Stump
from kernsemble.preprocessing import FeatureScaling
from kernsemble.solvers import solve_folds
from kernsemble.svm.backends.base import Candidate, TrainingRows
from kernsemble.svm.model_selection import race as racing
from kernsemble.svm.model_selection.race import RaceRound, plan_rounds, race, race_candidates

NAMES = [Candidate(Laplacian(float(number + 1)), "rank") for number in range(18)]
ANY_ROUND = RaceRound(np.arange(4), (), n_stay=1)


def rounds_of(*n_stay):
    return [replace(ANY_ROUND, n_stay=n) for n in n_stay]


def plan(codes, cv=5, counts=None, n_candidates=18, seed=0):
    counts = np.ones(len(codes)) if counts is None else counts
    splits = read_splits(cv, np.zeros((len(codes), 1)), codes, counts, is_classifier=True)
    return plan_rounds(n_candidates, codes, counts, splits, np.random.default_rng(seed))


def numbers(X):
    return TrainingRows(X, np.ones(X.shape[0]), np.zeros(X.shape[1], dtype=bool))


# -- remaining candidates


@given(
    quality=st.permutations(range(18)),
    n_stay=st.lists(st.integers(1, 18), min_size=1, max_size=4),
)
def test_without_noise_the_best_remain_in_the_order_of_their_scores(quality, n_stay):
    worth = dict(zip(NAMES, quality, strict=True))

    def score(entries, _):
        return [np.full((len(each.places), 3), worth[each.candidate]) for each in entries]

    left = race(NAMES, rounds_of(*n_stay), 9, score)
    best = sorted(NAMES, key=worth.__getitem__, reverse=True)
    assert [entry.candidate for entry in left] == best[: min(n_stay)]


def test_every_round_scores_only_the_remaining_candidates():
    seen = []

    def score(entries, each):
        seen.append((each.n_stay, len(entries)))
        return [np.zeros((len(entry.places), 2)) for entry in entries]

    assert [left.candidate for left in race(NAMES, rounds_of(7, 3, 1), 9, score)] == NAMES[:1]
    assert seen == [(7, 18), (3, 7), (1, 3)]


@given(peak=st.integers(0, 8))
def test_the_grid_narrows_to_the_best_penalty(peak):
    def score(entries, _):
        return [
            -np.abs(np.array(each.places) - peak)[:, np.newaxis] * np.ones(3) for each in entries
        ]

    left = race(NAMES[:3], rounds_of(3, 3), 9, score)
    for entry, reach in zip(left, (racing.REACH, 1, 1), strict=True):
        assert entry.places == tuple(range(max(peak - reach, 0), min(peak + reach, 8) + 1))


@pytest.mark.parametrize("n_places", [1, 2, 3])
def test_a_short_grid_is_tried_somewhere(n_places):
    def score(entries, _):
        assert all(entry.places for entry in entries)
        return [np.zeros((len(entry.places), 2)) for entry in entries]

    (left,) = race(NAMES, rounds_of(1), n_places, score)
    assert left.places == tuple(range(n_places))


def test_nan_scores_rank_last():
    def score(entries, _):
        return [
            np.full((len(each.places), 3), np.nan if each.candidate == NAMES[0] else -5.0)
            for each in entries
        ]

    (left,) = race(NAMES[:2], rounds_of(1), 9, score)
    assert left.candidate == NAMES[1]


# -- rows


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(3, 900), min_size=2, max_size=6),
    seed=st.integers(0, 2**32 - 1),
)
def test_samples_are_nested_stratified_and_hold_every_class_in_every_fold(sizes, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rounds = plan(codes, cv=StratifiedKFold(3), seed=seed)
    for small, large in pairwise(rounds):
        assert np.isin(small.rows, large.rows).all()
    for each in rounds:
        assert_array_equal(each.rows, np.unique(each.rows))
        drawn = np.bincount(codes[each.rows])
        share = len(each.rows) / len(codes)
        assert (np.abs(drawn - share * np.array(sizes)) <= 4 * len(sizes) + 3).all()
        for split in each.splits:
            held_out = np.bincount(codes[each.rows[split.held_out]], minlength=len(sizes))
            assert ((held_out > 0) & (held_out < drawn)).all()


@pytest.mark.parametrize(
    ("n", "n_classes", "rows", "entering"),
    [
        (120, 2, [120, 120], [30, 3]),
        (400, 2, [250, 400], [30, 3]),
        (600, 2, [250, 500], [30, 3]),
        (1_000, 2, [250, 500], [30, 3]),
        (6_000, 2, [375, 750, 1_500, 3_000], [30, 14, 6, 3]),
        (1_200, 150, [450, 900], [30, 3]),
        (500, 150, [450, 500], [30, 3]),
    ],
)
def test_rows_double_while_candidates_drop_out_until_three_are_left(n, n_classes, rows, entering):
    rounds = plan(np.arange(n) % n_classes, cv=StratifiedKFold(3), n_candidates=30)
    assert [len(each.rows) for each in rounds] == rows
    assert [30, *(each.n_stay for each in rounds)] == [*entering, 3]


def test_few_candidates_never_become_more():
    assert [each.n_stay for each in plan(np.arange(600) % 2, n_candidates=2)] == [2, 2]


def test_zero_weight_rows_are_not_drawn():
    codes, counts = np.arange(800) % 2, np.repeat([1.0, 0.0], 400)
    for each in plan(codes, cv=StratifiedKFold(5, shuffle=True, random_state=0), counts=counts):
        assert each.rows.max() < 400


def test_the_same_generator_draws_the_same_rounds_and_another_draws_others():
    codes = np.arange(1_000) % 3
    first, same, other = (plan(codes, seed=seed)[0].rows for seed in (0, 0, 1))
    assert_array_equal(first, same)
    assert not np.array_equal(first, other)


# -- folds


def test_folds_are_joined_to_few_and_groups_stay_together():
    codes, groups = np.arange(1_000) % 2, np.arange(1_000) // 50
    cv = list(GroupKFold(10).split(codes, codes, groups))
    for each in plan(codes, cv=cv):
        assert len(each.splits) == racing.N_FOLDS
        tested = np.concatenate([split.tested for split in each.splits])
        assert_array_equal(np.sort(tested), np.arange(len(each.rows)))
        for split in each.splits:
            inside = groups[each.rows[split.tested]]
            outside = np.delete(groups[each.rows], split.held_out)
            assert not np.isin(inside, outside).any()


@pytest.mark.parametrize(
    "cv",
    [
        LeaveOneOut(),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=3, random_state=0),
        TimeSeriesSplit(4),
        [(np.arange(100, 600), np.arange(100))],
    ],
    ids=["one row a fold", "overlapping", "past and future", "one fold"],
)
def test_folds_of_any_kind_train_and_test_on_disjoint_rows(cv):
    for each in plan(np.arange(600) % 2, cv=cv):
        assert 1 <= len(each.splits) <= racing.N_FOLDS
        for split in each.splits:
            assert len(split.tested) > 0
            assert np.isin(split.tested, split.held_out).all()
            assert len(split.held_out) < len(each.rows)


# -- candidates


def test_every_kernel_races_on_every_scale_at_widths_of_its_mean_distance():
    X, _ = make_threenorm(80, random_state=0)
    found = race_candidates(numbers(X))
    assert len(found) == len(set(found)) == 30
    assert {type(each.kernel) for each in found} == {Laplacian, Exponential, Perceptron, Stump}
    for each in found:
        if isinstance(each.kernel, Laplacian):
            rows = FeatureScaling.from_rows(X, each.scaling, np.ones(80)).transform(X)
            D = np.abs(rows[:, np.newaxis] - rows).sum(axis=2)
            mean = D.sum() / (80 * 79)
            assert each.kernel.gamma * mean in [pytest.approx(width) for width in racing.WIDTHS]


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_columns_of_two_values_have_one_scale(as_rows):
    X = as_rows(np.random.default_rng(0).integers(0, 2, (60, 5)).astype(float) * [1, 2, 3, 4, 5])
    assert {each.scaling for each in race_candidates(numbers(X))} == {"range"}


# -- the whole race


def cross_validated(X, codes):
    """Return what scores entries by the share of right classes, and how it was asked."""
    asked = []

    def score(entries, each):
        found, signs = [], np.where(codes[each.rows] == 1, 1.0, -1.0)
        for entry in entries:
            scaling = FeatureScaling.from_rows(X, entry.candidate.scaling, np.ones(len(X)))
            rows = scaling.transform(X)[each.rows]
            K = entry.candidate.kernel.bind(rows)(rows)
            unit = 1.0 / (np.diagonal(K).mean() - K.mean())
            Cs = [racing.MULTIPLES[place] * unit for place in entry.places]
            held_out = [split.held_out for split in each.splits]
            folds = solve_folds(
                K, signs, np.minimum(signs, 0.0), np.maximum(signs, 0.0), Cs, held_out
            )
            right = [
                (np.sign(fold.decisions) == signs[rows]).mean(axis=1)
                for fold, rows in zip(folds, held_out, strict=True)
            ]
            found.append(np.array(right).T)
        asked.append(len(entries))
        return found

    return score, asked


@pytest.mark.large
def test_a_race_on_a_product_of_signs_is_not_won_by_stumps():
    """Sums of one-dimensional functions err on half of the plane; boxes and polytopes do not."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (700, 2))
    codes = (X.prod(axis=1) > 0.0).astype(int)
    candidates = race_candidates(numbers(X))
    score, asked = cross_validated(X, codes)
    winner, *_ = race(
        candidates, plan(codes, n_candidates=len(candidates)), len(racing.MULTIPLES), score
    )
    assert asked == [30, 3]
    assert not isinstance(winner.candidate.kernel, Stump)
    (last,) = score([winner], plan(codes)[-1])
    assert last.mean(axis=1).max() > 0.95


def test_iris_plan_leaves_rows_of_all_species_on_both_sides():
    _, species = load_iris(return_X_y=True)
    for each in plan(species):
        for split in each.splits:
            kept = np.delete(species[each.rows], split.held_out)
            assert set(kept) == set(species[each.rows[split.tested]]) == {0, 1, 2}
