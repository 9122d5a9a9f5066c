"""A learned kernel is a kernel: its features are explicit, and it is used like any other."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import random_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC

from kernsemble.boosting import KernelBoost
from kernsemble.exceptions import ConditionalKernelError
from kernsemble.kernels import Boosted, Gaussian, Laplacian, Linear, Stump, as_kernel, definiteness
from kernsemble.kernels.geometry import DefinitenessKind
from kernsemble.svm import InfiniteEnsembleClassifier, MultiplicativeSVC, SVMPath

X, Z = random_rows(25, 3), random_rows(9, 3, seed=1)
y = np.where(X[:, 0] * X[:, 1] > 0.0, 1, -1)
COEFFICIENTS = random_rows(4, 7, seed=2)
KERNEL = Boosted(Laplacian(0.3).bind(X), X[:7], COEFFICIENTS)


def test_it_is_the_inner_product_of_expansions_on_templates():
    def z(rows):
        return Laplacian(0.3).bind(X)(rows, X[:7]) @ COEFFICIENTS.T

    assert_allclose(KERNEL.features(Z), z(Z), atol=1e-12)
    assert_allclose(KERNEL(X, Z), z(X) @ z(Z).T, atol=1e-12)
    assert_allclose(KERNEL(X), z(X) @ z(X).T, atol=1e-12)
    assert_allclose(KERNEL.diagonal(Z), np.diagonal(KERNEL(Z)), atol=1e-12)
    assert_allclose(KERNEL(X[0], Z[0]), KERNEL(X, Z)[0, 0], atol=1e-12)
    assert_allclose(KERNEL(X[[3]], X)[0], KERNEL(X)[3], atol=1e-12)


def test_it_is_positive_semidefinite_for_any_coefficients():
    for seed in range(5):
        kernel = Boosted(Gaussian(1.0).bind(X), X, random_rows(3, 25, seed=seed))
        assert definiteness(kernel(X)).kind in (DefinitenessKind.PD, DefinitenessKind.PSD)


def test_features_of_many_rows_are_computed_in_blocks():
    assert_allclose(KERNEL.features(X, max_entries=20), KERNEL.features(X), rtol=1e-13)


def test_it_combines_with_other_kernels():
    other = Stump().bind(X)
    assert_allclose((KERNEL + 2.0 * other)(X, Z), KERNEL(X, Z) + 2.0 * other(X, Z))
    assert_allclose((KERNEL * other)(X, Z), KERNEL(X, Z) * other(X, Z))
    wide = np.hstack([Z, 7.0 + Z])
    assert_allclose(KERNEL.on([0, 1, 2]).bind(wide)(wide), KERNEL(Z))
    assert_allclose((KERNEL + Stump()).bind(X)(X), KERNEL(X) + other(X))


def test_it_is_a_value():
    same = Boosted(Laplacian(0.3).bind(X), X[:7].copy(), COEFFICIENTS.copy())
    assert same == KERNEL
    assert hash(same) == hash(KERNEL)
    assert clone(KERNEL) == KERNEL
    assert pickle.loads(pickle.dumps(KERNEL)) == KERNEL
    assert Boosted(Laplacian(0.3).bind(X), X[:7], 2.0 * COEFFICIENTS) != KERNEL
    with pytest.raises(ValueError, match="read-only"):
        KERNEL.coefficients[0, 0] = 1.0
    assert as_kernel(KERNEL) is KERNEL
    assert repr(KERNEL) == "Boosted(Laplacian(gamma=0.3), 4 features on 7 templates)"


def test_arguments_are_copied():
    templates, coefficients = X[:7].copy(), COEFFICIENTS.copy()
    kernel = Boosted(Laplacian(0.3).bind(X), templates, coefficients)
    templates[:], coefficients[:] = 0.0, 0.0
    assert kernel == KERNEL


def test_it_comes_back_from_a_file(tmp_path):
    pytest.importorskip("skops.io")
    from kernsemble.persistence import load, save

    again = load(save(KERNEL, tmp_path / "kernel.skops"))
    assert again == KERNEL
    assert_array_equal(again(X), KERNEL(X))


def test_it_is_bound_already():
    assert KERNEL.n_features == 3
    assert KERNEL.bind(100.0 * Z) is KERNEL
    with pytest.raises(ValueError, match="2 features, but the kernel is bound to 3"):
        KERNEL.bind(Z[:, :2])


def test_tables_and_sparse_rows_are_rows():
    assert_allclose(KERNEL(pd.DataFrame(Z), X), KERNEL(Z, X))
    assert_allclose(KERNEL(sparse.csr_array(Z), X), KERNEL(Z, X), atol=1e-12)


def test_machines_do_not_scale_rows_for_a_learned_kernel():
    learned = KernelBoost(Gaussian(0.5), step="line-search").fit(10.0 + X, y).kernel_
    rows, asked = 10.0 + X, 10.0 + Z
    oracle = SVC(kernel="precomputed", tol=1e-9).fit(learned(rows), y)
    expected = oracle.decision_function(learned(asked, rows))
    machine = InfiniteEnsembleClassifier(learned, C=1.0, tol=1e-9).fit(rows, y)
    assert machine.scaling_.kind is None
    assert_allclose(machine.decision_function(asked), expected, atol=1e-4)
    path = SVMPath(learned, C=1.0).fit(rows, y)
    assert_allclose(path.decision_function(asked), expected, atol=1e-4)
    both = InfiniteEnsembleClassifier(learned + Stump(), C=1.0, tol=1e-9).fit(rows, y)
    assert both.scaling_.kind is None
    unlearned = InfiniteEnsembleClassifier(Stump(), C=1.0).fit(rows, y)
    assert unlearned.scaling_.kind == "range"
    assert MultiplicativeSVC(learned, scaling="range").fit(rows, y).scaling_.kind is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Linear(), X[:7], COEFFICIENTS[:, :5]), "coefficients have shape"),
        ((Linear(), X[:7], np.full((1, 7), np.nan)), "coefficients contain NaN"),
        ((Linear().bind(X[:, :2]), X[:7], COEFFICIENTS), "templates has 3 features"),
    ],
)
def test_mismatched_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Boosted(*arguments)


def test_kernels_that_are_only_conditionally_definite_are_refused():
    with pytest.raises(ConditionalKernelError, match="a learned kernel"):
        Boosted(Stump().bind(X).simplified, X[:7], COEFFICIENTS)
