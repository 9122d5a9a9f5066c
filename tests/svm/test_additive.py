"""The estimators on tables, against the same estimators on the kernel matrix."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

import kernsemble
from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import GramTooLargeError
from kernsemble.kernels import (
    Category,
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    MiddleStump,
    Perceptron,
    Stump,
)
from kernsemble.kernels.directions import enough_directions
from kernsemble.kernels.slices import NoSlicesError
from kernsemble.solvers.losses import Hinge
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)
from kernsemble.svm.backends import cheapest_backend
from kernsemble.svm.backends.base import TrainingRows, Workload
from kernsemble.svm.backends.matrix import MatrixBackend
from kernsemble.svm.backends.tables import TablesBackend, backend as tables_backend

X, y = make_threenorm(150, n_features=5, random_state=0)
X = np.round(X, 1)
OTHERS = make_threenorm(80, n_features=5, random_state=1)[0]  # values between levels too
IRIS, SPECIES = load_iris(return_X_y=True)
TARGET = 100.0 + 20.0 * X[:, 0] * X[:, 1]
SLICED = [
    Stump(),
    Stump(measure="empirical"),
    Stump(measure="distinct"),
    MiddleStump(),
    Category(),
    2.0 * Stump().on([0, 3]) + MiddleStump() + 0.5 * Category().on(4),
]


def additive(**settings):
    return InfiniteEnsembleClassifier(solver="additive", tol=1e-9, **settings)


def exact(**settings):
    return InfiniteEnsembleClassifier(solver="exact", tol=1e-8, **settings)


def assert_same(one, other, rows, atol=1e-4):
    assert pytest.approx(other.C_, rel=1e-12) == one.C_
    assert_allclose(one.objective_, other.objective_, rtol=1e-6)
    assert_allclose(one.decision_function(rows), other.decision_function(rows), atol=atol)


@pytest.mark.parametrize("scaling", ["range", "rank", "distinct", None])
@pytest.mark.parametrize("kernel", SLICED, ids=str)
def test_tables_and_matrix_give_the_same_machine(kernel, scaling):
    settings = {"kernel": kernel, "scaling": scaling}
    assert_same(additive(**settings).fit(X, y), exact(**settings).fit(X, y), X)


@pytest.mark.parametrize("kernel", SLICED[:4], ids=str)
def test_tables_and_matrix_agree_between_the_levels(kernel):
    one, other = additive(kernel=kernel).fit(X, y), exact(kernel=kernel).fit(X, y)
    assert_same(one, other, OTHERS)


@pytest.mark.parametrize("C", [0.001, 0.1, 10.0])
def test_tables_and_matrix_agree_at_every_penalty(C):
    assert_same(additive(C=C).fit(X, y), exact(C=C).fit(X, y), X, atol=1e-3)


@pytest.mark.large
def test_few_levels_are_close_to_all_values():
    rows, classes = make_threenorm(600, random_state=2)
    asked = make_threenorm(2000, random_state=3)
    fine = exact().fit(rows, classes)
    coarse = InfiniteEnsembleClassifier(solver="additive", max_levels=64).fit(rows, classes)
    assert pytest.approx(fine.C_, rel=1e-3) == coarse.C_
    assert abs(coarse.score(*asked) - fine.score(*asked)) < 0.01


@pytest.mark.large
def test_directions_are_close_to_all_perceptrons():
    one = additive(kernel="perceptron", random_state=0).fit(X, y)
    other = exact(kernel="perceptron").fit(X, y)
    assert 0.0 < one.sampling_error_ < 0.02
    assert pytest.approx(other.C_, rel=0.02) == one.C_
    assert_allclose(one.decision_function(OTHERS), other.decision_function(OTHERS), atol=0.1)


@pytest.mark.large
def test_perceptrons_repeat_with_their_random_state():
    machine = additive(kernel="perceptron", n_slices=16, random_state=3)
    found = machine.fit(X, y).decision_function(OTHERS)
    assert_array_equal(clone(machine).fit(X, y).decision_function(OTHERS), found)


def test_auto_takes_the_matrix_for_few_rows():
    assert InfiniteEnsembleClassifier().fit(X, y).solver_ == "exact"
    assert InfiniteEnsembleClassifier(loss="logistic").fit(X, y).solver_ == "additive"


def test_auto_takes_the_cheapest_backend():
    def taken(kernel, rows=X, is_hard_margin=False, **limits):
        training = TrainingRows(rows, np.ones(len(y)), np.zeros(X.shape[1], dtype=bool))
        workload = Workload(training, [kernel], Hinge, is_hard_margin=is_hard_margin)
        return cheapest_backend(workload, [MatrixBackend(), TablesBackend(**limits)]).name

    few = {"rows_worth_tables": 100}
    assert taken(Stump()) == "exact"
    assert taken(Stump(), **few) == "additive"
    assert taken(Stump(), is_hard_margin=True, **few) == "exact"
    assert taken(Stump(), sparse.csr_array(X), **few) == "exact"
    assert taken(Laplacian(), **few) == "exact"
    assert taken(Perceptron(), **few) == "exact"
    assert taken(Perceptron(), rows_worth_sampling=100, **few) == "additive"


def test_a_previous_fit_leaves_no_attributes():
    machine = InfiniteEnsembleClassifier(solver="additive").fit(X, y)
    assert not hasattr(machine, "support_")
    machine.set_params(solver="exact").fit(X, y)
    assert not hasattr(machine, "tables_")
    assert hasattr(machine, "dual_coef_")


@pytest.mark.parametrize(
    "kernel", [Exponential(), Stump() * Stump(), Laplacian() + Gaussian(), Constant()], ids=str
)
def test_a_kernel_without_tables_is_refused(kernel):
    with pytest.raises(NoSlicesError, match=r"solver = 'additive'.*solver='exact'"):
        InfiniteEnsembleClassifier(kernel, solver="additive").fit(X, y)


def test_incompatible_settings_are_refused():
    with pytest.raises(ValueError, match="does not support loss = 'logistic'"):
        InfiniteEnsembleClassifier(solver="exact", loss="logistic").fit(X, y)
    with pytest.raises(ValueError, match="loss = 'epsilon_insensitive'"):
        InfiniteEnsembleClassifier(loss="epsilon_insensitive").fit(X, y)
    with pytest.raises(ValueError, match="solver = 'quick'"):
        InfiniteEnsembleClassifier(solver="quick").fit(X, y)
    with pytest.raises(ValueError, match="max_levels = 1"):
        InfiniteEnsembleClassifier(max_levels=1).fit(X, y)
    with pytest.raises(ValueError, match="hard margin"):
        InfiniteEnsembleClassifier(solver="additive", C=np.inf).fit(X, y)


def test_sparse_rows_are_read_within_the_budget():
    rows = sparse.csr_array(np.where(np.abs(X) < 1.0, 0.0, X))
    one, other = additive().fit(rows, y), additive().fit(rows.toarray(), y)
    assert_allclose(one.decision_function(rows), other.decision_function(rows.toarray()))
    with pytest.raises(GramTooLargeError, match="X is sparse"):
        InfiniteEnsembleClassifier(solver="additive", cache_size=0.001).fit(rows, y)


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = additive(class_weight="balanced").fit(X, y, weight)
    repeated = additive(class_weight="balanced").fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert pytest.approx(repeated.C_) == weighted.C_
    assert_allclose(
        weighted.decision_function(OTHERS), repeated.decision_function(OTHERS), atol=1e-4
    )


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_tables_and_matrix_agree_for_several_classes(multiclass):
    settings = {"multiclass": multiclass, "C": 1.0}
    one, other = additive(**settings).fit(IRIS, SPECIES), exact(**settings).fit(IRIS, SPECIES)
    assert_allclose(one.decision_function(IRIS), other.decision_function(IRIS), atol=1e-3)
    assert_array_equal(one.predict(IRIS), other.predict(IRIS))
    assert one.tables_.blocks[0].heights[0].shape[0] == 3


def test_logits_are_probabilities():
    machine = additive(loss="logistic").fit(X, y)
    probability = machine.predict_proba(OTHERS)
    assert_allclose(probability[:, 1], expit(machine.decision_function(OTHERS)))
    assert_allclose(machine.predict_log_proba(OTHERS), np.log(probability))
    assert not hasattr(additive(), "predict_proba")


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_the_class_that_is_predicted_is_the_likeliest(multiclass):
    machine = additive(loss="logistic", multiclass=multiclass).fit(IRIS, SPECIES)
    probability = machine.predict_proba(IRIS)
    assert_allclose(probability.sum(axis=1), 1.0)
    assert_array_equal(machine.classes_[probability.argmax(axis=1)], machine.predict(IRIS))


def test_logistic_probabilities_balance_the_sample():
    machine = additive(loss="logistic").fit(X, y)
    assert machine.predict_proba(X)[:, 1].mean() == pytest.approx((y == 1).mean(), abs=1e-4)


def test_a_warm_start_continues_the_last_fit_on_tables():
    machine = InfiniteEnsembleClassifier(solver="additive", C=5.0, max_iter=3, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        gaps = [machine.fit(X, y).duality_gap_[0] for _ in range(4)]
    assert gaps[3] < gaps[0]
    machine.set_params(max_iter=None, tol=1e-9).fit(X, y)
    assert_same(machine, exact(C=5.0).fit(X, y), X)


def test_stopping_early_warns():
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        InfiniteEnsembleClassifier(solver="additive", C=5.0, max_iter=1).fit(X, y)


def test_an_interrupt_keeps_the_machines_so_far(monkeypatch):
    def interrupted(tables, loss, *, watch, **settings):
        def impatient(n_iter, gap):
            if n_iter >= 2:
                raise KeyboardInterrupt
            watch(n_iter, gap)

        return solve(tables, loss, watch=impatient, **settings)

    solve = tables_backend.solve_additive
    monkeypatch.setattr(tables_backend, "solve_additive", interrupted)
    machine = InfiniteEnsembleClassifier(solver="additive", C=5.0, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert machine.score(X, y) > 0.5
    monkeypatch.undo()
    assert machine.fit(X, y).duality_gap_[0] <= 1e-3 * abs(machine.objective_[0]) * 1.1


@pytest.mark.large
@pytest.mark.parametrize("kernel", ["stump", "middle-stump", "perceptron"])
def test_machines_survive_pickle_and_files(tmp_path, kernel):
    machine = additive(kernel=kernel, n_slices=16).fit(IRIS, SPECIES)
    told = machine.decision_function(IRIS)
    for again in (
        pickle.loads(pickle.dumps(machine)),
        kernsemble.load(kernsemble.save(machine, tmp_path / "machine.skops")),
    ):
        assert_array_equal(again.decision_function(IRIS), told)
        assert again.tables_ == machine.tables_


def test_tables_and_matrix_agree_for_regression():
    one = InfiniteEnsembleRegressor(solver="additive", tol=1e-9).fit(X, TARGET)
    other = InfiniteEnsembleRegressor(solver="exact", tol=1e-8).fit(X, TARGET)
    assert (one.C_, one.epsilon_) == pytest.approx((other.C_, other.epsilon_))
    assert_allclose(one.objective_, other.objective_, rtol=1e-6)
    assert_allclose(one.predict(OTHERS), other.predict(OTHERS), atol=1e-3 * TARGET.std())


def test_the_squared_loss_is_ridge_regression():
    machine = InfiniteEnsembleRegressor(loss="squared", C=0.5, tol=1e-12).fit(X, TARGET)
    K = machine.kernel_(machine.scaling_.transform(X))
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    expected = Ridge(alpha=1.0 / 0.5).fit(features, TARGET).predict(features)
    assert_allclose(machine.predict(X), expected, rtol=1e-5)


# -- selection


@pytest.mark.large
def test_every_setting_is_scored_as_on_the_matrix():
    settings = {
        "kernel": ["stump", Stump(measure="distinct")],
        "scaling": ["range", None],
        "Cs": (0.01, 0.1),
        "cv": 3,
        "loss": "hinge",
    }
    one = InfiniteEnsembleClassifierCV(solver="additive", tol=1e-9, **settings).fit(X, y)
    other = InfiniteEnsembleClassifierCV(solver="exact", tol=1e-8, **settings).fit(X, y)
    assert (one.solver_, other.solver_) == ("additive", "exact")
    assert_allclose(one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])
    assert one.best_params_ == other.best_params_
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-3)


@pytest.mark.large
def test_by_default_penalties_are_multiples_of_the_scale():
    machine = InfiniteEnsembleClassifierCV(["stump", Stump(measure="distinct")], loss="logistic")
    machine.fit(X, y)
    params = machine.cv_results_["params"]
    for each in (0, 1):
        kernel = params[11 * each]["kernel"]
        unit = additive(kernel=kernel, loss="logistic").fit(X, y).C_
        assert params[11 * each]["C"] == pytest.approx(unit / 16.0)
    assert machine.best_params_ == params[machine.best_index_]
    assert machine.best_params_["C"] == machine.C_


def test_selection_by_probabilities_needs_the_logistic_loss():
    settings = {"scoring": "neg_log_loss", "cv": 3, "solver": "additive"}
    machine = InfiniteEnsembleClassifierCV("stump", loss="logistic", calibration=None, **settings)
    machine.fit(IRIS, SPECIES)
    assert machine.best_score_ > -0.4
    assert_array_equal(machine.predict_proba(IRIS).argmax(axis=1), machine.predict(IRIS))
    with pytest.raises(ValueError, match="loss='logistic'"):
        InfiniteEnsembleClassifierCV("stump", loss="hinge", **settings).fit(IRIS, SPECIES)


def test_tables_and_matrix_select_the_same_regressor():
    loss = "epsilon_insensitive"
    settings = {"kernel": "stump", "Cs": (0.1, 1.0), "epsilons": (0.1,), "cv": 3, "loss": loss}
    one = InfiniteEnsembleRegressorCV(solver="additive", tol=1e-9, **settings).fit(X, TARGET)
    other = InfiniteEnsembleRegressorCV(solver="exact", tol=1e-8, **settings).fit(X, TARGET)
    assert one.best_params_ == other.best_params_
    assert one.best_score_ == pytest.approx(other.best_score_, abs=1e-4)
    assert (one.C_, one.epsilon_) == pytest.approx((other.C_, other.epsilon_))


def test_directions_that_exceed_the_memory_are_refused_early():
    with pytest.raises(MemoryError, match=r"in 4,096 directions take .* reduce n_slices"):
        additive(kernel="perceptron", n_slices=4_096, cache_size=0.1).fit(X, y)
    additive(kernel="stump", cache_size=1e-6).fit(X, y)


@pytest.mark.large
def test_the_number_of_directions_grows_with_that_of_features():
    assert [enough_directions(n) for n in (1, 20, 57, 500)] == [512, 520, 1_482, 2_048]
    machine = additive(kernel="perceptron", random_state=0).fit(X[:30], y[:30])
    assert len(machine.tables_.blocks[0].levels) == enough_directions(X.shape[1])


def test_a_fit_that_stops_early_warns_with_its_number_of_steps():
    with pytest.warns(ConvergenceWarning, match="max_iter = 1 was reached at relative"):
        additive(C=5.0, max_iter=1).fit(X, y)
