"""The squared loss on kernel matrices, and scalings that are learned from the targets."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold

from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import GramTooLargeError
from kernsemble.kernels import Exponential, Laplacian, Mixed, Perceptron, Stump
from kernsemble.solvers import cholesky
from kernsemble.solvers.losses import Hinge, Squared
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)
from kernsemble.svm.backends import BACKENDS, least_squares
from kernsemble.svm.backends.base import Candidate, SolverSettings, TrainingRows
from kernsemble.svm.problem import Problem, TargetScale

pytestmark = pytest.mark.large  # too slow without compilation

X, y = make_threenorm(120, random_state=0)
Z, _ = make_threenorm(50, random_state=1)
target = 3.0 * np.sin(X[:, 0]) + X[:, 1] + 5.0
SQUARED = {"loss": "squared", "solver": "exact"}
LEARNED = ["learned", "learned-range", "learned-distinct", "effects", "learned-effects"]
SETTINGS = SolverSettings(1e-8, None, Budget.from_megabytes(None))


@pytest.mark.parametrize("scaling", ["range", "rank"])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_matrix_and_tables_give_the_same_machine_of_stumps(scaling, C):
    settings = {"loss": "squared", "C": C, "scaling": scaling, "tol": 1e-9}
    for family, labels in ((InfiniteEnsembleClassifier, y), (InfiniteEnsembleRegressor, target)):
        exact, tables = (
            family("stump", solver=solver, **settings).fit(X, labels)
            for solver in ("exact", "additive")
        )
        assert (exact.solver_, tables.solver_) == ("exact", "additive")
        assert_allclose(exact.objective_, tables.objective_, rtol=1e-6)
        assert (exact.duality_gap_ < 1e-6 * np.abs(exact.objective_)).all()
        values = [getattr(each, "decision_function", each.predict)(Z) for each in (exact, tables)]
        assert_allclose(*values, atol=1e-5)


def test_the_function_is_the_ridge_regression_of_the_signs():
    machine = InfiniteEnsembleClassifier("perceptron", C=0.7, scaling=None, **SQUARED).fit(X, y)
    K = Perceptron().bind(X)(X)
    system = np.ones((121, 121))
    system[:120, :120], system[120, 120] = K + np.eye(120) / 0.7, 0.0
    beta = np.linalg.solve(system, np.append(y, 0.0))
    assert_allclose(machine.dual_coef_[0], beta[:120], atol=1e-8)
    assert machine.intercept_[0] == pytest.approx(beta[120])
    assert_array_equal(machine.support_, np.arange(120))


def test_one_factorisation_serves_all_classes(monkeypatch):
    rows, species = load_iris(return_X_y=True)
    factorise, factorised = cholesky.factor_in_place, []

    def counted(A):
        factorised.append(len(A))
        return factorise(A)

    monkeypatch.setattr(cholesky, "factor_in_place", counted)
    machine = InfiniteEnsembleClassifier(Laplacian(0.5), multiclass="one-vs-rest", C=2.0, **SQUARED)
    values = machine.fit(rows, species).decision_function(rows)
    assert factorised == [149]  # two flowers are equal
    for k in range(3):
        alone = InfiniteEnsembleClassifier(Laplacian(0.5), C=2.0, **SQUARED)
        expected = alone.fit(rows, species == k).decision_function(rows)
        assert_allclose(values[:, k], expected, atol=1e-9)
    assert machine.score(rows, species) > 0.95


def test_pairs_of_classes_are_solved_on_their_rows():
    rows, species = load_iris(return_X_y=True)
    machine = InfiniteEnsembleClassifier(
        Laplacian(0.5), scaling=None, C=2.0, decision_function_shape="ovo", **SQUARED
    )
    values = machine.fit(rows, species).decision_function(rows)
    pair = species != 2
    alone = InfiniteEnsembleClassifier(Laplacian(0.5), scaling=None, C=2.0, **SQUARED)
    expected = alone.fit(rows[pair], species[pair]).decision_function(rows)
    assert_allclose(np.abs(values[:, 0]), np.abs(expected), atol=1e-9)


def test_weights_of_rows_and_of_classes_are_factors_of_the_loss():
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    settings = {"C": 0.8, **SQUARED}
    for kernel in ("stump", Laplacian(0.1)):
        found = InfiniteEnsembleClassifier(kernel, **settings).fit(X, y, weight)
        expected = InfiniteEnsembleClassifier(kernel, **settings).fit(X[repeated], y[repeated])
        assert_allclose(found.decision_function(Z), expected.decision_function(Z), atol=1e-8)
        number = InfiniteEnsembleRegressor(kernel, **settings).fit(X, target, weight)
        same = InfiniteEnsembleRegressor(kernel, **settings).fit(X[repeated], target[repeated])
        assert_allclose(number.predict(Z), same.predict(Z), atol=1e-7)
    by_class = InfiniteEnsembleClassifier(Laplacian(0.1), class_weight={1: 3.0}, **settings)
    by_row = InfiniteEnsembleClassifier(Laplacian(0.1), scaling="range", **settings)
    values = by_class.fit(X, y).decision_function(Z)
    # the scaling and the kernel see no weights here, since gamma is given and "range" has none
    assert_allclose(
        values, by_row.fit(X, y, np.where(y == 1, 3.0, 1.0)).decision_function(Z), atol=1e-8
    )
    assert np.abs(values - by_row.fit(X, y).decision_function(Z)).max() > 0.01


@pytest.mark.parametrize(
    "cv", [KFold(5), GroupKFold(4), LeaveOneOut(), KFold(2)], ids=lambda cv: type(cv).__name__
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_left_out_values_are_those_of_explicit_refits(cv, n_classes):
    rows = X[:40]
    codes = np.int64(y[:40] > 0.0) if n_classes == 2 else np.digitize(target[:40], [4.0, 6.0])
    groups = np.arange(40) * 3 % 7 if isinstance(cv, GroupKFold) else None
    settings = {"scaling": None, "multiclass": "one-vs-rest", **SQUARED}
    machine = InfiniteEnsembleClassifierCV(
        Laplacian(0.1), Cs=[3.0], cv=cv, calibration=None, **settings
    ).fit(rows, codes, groups=groups)
    found, start = machine.out_of_fold_, 0
    for fold, (train, test) in enumerate(cv.split(rows, codes, groups)):
        refit = InfiniteEnsembleClassifier(Laplacian(0.1), C=3.0, **settings)
        refit.fit(rows[train], codes[train])
        mine = slice(start, start + len(test))
        expected = refit.decision_function(rows[test])
        assert_allclose(found.values[mine].reshape(expected.shape), expected, atol=1e-8)
        score = machine.cv_results_[f"split{fold}_test_score"][0]
        assert score == pytest.approx(refit.score(rows[test], codes[test]))
        start += len(test)


def test_left_out_values_do_not_depend_on_how_they_are_computed(monkeypatch):
    rng = np.random.default_rng(0)
    K, signs = Laplacian(0.1)(X), [y.astype(float), np.where(X[:, 0] > 0.0, 1.0, -1.0)]
    weight = rng.uniform(0.5, 2.0, len(X))
    problems = [Problem.for_signs(Squared, each, weight) for each in signs]
    pair = Problem.for_signs(Squared, signs[0] * (np.arange(120) % 3 > 0), weight)
    held_out = [np.sort(rows) for rows in np.array_split(rng.permutation(120), 7)]
    known = K, [*problems, pair], [0.5, 4.0], held_out
    blocks = least_squares.least_squares_folds(*known)
    monkeypatch.setattr(least_squares, "WORTH_REFITS", np.inf)
    refits = least_squares.least_squares_folds(*known)
    for some, others in zip(blocks, refits, strict=True):
        for ours, theirs in zip(some, others, strict=True):
            assert ours.decisions.shape[0] == 2
            assert_allclose(ours.decisions, theirs.decisions, atol=1e-8)


def test_one_factorisation_gives_the_solutions_and_a_fold():
    rng = np.random.default_rng(0)
    K, weight, spread = Laplacian(0.1)(X), rng.uniform(0.5, 2.0, len(X)), TargetScale(5.0, 3.0)
    signs = Problem.for_signs(Squared, y.astype(float), weight)
    number = Problem.for_numbers(Squared, target, weight, 0.0, spread)
    held_out = np.sort(rng.permutation(120)[:30])
    both = least_squares.solve_least_squares_and_fold(K, [signs, number], 2.0, held_out)
    solutions = least_squares.solve_least_squares(K, [signs, number], 2.0)
    folds = least_squares.least_squares_folds(K, [signs, number], [2.0], [held_out])
    for (rows, ours), (same_rows, theirs) in zip(both[0], solutions, strict=True):
        assert_array_equal(rows, same_rows)
        assert_allclose(ours.beta, theirs.beta, atol=1e-9)
        assert ours.bias == pytest.approx(theirs.bias)
        assert ours.objective == pytest.approx(theirs.objective)
        assert ours.violation < 1e-9
    for ours, (theirs,) in zip(both[1], folds, strict=True):
        assert_allclose(ours.decisions, theirs.decisions, atol=1e-9)


def test_one_factorisation_does_not_serve_other_strengths_or_absent_rows():
    K, ones, held_out = Laplacian(0.1)(X), np.ones(len(X)), np.arange(30)
    signs = Problem.for_signs(Squared, y.astype(float), ones)
    heavier = Problem.for_signs(Squared, y.astype(float), 2.0 * ones)
    absent = Problem.for_signs(Squared, y * (np.arange(120) % 3 > 0), ones)
    for problems in ([signs, heavier], [absent]):
        assert least_squares.solve_least_squares_and_fold(K, problems, 2.0, held_out) is None
    everything = np.arange(len(X))
    assert least_squares.solve_least_squares_and_fold(K, [signs], 2.0, everything) is None
    rows = TrainingRows(X, ones, np.zeros(20, dtype=bool))
    prepared = BACKENDS["exact"].open(rows, SETTINGS).prepare(Candidate(Laplacian(0.1), None))
    assert prepared.solve_with_fold([signs], 2.0, held_out, Task.silent()) is not None
    indefinite = replace(prepared, K=-prepared.K)
    assert indefinite.solve_with_fold([signs], 2.0, held_out, Task.silent()) is None
    hinge = Problem.for_signs(Hinge, y.astype(float), ones)
    assert prepared.solve_with_fold([hinge], 2.0, held_out, Task.silent()) is None


def test_numbers_are_left_out_in_their_unit():
    for unit in (1.0, 1e6):
        cv = KFold(4, shuffle=True, random_state=0)
        machine = InfiniteEnsembleRegressorCV(
            Laplacian(0.1), Cs=[2.0], cv=cv, scaling=None, **SQUARED
        ).fit(X, unit * target)
        for (train, test), values in zip(
            cv.split(X), np.split(machine.out_of_fold_.predicted, 4), strict=True
        ):
            refit = InfiniteEnsembleRegressor(Laplacian(0.1), C=2.0, scaling=None, **SQUARED)
            expected = refit.fit(X[train], unit * target[train]).predict(X[test])
            assert_allclose(values, expected, atol=1e-8 * unit)


@pytest.mark.parametrize("curve", ["sigmoid", "isotonic"])
def test_probabilities_are_calibrated(curve):
    machine = InfiniteEnsembleClassifier("perceptron", calibration=curve, **SQUARED).fit(X, y)
    probabilities = machine.predict_proba(Z)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    order = np.argsort(machine.decision_function(Z))
    assert (np.diff(probabilities[order, 1]) >= -1e-12).all()
    assert probabilities[:, 1].std() > 0.1


def test_a_matrix_that_does_not_fit_is_an_error_with_remedies():
    with pytest.raises(GramTooLargeError, match=r"two 120 x 120 matrices.*raise cache_size"):
        InfiniteEnsembleClassifier("stump", cache_size=0.12, **SQUARED).fit(X, y)


# -- learned scalings


@pytest.mark.parametrize("scaling", LEARNED)
@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_a_learned_scaling_predicts_training_rows_as_new_ones_or_cross_fitted(scaling, loss):
    machine = InfiniteEnsembleClassifier("laplacian", loss=loss, scaling=scaling, C=5.0).fit(X, y)
    assert machine.solver_ == "exact"
    assert machine.scaling_.kind == scaling
    assert machine.score(X, y) > 0.9
    kernel, coordinates = machine.kernel_, machine.machines_.scaled_support
    across = kernel(machine.scaling_.transform(Z), coordinates)
    expected = across @ machine.dual_coef_[0] + machine.intercept_[0]
    assert_allclose(machine.decision_function(Z), expected, atol=1e-9)
    is_cross_fitted = "effects" in scaling
    differs = np.abs(machine.scaling_.transform(machine.support_vectors_) - coordinates).max()
    assert (differs > 1e-3) == is_cross_fitted


@pytest.mark.parametrize("scaling", ["learned", "learned-range", "learned-directions"])
@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_left_out_values_on_a_learned_measure_are_those_of_explicit_refits(scaling, loss):
    kernel = Exponential(1.0)
    settings = {"loss": loss, "solver": "exact", "scaling": scaling, "tol": 1e-8}
    cv = StratifiedKFold(3)
    machine = InfiniteEnsembleClassifierCV(kernel, Cs=[4.0], cv=cv, calibration=None, **settings)
    found = machine.fit(X, y).out_of_fold_
    for fold, (train, test) in enumerate(cv.split(X, y)):
        refit = InfiniteEnsembleClassifier(kernel, C=4.0, **settings).fit(X[train], y[train])
        expected = refit.decision_function(X[test])
        assert_allclose(found.values[found.folds == fold].ravel(), expected, atol=1e-5)
        whole = machine.decision_function(X[test])
        assert np.abs(whole - expected).max() > 0.05


@pytest.mark.parametrize("scaling", ["effects", "learned-effects"])
@pytest.mark.parametrize("loss", [Squared, Hinge])
def test_left_out_values_on_effects_are_those_of_machines_without_the_rows(scaling, loss):
    rng = np.random.default_rng(0)
    rows = np.column_stack([X[:, :2].round(1), rng.integers(0, 5, len(X))])
    is_category, weight = np.array([False, False, True]), np.ones(len(X))
    parts = np.arange(len(X)) % 4
    training = TrainingRows(rows, weight, is_category, y[:, np.newaxis].astype(float), parts)
    candidate = Candidate(Laplacian(1.0), scaling)
    prepared = BACKENDS["exact"].open(training, SETTINGS).prepare(candidate)
    problem = Problem.for_signs(loss, y.astype(float), weight)
    held_out = [np.flatnonzero(parts == part) for part in range(4)]
    task = Task.silent()
    (folds,) = prepared.solve_all_folds([problem], [0.5, 4.0], held_out, SETTINGS, task)
    for missing, fold in zip(held_out, folds, strict=True):
        kept = np.delete(np.arange(len(X)), missing)
        scaling_of_kept, coordinates = prepared.learner.fit(kept)
        tested = scaling_of_kept.transform(rows[missing])
        for C, values in zip([0.5, 4.0], fold.decisions, strict=True):
            machine = InfiniteEnsembleClassifier(
                Laplacian(1.0), loss=loss.name, solver="exact", scaling=None, C=C, tol=1e-8
            ).fit(coordinates, y[kept])
            assert_allclose(values, machine.decision_function(tested), atol=1e-5)


@pytest.mark.parametrize("scaling", ["effects", "learned-effects", "learned"])
def test_left_out_values_do_not_depend_on_the_left_out_targets(scaling):
    rows, parts = X[:, :4], np.arange(len(X)) % 4
    weight, is_category = np.ones(len(X)), np.zeros(4, dtype=bool)
    other = y * np.where(parts == 1, -1, 1)
    known = np.flatnonzero(parts == 1)
    found, strengths = [], []
    for labels in (y, other):
        targets = labels[:, np.newaxis].astype(float)
        training = TrainingRows(rows, weight, is_category, targets, parts)
        candidate = Candidate(Laplacian(1.0), scaling)
        prepared = BACKENDS["exact"].open(training, SETTINGS).prepare(candidate)
        if scaling != "learned":  # the additive machines have the same C, which all rows select
            effects = prepared.learner.effect_learner()
            strengths.append(effects.losses[0].strengths[0])
            losses = tuple(each.times(strengths[0] / strengths[-1]) for each in effects.losses)
            prepared.learner.effects[0] = replace(effects, losses=losses)
        problem = Problem.for_signs(Squared, labels.astype(float), weight)
        ((fold,),) = prepared.solve_all_folds([problem], [4.0], [known], SETTINGS, Task.silent())
        found.append(fold.decisions)
    assert_allclose(*found, atol=1e-9)
    assert found[0].std() > 0.1


@pytest.mark.parametrize("scaling", ["learned", "learned-effects"])
def test_one_factorisation_gives_machines_on_the_scale_of_the_other_rows(scaling):
    held_out, targets = np.arange(5, 120, 4), y[:, np.newaxis].astype(float)
    training = TrainingRows(X, np.ones(120), np.zeros(20, dtype=bool), targets)
    prepared = (
        BACKENDS["exact"].open(training, SETTINGS).prepare(Candidate(Laplacian(1.0), scaling))
    )
    problem = Problem.for_signs(Squared, y.astype(float), np.ones(120))
    task, C = Task.silent(), 4.0
    assert prepared.solve_with_fold([problem], C, held_out, task) is None  # all rows learn more
    sampled = replace(prepared, learner=replace(prepared.learner, max_rows=60, known={}))
    both = sampled.solve_with_fold([problem], C, held_out, task)
    if scaling == "learned-effects":  # which are learned from all rows
        assert both is None
        return
    ((expected,),) = sampled.solve_all_folds([problem], [C], [held_out], SETTINGS, task)
    assert_allclose(both[1][0].decisions, expected.decisions, atol=1e-8)
    machines = both[0].machines
    scale = sampled.learner.fit(np.setdiff1d(np.arange(120), held_out)).scaling
    alone = InfiniteEnsembleClassifier(Laplacian(1.0), C=C, scaling=None, **SQUARED)
    alone.fit(scale.transform(X), y)
    found = machines.values(Z, SETTINGS.budget)[:, 0]
    assert_allclose(found, alone.decision_function(scale.transform(Z)), atol=1e-8)


@pytest.mark.parametrize("scaling", ["effects", "learned-effects"])
def test_effects_make_numbers_of_tables_for_any_exact_loss(scaling):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).mask(rng.random((120, 3)) < 0.1)
    table["city"] = pd.Categorical(np.where(y > 0, "Bern", "Rome"))
    table.loc[::4, "city"] = np.nan
    for loss in ("squared", "hinge"):
        machine = InfiniteEnsembleClassifier("laplacian", loss=loss, scaling=scaling).fit(table, y)
        assert machine.score(table, y) > 0.85
        new = pd.DataFrame({"a": [np.nan], "b": [0.0], "c": [0.0], "city": ["Oslo"]})
        assert np.isfinite(machine.decision_function(new)).all()
        assert not isinstance(machine.kernel_, Mixed)
    number = InfiniteEnsembleRegressor("laplacian", scaling=scaling, C=100.0).fit(table, target)
    assert np.isfinite(number.predict(table)).all()


def test_a_learned_scaling_that_cannot_be_is_an_error_that_names_the_remedy():
    with pytest.raises(ValueError, match="Euclidean"):
        InfiniteEnsembleClassifier("laplacian", scaling="learned-directions").fit(X, y)
    with pytest.raises(ValueError, match="scaling = 'learnt': use one of"):
        InfiniteEnsembleClassifier(scaling="learnt").fit(X, y)


def test_stumps_on_a_learned_measure_predict_as_any_kernel():
    machine = InfiniteEnsembleClassifier(Stump(), scaling="learned", **SQUARED).fit(X, y)
    assert machine.scaling_.feature_shares(20).sum() == pytest.approx(1.0)
    assert machine.score(X, y) > 0.8
