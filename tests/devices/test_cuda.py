"""What programs are started with, on a stand-in for CuPy; `test_devices` needs a GPU for them."""

import sys

import numpy as np
import pytest
from cupy_stand_in import stand_in
from numpy.testing import assert_allclose
from scipy.linalg import cholesky

from kernsemble.devices import DeviceNotFoundError, cuda, device
from kernsemble.kernels import Constant, Exponential, Gaussian, Laplacian, Linear, Perceptron, Stump

KERNELS = {
    "laplacian": Laplacian(0.3),
    "sum": Laplacian(0.3) + 2.0 * Gaussian(0.2),
    "product": Stump() * Exponential().on([0, 2]) + Perceptron().on([1]) * Gaussian().on([0]),
    "constant": Constant(2.0) + Constant(1.0),
    "linear": Linear(),
}


@pytest.fixture
def gpu(monkeypatch):
    for name, module in stand_in().items():
        monkeypatch.setitem(sys.modules, name, module)
    return device("cuda")


def sample(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", KERNELS)
def test_matrices_and_products_are_put_together_from_programs(name, dtype, gpu):
    X, Y = sample(40), sample(140, seed=1)
    kernel = KERNELS[name].bind(Y)
    found = gpu.kernel(kernel, dtype)
    A, B, K = found.prepare(X), found.prepare(Y), kernel(X, Y)
    tolerance = {"float32": 1e-4, "float64": 1e-10}[dtype] * np.abs(K).max()
    assert_allclose(found.gram(A, B), K, atol=tolerance)
    assert_allclose(found.gram(A), kernel(X), atol=tolerance)
    assert_allclose(found.diagonal(A), kernel.diagonal(X), atol=tolerance)
    some = np.array([5, 3])
    assert_allclose(found.gram(A[some], B[10:20]), K[some, 10:20], atol=tolerance)
    for k in (1, 5, 40):
        V = np.random.default_rng(k).normal(size=(140, k))
        assert_allclose(found.product(A, B, V), K @ V, atol=100 * tolerance)


@pytest.mark.parametrize("bytes_of_sums", [1, 2**16, 2**28])
@pytest.mark.parametrize("name", ["linear", pytest.param("product", marks=pytest.mark.large)])
def test_sums_of_parts_of_columns_are_complete_in_any_amount_of_memory(
    name, bytes_of_sums, gpu, monkeypatch
):
    monkeypatch.setattr(cuda, "BYTES_OF_PARTIAL_SUMS", bytes_of_sums)
    monkeypatch.setattr(cuda, "TILES_PER_SUM", 3)
    X = sample(1_300)
    kernel = KERNELS[name].bind(X)
    K = kernel(X)
    V = np.random.default_rng(1).normal(size=(len(X), 2))
    for tiles_worth_symmetry in (0, 1_000):
        found = gpu.kernel(kernel, "float64")
        found.tiles_worth_symmetry = tiles_worth_symmetry
        rows = found.prepare(X)
        assert found.computes_pairs_once(rows, rows, 2) == (tiles_worth_symmetry == 0)
        out = np.empty((len(X), 2))
        assert found.product(rows, None, V, out=out) is out
        assert_allclose(out, K @ V, rtol=1e-9, atol=1e-9)
        assert_allclose(found.product(rows, None, V[:, 0]), K @ V[:, 0], rtol=1e-9, atol=1e-9)


def test_places_for_results_are_checked(gpu):
    kernel = gpu.kernel(Laplacian(1.0).bind(sample(9)), "float32")
    rows = kernel.prepare(sample(9))
    for out in (np.empty((9, 8), np.float32), np.empty((9, 9)), np.empty((9, 9), np.float32).T):
        with pytest.raises(ValueError, match="with contiguous rows"):
            kernel.gram(rows, out=out)


def test_a_rate_beyond_single_precision_is_the_largest_number(gpu):
    kernel = gpu.kernel(Laplacian(1e300).bind(sample(9)), "float32")
    rows = kernel.prepare(sample(9))
    assert_allclose(kernel.gram(rows), np.eye(9))


def test_the_device_describes_itself(gpu):
    assert gpu.describe() == "stand-in, driver for CUDA 13.0, CUDA 12.9, CuPy 0"
    assert gpu.free_memory() == 11_000
    assert gpu.total_memory() == 20_000
    gpu.synchronize()
    assert gpu.to_device([1, 2], "float32").dtype == np.float32
    assert_allclose(gpu.to_host(gpu.to_device([1, 2])), [1, 2])


def test_inverses_come_from_factors(gpu):
    A = np.cov(sample(40), rowvar=False)
    found = gpu.invert_in_place(cholesky(A))
    assert_allclose(np.triu(found), np.triu(np.linalg.inv(A)))


def test_a_machine_without_a_gpu_gets_one_clear_line(monkeypatch):
    modules = stand_in()

    def fail():
        raise OSError("no CUDA-capable device is detected")

    modules["cupy"].cuda.Device = fail
    monkeypatch.setitem(sys.modules, "cupy", modules["cupy"])
    with pytest.raises(DeviceNotFoundError, match=r"found no GPU of NVIDIA .* use solver='exact'"):
        device("cuda")
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceNotFoundError, match=r"pip install 'kernsemble\[cuda\]'"):
        device("cuda")
