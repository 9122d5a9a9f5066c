"""`MultiplicativeSVC`: its machines by hand, its shortcuts against the dense matrix."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import Recorder
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from kernsemble import load, save
from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import ConditionalKernelError, GramTooLargeError
from kernsemble.kernels import Category, Gaussian, Linear, Perceptron, Stump
from kernsemble.solvers.kernel_products import DenseProducts
from kernsemble.solvers.multiplicative import UpdateStatus, solve_multiplicative
from kernsemble.svm import MultiplicativeSVC
from kernsemble.svm.partial_training.expansion import interpolated, without_rounding
from kernsemble.svm.partial_training.products import CostModel

X, y = make_threenorm(60, random_state=0)
X_TEST = make_threenorm(40, random_state=1)[0]
IRIS = load_iris(return_X_y=True)


def spread(rows):
    return np.square(rows - rows.mean(axis=0)).sum(axis=1).mean()


def gaussian(A, B, rows):
    squares = np.square(A[:, None] - B[None]).sum(axis=2)
    return np.exp(-squares / spread(rows))


class SlicedSVC(MultiplicativeSVC):
    """Use slices for any number of rows."""

    _costs = CostModel(min_sliced_rows=0, rows_per_slice=0)


class FactoredSVC(MultiplicativeSVC):
    """Try a factor for any number of rows."""

    _costs = CostModel(min_factored_rows=10)


def values(machine, rows=X_TEST):
    return machine.decision_function(rows)


def test_the_ensemble_is_the_vote_of_all_iterates_by_their_rates():
    steps = []
    solve_multiplicative(DenseProducts(gaussian(X, X, X)), y, on_step=steps.append)
    accepted = [step for step in steps if step.is_accepted]
    K = gaussian(X_TEST, X, X)
    votes = [step.rate * (K @ (y * step.alpha)) for step in accepted]
    expected = np.sum(votes, axis=0) / sum(step.rate for step in accepted)
    machine = MultiplicativeSVC().fit(X, y)
    assert_allclose(values(machine), expected, rtol=1e-8, atol=1e-12)
    assert machine.n_iter_ == len(accepted) > 5
    assert machine.history_[0]["is_accepted"].sum() == len(accepted)


def test_the_first_machine_is_the_parzen_window():
    machine = MultiplicativeSVC(hypothesis="first").fit(X, y)
    assert_allclose(values(machine), gaussian(X_TEST, X, X) @ y / len(y))
    assert machine.kernel_ == Gaussian("spread").bind(X)
    assert machine.kernel_.rate == pytest.approx(1.0 / spread(X))
    assert machine.n_iter_ == 0
    assert machine.ending_ == [UpdateStatus.STEPS_TAKEN.value]


@pytest.mark.parametrize("tol", [0.005, 1e-4])
def test_the_last_machine_is_near_the_hard_margin_one(tol):
    K = gaussian(X, X, X)
    L = np.linalg.cholesky(K + 1e-13 * np.eye(len(y))).T * y
    alpha = nnls(np.vstack([L, np.ones(len(y))]), np.append(np.zeros(len(y)), 1.0))[0]
    alpha /= alpha.sum()
    optimum = float(np.square(L @ alpha).sum())
    machine = MultiplicativeSVC(hypothesis="last", tol=tol).fit(X, y)
    lower, upper = machine.optimum_bounds_[0]
    assert lower <= optimum * (1.0 + 1e-9)
    assert optimum <= upper * (1.0 + 1e-9)
    assert machine.objective_[0] >= optimum * (1.0 - 1e-9)
    # The gap of the objectives bounds the distance of the functions, |f - f*|² ≤ ρ̄ - ρ*.
    difference = values(machine) - gaussian(X_TEST, X, X) @ (y * alpha)
    assert np.abs(difference).max() <= np.sqrt(machine.objective_[0] - lower) + 1e-9
    assert machine.objective_[0] == pytest.approx(optimum, rel=0.05 if tol > 1e-3 else 0.005)
    assert machine.margin_[0] == pytest.approx((y * values(machine, X)).min())


def test_a_factor_of_full_rank_is_the_matrix():
    dense = MultiplicativeSVC().fit(X, y)
    factored = MultiplicativeSVC(rank=60, random_state=0).fit(X, y)
    assert_allclose(values(factored), values(dense), atol=1e-7)
    assert factored.rank_error_ < 1e-8
    assert dense.rank_error_ == 0.0


def test_a_factor_predicts_by_its_pivots():
    machine = MultiplicativeSVC(rank=20, random_state=0).fit(X, y)
    assert len(machine.support_) == 20
    assert 0.0 < machine.rank_error_ < 1.0
    again = clone(machine).fit(X, y)
    assert_array_equal(again.support_, machine.support_)
    expected = gaussian(X_TEST, X[machine.support_], X) @ machine.dual_coef_[0]
    assert_allclose(values(machine), expected)


@pytest.mark.parametrize(
    "kernel",
    [Stump(), Stump(measure="empirical") + 0.5 * Category().on([0]), Stump().on(list(range(12)))],
)
def test_slices_are_the_matrix(kernel):
    rows = np.round(X, 1)
    dense = MultiplicativeSVC(kernel).fit(rows, y)
    sliced = SlicedSVC(kernel).fit(rows, y)
    assert_allclose(values(sliced), values(dense), rtol=1e-6, atol=1e-7)
    assert sliced.n_iter_ == dense.n_iter_


def test_slices_need_no_matrix():
    machine = SlicedSVC("stump", cache_size=0.001).fit(X, y)
    assert machine.score(X, y) > 0.8
    with pytest.raises(GramTooLargeError, match="set a rank"):
        MultiplicativeSVC(cache_size=0.001).fit(X, y)
    with pytest.raises(GramTooLargeError, match="lower rank"):
        MultiplicativeSVC(rank=50, cache_size=0.001).fit(X, y)


def test_a_smooth_kernel_needs_no_matrix(monkeypatch):
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, size=(400, 1))
    classes = rows[:, 0] > 0.3
    settings = {"max_iter": 10, "kernel": Gaussian(gamma=0.5)}
    with pytest.warns(ConvergenceWarning):
        dense = MultiplicativeSVC(**settings).fit(rows, classes)
    monkeypatch.setattr("kernsemble.svm.partial_training.products.MatrixProducts", None)
    with pytest.warns(ConvergenceWarning):
        factored = FactoredSVC(**settings).fit(rows, classes)
    assert dense.rank_error_ == 0.0 <= factored.rank_error_ <= 1e-7
    assert len(factored.support_) == len(dense.support_)
    assert_allclose(values(factored, rows), values(dense, rows), atol=1e-5)


def test_a_rough_kernel_keeps_the_matrix():
    assert FactoredSVC().fit(X, y).rank_error_ == 0.0


def test_equal_rows_of_a_class_are_one():
    machine = MultiplicativeSVC().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert_array_equal(machine.support_, 2 * np.arange(len(y)))
    assert_allclose(values(machine), values(MultiplicativeSVC().fit(X, y)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [{}, {"kernel": "stump"}, {"scaling": "rank"}, {"rank": 15, "random_state": 0}],
)
def test_weights_are_repetition_and_zero_is_absence(settings):
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = MultiplicativeSVC(**settings).fit(X, y, sample_weight=weight)
    times = np.repeat(np.arange(len(y)), weight)
    repeated = MultiplicativeSVC(**settings).fit(X[times], y[times])
    assert_allclose(values(weighted), values(repeated), rtol=1e-6, atol=1e-9)
    assert not np.isin(np.flatnonzero(weight == 0), weighted.support_).any()


def test_duplicates_and_contradictory_labels_are_supported():
    rows, signs = np.repeat(X[:10], 3, axis=0), np.tile([1, 1, -1], 10)
    machine = MultiplicativeSVC().fit(rows, signs)
    assert machine.ending_ == [UpdateStatus.INSEPARABLE.value]
    assert (machine.predict(rows) == 1).all()
    assert len(MultiplicativeSVC(sparsity=0.01).fit(rows, signs).support_) <= 10
    assert (MultiplicativeSVC().fit(np.ones((4, 2)), [0, 1, 1, 1]).predict([[1, 1]]) == 1).all()


def test_a_machine_may_be_zero():
    machine = MultiplicativeSVC(sparsity=0.1).fit([[1.0], [1.0]], [0, 1])
    assert len(machine.support_) == 0
    assert_array_equal(machine.decision_function([[1.0], [2.0]]), 0.0)


def test_simplified_kernels_are_refused():
    with pytest.raises(ConditionalKernelError, match="without a bias"):
        MultiplicativeSVC(Stump().simplified).fit(X, y)


class Indefinite(Linear):
    """Minus the linear kernel."""

    def _tile(self, A, B):
        return -super()._tile(A, B)


def test_indefinite_kernels_are_refused():
    with pytest.raises(ValueError, match="positive semidefinite"):
        MultiplicativeSVC(Indefinite()).fit(X, y)


@pytest.mark.large
@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
@pytest.mark.parametrize("rank", [None, 100])
def test_several_classes(multiclass, rank):
    machine = MultiplicativeSVC(multiclass=multiclass, rank=rank, random_state=0).fit(*IRIS)
    assert machine.score(*IRIS) > 0.95
    assert machine.dual_coef_.shape == (3, len(machine.support_))
    assert len(machine.ending_) == len(machine.history_) == len(machine.objective_) == 3
    assert machine.optimum_bounds_.shape == (3, 2)
    decisions = machine.decision_function(IRIS[0])
    assert_array_equal(machine.predict(IRIS[0]), decisions.argmax(axis=1))


def test_a_pair_is_a_machine_of_its_rows():
    rows, classes = IRIS
    machine = MultiplicativeSVC(Gaussian(gamma=0.2), decision_function_shape="ovo").fit(*IRIS)
    pair = classes > 0
    alone = MultiplicativeSVC(Gaussian(gamma=0.2)).fit(rows[pair], classes[pair])
    assert_allclose(machine.decision_function(rows)[:, 2], -alone.decision_function(rows))


def test_classes_of_weight_zero_have_no_effect():
    rows, classes = IRIS
    machine = MultiplicativeSVC().fit(rows, classes, sample_weight=classes == 2)
    assert (machine.predict(rows) == 2).all()
    assert (
        machine.ending_[0] == "no row of its classes has a positive weight, so the machine is zero"
    )


@pytest.mark.parametrize(
    "settings", [{}, {"rank": 30}, {"kernel": "stump"}, {"hypothesis": "last"}]
)
@pytest.mark.parametrize("sparsity", [0.02, 0.2])
def test_a_shorter_expansion_has_the_reported_error(settings, sparsity):
    settings = {"random_state": 0, **settings}
    whole = MultiplicativeSVC(**settings).fit(X, y)
    short = MultiplicativeSVC(sparsity=sparsity, **settings).fit(X, y)
    change = np.abs(values(whole, X) - values(short, X)).max() / np.abs(values(whole, X)).max()
    assert change <= short.sparsity_error_[0] + 1e-9
    assert short.sparsity_error_[0] <= sparsity
    assert len(short.support_) <= len(whole.support_) - (sparsity > 0.1)
    assert whole.sparsity_error_[0] == 0.0


def test_shortened_machines_share_their_rows():
    machine = MultiplicativeSVC(sparsity=0.05).fit(*IRIS)
    assert (machine.sparsity_error_ <= 0.05).all()
    assert len(machine.support_) < 60
    assert machine.score(*IRIS) > 0.95


def test_interpolation_ends_where_rounding_does():
    K = np.ones((4, 4))  # of rank one
    found = interpolated(lambda i: K[i], np.ones(4), np.array([[1.0, 1.0, 1.0, 2.0]]), 0.01)
    assert found.rows.tolist() == [3]
    assert found.error[0] == pytest.approx(0.5)
    nothing = interpolated(lambda i: K[i], np.ones(4), np.zeros((2, 4)), 0.01)
    assert nothing.coefficients.shape == (2, 0)


def test_coefficients_below_rounding_are_left_out():
    coefficients = np.array([[0.5, 1e-17, -0.5, 1e-18], [0.0, 0.0, 0.0, 0.0]])
    found = without_rounding(np.array([3, 5, 7, 9]), coefficients)
    assert found.rows.tolist() == [3, 7]
    assert_array_equal(found.coefficients, coefficients[:, [0, 2]])


@pytest.mark.parametrize("factor", [1e-150, 1e-3, 1e3, 1e100])
def test_the_unit_of_features_does_not_matter(factor):
    machine = MultiplicativeSVC().fit(X, y)
    other = MultiplicativeSVC().fit(factor * X, y)
    assert_allclose(values(other, factor * X_TEST), values(machine), rtol=1e-6, atol=1e-9)


def test_spreads_beyond_floats_are_refused():
    with pytest.raises(ValueError, match="scaling='range'"):
        MultiplicativeSVC().fit(1e200 * X, y)
    assert MultiplicativeSVC(scaling="range").fit(1e200 * X, y).score(1e200 * X, y) > 0.9


def test_sparse_rows_and_float32_give_the_same_machine():
    machine = MultiplicativeSVC().fit(X, y)
    for rows in (sparse.csr_array(X), sparse.csr_matrix(X)):
        assert_allclose(values(MultiplicativeSVC().fit(rows, y)), values(machine), atol=1e-9)
    single = MultiplicativeSVC().fit(X.astype(np.float32), y)
    assert_allclose(values(single, X_TEST.astype(np.float32)), values(machine), atol=1e-3)


def test_columns_are_selected_by_name():
    table = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    machine = MultiplicativeSVC(Stump().on("c") + Perceptron().on(["a", "b"])).fit(table, y)
    expected = MultiplicativeSVC(Stump().on(2) + Perceptron().on([0, 1])).fit(X[:, :3], y)
    assert_allclose(values(machine, table), values(expected, X[:, :3]))
    assert machine.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("settings", [{}, {"rank": 20}, {"sparsity": 0.1, "kernel": "stump"}])
def test_machines_can_be_saved(settings, tmp_path):
    machine = MultiplicativeSVC(random_state=0, **settings).fit(*IRIS)
    for again in (
        pickle.loads(pickle.dumps(machine)),
        load(save(machine, tmp_path / "machine.skops")),
    ):
        assert_array_equal(values(again, IRIS[0]), values(machine, IRIS[0]))
        assert again.ending_ == machine.ending_
        assert_array_equal(again.history_[0]["rate"], machine.history_[0]["rate"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hypothesis": "best"}, "hypothesis = 'best'"),
        ({"rank": 0}, "rank = 0"),
        ({"tol": 0.0}, "tol = 0.0"),
        ({"max_iter": 0}, "max_iter = 0"),
        ({"sparsity": -1.0}, "sparsity = -1.0"),
        ({"scaling": "unit"}, "scaling = 'unit'"),
        ({"multiclass": "all"}, "multiclass = 'all'"),
        ({"kernel": "gaussiann"}, "did you mean 'gaussian'"),
        ({"cache_size": 0}, "cache_size = 0"),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        MultiplicativeSVC(**settings).fit(X, y)


def test_one_class_and_missing_values_are_refused():
    with pytest.raises(ValueError, match="only one class"):
        MultiplicativeSVC().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        MultiplicativeSVC().fit(np.where(X > 2.0, np.nan, X), y)


def test_too_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match="max_iter = 3 was reached"):
        machine = MultiplicativeSVC(max_iter=3).fit(X, y)
    assert machine.n_iter_ == 3
    assert machine.ending_ == [UpdateStatus.STOPPED.value]


class Interrupting(Recorder):
    """Interrupts at the fifth step of the second machine."""

    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        if self.ended["machine"] == 1 and context.task_name == "step" and context.task_id == 4:
            raise KeyboardInterrupt


def test_every_step_is_reported():
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    machine = MultiplicativeSVC().set_callbacks(recorder).fit(*IRIS)
    n_tries = sum(len(history["rate"]) for history in machine.history_)
    assert recorder.begun == recorder.ended == {"fit": 1, "machine": 3, "step": n_tries}
    assert recorder.n_setups == 0


def test_an_interrupt_keeps_the_machines_so_far():
    pytest.importorskip("sklearn.callback")
    whole, machine = MultiplicativeSVC().fit(*IRIS), MultiplicativeSVC()
    with pytest.raises(KeyboardInterrupt, match="interrupted"):
        machine.set_callbacks(Interrupting()).fit(*IRIS)
    assert machine.ending_[0] == whole.ending_[0]
    assert machine.ending_[1:] == [UpdateStatus.INTERRUPTED.value] * 2
    assert [len(history["rate"]) for history in machine.history_[1:]] == [5, 0]
    assert machine.score(*IRIS) > 0.9
