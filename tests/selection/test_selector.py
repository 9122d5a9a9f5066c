"""Parallel evolution: selected variables, stopping time, seeds and jobs, callbacks, bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import Recorder
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from kernsemble import load, save
from kernsemble.datasets import make_sparse_sum
from kernsemble.selection import (
    NoiseGapWarning,
    ParallelEvolutionSelector,
    exhaustive_search,
    largest_gap,
)
from kernsemble.selection.importance_gap import noise_of_gap
from kernsemble.selection.universe import binary_entropy

X, y = make_sparse_sum(random_state=3)
TRUE = [1, 4, 7]


def cross_validated(columns, y):
    return -cross_val_score(LinearRegression(), columns, y, cv=3).mean()


def fitted(**settings):
    return ParallelEvolutionSelector(**({"random_state": 0} | settings)).fit(X, y)


def assert_same(one, other):
    for name in ("importances_", "support_", "subsets_", "scores_", "history_", "entropies_"):
        assert_array_equal(getattr(one, name), getattr(other, name))


def test_the_columns_of_the_toy_are_found():
    selector = fitted()
    assert_array_equal(np.flatnonzero(selector.support_), TRUE)
    assert_array_equal(selector.transform(X), X[:, TRUE])


def test_attributes_are_consistent():
    selector = fitted()
    n_generations = selector.n_generations_
    assert selector.history_.shape == (n_generations + 1, 10)
    assert_array_equal(selector.importances_, selector.subsets_.mean(axis=0))
    assert_array_equal(selector.importances_, selector.history_[-1])
    order = np.argsort(-selector.importances_, kind="stable")
    assert np.all(np.diff(selector.ranking_[order]) >= 0)
    assert selector.ranking_.min() == 1
    table = exhaustive_search(X, y)
    places = selector.subsets_ @ (2 ** np.arange(10))
    assert_allclose(selector.scores_, table.scores[places])
    assert selector.n_evaluated_ <= 25 * 1024


def test_evolution_ends_in_the_first_generation_of_low_entropy():
    selector = fitted()
    shares = selector.entropies_ / selector.entropies_[0]
    assert shares[-1] <= 0.65 < shares[:-1].min()
    longer = fitted(entropy_share=0.2)
    assert longer.n_generations_ > selector.n_generations_
    assert_array_equal(longer.history_[: selector.n_generations_ + 1], selector.history_)
    fixed = fitted(n_generations=selector.n_generations_)
    assert_same(fixed, selector)


def test_entropy_that_does_not_fall_raises_a_warning():
    with pytest.warns(UserWarning, match="entropy_share = 0.0 was not reached in 16 generations"):
        fitted(entropy_share=0.0, population=4, mutation=0.5, select=0.5)


@pytest.mark.parametrize("criterion", ["aic", "bic", "gcv", cross_validated])
def test_a_long_evolution_finds_the_minimum_of_all_subsets(criterion):
    few = X[:, 2:8]
    selector = ParallelEvolutionSelector(
        criterion, n_universes=3, n_generations=30, mutation=0.15, population=16, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseGapWarning)
        selector.fit(few, y)
    assert_array_equal(
        selector.subsets_, np.tile(exhaustive_search(few, y, criterion).best, (3, 1))
    )


@pytest.mark.parametrize("criterion", ["aic", "logistic-aic", cross_validated])
def test_any_number_of_jobs_finds_the_same(criterion):
    target = (y > 0).astype(int) if criterion == "logistic-aic" else y
    settings = {"n_universes": 4, "n_generations": 5, "select": 0.5, "random_state": 5}
    one = ParallelEvolutionSelector(criterion, **settings).fit(X, target)
    assert_same(one, ParallelEvolutionSelector(criterion, n_jobs=2, **settings).fit(X, target))
    with parallel_config("threading", n_jobs=3):
        assert_same(one, ParallelEvolutionSelector(criterion, **settings).fit(X, target))


def test_processes_find_the_same():
    with parallel_config("loky", n_jobs=2):
        assert_same(fitted(), ParallelEvolutionSelector(random_state=0, n_jobs=2).fit(X, y))


def test_more_universes_begin_with_the_same_ones():
    few = fitted(n_universes=3, n_generations=4, select=0.5)
    many = fitted(n_universes=6, n_generations=4, select=0.5)
    assert_array_equal(many.subsets_[:3], few.subsets_)


def test_other_seeds_find_other_subsets():
    assert np.any(fitted(random_state=1).subsets_ != fitted(random_state=2).subsets_)


@pytest.mark.parametrize("criterion", ["aic", "poisson-aic"])
def test_weights_are_repetitions(criterion):
    times = np.random.default_rng(0).integers(0, 3, size=len(y))
    target = np.round(np.exp(0.3 * y)) if criterion == "poisson-aic" else y
    settings = {"n_universes": 5, "n_generations": 4, "select": 0.5, "random_state": 0}
    weighted = ParallelEvolutionSelector(criterion, **settings).fit(X, target, times)
    repeated = ParallelEvolutionSelector(criterion, **settings).fit(
        np.repeat(X, times, axis=0), np.repeat(target, times)
    )
    assert_array_equal(weighted.subsets_, repeated.subsets_)
    assert_allclose(weighted.scores_, repeated.scores_)


@pytest.mark.large
def test_models_of_other_responses_find_their_columns():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 10))
    signal = rows[:, TRUE].sum(axis=1)
    time = rng.exponential(np.exp(-signal))
    survival = np.column_stack([np.minimum(time, 2.0), time < 2.0])
    targets = {
        "logistic-bic": rng.random(300) < 1.0 / (1.0 + np.exp(-2.0 * signal)),
        "poisson-bic": rng.poisson(np.exp(0.5 * signal)),
        "cox-bic": survival,
    }
    for criterion, target in targets.items():
        selector = ParallelEvolutionSelector(criterion, n_universes=10, random_state=0)
        assert_array_equal(selector.fit(rows, target).get_support(indices=True), TRUE)


@pytest.mark.parametrize(
    ("importances", "n_above", "width"),
    [
        ([0.1, 1.0, 0.2, 0.9], 2, 0.7),
        ([1.0, 0.2, 0.1, 0.6], 1, 0.4),  # 1.0-0.6 and 0.6-0.2 are equal: the first
        ([0.9, 0.9, 0.9], 3, 0.0),
        ([0.2, 0.2], 0, 0.0),
        ([0.8], 1, 0.0),
        ([0.3], 0, 0.0),
        ([0.0, 0.36, 0.4, 0.72], 3, 0.36),
    ],
)
def test_the_largest_gap_by_hand(importances, n_above, width):
    gap = largest_gap(np.array(importances))
    assert gap.n_above == n_above
    assert gap.width == pytest.approx(width)


def test_a_gap_that_may_be_due_to_chance_raises_a_warning():
    assert noise_of_gap(25) == pytest.approx(0.8225 / 5.0)
    noise = np.random.default_rng(0).normal(size=(30, 20))
    with pytest.warns(NoiseGapWarning, match=r"is below 0.82 and may be due to chance with 1 univ"):
        ParallelEvolutionSelector(n_universes=1, n_generations=0, random_state=0).fit(
            noise[:, :1], noise[:, 1]
        )


def test_selecting_by_importance_and_by_number():
    selector = fitted(select=0.3)
    assert_array_equal(selector.support_, selector.importances_ >= 0.3)
    assert_array_equal(np.flatnonzero(fitted(select=("top", 2)).support_), [1, 4])
    assert fitted(select=("top", 99)).support_.all()


def test_names_are_kept():
    names = [f"gene {letter}" for letter in "abcdefghij"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        selector = ParallelEvolutionSelector(random_state=0).fit(frame, y)
        assert_same(selector, fitted())
        assert selector.get_feature_names_out().tolist() == ["gene b", "gene e", "gene h"]
        for output in ("pandas", "polars"):
            selected = selector.set_output(transform=output).transform(frame)
            assert list(selected.columns) == ["gene b", "gene e", "gene h"]


def test_it_selects_within_pipelines():
    model = make_pipeline(ParallelEvolutionSelector(random_state=0), LinearRegression())
    assert model.fit(X, y)[-1].n_features_in_ == 3


@pytest.mark.filterwarnings("ignore::kernsemble.selection.NoiseGapWarning")
def test_constant_and_duplicate_columns():
    rows = np.column_stack([X, np.ones(50), X[:, 1], X[:, 4] + X[:, 7], np.zeros(50)])
    selector = ParallelEvolutionSelector(random_state=0, n_generations=30).fit(rows, y)
    assert not selector.support_[[10, 13]].any()
    assert not (selector.subsets_[:, 1] & selector.subsets_[:, 11]).any()


@pytest.mark.filterwarnings("ignore::kernsemble.selection.NoiseGapWarning")
def test_more_columns_than_rows():
    rows, target = make_sparse_sum(40, 200, (3, 50, 150), noise=0.3, random_state=0)
    selector = ParallelEvolutionSelector("bic", random_state=0).fit(rows, target)
    assert np.isfinite(selector.scores_).all()
    assert set(np.argsort(-selector.importances_)[:3]) == {3, 50, 150}


@pytest.mark.filterwarnings("ignore::kernsemble.selection.NoiseGapWarning")
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scales_do_not_matter(scale):
    assert_array_equal(
        ParallelEvolutionSelector(random_state=0).fit(scale * X, y).subsets_, fitted().subsets_
    )


def test_pickled_and_cloned_and_saved(tmp_path):
    selector = fitted()
    assert_same(pickle.loads(pickle.dumps(selector)), selector)
    assert_same(clone(selector).fit(X, y), selector)
    again = load(save(selector, tmp_path / "selector.skops"))
    assert_same(again, selector)
    assert_array_equal(again.transform(X), selector.transform(X))


def test_callbacks_are_called_for_every_generation():
    recorder, selector = Recorder(), ParallelEvolutionSelector(random_state=0, n_generations=6)
    if not hasattr(selector, "set_callbacks"):
        pytest.skip("this scikit-learn has no callbacks")
    selector.set_callbacks(recorder).fit(X, y)
    assert recorder.ended["generation"] == 7
    assert recorder.n_setups == 0


def test_entropy_of_votes():
    assert_allclose(binary_entropy(np.array([0.0, 0.5, 1.0, 0.25])), [0, 1, 0, 0.811278], atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"criterion": "cp"}, "criterion = 'cp'"),
        ({"n_universes": 0}, "n_universes = 0"),
        ({"n_generations": -1}, "n_generations = -1"),
        ({"n_generations": "long"}, "n_generations = 'long'"),
        ({"population": 1}, "population = 1"),
        ({"initial_size": 0}, "initial_size = 0"),
        ({"mutation": 2.0}, "mutation = 2.0"),
        ({"entropy_share": -0.1}, "entropy_share = -0.1"),
        ({"select": "all"}, "select = 'all'"),
        ({"select": ("top", 0)}, r"select\[1\] = 0"),
        ({"select": 1.5}, "select = 1.5"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ParallelEvolutionSelector(**settings).fit(X, y)
