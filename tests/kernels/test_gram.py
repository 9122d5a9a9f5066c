"""Kernel matrices: output arrays, memory and threads."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import random_rows
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

from kernsemble._threads import n_threads
from kernsemble.exceptions import GramTooLargeError
from kernsemble.kernels import Gaussian, Laplacian, Perceptron, Stump, gram

pytestmark = pytest.mark.large

X = random_rows(1_000, 3)
KERNEL = (Stump() + Perceptron()) & Stump()


def test_a_matrix_can_be_written_to_out(tmp_path):
    bound = KERNEL.bind(X)
    expected = bound(X)
    out = np.empty((1_000, 1_000))
    assert bound(X, out=out) is out
    assert_array_equal(out, expected)
    on_disk = np.memmap(tmp_path / "gram", dtype=np.float64, mode="w+", shape=(1_000, 1_000))
    assert_array_equal(bound(X, out=on_disk), expected)


def test_a_matrix_can_be_filled_in_chunks():
    bound = KERNEL.bind(X)
    out = np.empty((1_000, 1_000))
    for start in range(0, 1_000, 300):
        bound(X[start : start + 300], X, out=out[start : start + 300])
    assert_allclose(out, bound(X), rtol=1e-12)


def test_out_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"out has shape \(2, 2\).*\(1000, 1000\)"):
        Stump().bind(X)(X, out=np.empty((2, 2)))


def test_an_invalid_out_is_refused():
    frozen = np.empty((1_000, 1_000))
    frozen.flags.writeable = False
    for place in (np.empty((1_000, 1_000), dtype=int), frozen, [[0.0]]):
        with pytest.raises(ValueError, match="writable array of floating-point numbers"):
            Gaussian(0.1)(X, out=place)
    square = random_rows(500, 500)
    with pytest.raises(ValueError, match="memory of its own"):
        Laplacian(0.1)(square, out=square)


def test_threads_that_call_at_once_leave_blas_as_it_was():
    def blas_threads():
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    before, bound = blas_threads(), Perceptron().bind(X)
    expected = bound(X)
    with ThreadPoolExecutor(4) as pool:
        for K in pool.map(lambda _: bound(X), range(12)):
            assert_array_equal(K, expected)
    assert blas_threads() == before


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_number_of_threads_changes_nothing(threads, monkeypatch):
    expected = KERNEL.bind(X)(X)
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    assert n_threads() == int(threads)
    assert_array_equal(KERNEL.bind(X)(X), expected)


def test_an_expression_of_kernels_needs_no_second_matrix():
    rows = random_rows(5_000, 3)
    bound = KERNEL.bind(rows)
    bound(rows[:10])  # compile
    tracemalloc.start()
    K = bound(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.2 * K.nbytes


def test_a_matrix_larger_than_the_machine_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(gram, "physical_memory", lambda: 1e6)
    with pytest.raises(GramTooLargeError, match=r"1000 x 1000 .* 0\.0 GiB.*float32 input"):
        Stump().bind(X)(X)


def test_systems_that_do_not_report_their_memory_have_no_limit(monkeypatch):
    monkeypatch.delattr("os.sysconf")
    assert gram.physical_memory() == np.inf


@pytest.mark.parametrize("kernel", [Stump(), Stump("empirical"), Laplacian(0.1), Gaussian(0.1)])
def test_float32_rows_give_a_float32_matrix(kernel):
    single = X.astype(np.float32)
    K = kernel.bind(single)(single)
    assert K.dtype == np.float32
    assert_allclose(K, kernel.bind(X)(X), rtol=1e-3, atol=1e-4)


def test_an_error_in_a_thread_reaches_the_caller():
    def broken(A, B):
        raise RuntimeError("no tile")

    with pytest.raises(RuntimeError, match="no tile"):
        gram.fill_gram(broken, X)
    with pytest.raises(RuntimeError, match="no tile"):
        gram.fill_gram(broken, random_rows(3_000, 1))
