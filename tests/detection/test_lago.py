"""LAGO agrees with its definition, for every shape, fold and weight."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import Recorder
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, log_loss, precision_score
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, StratifiedKFold

from kernsemble.detection import LagoClassifier, average_precision
from kernsemble.persistence import load, save

SHAPES = ["spherical", "elliptical"]
KERNELS = ["gaussian", "uniform", "triangular"]


def rare_rows(n=120, n_features=4, n_rare=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=int)
    y[rng.permutation(n)[:n_rare]] = 1
    return rng.normal(size=(n, n_features)) + 0.8 * y[:, np.newaxis], y


def radii(X, y, shape, n_neighbors):
    """The diagonals of all R_i."""
    rare, background = X[y == 1], X[y == 0]
    nearest = cdist(rare, background).argsort(axis=1)[:, :n_neighbors]
    around = background[nearest]
    if shape == "elliptical":
        return abs(rare[:, np.newaxis] - around).mean(axis=1)
    means = np.linalg.norm(rare[:, np.newaxis] - around, axis=2).mean(axis=1)
    return np.repeat(means[:, np.newaxis], X.shape[1], axis=1)


def definition(X, y, Z, shape, alpha, n_neighbors=5):
    """Equation 22, with determinants and densities as in the paper."""
    f = np.zeros(len(Z))
    for centre, R in zip(X[y == 1], radii(X, y, shape, n_neighbors), strict=True):
        width = alpha * R
        density = np.exp(-0.5 * (((Z - centre) / width) ** 2).sum(axis=1))
        density /= (2.0 * np.pi) ** (X.shape[1] / 2) * np.prod(width)
        f += np.prod(R) * density
    return f


def kernel_means(X, y, Z, shape, alpha, kernel, n_neighbors=5):
    """The mean of kernels that are functions of the distance in units of the widths."""
    R = radii(X, y, shape, n_neighbors)
    u = np.array([np.linalg.norm((z - X[y == 1]) / R, axis=1) for z in Z]) / alpha
    return (u <= 1.0).mean(axis=1) if kernel == "uniform" else np.maximum(1.0 - u, 0.0).mean(axis=1)


def fixed(shape="spherical", alpha=1.0, **settings):
    return LagoClassifier(shape, alpha, **{"scaling": None, "threshold": 0.0, **settings})


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("alpha", "n_neighbors"), [(0.5, 5), (1.0, 1), (2.0, 108), (3.0, 1000)])
def test_lago_is_its_definition(shape, alpha, n_neighbors):
    X, y = rare_rows()
    Z = np.random.default_rng(1).normal(size=(50, 4))
    expected = np.log(definition(X, y, Z, shape, alpha, n_neighbors))
    constant = np.log(12.0) - 4 * np.log(np.sqrt(2.0 * np.pi) * alpha)
    got = fixed(shape, alpha, n_neighbors=n_neighbors).fit(X, y).score_samples(Z)
    assert_allclose(got + constant, expected, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", ["uniform", "triangular"])
def test_compact_kernels_are_their_definition(shape, kernel):
    X, y = rare_rows()
    Z = np.random.default_rng(1).normal(size=(50, 4))
    got = fixed(shape, 2.0, kernel=kernel).fit(X, y).score_samples(Z)
    assert_allclose(got, kernel_means(X, y, Z, shape, 2.0, kernel), atol=1e-12)


@pytest.mark.large
@pytest.mark.parametrize("shape", SHAPES)
def test_thousands_of_features_do_not_overflow(shape):
    X, y = rare_rows(n_features=3000)
    scores = fixed(shape, 0.5).fit(1e3 * X, y).score_samples(1e3 * X)
    assert np.isfinite(scores).all()
    assert len(np.unique(scores[y == 0])) == 108


def test_spherical_kernels_are_invariant_to_rotations_and_a_common_scale():
    X, y = rare_rows()
    rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))
    machine = LagoClassifier(scaling=None).fit(X, y)
    turned = LagoClassifier(scaling=None).fit(1e5 * X @ rotation + 7.0, y)
    assert_array_equal(turned.alpha_, machine.alpha_)
    Z = X[:50] + 0.1
    got = turned.score_samples(1e5 * Z @ rotation + 7.0)
    assert_allclose(got, machine.score_samples(Z), rtol=1e-7)


@pytest.mark.parametrize("settings", [{"n_neighbors": 108}, {"scaling": "range"}])
def test_elliptical_kernels_are_invariant_to_the_scale_of_each_feature(settings):
    """The neighbours may depend on it, unless all rows are neighbours or features are scaled."""
    X, y = rare_rows()
    units = np.array([1e-4, 1.0, 30.0, 1e6])
    machine, other = (fixed("elliptical", 3.0, **settings).fit(rows, y) for rows in (X, X * units))
    assert_allclose(other.score_samples(X * units), machine.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_folds_that_share_one_search_score_like_models_fitted_to_them(shape, kernel):
    X, y = rare_rows()
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    alphas = [0.5, 0.9, 2.0, 2.0 * np.sqrt(2.0), 4.0]
    machine = LagoClassifier(shape, alphas=alphas, kernel=kernel, scaling=None, cv=cv).fit(X, y)

    def score(estimator, X, y):
        return average_precision(y, estimator.score_samples(X))

    naive = fixed(shape, kernel=kernel)
    search = GridSearchCV(naive, {"alpha": alphas}, scoring=score, cv=cv).fit(X, y)
    (results,) = machine.cv_results_
    for key in ("mean_test_score", "std_test_score", "rank_test_score", "split2_test_score"):
        assert_allclose(results[key], search.cv_results_[key], rtol=1e-10)
    assert machine.alpha_ == search.best_params_["alpha"]
    assert_allclose(machine.best_score_, search.best_score_)
    for train, test in cv.split(X, y):
        fold = fixed(shape, machine.alpha_[0], kernel=kernel).fit(X[train], y[train])
        expected = fold.score_samples(X[test])
        assert_allclose(machine.out_of_fold_scores_[test], expected, rtol=1e-9, atol=1e-12)


def test_a_fold_that_takes_the_nearest_rows_away_is_searched_further():
    """The nearest background rows are all in one fold, more of them than are listed at first."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(66, 2)), 9.0 + rng.random((9, 2))])
    y = np.repeat([1, 0], [6, 69])
    fold = np.concatenate([np.tile([0, 1], 3), np.zeros(60), np.ones(9)])
    machine = fixed(threshold="f1", cv=PredefinedSplit(fold)).fit(X, y)
    expected = fixed().fit(X[fold == 1], y[fold == 1]).score_samples(X[fold == 0])
    assert_allclose(machine.out_of_fold_scores_[fold == 0], expected, rtol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_leave_one_out_scores_are_those_of_models_fitted_without_the_row(shape, kernel, metric):
    X, y = rare_rows(40, 3, 6)
    machine = fixed(shape, 2.0, kernel=kernel, metric=metric).fit(X, y)
    expected = [
        clone(machine).fit(np.delete(X, i, axis=0), np.delete(y, i)).score_samples(X[[i]])[0]
        for i in range(40)
    ]
    assert_allclose(machine.leave_one_out_scores(X), expected, rtol=1e-10)
    with pytest.raises(ValueError, match="X differs from the training rows"):
        machine.leave_one_out_scores(X[::-1])


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_repetitions_and_zero_is_absence(shape):
    X, y = rare_rows()
    weight = np.random.default_rng(3).integers(0, 4, len(y))
    repeated = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    weighted = fixed(shape, 1.5, scaling="range").fit(X, y, weight)
    expected = fixed(shape, 1.5, scaling="range").fit(*repeated).score_samples(X)
    assert_allclose(weighted.score_samples(X), expected, rtol=1e-10)
    assert_array_equal(weighted.support_[0], np.flatnonzero((y == 1) & (weight > 0)))


def test_the_order_of_rows_does_not_matter_among_equally_near_ones():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (80, 6)).astype(float), np.repeat([1, 0], [8, 72])
    order = rng.permutation(80)
    machine, other = (fixed("elliptical").fit(X[o], y[o]) for o in (np.arange(80), order))
    assert_allclose(other.score_samples(X), machine.score_samples(X), rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scaling", [None, "range", "rank"])
def test_duplicates_and_constant_features_are_safe(shape, kernel, scaling):
    X, y = rare_rows()
    X = np.column_stack([X, np.full(len(X), 3.0), X[:, 0] > 2.5])
    X[np.flatnonzero(y == 0)[:6]] = X[np.flatnonzero(y == 1)[0]]  # whose radii are zero
    machine = LagoClassifier(shape, kernel=kernel, scaling=scaling).fit(X, y)
    Z = X.copy()
    Z[:, 4] = 1e3  # constant in training: never compared
    assert np.isfinite(machine.score_samples(Z)).all()
    assert np.isfinite(machine.leave_one_out_scores(X)).all()
    assert (machine.kernels_[0].widths > 0.0).all()
    if shape == "elliptical":
        assert_allclose(machine.score_samples(Z), machine.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_rare_row_that_equals_its_neighbours_has_no_height(shape):
    """Its coefficient in Equation 22 is zero, as if the row were absent."""
    X, y = rare_rows()
    lost = np.flatnonzero(y == 1)[0]
    X[np.flatnonzero(y == 0)[:5]] = X[lost]
    is_left = np.arange(len(y)) != lost
    machine = fixed(shape).fit(X, y)
    assert machine.kernels_[0].weight[0] == 0.0
    expected = fixed(shape).fit(X[is_left], y[is_left]).score_samples(X)
    assert_allclose(machine.score_samples(X), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_are_all_equal_get_equal_scores(shape):
    machine = fixed(shape).fit(np.ones((9, 2)), [1, 1, 1, 0, 0, 0, 0, 0, 0])
    assert_array_equal(machine.score_samples([[1.0, 1.0], [1.0, 1.0]]), [0.0, 0.0])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_tiny_and_huge_numbers(shape, scale):
    X, y = rare_rows()
    expected = fixed(shape).fit(X, y).score_samples(X)
    assert_allclose(fixed(shape).fit(scale * X, y).score_samples(scale * X), expected, rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_float32_stays_near(shape):
    X, y = rare_rows()
    expected = LagoClassifier(shape).fit(X, y)
    got = LagoClassifier(shape).fit(X.astype(np.float32), y)
    assert got.kernels_[0].centres.dtype == np.float32
    assert got.alpha_ == expected.alpha_
    assert_allclose(got.score_samples(X.astype(np.float32)), expected.score_samples(X), rtol=1e-3)


def test_the_rare_class_is_the_smaller_unless_named():
    X, y = rare_rows()
    machine = LagoClassifier().fit(X, np.where(y == 1, "a", "b"))
    assert machine.rare_classes_.tolist() == ["a"]
    assert_allclose(machine.decision_function(X), machine.threshold_ - machine.score_samples(X))
    named = LagoClassifier(rare="b").fit(X, np.where(y == 1, "a", "b"))
    assert named.rare_classes_.tolist() == ["b"]
    assert len(named.kernels_[0].centres) == 108


def test_several_rare_classes_are_each_against_the_rest():
    X, y = rare_rows(200, 3, 30)
    y[np.flatnonzero(y == 1)[:14]] = 2
    X[y == 2] -= 3.0
    machine = LagoClassifier(alpha=1.0, threshold=-4.0).fit(X, y)
    assert machine.rare_classes_.tolist() == [1, 2]
    for place, rare in enumerate([1, 2]):
        alone = LagoClassifier(alpha=1.0, threshold=-4.0, rare=1).fit(X, y == rare)
        assert_allclose(machine.score_samples(X)[:, place], alone.score_samples(X))
    decisions = machine.decision_function(X)
    assert (decisions[:, 0] == 0.0).all()
    is_above = (machine.score_samples(X) > -4.0).any(axis=1)
    assert_array_equal(machine.predict(X) > 0, is_above)
    one = LagoClassifier(rare=2).fit(X, y)
    assert one.score_samples(X).ndim == 1
    assert set(one.predict(X)) == {0, 2}


@pytest.mark.large
def test_thresholds_are_tuned_on_held_out_scores():
    X, y = rare_rows(400, 3, 60)
    X += y[:, np.newaxis]
    held_out = LagoClassifier(alpha=1.0).fit(X, y).out_of_fold_scores_

    def selected(rule):
        return held_out > LagoClassifier(alpha=1.0, threshold=rule).fit(X, y).threshold_

    best = max(f1_score(y, held_out >= score) for score in held_out)
    assert_allclose(f1_score(y, selected("f1")), best)
    meeting = [s for s in held_out if precision_score(y, held_out >= s) >= 0.6]
    assert_allclose(
        (selected(("recall", 0.6)) & (y == 1)).sum(),
        max(((held_out >= s) & (y == 1)).sum() for s in meeting),
    )
    assert precision_score(y, selected(("recall", 0.6))) >= 0.6
    assert selected(("precision", 0.5))[y == 1].mean() >= 0.5
    assert selected(("top", 25)).sum() == 25
    assert selected(("top", 0.1)).sum() == 40


def test_frames_keep_their_names_and_models_their_scores(tmp_path):
    X, y = rare_rows()
    names = list("abcd")
    expected = LagoClassifier().fit(X, y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        machine = LagoClassifier().fit(frame, y)
        assert list(machine.feature_names_in_) == names
        assert_array_equal(machine.score_samples(frame), expected.score_samples(X))
    again = load(save(machine, tmp_path / "lago.skops"))
    for other in (again, pickle.loads(pickle.dumps(machine))):
        assert_array_equal(other.score_samples(frame), machine.score_samples(frame))
        assert_array_equal(other.predict(frame), machine.predict(frame))
        assert_array_equal(other.leave_one_out_scores(frame), machine.leave_one_out_scores(frame))


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_every_exact_search_finds_the_same(algorithm):
    X, y = rare_rows()
    got = LagoClassifier("elliptical", algorithm=algorithm, n_jobs=2).fit(X, y)
    assert_allclose(got.score_samples(X), LagoClassifier("elliptical").fit(X, y).score_samples(X))


def test_approximate_neighbours_need_pynndescent(monkeypatch):
    """A stand-in with the interface of pynndescent, which is exact."""
    X, y = rare_rows()
    machine = LagoClassifier(algorithm="approximate", random_state=0)

    class NNDescent:
        def __init__(self, rows, metric, random_state, n_jobs):
            self.rows = rows

        def query(self, rows, k):
            distances = cdist(rows, self.rows)
            order = distances.argsort(axis=1)[:, :k]
            return order, np.take_along_axis(distances, order, axis=1)

    stand_in = type("pynndescent", (), {"NNDescent": NNDescent})
    monkeypatch.setitem(__import__("sys").modules, "pynndescent", stand_in)
    expected = LagoClassifier().fit(X, y).score_samples(X)
    assert_allclose(machine.fit(X, y).score_samples(X), expected)
    monkeypatch.setitem(__import__("sys").modules, "pynndescent", None)
    with pytest.raises(ImportError, match="pip install pynndescent"):
        machine.fit(X, y)


def test_callbacks_are_called_for_classes_and_folds():
    pytest.importorskip("sklearn.callback")
    X, y = rare_rows()
    recorder = Recorder()
    LagoClassifier(cv=3).set_callbacks(recorder).fit(X, y)
    assert recorder.begun == recorder.ended == {"fit": 1, "class": 1, "fold": 3}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shape": "square"}, "shape = 'square'"),
        ({"kernel": "cosine"}, "kernel = 'cosine'"),
        ({"alpha": "auto"}, "alpha = 'auto'"),
        ({"alpha": -1.0}, "alpha = -1.0"),
        ({"alphas": []}, "alphas = "),
        ({"n_neighbors": 0}, "n_neighbors = 0"),
        ({"rare": 7}, "rare = 7"),
        ({"rare": [0, 1]}, "leave at least one class for the background"),
        ({"threshold": "f2"}, "threshold = 'f2'"),
        ({"threshold": ("top", 0)}, "threshold"),
        ({"threshold": ("recall", 2.0)}, "threshold"),
        ({"algorithm": "tree"}, "algorithm = 'tree'"),
        ({"cv": 1}, "cv = 1"),
        ({"cv": KFold(2)}, "no training row of class 1"),
    ],
    ids=str,
)
def test_errors_name_the_argument(settings, message):
    X, y = rare_rows()
    order = np.argsort(-y, kind="stable")
    with pytest.raises(ValueError, match=message):
        LagoClassifier(**settings).fit(X[order], y[order])


def test_a_single_rare_row_needs_given_alpha_and_threshold():
    X, y = rare_rows(n_rare=1)
    with pytest.raises(ValueError, match="none can be held out"):
        LagoClassifier().fit(X, y)
    machine = fixed().fit(X, y)
    assert machine.score_samples(X).argmax() == y.argmax()
    with pytest.raises(ValueError, match="fit on more"):
        machine.leave_one_out_scores(X)


def test_an_unfitted_model_raises_an_error():
    with pytest.raises(NotFittedError):
        LagoClassifier().predict([[0.0]])


# -- probabilities


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rare", [0, 1])
def test_probabilities_increase_with_the_score_and_sum_to_one(kernel, rare):
    X, y = rare_rows()
    machine = LagoClassifier(kernel=kernel, rare=rare, cv=3).fit(X, y)
    p, scores = machine.predict_proba(X), machine.score_samples(X)
    assert_allclose(p.sum(axis=1), 1.0)
    order = np.argsort(scores, kind="stable")
    assert (np.diff(p[order, rare]) >= 0.0).all()
    assert p[order[-1], rare] > p[order[0], rare]
    assert_allclose(machine.predict_log_proba(X), np.log(p))
    assert_allclose(load_again(machine).predict_proba(X), p)


def load_again(machine):
    return pickle.loads(pickle.dumps(machine))


def test_probabilities_are_those_of_held_out_rows():
    X, y = rare_rows(n=2000, n_rare=200)
    machine = LagoClassifier().fit(X[:1000], y[:1000])
    p = machine.predict_proba(X[1000:])[:, 1]
    assert p.mean() == pytest.approx(y[1000:].mean(), abs=0.03)
    constant = np.full(1000, y[:1000].mean())
    assert log_loss(y[1000:], p) < 0.9 * log_loss(y[1000:], constant)


def test_probabilities_of_several_classes_share_the_background():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [60, 30, 8, 8])
    X = rng.normal(size=(len(y), 2)) + 3.0 * (y[:, np.newaxis] == [2, 3])
    machine = LagoClassifier(rare=[2, 3], cv=2).fit(X, y)
    p = machine.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(p[:, 0], 2.0 * p[:, 1])
    for place, code in enumerate((2, 3)):
        against = machine.calibration_[place](machine.score_samples(X)[:, place])
        background = p[:, 0] + p[:, 1]
        assert_allclose(p[:, code] / background, against / (1.0 - against))


def test_without_held_out_scores_there_are_no_probabilities():
    X, y = rare_rows()
    machine = LagoClassifier(alpha=1.0, threshold=0.0)
    assert not hasattr(machine, "predict_proba")
    assert hasattr(LagoClassifier(alpha=1.0), "predict_proba")
    remedy = r"alpha = 1.0 and threshold = 0.0 do not support predict_proba.*: use alpha='cv'"
    with pytest.raises(AttributeError, match=remedy):
        machine.fit(X, y).predict_proba(X)
