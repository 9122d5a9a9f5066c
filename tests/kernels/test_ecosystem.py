"""Kernels in scikit-learn: SVC, GridSearchCV, clone, Gaussian processes."""

import numpy as np
import pytest
from cases import DEFINITE, random_rows
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC, SVR

from kernsemble.exceptions import ConditionalKernelError
from kernsemble.kernels import Exponential, Laplacian, Perceptron, Stump, centre

X = random_rows(40, 3)
y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
target = np.sin(X[:, 0]) + X[:, 1]
Z = random_rows(15, 3, seed=1)
SOME = [Stump(), Perceptron(), Stump() & Perceptron(), Laplacian(0.2)]


@pytest.mark.parametrize("kernel", [*SOME, Stump().simplified], ids=repr)
def test_svc_with_a_callable_is_svc_on_the_matrix(kernel):
    bound = kernel.bind(X)
    by_call = SVC(kernel=bound).fit(X, y)
    by_matrix = SVC(kernel="precomputed").fit(bound(X), y)
    assert_allclose(by_call.decision_function(Z), by_matrix.decision_function(bound(Z, X)))


def test_svr_with_a_callable():
    bound = Stump().bind(X)
    fitted = SVR(kernel=bound, C=100.0).fit(X, target)
    assert fitted.score(X, target) > 0.9


@pytest.mark.parametrize("kernel", SOME, ids=repr)
def test_kernel_ridge_with_a_callable_is_that_on_the_matrix(kernel):
    bound = kernel.bind(X)
    by_call = KernelRidge(kernel=bound).fit(X, target)
    by_matrix = KernelRidge(kernel="precomputed").fit(bound(X), target)
    assert_allclose(by_call.predict(Z), by_matrix.predict(bound(Z, X)))


def test_kernel_ridge_with_a_conditional_kernel_is_refused_with_the_remedy():
    with pytest.raises(ConditionalKernelError, match=r"kernel\.full"):
        KernelRidge(kernel=Stump().bind(X).simplified).fit(X, target)


@pytest.mark.parametrize("kernel", [*SOME, Stump().simplified], ids=repr)
def test_kernel_pca_on_the_matrix_spans_the_centred_kernel(kernel):
    bound = kernel.bind(X)
    scores = KernelPCA(n_components=40, kernel="precomputed").fit_transform(bound(X))
    assert_allclose(scores @ scores.T, centre(bound(X)), atol=1e-8)


@pytest.mark.parametrize("kernel", DEFINITE, ids=repr)
def test_every_definite_kernel_is_a_covariance(kernel):
    bound = kernel.bind(X)
    covariance = bound.as_gaussian_process_kernel()
    assert_allclose(covariance(X), bound(X))
    assert_allclose(covariance.diag(X), bound.diagonal(X))
    matrix, gradient = covariance(X, eval_gradient=True)
    assert matrix.shape == (40, 40)
    assert gradient.shape == (40, 40, 0)
    assert clone(covariance).kernel == bound
    assert repr(covariance) == f"{bound!r}.as_gaussian_process_kernel()"
    assert not covariance.is_stationary()


def test_gaussian_process_regression_interpolates():
    covariance = Perceptron().bind(np.vstack([X, Z])).as_gaussian_process_kernel()
    process = GaussianProcessRegressor(covariance).fit(X, target)
    assert_allclose(process.predict(X), target, atol=1e-6)
    _, deviation = process.predict(Z, return_std=True)
    assert (deviation > 0).all()


def test_gaussian_process_with_tuned_factor_and_noise():
    covariance = ConstantKernel() * Stump().bind(X).as_gaussian_process_kernel() + WhiteKernel()
    noisy = target + 0.3 * np.random.default_rng(0).normal(size=len(target))
    process = GaussianProcessRegressor(covariance, random_state=0).fit(X, noisy)
    assert process.score(Z, np.sin(Z[:, 0]) + Z[:, 1]) > 0.7
    assert len(process.kernel_.theta) == 2


def test_gaussian_process_classification():
    covariance = Exponential(0.5).bind(X).as_gaussian_process_kernel()
    assert GaussianProcessClassifier(covariance).fit(X, y).score(X, y) > 0.9


@pytest.mark.large
def test_kernels_are_values_of_a_grid_and_travel_to_workers():
    kernels = [Laplacian(gamma).bind(X) for gamma in (0.01, 0.1, 1.0)]
    search = GridSearchCV(SVC(C=10.0), {"kernel": kernels}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_["kernel"] in kernels


@pytest.mark.large
def test_real_data_at_three_kernels():
    rows, labels = load_breast_cancer(return_X_y=True)
    for kernel, bound in ((Stump("empirical"), 0.95), (Laplacian(), 0.85)):
        machine = SVC(kernel=kernel.bind(rows), C=1.0)
        assert cross_val_score(machine, rows, labels, cv=3).mean() > bound
