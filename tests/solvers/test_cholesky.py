"""Cholesky factors by blocks: LAPACK's, at any size, without Python's lock."""

import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import cholesky, solve
from scipy.linalg.lapack import dpstrf

from kernsemble import _threads
from kernsemble.solvers import cholesky as blocked

SIZES = [1, 2, 7, 191, 192, 193, 500]


def definite(n, dtype=np.float64, seed=0):
    """Return a random definite matrix."""
    factor = np.random.default_rng(seed).normal(size=(n, n))
    return (factor @ factor.T / n + np.eye(n)).astype(dtype)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(blocked, "ROWS_WORTH_TILES", 1)
    monkeypatch.setattr(blocked, "TILE", 64)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_factor_solution_and_inverse_are_those_of_scipy(n, dtype):
    A, y = definite(n, dtype), np.random.default_rng(1).normal(size=(n, 3))
    U, tol = A.copy(), 1e-4 if dtype == np.float32 else 1e-10
    assert blocked.factor_in_place(U) == 0
    assert_allclose(np.triu(U), cholesky(A), atol=tol)
    assert_allclose(blocked.solve_with_factor(U, y), solve(A, y), atol=tol)
    assert_allclose(np.triu(blocked.invert_in_place(U)), np.triu(np.linalg.inv(A)), atol=tol)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", SIZES)
def test_blocks_have_the_same_factor_solution_and_inverse(small_tiles, n, order):
    A, y = definite(n), np.random.default_rng(1).normal(size=(n, 3))
    U = A.copy(order)
    assert blocked.factor_in_place(U) == 0
    assert_allclose(np.triu(U), cholesky(A), atol=1e-12)
    assert_allclose(blocked.solve_with_factor(U, y), solve(A, y), atol=1e-12)
    inverse = blocked.invert_in_place(np.ascontiguousarray(U))
    assert_allclose(np.triu(inverse), np.triu(np.linalg.inv(A)), atol=1e-12)


@pytest.mark.parametrize("place", [0, 3, 63, 64, 130, 199])
def test_the_first_minor_that_is_not_positive_is_returned(small_tiles, place):
    A = np.eye(200)
    A[place, place] = -1.0
    assert blocked.factor_in_place(A) == place + 1


@pytest.mark.parametrize("rank", [1, 63, 64, 200])
@pytest.mark.parametrize("n", [1, 64, 200])
def test_the_factor_with_pivots_is_that_of_lapack(small_tiles, n, rank):
    points = np.random.default_rng(2).normal(size=(n, min(rank, n)))
    A = points @ points.T
    U, tol = A.copy(), 1e-10 * A.diagonal().max()
    order, found = blocked.factor_with_pivots_in_place(U, tol)
    expected, places, expected_rank, _ = dpstrf(A, tol=tol)
    assert found == expected_rank
    assert_array_equal(order[:found], places[:found] - 1)
    assert_allclose(np.triu(U)[:found, :found], np.triu(expected)[:found, :found], atol=1e-7)
    upper = np.triu(U)[:found]
    assert_allclose(upper.T @ upper, A[np.ix_(order, order)], atol=1e-9)


def test_a_matrix_of_zeros_has_no_pivots():
    assert blocked.factor_with_pivots_in_place(np.zeros((3, 3)), 0.0)[1] == 0


def test_all_bits_are_the_same_for_any_number_of_threads(small_tiles, monkeypatch):
    A, y, found = definite(300, seed=2), np.ones((300, 2)), []
    for n_threads in (1, 2, 3):
        monkeypatch.setenv("NUMBA_NUM_THREADS", str(n_threads))
        U = A.copy()
        blocked.factor_in_place(U)
        factor, solution = np.triu(U), blocked.solve_with_factor(U, y)
        found.append((factor, solution, np.triu(blocked.invert_in_place(U))))
    for each in found[1:]:
        for array, first in zip(each, found[0], strict=True):
            assert_array_equal(array, first)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_waits_for_one_block(small_tiles, monkeypatch, n_threads):
    monkeypatch.setenv("NUMBA_NUM_THREADS", str(n_threads))
    factor, calls = blocked._factor, []

    def interrupted(A):
        calls.append(len(A))
        time.sleep(0.1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return factor(A)

    monkeypatch.setattr(blocked, "_factor", interrupted)
    matrices = [definite(300, seed=seed) for seed in range(4)]
    with pytest.raises(KeyboardInterrupt):
        _threads.run(blocked.factor_in_place, matrices)
    assert len(calls) <= 4  # of five blocks of four matrices


def test_the_lock_of_python_is_released():
    A, is_done, ticks = definite(2_000, np.float32), threading.Event(), [0]

    def count():
        while not is_done.is_set():
            ticks[0] += 1
            time.sleep(1e-4)

    counter = threading.Thread(target=count)
    with _threads.at_most(1):
        counter.start()
        for _ in range(5):
            blocked.factor_in_place(A.copy())
        is_done.set()
    counter.join()
    assert ticks[0] > 20  # five calls that held it would leave a handful
