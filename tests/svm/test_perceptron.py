"""KernelPerceptron against a perceptron that stores every function."""

import pickle

import numpy as np
import pytest
from cases import random_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from kernsemble.boosting import KernelBoost
from kernsemble.exceptions import ConditionalKernelError, RowsOnDemandWarning
from kernsemble.kernels import Boosted, Gaussian, Laplacian, Linear, Stump
from kernsemble.solvers import perceptron
from kernsemble.solvers.kernel_matrix import RowsOnDemand, WholeMatrix
from kernsemble.solvers.perceptron import (
    mistakes_on_demand,
    mistakes_on_features,
    mistakes_on_matrix,
)
from kernsemble.svm import KernelPerceptron

X, Z = random_rows(40, 3), random_rows(30, 3, seed=1)
y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3, "yes", "no")
codes = np.digitize(X[:, 0], [-0.5, 0.5])
LEARNED = Boosted(Gaussian(0.5).bind(X), X[:8], random_rows(5, 8, seed=2))
KERNELS = [Linear(), LEARNED, Laplacian(0.4), Stump()]


def remembered(kernel, X, signs, order, Z):
    """Visit rows one by one; after each visit tell the last value, average and vote at Z."""
    kernel = kernel.bind(X)
    K, K_new = kernel(X), kernel(Z, X)
    coefficients = np.zeros(len(X))
    total, votes = np.zeros(len(Z)), np.zeros(len(Z))
    mistakes = []
    for step, i in enumerate(order):
        if signs[i] * (K[i] @ coefficients) <= 1e-12:
            coefficients[i] += signs[i]
            mistakes.append((i, step))
        values = K_new @ coefficients
        total += values
        votes += np.sign(values)
        yield mistakes, values, total / (step + 1), votes / (step + 1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("variant", ["last", "averaged", "voted"])
def test_it_equals_a_perceptron_that_stores_every_function(kernel, variant):
    signs = np.where(y == "yes", 1.0, -1.0)
    machine = KernelPerceptron(kernel, variant, n_epochs=4, shuffle=False).fit(X, y)
    steps = list(remembered(kernel, X, signs, np.tile(np.arange(40), 4), Z))
    mistakes = steps[-1][0]
    assert_array_equal(machine.mistakes_[0], [row for row, _ in mistakes])
    assert_array_equal(machine.mistake_steps_[0], [step for _, step in mistakes])
    place = 1 + ["last", "averaged", "voted"].index(variant)
    expected = [steps[40 * epoch - 1][place] for epoch in range(1, 5)]
    assert_allclose(list(machine.staged_decision_function(Z)), expected, atol=1e-9)
    assert_allclose(machine.decision_function(Z), expected[-1], atol=1e-9)
    assert_array_equal(machine.predict(Z), np.where(expected[-1] > 0.0, "yes", "no"))
    in_epoch = np.bincount([step // 40 for _, step in mistakes], minlength=4)
    assert_array_equal(machine.n_mistakes_[:, 0], in_epoch)


def test_matrix_features_and_rows_on_demand_make_the_same_mistakes():
    features = random_rows(50, 6)
    signs = np.sign(features[:, 0] + 0.3 * features[:, 1])
    order = np.concatenate([np.random.default_rng(k).permutation(50) for k in range(6)])
    K = features @ features.T
    demanded = RowsOnDemand(lambda i, j: K[np.ix_(i, j)], np.diagonal(K), 3)
    whole = mistakes_on_matrix(K, signs, order)
    for other in (
        mistakes_on_features(features, signs, order),
        mistakes_on_demand(demanded, signs, order),
    ):
        assert_array_equal(whole.rows, other.rows)
        assert_array_equal(whole.steps, other.steps)


def test_a_matrix_that_does_not_fit_is_computed_by_rows():
    rows = random_rows(400, 3)
    labels = rows[:, 0] > rows[:, 1]
    whole = KernelPerceptron(Gaussian(0.5), n_epochs=3, random_state=0).fit(rows, labels)
    with pytest.warns(RowsOnDemandWarning):
        tight = KernelPerceptron(Gaussian(0.5), n_epochs=3, cache_size=0.5, random_state=0).fit(
            rows, labels
        )
    assert_array_equal(whole.mistakes_[0], tight.mistakes_[0])


def test_mistakes_are_bounded_by_the_margin():
    rows = random_rows(200, 5)
    rows = rows[np.abs(rows[:, 0]) > 0.3]
    margin, radius = np.abs(rows[:, 0]).min(), np.linalg.norm(rows, axis=1).max()
    machine = KernelPerceptron(n_epochs=100, random_state=0).fit(rows, rows[:, 0] > 0.0)
    assert len(machine.mistakes_[0]) <= (radius / margin) ** 2


def test_the_number_of_visits_until_all_rows_are_right():
    separable = X[:, 0] > 0.0
    rows = X[np.abs(X[:, 0]) > 0.2]
    machine = KernelPerceptron(variant="last", n_epochs=60, shuffle=False).fit(
        rows, rows[:, 0] > 0.0
    )
    n_visits = int(machine.separated_after_[0])
    signs = np.where(rows[:, 0] > 0.0, 1.0, -1.0)
    order = np.tile(np.arange(len(rows)), 60)[:n_visits]
    *_, before, (_, values, _, _) = remembered(Linear(), rows, signs, order, rows)
    assert (signs * values > 0.0).all()
    assert not (signs * before[1] > 0.0).all()
    assert machine.score(rows, rows[:, 0] > 0.0) == 1.0
    noisy = separable ^ (np.arange(40) % 7 == 0)
    assert KernelPerceptron(n_epochs=3).fit(X, noisy).separated_after_[0] == np.inf


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
@pytest.mark.parametrize("variant", ["last", "averaged", "voted"])
@pytest.mark.parametrize("kernel", [LEARNED, Gaussian(0.5)], ids=repr)
def test_several_classes_are_machines_of_two_sides(multiclass, variant, kernel):
    settings = {"variant": variant, "n_epochs": 3, "shuffle": False}
    machine = KernelPerceptron(kernel, multiclass=multiclass, **settings).fit(X, codes)
    pairs = [(0, 1), (0, 2), (1, 2)]
    for place, values in enumerate(machine._values(Z).T):
        if multiclass == "one-vs-rest":
            rows, positive = np.arange(40), codes == place
        else:
            rows = np.flatnonzero(np.isin(codes, pairs[place]))
            positive = codes[rows] == pairs[place][0]
        bound = kernel.bind(X)
        alone = KernelPerceptron(bound, **settings).fit(X[rows], positive)
        assert_allclose(values, alone.decision_function(Z), atol=1e-9)
        assert_array_equal(machine.mistakes_[place], rows[alone.mistakes_[0]])
    assert machine.decision_function(Z).shape == (30, 3)
    assert machine.score(X, codes) > 0.5


def test_the_order_of_visits_depends_on_the_seed():
    machine = KernelPerceptron(n_epochs=5, random_state=0).fit(X, y)
    again = KernelPerceptron(n_epochs=5, random_state=0).fit(X, y)
    other = KernelPerceptron(n_epochs=5, random_state=1).fit(X, y)
    assert_array_equal(machine.mistakes_[0], again.mistakes_[0])
    assert not np.array_equal(machine.mistakes_[0], other.mistakes_[0])


def test_staged_scores_are_those_of_fewer_epochs():
    machine = KernelPerceptron("gaussian", n_epochs=4, random_state=0).fit(X, y)
    shorter = [
        KernelPerceptron("gaussian", n_epochs=n, random_state=0).fit(X, y).score(X, y)
        for n in range(1, 5)
    ]
    assert_allclose(list(machine.staged_score(X, y)), shorter)


def test_predictions_by_blocks_are_those_at_once():
    machine = KernelPerceptron("gaussian", "voted", random_state=0).fit(X, y)
    (values,) = machine._values_after(Z, [machine.n_epochs], max_entries=100)
    assert_allclose(values[:, 0], machine.decision_function(Z))


def test_sparse_and_single_rows_are_rows():
    dense = KernelPerceptron(random_state=0).fit(X, y)
    rows = KernelPerceptron(random_state=0).fit(sparse.csr_array(X), y)
    assert_array_equal(dense.mistakes_[0], rows.mistakes_[0])
    assert_allclose(rows.decision_function(sparse.csr_array(Z)), dense.decision_function(Z))
    single = KernelPerceptron("gaussian", random_state=0).fit(X.astype(np.float32), y)
    assert single.score(X.astype(np.float32), y) > 0.8


def test_it_is_cloned_pickled_and_saved(tmp_path):
    pytest.importorskip("skops.io")
    from kernsemble.persistence import load, save

    machine = KernelPerceptron(LEARNED, "voted", random_state=0).fit(X, y)
    assert clone(machine).get_params()["kernel"] == LEARNED
    for again in (
        pickle.loads(pickle.dumps(machine)),
        load(save(machine, tmp_path / "machine.skops")),
    ):
        assert_array_equal(again.decision_function(Z), machine.decision_function(Z))


def test_a_learned_kernel_needs_fewer_mistakes():
    learned = KernelBoost(Gaussian(0.5), step="line-search").fit(X, y).kernel_
    boosted = KernelPerceptron(learned, random_state=0).fit(X, y)
    plain = KernelPerceptron(Gaussian(0.5), random_state=0).fit(X, y)
    assert boosted.n_mistakes_[0, 0] < plain.n_mistakes_[0, 0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "mean"}, "variant = 'mean'"),
        ({"n_epochs": 0}, "n_epochs = 0"),
        ({"multiclass": "all"}, "multiclass = 'all'"),
        ({"decision_function_shape": "ovo", "multiclass": "one-vs-rest"}, "'ovo' needs a machine"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(**settings).fit(X, y)


def test_conditional_kernels_and_one_class_are_refused():
    with pytest.raises(ConditionalKernelError, match="a perceptron"):
        KernelPerceptron(Stump().simplified).fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        KernelPerceptron().fit(X, np.zeros(40))


@pytest.mark.parametrize("portion", [1, 7, 10_000])
def test_portions_of_visits_make_the_same_mistakes(monkeypatch, portion):
    rng = np.random.default_rng(0)
    Z, signs = rng.normal(size=(40, 3)), np.where(rng.random(40) < 0.5, -1.0, 1.0)
    order = rng.integers(40, size=150)
    monkeypatch.setattr(perceptron, "PORTION", portion)
    demanded = mistakes_on_demand(WholeMatrix(Z @ Z.T), signs, order)
    for found in (mistakes_on_matrix(Z @ Z.T, signs, order), mistakes_on_features(Z, signs, order)):
        assert_array_equal(found.rows, demanded.rows)
        assert_array_equal(found.steps, demanded.steps)
