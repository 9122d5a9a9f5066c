"""KernelBoost: the learned kernel, its templates, its targets, stopping, bad input."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from cases import Recorder, random_rows
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from kernsemble.boosting import KernelBoost
from kernsemble.datasets import make_rotated_gaussians
from kernsemble.exceptions import ConditionalKernelError, GramTooLargeError
from kernsemble.kernels import Constant, Gaussian, Linear, Stump, alignment
from kernsemble.svm import InfiniteEnsembleClassifier

READING = {"sigma": "deviation", "long_axis": "across", "n_features": 20}
X, y = make_rotated_gaussians(80, **READING, random_state=0)
X_test, y_test = make_rotated_gaussians(120, **READING, random_state=1)


# -- the learned kernel


@pytest.mark.parametrize("loss", ["log", "exp"])
@pytest.mark.parametrize("step", ["bound", "line-search"])
@pytest.mark.parametrize("kernel", ["linear", Gaussian(5.0), "stump"])
def test_the_loss_falls_every_round_and_is_that_of_the_learned_kernel(loss, step, kernel):
    booster = KernelBoost(kernel, loss, n_rounds=8, step=step).fit(X, y)
    margins = np.outer(y, y) * booster.kernel_(X)
    losses = np.log1p(np.exp(-margins)) if loss == "log" else np.exp(-margins)
    assert (np.diff(booster.loss_path_) < 0.0).all()
    assert_allclose(booster.loss_path_[-1], losses.mean(), rtol=1e-8)
    assert_allclose(booster.loss_path_[0], np.log(2.0) if loss == "log" else 1.0)
    assert (booster.weights_ > 0.0).all()
    assert len(booster.loss_path_) == len(booster.weights_) + 1


def explicit_rounds(X, y, n_rounds):
    """The paper's algorithm for the dot product, with w itself and a whole decomposition."""
    K, found = np.zeros((len(y), len(y))), []
    for _ in range(n_rounds):
        D = 1.0 / (1.0 + np.exp(np.outer(y, y) * K))
        w = np.linalg.eigh(X.T @ (D * np.outer(y, y)) @ X)[1][:, -1]
        K_t = np.outer(X @ w, X @ w)
        gains = D * np.outer(y, y) * K_t
        alpha = 0.5 * np.log(gains[gains > 0.0].sum() / -gains[gains < 0.0].sum())
        K += alpha * K_t
        found.append((alpha, w * np.sign(y @ X @ w)))
    return found


def test_kernelised_and_explicit_paths_agree_for_the_linear_kernel():
    booster = KernelBoost(n_rounds=10).fit(X, y)
    alphas, ws = zip(*explicit_rounds(X, y, 10), strict=True)
    assert_allclose(booster.weights_, alphas, rtol=1e-7)
    expected = X_test @ np.transpose(ws) * np.sqrt(alphas)
    assert_allclose(booster.transform(X_test), expected, atol=1e-7)
    assert_allclose(booster.kernel_(X_test), expected @ expected.T, atol=1e-7)


def test_transform_gives_the_features_of_the_kernel():
    booster = KernelBoost(Gaussian(5.0), n_rounds=6, step="line-search").fit(X, y)
    Z = booster.transform(X_test)
    assert Z.shape == (120, 6)
    assert_allclose(booster.kernel_(X_test), Z @ Z.T)
    assert np.linalg.eigvalsh(booster.kernel_(X_test)).min() > -1e-9
    w = booster.kernel_.coefficients / np.sqrt(booster.weights_)[:, np.newaxis]
    G = Gaussian(5.0).bind(X)(booster.kernel_.templates)
    assert_allclose(np.diagonal(w @ G @ w.T), 1.0, rtol=1e-6)


@pytest.mark.parametrize("step", ["bound", "line-search"])
def test_alignment_rises_on_new_rows(step):
    booster = KernelBoost(step=step).fit(X, y)
    target = np.outer(y_test, y_test)
    before, after = (alignment(K, target) for K in (Linear()(X_test), booster.kernel_(X_test)))
    assert after > 2.0 * before
    path = booster.alignment_path_
    assert_allclose(path[0], alignment(Linear()(X), np.outer(y, y)))
    assert_allclose(path[-1], alignment(booster.kernel_(X), np.outer(y, y)))


# -- targets


def test_classes_are_targets_that_sum_to_zero():
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    booster = KernelBoost(step="line-search").fit(X, y)
    target = np.where(y[:, np.newaxis] == y, 1.0, -0.5)
    assert_allclose(booster.alignment_path_[-1], alignment(booster.kernel_(X), target))
    assert booster.alignment_path_[-1] > booster.alignment_path_[0]
    margins = target * booster.kernel_(X)
    assert_allclose(booster.loss_path_[-1], np.log1p(np.exp(-margins)).mean(), rtol=1e-8)
    names = np.array(["c", "a", "b"])[y]
    again = KernelBoost(step="line-search").fit(X, names)
    assert_allclose(again.kernel_(X), booster.kernel_(X), rtol=1e-5, atol=1e-7)


def test_numbers_are_targets_by_their_deviations():
    rows = random_rows(70, 3)
    numbers = rows[:, 0] - 0.5 * rows[:, 1] ** 2 + 4.0
    booster = KernelBoost(Gaussian(0.3), step="line-search").fit(rows, numbers)
    deviations = numbers - numbers.mean()
    assert_allclose(
        booster.alignment_path_[-1],
        alignment(booster.kernel_(rows), np.outer(deviations, deviations)),
    )
    assert booster.alignment_path_[-1] > 2.0 * booster.alignment_path_[0]
    other_unit = KernelBoost(Gaussian(0.3), step="line-search").fit(rows, 1000.0 * numbers)
    assert_allclose(other_unit.weights_, booster.weights_, rtol=1e-6)
    boosted = make_pipeline(booster, Ridge(1e-3)).fit(rows, numbers)
    plain = Ridge(1e-3).fit(rows, numbers)
    assert boosted.score(rows, numbers) > plain.score(rows, numbers)


def test_integers_can_be_treated_as_numbers():
    counts = np.arange(80) % 5
    as_numbers = KernelBoost(target="numbers", n_rounds=3).fit(X, counts)
    as_classes = KernelBoost(n_rounds=3).fit(X, counts)
    assert not np.allclose(as_numbers.weights_, as_classes.weights_)
    with pytest.raises(ValueError, match="target = 'numbers', but y contains values"):
        KernelBoost(target="numbers").fit(X, y.astype(str))
    with pytest.raises(ValueError, match="y is 3 for every row"):
        KernelBoost(target="numbers").fit(X, np.full(80, 3.0))


# -- templates


def test_templates_span_the_functions():
    booster = KernelBoost(Gaussian(5.0), n_rounds=4).fit(X, y, templates=X_test)
    assert {tuple(row) for row in booster.kernel_.templates} <= {tuple(row) for row in X_test}
    setting = KernelBoost(Gaussian(5.0), n_rounds=4, templates=X_test).fit(X, y)
    assert_allclose(setting.kernel_(X), booster.kernel_(X))
    own = KernelBoost(Gaussian(5.0), n_rounds=4, templates=X_test).fit(X, y, templates=X)
    assert_allclose(own.kernel_(X), KernelBoost(Gaussian(5.0), n_rounds=4).fit(X, y).kernel_(X))


def test_templates_that_repeat_others_change_nothing():
    once = KernelBoost(n_rounds=5).fit(X, y)
    twice = KernelBoost(n_rounds=5).fit(X, y, templates=np.vstack([X, X, 2.0 * X]))
    assert twice.n_templates_ == once.n_templates_ == 20  # as many as there are features
    assert_allclose(twice.kernel_(X_test), once.kernel_(X_test), atol=1e-8)


def test_few_templates_can_be_drawn():
    few = KernelBoost(Gaussian(5.0), n_rounds=4, n_templates=15, random_state=0).fit(X, y)
    assert few.n_templates_ == len(few.kernel_.templates) == 15
    assert 0.0 < few.template_error_ < 1.0
    assert_allclose(few.loss_path_[-1], np.log1p(np.exp(-np.outer(y, y) * few.kernel_(X))).mean())
    again = KernelBoost(Gaussian(5.0), n_rounds=4, n_templates=15, random_state=0).fit(X, y)
    assert again.kernel_ == few.kernel_
    enough = KernelBoost(Gaussian(5.0), n_rounds=4, n_templates=80).fit(X, y)
    assert_allclose(enough.kernel_(X), KernelBoost(Gaussian(5.0), n_rounds=4).fit(X, y).kernel_(X))


def test_templates_are_passed_through_a_pipeline():
    pipeline = make_pipeline(KernelBoost(Gaussian(5.0), n_rounds=4), LinearSVC())
    pipeline.fit(X, y, kernelboost__templates=X_test)
    booster = KernelBoost(Gaussian(5.0), n_rounds=4).fit(X, y, templates=X_test)
    assert pipeline[0].kernel_ == booster.kernel_
    with sklearn.config_context(enable_metadata_routing=True):
        asked = KernelBoost(Gaussian(5.0), n_rounds=4).set_fit_request(templates=True)
        routed = make_pipeline(asked, LinearSVC()).fit(X, y, templates=X_test)
    assert routed[0].kernel_ == booster.kernel_


# -- weights and early stopping


def test_weights_are_repetitions_and_zero_is_absence():
    weight = np.arange(80) % 3
    rows = np.repeat(np.arange(80), weight)
    for kernel in ("linear", "gaussian"):
        weighted = KernelBoost(kernel, n_rounds=5).fit(X, y, sample_weight=weight)
        repeated = KernelBoost(kernel, n_rounds=5).fit(X[rows], y[rows])
        assert_allclose(weighted.transform(X_test), repeated.transform(X_test), atol=1e-7)
        assert_allclose(weighted.loss_path_, repeated.loss_path_)
        assert_allclose(weighted.alignment_path_, repeated.alignment_path_)


def test_early_stopping_ends_at_the_best_alignment_on_held_out_rows():
    X, y = make_rotated_gaussians(150, sigma="deviation", random_state=0)
    booster = KernelBoost(
        step="line-search",
        n_rounds=200,
        n_iter_no_change=5,
        validation_fraction=0.3,
        random_state=0,
    ).fit(X, y)
    path = booster.validation_alignment_path_
    best = 1 + int(np.argmax(path[1:]))
    assert booster.ending_ == "early stopping: the alignment on held-out rows no longer improves"
    assert len(booster.weights_) == len(booster.kernel_.coefficients) == best
    assert len(path) == best + 6
    assert len(booster.loss_path_) == len(booster.alignment_path_) == best + 1
    with pytest.raises(ValueError, match=r"validation_fraction = 1\.0"):
        KernelBoost(n_iter_no_change=2, validation_fraction=1.0).fit(X, y)


# -- stopping


def test_perfect_alignment_ends_boosting():
    booster = KernelBoost(Gaussian(1e6)).fit(X, y)  # every row is alone
    assert len(booster.weights_) == 1
    assert booster.ending_ == "no pair of training rows contradicts the last base kernel"
    assert np.isfinite(booster.transform(X_test)).all()


def test_a_constant_kernel_aligns_with_the_larger_class_or_with_none():
    larger = np.where(np.arange(80) < 60, 1, -1)
    booster = KernelBoost(Constant()).fit(X, larger)
    assert (np.diff(booster.loss_path_) < 0.0).all()
    even = np.where(np.arange(80) < 40, 1, -1)
    with pytest.raises(ValueError, match="no further base kernel is aligned"):
        KernelBoost(Constant()).fit(X, even)


def test_a_kernel_that_is_zero_on_the_templates_is_refused():
    with pytest.raises(ValueError, match="is zero on the templates"):
        KernelBoost().fit(np.zeros((4, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_features_may_have_any_scale(scale):
    booster = KernelBoost(step="line-search", n_rounds=5).fit(scale * X, y)
    plain = KernelBoost(step="line-search", n_rounds=5).fit(X, y)
    assert_allclose(
        booster.transform(scale * X_test), plain.transform(X_test), rtol=1e-4, atol=1e-6
    )


def test_an_interrupt_keeps_the_rounds_done(monkeypatch):
    from kernsemble.solvers import kernel_boosting

    advance, n_calls = kernel_boosting.Pairs.advance, []

    def interrupted(self):
        n_calls.append(1)
        if len(n_calls) == 4:
            raise KeyboardInterrupt
        return advance(self)

    monkeypatch.setattr(kernel_boosting.Pairs, "advance", interrupted)
    booster = KernelBoost()
    with pytest.raises(KeyboardInterrupt):
        booster.fit(X, y)
    assert booster.transform(X_test).shape == (120, 3)
    assert booster.ending_.startswith("interrupted")


# -- use


def test_linear_models_and_kernel_machines_can_use_it():
    linear = make_pipeline(KernelBoost(step="line-search"), LinearSVC()).fit(X, y)
    assert linear.score(X_test, y_test) > LinearSVC().fit(X, y).score(X_test, y_test)
    learned = KernelBoost(step="line-search").fit(X, y).kernel_
    machine = InfiniteEnsembleClassifier(learned).fit(X, y)
    assert machine.score(X_test, y_test) > 0.9


def test_tables_keep_their_names():
    frame = pd.DataFrame(X, columns=[f"x{d}" for d in range(20)])
    booster = KernelBoost(Linear().on(["x0", "x5"]), n_rounds=3).fit(frame, y)
    assert booster.get_feature_names_out().tolist() == [f"kernelboost{t}" for t in range(3)]
    features = booster.set_output(transform="pandas").transform(frame)
    assert features.columns.tolist() == [f"kernelboost{t}" for t in range(3)]
    arrays = KernelBoost(Linear().on([0, 5]), n_rounds=3).fit(X, y)
    assert_allclose(features, arrays.transform(X))
    polars = KernelBoost(n_rounds=3).set_output(transform="polars").fit(pl.DataFrame(X), y)
    assert isinstance(polars.transform(pl.DataFrame(X)), pl.DataFrame)


def test_it_is_cloned_pickled_and_saved(tmp_path):
    pytest.importorskip("skops.io")
    from kernsemble.persistence import load, save

    booster = KernelBoost(Gaussian(5.0), n_rounds=3).fit(X, y)
    assert clone(booster).get_params() == booster.get_params()
    for again in (
        pickle.loads(pickle.dumps(booster)),
        load(save(booster, tmp_path / "booster.skops")),
    ):
        assert_array_equal(again.transform(X_test), booster.transform(X_test))
        assert again.kernel_ == booster.kernel_


def test_callbacks_are_called_for_every_round():
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    KernelBoost(n_rounds=4).set_callbacks(recorder).fit(X, y)
    assert recorder.ended["round"] == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "loss = 'hinge': use one of 'log', 'exp'"),
        ({"step": "long"}, "step = 'long'"),
        ({"n_rounds": 0}, "n_rounds = 0"),
        ({"n_templates": 0}, "n_templates = 0"),
        ({"target": "labels"}, "target = 'labels'"),
        ({"n_iter_no_change": 0}, "n_iter_no_change = 0"),
        ({"kernel": "lineal"}, "did you mean 'linear'"),
        ({"templates": X[:, :3]}, "templates: X has 3 features"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        KernelBoost(**settings).fit(X, y)


def test_kernels_that_are_only_conditionally_definite_are_refused():
    with pytest.raises(ConditionalKernelError, match="a learned kernel"):
        KernelBoost(Stump().simplified).fit(X, y)


def test_memory_is_checked_before_fitting(monkeypatch):
    monkeypatch.setattr("kernsemble.boosting.kernel_boost.physical_memory", lambda: 1e4)
    with pytest.raises(GramTooLargeError, match=r"the pairs of 80 rows .* n_templates=1000"):
        KernelBoost().fit(X, y)
