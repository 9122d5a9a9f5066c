"""The path as an estimator: machines of every C, and selection by the leave-one-out bound."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import Recorder, random_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import GramTooLargeError
from kernsemble.kernels import Gaussian, Laplacian, Linear, Perceptron, Stump
from kernsemble.persistence import load, save
from kernsemble.solvers.regularization_path import solve_regularization_path
from kernsemble.svm import InfiniteEnsembleClassifier, SVMPath, regularization_path

X, y = make_threenorm(60, random_state=0)
Z, labels = make_threenorm(80, random_state=1)
FLOWERS, SPECIES = load_iris(return_X_y=True)
FLOWERS, SPECIES = FLOWERS[::3], SPECIES[::3]


def machine_at(path, C):
    return InfiniteEnsembleClassifier(
        path.kernel,
        C=C,
        scaling=path.scaling,
        multiclass=path.multiclass,
        decision_function_shape=path.decision_function_shape,
        class_weight=path.class_weight,
        solver="exact",
        tol=1e-10,
    )


def some_penalties(path):
    """Breakpoints, values between and beyond."""
    Cs = path.Cs_[[0, len(path.Cs_) // 3, len(path.Cs_) // 2]]
    return [0.5 * Cs[0], *Cs, 0.7 * Cs[1] + 0.3 * Cs[2], 2.0 * path.Cs_[-1]]


# -- every C is the machine of that C


@pytest.mark.parametrize("scaling", ["range", "rank", None])
@pytest.mark.parametrize("kernel", [Gaussian(), Stump(), Perceptron(), Laplacian(0.1)], ids=repr)
def test_any_penalty_has_the_machine_of_that_penalty(kernel, scaling):
    path = SVMPath(kernel, scaling=scaling).fit(X, y)
    for C in some_penalties(path):
        there, machine = path.at(C), machine_at(path, C).fit(X, y)
        assert C == there.C == there.C_
        if (np.abs(machine.dual_coef_) < C * (1.0 - 1e-9)).any():  # else the bias is free
            decisions = machine.decision_function(Z)
            assert_allclose(there.decision_function(Z), decisions, atol=1e-6)
        f = there.decision_function(X) - there.intercept_[0]
        beta = np.zeros(len(X))
        beta[there.support_] = there.dual_coef_[0]
        objective = 0.5 * beta @ f - y @ beta
        assert objective == pytest.approx(machine.objective_[0], rel=1e-8)


def test_at_does_not_change_the_estimator():
    path = SVMPath().fit(X, y)
    before = path.C_, path.decision_function(Z)
    other = path.at(2.0)
    assert (before[0], "loo") == (path.C_, path.C)
    assert_array_equal(path.decision_function(Z), before[1])
    assert_allclose(SVMPath(C=2.0).fit(X, y).decision_function(Z), other.decision_function(Z))
    assert clone(other).C == 2.0


def test_separated_classes_have_a_hard_margin():
    path = SVMPath(C=np.inf).fit(X, y)
    assert path.ending_ == ("complete",)
    assert (y * path.decision_function(X)).min() == pytest.approx(1.0)
    hard = machine_at(path, np.inf).fit(X, y)
    assert_allclose(path.decision_function(Z), hard.decision_function(Z), atol=1e-6)


def test_simplified_kernels_are_the_machines_of_full_ones():
    for kernel in (Stump(), Perceptron()):
        full, simplified = (SVMPath(each).fit(X, y) for each in (kernel, kernel.simplified))
        assert_array_equal(full.leave_one_out_errors_, simplified.leave_one_out_errors_)
        assert full.C_ == simplified.C_
        assert_array_equal(full.decision_function(Z), simplified.decision_function(Z))
    # the coefficients sum to zero, so that without constants it is the same function
    without = SVMPath(kernel, scaling=None).fit(X, y).at(0.3)
    K = without.kernel_.simplified(Z, without.support_vectors_)
    assert_allclose(K @ without.dual_coef_[0] + without.intercept_, without.decision_function(Z))


# -- selection of C


def bound_by_hand(path, rows, signs, C):
    machine = path.at(C)
    coefficient = np.zeros(len(rows))
    coefficient[machine.support_] = signs[machine.support_] * machine.dual_coef_[0]
    diagonal = path.kernel_.diagonal(path.scaling_.transform(rows))
    return np.mean(coefficient * diagonal >= signs * machine.decision_function(rows))


def test_the_selected_penalty_has_the_least_leave_one_out_bound():
    path = SVMPath("laplacian").fit(X, y)
    errors = [bound_by_hand(path, X, y, C) for C in path.Cs_]
    assert_allclose(path.leave_one_out_errors_, errors)
    assert path.Cs_[np.argmin(errors)] == path.C_
    assert_array_equal(path.Cs_, np.unique(path.paths_[0].Cs))
    K = path.kernel_(path.scaling_.transform(X))
    by_solver = solve_regularization_path(K, y.astype(float))
    assert pytest.approx(by_solver.Cs[np.argmin(by_solver.leave_one_out_errors())]) == path.C_
    assert path.n_iter_ == len(by_solver.Cs)


def test_several_machines_share_the_penalty_of_the_least_mean_bound():
    path = SVMPath().fit(FLOWERS, SPECIES)
    errors = np.zeros(len(path.Cs_))
    for each, side in zip(path.paths_, path._sides, strict=True):
        K = path.kernel_(path.scaling_.transform(path.X_fit_[side]))
        for place, C in enumerate(path.Cs_):
            beta, bias = each.at(C)
            counted = np.abs(beta) * np.diagonal(K) >= each._y * (K @ beta + bias)
            errors[place] += counted.mean() / 3.0
    assert_allclose(path.leave_one_out_errors_, errors)
    assert path.Cs_[errors <= errors.min() + 1e-12][0] == path.C_


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_several_classes_are_predicted_as_by_machines_of_one_penalty(multiclass):
    path = SVMPath(multiclass=multiclass, class_weight="balanced").fit(FLOWERS, SPECIES)
    for C in (0.3, 5.0):
        machine = machine_at(path, C).fit(FLOWERS, SPECIES)
        decisions = path.at(C).decision_function(FLOWERS)
        assert_allclose(decisions, machine.decision_function(FLOWERS), atol=1e-6)
    assert path.score(FLOWERS, SPECIES) > 0.9


# -- stages


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize(
    ("rows", "classes"), [(X[:30], y[:30]), (FLOWERS[::2], SPECIES[::2])], ids=["two", "three"]
)
def test_stages_are_the_machines_of_the_breakpoints(rows, classes, shape):
    path = SVMPath(decision_function_shape=shape).fit(rows, classes)
    others = rows + 0.1
    stages = zip(
        path.Cs_, path.staged_decision_function(others), path.staged_predict(others), strict=True
    )
    Cs, scores = path.score_path(others, classes)
    assert_array_equal(Cs, path.Cs_)
    for place, (C, values, predicted) in enumerate(stages):
        there = path.at(C)
        assert_allclose(values, there.decision_function(others), atol=1e-7)
        assert_array_equal(predicted, there.predict(others))
        assert scores[place] == there.score(others, classes)


def test_scores_of_the_path_are_weighted():
    path, weight = SVMPath(max_breakpoints=5).fit(X, y), np.arange(80.0)
    _, scores = path.score_path(Z, labels, sample_weight=weight)
    assert scores[2] == path.at(path.Cs_[2]).score(Z, labels, sample_weight=weight)


# -- weights


@pytest.mark.parametrize("kernel", ["gaussian", "stump"])
def test_weights_are_repetitions_and_zero_is_absence(kernel):
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = SVMPath(kernel).fit(X, y, sample_weight=weight)
    repeated = SVMPath(kernel).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.Cs_, repeated.Cs_)
    assert_allclose(weighted.leave_one_out_errors_, repeated.leave_one_out_errors_)
    assert pytest.approx(repeated.C_) == weighted.C_
    assert_allclose(weighted.decision_function(Z), repeated.decision_function(Z), atol=1e-9)
    assert weight[weighted.support_].all()
    assert_array_equal(weighted.support_vectors_, X[weighted.support_])


def test_class_weights_multiply_the_penalty():
    path = SVMPath(class_weight={-1: 1.0, 1: 3.0}).fit(X, y)
    for C in (0.05, 0.5):
        machine = machine_at(path, C).fit(X, y)
        there = path.at(C)
        assert_allclose(there.decision_function(Z), machine.decision_function(Z), atol=1e-6)


# -- ends


def test_the_path_ends_at_the_given_ends():
    path = SVMPath(smallest_C=0.1, largest_C=2.0).fit(X, y)
    assert path.ending_ == ("largest_C",)
    assert_allclose(path.Cs_[[0, -1]], [0.1, 2.0])
    with pytest.raises(ValueError, match=r"starts at 0\.1"):
        path.at(0.05)
    with pytest.raises(ValueError, match="raise largest_C"):
        path.at(3.0)
    few = SVMPath(max_breakpoints=7).fit(FLOWERS, SPECIES)
    assert few.ending_ == ("max_breakpoints",) * 3
    assert few.n_iter_ == 7
    assert few.Cs_[-1] == min(each.Cs[-1] for each in few.paths_)
    rows = random_rows(40, 3)
    noise = np.where(np.arange(40) % 3, 1, -1)
    assert SVMPath(Gaussian(1e-4)).fit(rows, noise).ending_ == ("rounding",)


def test_an_interrupt_keeps_the_path_so_far(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")

    def interrupted_solve_path(K, signs, on_breakpoint, **settings):
        def watch(n, C):
            on_breakpoint(n, C)
            if n == 9:
                raise KeyboardInterrupt

        return solve_regularization_path(K, signs, on_breakpoint=watch, **settings)

    whole = SVMPath().fit(X, y)
    monkeypatch.setattr(regularization_path, "solve_regularization_path", interrupted_solve_path)
    for path in (SVMPath(), SVMPath(C=1e6)):
        with pytest.raises(KeyboardInterrupt, match="paths_ contains"):
            path.fit(X, y)
        assert path.ending_ == ("interrupted",)
        assert_array_equal(path.paths_[0].Cs, whole.paths_[0].Cs[:9])
        assert path.Cs_[-1] >= path.C_
        C = path.Cs_[4]
        assert_array_equal(path.at(C).decision_function(Z), whole.at(C).decision_function(Z))
    several = SVMPath()
    with pytest.raises(KeyboardInterrupt):
        several.fit(FLOWERS, SPECIES)
    assert [len(each.Cs) for each in several.paths_] == [9, 1, 1]


def test_few_breakpoints_are_compared_after_an_interrupt():
    whole = SVMPath().fit(FLOWERS, SPECIES)
    path = clone(whole).fit(FLOWERS, SPECIES)
    K = path.kernel_(path.scaling_.transform(path.X_fit_))
    path._compare_machines(K, np.ones(len(K)), most=7)
    places = np.searchsorted(whole.Cs_, path.Cs_)
    assert len(places) == 7
    assert places[-1] == len(whole.Cs_) - 1
    assert_array_equal(path.Cs_, whole.Cs_[places])


def test_the_memory_of_copies_is_counted():
    n = len(np.unique(np.column_stack([FLOWERS, SPECIES]), axis=0))
    whole = 8 * n**2 / 2**20
    with pytest.raises(GramTooLargeError, match="a copy for the rows of two of more classes"):
        SVMPath(cache_size=1.2 * whole).fit(FLOWERS, SPECIES)
    path = SVMPath(cache_size=1.5 * whole).fit(FLOWERS, SPECIES)
    assert_array_equal(path.Cs_, SVMPath().fit(FLOWERS, SPECIES).Cs_)
    SVMPath(cache_size=1.2 * whole, multiclass="one-vs-rest").fit(FLOWERS, SPECIES)


def test_callbacks_are_called_for_every_machine():
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    path = SVMPath(max_breakpoints=20).set_callbacks(recorder).fit(FLOWERS, SPECIES)
    assert recorder.begun == recorder.ended == {"fit": 1, "machine": 3}
    assert recorder.n_setups == 0
    assert_array_equal(path.predict(FLOWERS), clone(path).fit(FLOWERS, SPECIES).predict(FLOWERS))


# -- input and output


def test_a_path_survives_pickle_and_files(tmp_path):
    path = SVMPath().fit(FLOWERS, SPECIES)
    pytest.importorskip("skops")
    for again in (pickle.loads(pickle.dumps(path)), load(save(path, tmp_path / "path.skops"))):
        assert again.paths_ == path.paths_
        assert again.ending_ == path.ending_
        assert_array_equal(again.predict(FLOWERS), path.predict(FLOWERS))
        assert_array_equal(
            again.at(0.7).decision_function(FLOWERS), path.at(0.7).decision_function(FLOWERS)
        )


def test_rows_may_be_sparse_single_or_a_table_with_categories():
    dense = SVMPath("stump", scaling=None).fit(X, y)
    thin = SVMPath("stump", scaling=None).fit(sparse.csr_array(X), y)
    assert pytest.approx(dense.C_) == thin.C_
    assert_allclose(thin.decision_function(sparse.csr_array(Z)), dense.decision_function(Z))
    single = SVMPath().fit(X.astype(np.float32), y).at(1.0)
    assert single.support_vectors_.dtype == np.float64
    decisions = SVMPath(C=1.0).fit(X, y).decision_function(Z)
    assert_allclose(single.decision_function(Z.astype(np.float32)), decisions, atol=1e-4)
    people = pd.DataFrame({"age": [25.0, 40.0, 30.0, 61.0], "city": ["B", "R", "R", "B"]})
    path = SVMPath("stump").fit(people, ["no", "yes", "yes", "no"])
    assert_array_equal(path.predict(people), ["no", "yes", "yes", "no"])
    assert len(list(path.staged_predict(people))) == len(path.Cs_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0.0}, "C = 0.0: use a positive number, np.inf or 'loo'"),
        ({"C": "scale"}, "C = 'scale': use"),
        ({"C": np.nan}, "C = nan"),
        ({"smallest_C": -1.0}, "smallest_C = -1.0"),
        ({"largest_C": np.inf}, "largest_C = inf"),
        ({"smallest_C": 2.0, "largest_C": 1.0}, "above smallest_C = 2.0"),
        ({"C": 3.0, "largest_C": 2.0}, "C = 3.0 is not on the path"),
        ({"C": 1.0, "smallest_C": 2.0}, "C = 1.0 is not on the path"),
        ({"max_breakpoints": 0}, "max_breakpoints = 0"),
        ({"multiclass": "none"}, "multiclass = 'none'"),
        ({"class_weight": {1: 0.0}}, "class 1 has no row of positive weight"),
    ],
)
def test_invalid_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        SVMPath(**settings).fit(X, y)


def test_other_invalid_arguments_are_named():
    with pytest.raises(ValueError, match="only one class"):
        SVMPath().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="class -1 has no row"):
        SVMPath().fit(X, y, sample_weight=(y > 0).astype(float))
    with pytest.raises(NotFittedError):
        SVMPath().at(1.0)
    with pytest.raises(NotFittedError):
        next(SVMPath().staged_predict(X))
    path = SVMPath().fit(X, y)
    with pytest.raises(ValueError, match="C = 'loo': use"):
        path.at("loo")
    with pytest.raises(GramTooLargeError, match="60 x 60 kernel matrix"):
        SVMPath(cache_size=0.01).fit(X, y)
    path.cache_size = 0.01
    with pytest.raises(GramTooLargeError, match="80 rows"):
        next(path.staged_decision_function(Z))
    rows = np.array([[0.0], [0.0], [1.0]])
    with pytest.raises(ValueError, match="C = inf: the classes are not separable"):
        SVMPath(Linear(), C=np.inf, scaling=None).fit(rows, [0, 1, 1])


def test_probabilities_are_left_to_calibration():
    path = SVMPath().fit(X, y)
    assert not hasattr(path, "predict_proba")
    assert not hasattr(path, "predict_log_proba")
    calibrated = CalibratedClassifierCV(SVMPath(), cv=3).fit(X, y)
    assert calibrated.predict_proba(Z).shape == (80, 2)
