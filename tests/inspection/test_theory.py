"""Theory of the ensemble view: densities, norms, Theorem 8, perceptrons."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.boosting import AdaBoostClassifier
from kernsemble.datasets import make_twonorm
from kernsemble.inspection import EnsembleView, Shape, StumpDensity
from kernsemble.kernels import (
    Category,
    DecisionTree,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    MiddleStump,
    Perceptron,
    Stump,
)
from kernsemble.kernels.columns import leaves
from kernsemble.svm import InfiniteEnsembleClassifier, MultiplicativeSVC, SVMPath


def rows(n=40, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, n_features)), 1)
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0.0).astype(int)


def test_the_density_is_the_sum_of_the_coefficients_above_a_threshold():
    X, y = rows()
    model = InfiniteEnsembleClassifier(solver="exact").fit(X * [1.0, 10.0, 100.0], y)
    view = EnsembleView.from_estimator(model)
    for d, name in enumerate(view.feature_names):
        (density,) = view.densities[name]
        thresholds = np.random.default_rng(1).uniform(-300.0, 300.0, size=200)
        above = model.support_vectors_[:, d] > thresholds[:, np.newaxis]
        assert_allclose(density(thresholds), above @ model.dual_coef_[0], atol=1e-12)
        half_range = model.scaling_.half_range[d]
        assert_allclose(density.measure, (density.upper - density.lower) / half_range, atol=1e-12)


def test_the_slope_of_a_shape_function_is_twice_the_density():
    X, y = rows()
    view = EnsembleView.from_estimator(InfiniteEnsembleClassifier(scaling=None).fit(X, y), X)
    for name, (density,) in view.densities.items():
        rise = view.shapes[name](density.upper) - view.shapes[name](density.lower)
        assert_allclose(rise, 2.0 * density.density * (density.upper - density.lower), atol=1e-12)


@pytest.mark.parametrize("scaling", ["range", "rank", None])
@pytest.mark.parametrize(
    "kernel",
    [
        Stump(),
        Stump("distinct"),
        MiddleStump(),
        Category(),
        HistogramIntersection(),
        Linear(),
        Stump().logic,
        2.0 * Stump() + 0.5 * Category().on(1) + Linear().on([2]),
        Stump() + Laplacian(gamma=0.5).on([0, 1]),
        Perceptron(),
        Gaussian(),
    ],
    ids=str,
)
def test_the_sizes_of_the_parts_add_up_to_the_norm(kernel, scaling):
    X, y = rows()
    for model in (
        InfiniteEnsembleClassifier(kernel, scaling=scaling).fit(X, y),
        MultiplicativeSVC(kernel, scaling=scaling).fit(X, y),
    ):
        beta, known = model.dual_coef_[0], model.scaling_.transform(model.support_vectors_)
        expected = beta @ model.kernel_(known) @ beta
        assert EnsembleView.from_estimator(model).decomposition.squared_norm == pytest.approx(
            expected, rel=1e-9
        )


@pytest.mark.parametrize(
    "kernel",
    [Stump(), MiddleStump(), Category(), Stump() + Category().on(0), Perceptron(), Laplacian(0.5)],
    ids=str,
)
def test_norms_of_tables_are_those_of_the_dual(kernel):
    X, y = rows()
    model = InfiniteEnsembleClassifier(
        kernel, solver="additive", tol=1e-9, n_slices=8, n_grids=8, random_state=0
    ).fit(X, y)
    loss = np.maximum(1.0 - np.where(y == 1, 1.0, -1.0) * model.decision_function(X), 0.0).sum()
    expected = 2.0 * (-model.objective_[0] - model.C_ * loss)  # primal and dual agree
    assert EnsembleView.from_estimator(model, X).decomposition.squared_norm == pytest.approx(
        expected, rel=1e-5
    )


def test_a_missing_value_has_its_part_of_the_norm():
    X, y = rows(60)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    model = InfiniteEnsembleClassifier(tol=1e-9).fit(X, y)
    loss = np.maximum(1.0 - np.where(y == 1, 1.0, -1.0) * model.decision_function(X), 0.0).sum()
    expected = 2.0 * (-model.objective_[0] - model.C_ * loss)
    view = EnsembleView.from_estimator(model, X)
    assert view.decomposition.squared_norm == pytest.approx(expected, rel=1e-5)
    densities = sum(each.squared_norm for several in view.densities.values() for each in several)
    assert densities < 0.999 * expected


@pytest.mark.parametrize("scaling", ["range", "rank", None])
@pytest.mark.parametrize("measure", ["uniform", "empirical", "distinct"])
def test_theorem_8_the_expansion_is_the_kernel(measure, scaling):
    X, y = rows()
    Z = 1.5 * rows(seed=5)[0]
    model = InfiniteEnsembleClassifier(Stump(measure), scaling=scaling).fit(X, y)
    stumps = EnsembleView.from_estimator(model).averaged_stumps()
    known = model.support_vectors_
    expected = model.kernel_(model.scaling_.transform(known), model.scaling_.transform(Z))
    assert_allclose(stumps.kernel(known, Z), expected, atol=1e-9)
    assert_allclose(stumps.decision_function(Z), model.decision_function(Z), atol=1e-9)


def test_theorem_8_constants():
    X, y = rows(n_features=1)
    model = InfiniteEnsembleClassifier(scaling=None).fit(X, y)
    stumps = EnsembleView.from_estimator(model).averaged_stumps()
    assert_allclose(stumps.embedding, 0.5 * np.sqrt(stumps.upper - stumps.lower), atol=1e-12)
    middle = 0.5 * (stumps.lower + stumps.upper)
    assert_allclose(np.diag(stumps.vote(middle[:, np.newaxis])), 0.0, atol=1e-9)
    assert_allclose(np.diag(stumps.vote(stumps.lower[:, np.newaxis])), -1.0)
    assert_allclose(np.diag(stumps.vote(stumps.upper[:, np.newaxis])), 1.0)


def test_middle_stumps_and_boosted_stumps_are_averaged_stumps_of_no_width():
    X, y = rows()
    Z = rows(seed=5)[0]
    for model in (
        InfiniteEnsembleClassifier(MiddleStump(), scaling=None).fit(X, y),
        AdaBoostClassifier(n_estimators=20).fit(X, y),
    ):
        stumps = EnsembleView.from_estimator(model).averaged_stumps()
        assert (stumps.lower == stumps.upper).all()
        assert set(np.unique(stumps.vote(Z))) == {-1.0, 1.0}
        assert_allclose(stumps.decision_function(Z), model.decision_function(Z), atol=1e-9)


def test_averaged_stumps_need_a_machine_of_stumps_only():
    X, y = rows()
    for kernel in (Perceptron(), Stump() + Category().on(0)):
        view = EnsembleView.from_estimator(InfiniteEnsembleClassifier(kernel).fit(X, y))
        with pytest.raises(ValueError, match="does not consist of stumps only"):
            view.averaged_stumps()


@pytest.mark.parametrize("scaling", ["range", None])
@pytest.mark.parametrize("kernel", [Perceptron(), 0.5 * Perceptron().on([2, 0])], ids=str)
def test_perceptron_densities_of_all_directions_are_the_machine(kernel, scaling):
    X, y = rows()
    X = X if kernel == Perceptron() else np.column_stack([X, X[:, :1]])
    X = X[:, :2] if kernel == Perceptron() else X
    model = InfiniteEnsembleClassifier(kernel, scaling=scaling).fit(X, y)
    view = EnsembleView.from_estimator(model)
    columns = [0, 1] if kernel == Perceptron() else [2, 0]
    point = X[[3]] * 0.9 + 0.05
    place = model.scaling_.transform(point)[0, columns]
    ball = (model.kernel_ if kernel == Perceptron() else model.kernel_.kernel.kernel).hypotheses
    angles, total = np.arange(2_000) * (2.0 * np.pi / 2_000), 0.0
    for angle in angles:
        found = view.perceptron_density([3.0 * np.cos(angle), 3.0 * np.sin(angle)])
        assert found.columns.tolist() == columns
        projected = (place - ball.centre) @ found.direction
        below = np.clip(projected, found.lower, found.upper) - found.lower
        signed = 2.0 * below - (found.upper - found.lower)  # the integral of the votes
        total += found.embedding * (found.density @ signed)
    total *= 2.0 * np.pi / len(angles)
    expected = model.decision_function(point)[0] - model.intercept_[0]
    assert total == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("kernel", [Perceptron(), Stump() + 0.5 * Perceptron().on([2, 0])], ids=str)
def test_perceptron_densities_of_sampled_directions_are_the_machine(kernel):
    X, y = rows()
    model = InfiniteEnsembleClassifier(kernel, solver="additive", n_slices=16, random_state=0)
    view = EnsembleView.from_estimator(model.fit(X, y), X)
    pair = X[[3, 11]]
    scaled, total = model.scaling_.transform(pair), np.zeros(2)
    for place in range(16):
        found = view.perceptron_density(place)
        D = len(found.direction)
        projected = scaled[:, found.columns] @ found.direction
        centre = [each for each in leaves(model.kernel_) if isinstance(each.kernel, Perceptron)]
        projected = projected - centre[0].kernel.hypotheses.centre @ found.direction
        below = np.clip(projected[:, np.newaxis], found.lower, found.upper) - found.lower
        sphere = {2: 2.0 * np.pi, 3: 4.0 * np.pi}[D]
        total += sphere / 16 * found.embedding * 2.0 * (below @ found.density)
    (interaction,) = view.decomposition.interactions
    assert total[0] - total[1] == pytest.approx(np.subtract(*interaction.values(pair)), abs=1e-9)
    assert abs(total[0] - total[1]) > 1e-3


def test_perceptron_densities_need_a_perceptron_kernel():
    X, y = rows()
    exact = InfiniteEnsembleClassifier(Perceptron()).fit(X, y)
    with pytest.raises(ValueError, match="pass 3 numbers"):
        EnsembleView.from_estimator(exact).perceptron_density([1.0, 0.0])
    with pytest.raises(ValueError, match="pass 3 numbers"):
        EnsembleView.from_estimator(exact).perceptron_density([0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="has 0 perceptron terms"):
        EnsembleView.from_estimator(InfiniteEnsembleClassifier().fit(X, y)).perceptron_density(
            [1, 0, 0]
        )
    sampled = InfiniteEnsembleClassifier(Perceptron(), solver="additive", n_slices=8).fit(X, y)
    with pytest.raises(ValueError, match="solver='exact'"):
        EnsembleView.from_estimator(sampled).perceptron_density([1, 0, 0])
    with pytest.raises(ValueError, match="pass a vector"):
        EnsembleView.from_estimator(exact).perceptron_density(0)
    with pytest.raises(ValueError, match="has 8 sampled directions"):
        EnsembleView.from_estimator(sampled).perceptron_density(8)
    with pytest.raises(ValueError, match="has no perceptron kernel"):
        EnsembleView.from_estimator(AdaBoostClassifier().fit(X, y)).perceptron_density([1, 0, 0])


def test_importances_are_shares_of_the_squared_norm():
    X, y = make_twonorm(100, n_features=4, random_state=0)
    model = InfiniteEnsembleClassifier(scaling=None).fit(X, y)
    found = EnsembleView.from_estimator(model).importances()
    assert found.method == "share of the squared weights of all hypotheses, exact"
    sizes = []
    for d in range(4):
        edges = np.unique(model.support_vectors_[:, d])
        above = model.support_vectors_[:, d] > edges[:-1, np.newaxis]
        sizes.append(2.0 * ((above @ model.dual_coef_[0]) ** 2 @ np.diff(edges)))
    assert_allclose(list(found.shares.values()), np.array(sizes) / sum(sizes), atol=1e-12)


def test_importances_of_boosted_stumps_are_shares_of_the_weights():
    X, y = rows()
    model = AdaBoostClassifier(n_estimators=15).fit(X, y)
    found = EnsembleView.from_estimator(model).importances()
    assert found.method == "share of the absolute weights of all hypotheses, exact"
    totals = np.zeros(3)
    signed = {}
    for stump, weight in zip(model.estimators_, model.estimator_weights_, strict=True):
        if np.isfinite(stump.threshold_):
            key = stump.feature_, stump.threshold_
            signed[key] = signed.get(key, 0.0) + weight * (1 if stump.above_ == 1 else -1)
    for (feature, _), weight in signed.items():
        totals[feature] += abs(weight)
    assert_allclose(list(found.shares.values()), totals / totals.sum(), atol=1e-12)


def test_ambiguous_thresholds_have_one_density():
    X, y = rows(n=20)
    model = SVMPath("stump", scaling=None).fit(X, y)
    (density,) = EnsembleView.from_estimator(model).densities["x0"]
    edges = np.append(density.lower, density.upper[-1])
    inner = set(model.support_vectors_[:, 0])
    assert set(edges[1:-1]) <= inner
    assert (np.diff(edges) > 0.0).all()


def test_decision_trees_on_grids_have_a_norm():
    X, y = rows()
    model = InfiniteEnsembleClassifier(
        DecisionTree(0.05), solver="additive", tol=1e-9, n_grids=64, random_state=0
    ).fit(X, y)
    loss = np.maximum(1.0 - np.where(y == 1, 1.0, -1.0) * model.decision_function(X), 0.0).sum()
    expected = 2.0 * (-model.objective_[0] - model.C_ * loss)
    assert EnsembleView.from_estimator(model, X).decomposition.squared_norm == pytest.approx(
        expected, rel=1e-5
    )


def test_functions_by_hand():
    density = StumpDensity(
        np.array([0.0, 1.0, 3.0]),
        np.array([1.0, 2.0, 3.0]),
        np.array([1.0, 1.0, 2.0]),
        np.array([1.0, -0.5, 0.25]),
    )
    shape = density.shape()
    values = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 3.0001, 9.0])
    assert_allclose(shape(values), [-1.0, -1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    assert density.squared_norm == 2.0 * (1.0 + 0.25 + 2.0 / 16.0)
    line = Shape(np.array([0.0]), np.array([1.0]), np.array([1.0]), slopes=(2.0, 3.0))
    both = Shape.total([shape, line.shifted(1.0)])
    assert_allclose(both(values), shape(values) + 2.0 + values * np.where(values < 0.0, 2.0, 3.0))
    assert np.isnan(both(np.array([np.nan]))).all()
