"""Every device computes what the kernels of the library do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.devices import DeviceNotFoundError, device
from kernsemble.kernels import (
    Constant,
    DecisionTree,
    Exponential,
    Gaussian,
    Laplacian,
    MiddleStump,
    Perceptron,
    Stump,
    StumpRegion,
)

KERNELS = {
    "stump": Stump(),
    "empirical": Stump("empirical"),
    "middle": MiddleStump(),
    "perceptron": Perceptron(),
    "simplified": Perceptron().simplified,
    "laplacian": Laplacian(),
    "exponential": Exponential(),
    "gaussian": Gaussian(),
    "region": StumpRegion(level=3),
    "tree": DecisionTree(gamma=0.01),
    "sum": 2.0 * Laplacian(0.5) + 0.5 * Laplacian(0.1) + Constant(3.0),
    "product": Stump().on([0, 1]) * Gaussian(0.3).on([2, 3]) + Exponential().on([1, 4]),
    "and": Stump() & Perceptron(),
    "logic": Stump().logic * Perceptron().logic,
}


@pytest.fixture(params=["host", "cuda"])
def place(request):
    try:
        return device(request.param)
    except DeviceNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param


def sample(n=100, n_features=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_features))


def close(found, expected, dtype):
    largest = np.abs(expected).max() or 1.0
    assert_allclose(
        found / largest, expected / largest, atol={"float64": 1e-10, "float32": 1e-4}[dtype]
    )


@pytest.mark.parametrize("name", KERNELS)
def test_gram_blocks_products_and_diagonals_are_those_of_the_kernel(name, place, dtype):
    n, m = (300, 150) if place.name == "cuda" else (60, 30)  # several tiles, few on a processor
    X, Y = sample(n), sample(m, seed=1)
    kernel = KERNELS[name].bind(X)
    found = place.kernel(kernel, dtype)
    A, B = found.prepare(X), found.prepare(Y)
    K = kernel(X, Y)
    gram = place.to_host(found.gram(A, B))
    assert gram.dtype == dtype
    close(gram, K, dtype)
    square = place.to_host(found.gram(A))
    close(square, kernel(X), dtype)
    assert_allclose(square, square.T, rtol=0.0, atol=0.0)
    close(place.to_host(found.diagonal(A)), kernel.diagonal(X), dtype)
    for k in (1, 3, 8, 40):
        V = np.random.default_rng(k).normal(size=(m, k))
        product = place.to_host(found.product(A, B, place.to_device(V, dtype)))
        assert product.dtype == dtype
        close(product, K @ V, dtype)


@pytest.mark.large
@pytest.mark.parametrize("name", ["laplacian", "and", "product"])
def test_a_pair_may_count_for_both_of_its_rows(name, place, dtype):
    X = sample(2_500)
    kernel = KERNELS[name].bind(X)
    found = place.kernel(kernel, dtype)
    found.tiles_worth_symmetry = 0  # of a GPU
    rows, V = found.prepare(X), np.random.default_rng(1).normal(size=(len(X), 2))
    close(place.to_host(found.product(rows, None, place.to_device(V, dtype))), kernel(X) @ V, dtype)


def test_a_vector_is_one_column(place, dtype):
    X = sample()
    kernel = place.kernel(Laplacian(0.2).bind(X), dtype)
    rows, v = kernel.prepare(X), np.random.default_rng(1).normal(size=len(X))
    found = kernel.product(rows, None, place.to_device(v, dtype))
    assert found.shape == (len(X),)
    close(place.to_host(found), Laplacian(0.2).bind(X)(X) @ v, dtype)


def test_results_are_written_into_given_arrays(place, dtype):
    X = sample()
    kernel = place.kernel(Laplacian(0.2).bind(X), dtype)
    A, B = kernel.prepare(X[:40]), kernel.prepare(X)
    larger = place.xp.zeros((100, 110), dtype=dtype)
    kernel.gram(A, B, out=larger[10:50, 5:105])
    close(place.to_host(larger[10:50, 5:105]), Laplacian(0.2)(X[:40], X), dtype)
    assert not place.to_host(larger[:10]).any()
    assert not place.to_host(larger[:, 105:]).any()
    V, out = place.xp.ones((100, 2), dtype=dtype), place.xp.zeros((40, 2), dtype=dtype)
    assert kernel.product(A, B, V, out=out) is out
    close(place.to_host(out)[:, 0], Laplacian(0.2)(X[:40], X).sum(axis=1), dtype)


def test_some_rows_are_taken_by_slices_and_by_positions(place, dtype):
    X, some = sample(), np.array([3, 95, 7])
    kernel = place.kernel(Perceptron().bind(X), dtype)
    rows, K = kernel.prepare(X), Perceptron().bind(X)(X)
    assert len(rows) == 100
    assert len(rows[some]) == 3
    close(place.to_host(kernel.gram(rows[some], rows[20:90])), K[some, 20:90], dtype)
    close(place.to_host(kernel.diagonal(rows[some])), K[some, some], dtype)


def test_the_cholesky_factor_solves_and_inverts(place, dtype):
    X = sample(200)
    A = Laplacian(0.3)(X) + 0.1 * np.eye(200)
    factor = place.to_device(A, dtype)
    assert place.factor_in_place(factor) == 0
    U = np.triu(place.to_host(factor))
    close(U.T @ U, A, dtype)
    for y in (np.ones(200), np.random.default_rng(0).normal(size=(200, 3))):
        found = place.solve_with_factor(factor, place.to_device(y, dtype))
        assert found.shape == y.shape
        close(place.to_host(found), np.linalg.solve(A, y), dtype)
    inverse = np.triu(place.to_host(place.invert_in_place(factor)))
    close(inverse, np.triu(np.linalg.inv(A)), dtype)


def test_a_minor_that_is_not_positive_is_reported(place, dtype):
    A = np.eye(5)
    A[3, 3] = -1.0
    assert place.factor_in_place(place.to_device(A, dtype)) == 4


def test_devices_describe_themselves_and_their_memory(place):
    assert place.describe()
    assert 0 < place.free_memory() <= place.total_memory()
    place.synchronize()


def test_columns_of_another_length_are_refused(place):
    kernel = place.kernel(Laplacian(1.0).bind(sample()), "float32")
    rows = kernel.prepare(sample())
    with pytest.raises(ValueError, match=r"V has shape \(7, 2\)"):
        kernel.product(rows, None, place.xp.zeros((7, 2)))


def test_an_unknown_device_or_precision_is_refused(place):
    with pytest.raises(ValueError, match="name = 'gpu'"):
        device("gpu")
    with pytest.raises(ValueError, match="float16"):
        place.kernel(Laplacian(1.0).bind(sample()), "float16")
