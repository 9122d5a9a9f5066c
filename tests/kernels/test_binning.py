"""Random binning: rows share a cell with the probability of the kernel."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import random_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernsemble.exceptions import UnboundKernelError
from kernsemble.kernels import DecisionTree, Exponential, Laplacian, Stump
from kernsemble.kernels.binning import NoCellsError, bin_rows

X, Z = random_rows(30, 3), random_rows(20, 3, seed=1)
BINNED = [
    Laplacian(),
    Laplacian(gamma=2.0),
    3.0 * Laplacian(gamma=0.1),
    Laplacian().on([0, -1]),
    DecisionTree(gamma=0.05),
    0.5 * DecisionTree(gamma=0.2, stump=Stump(measure="empirical")).on([1]),
]


@pytest.mark.parametrize("kernel", BINNED, ids=repr)
def test_shared_cells_are_the_kernel(kernel):
    bound = kernel.bind(X)
    grids, cells = bin_rows(bound, X, n_grids=1_000, random_state=0)
    assert_array_equal(grids.cells(X), cells)
    assert_allclose(np.diagonal(grids.kernel(X)), bound.diagonal(X))
    for rows in (X, Z):
        errors = (grids.kernel(rows, X) - bound(rows, X)) / grids.weight
        assert abs(errors).max() < 5.0 * 0.5 / np.sqrt(1_000)


@pytest.mark.large
@pytest.mark.parametrize("kernel", [Laplacian(0.3), DecisionTree(0.05)], ids=repr)
def test_the_share_of_shared_cells_is_unbiased(kernel):
    rows = X[:6]
    bound = kernel.bind(X)
    kernels = np.array(
        [bin_rows(bound, rows, n_grids=7, random_state=seed)[0].kernel(rows) for seed in range(800)]
    )
    pairs = np.triu_indices(len(rows), 1)
    errors = (kernels - bound(rows))[:, *pairs]
    standard = errors.std(axis=0) / np.sqrt(len(errors))
    assert (abs(errors.mean(axis=0)) < 4.0 * standard).all()


@pytest.mark.large
@pytest.mark.parametrize("n_features", [2, 10])
def test_the_error_is_honest_and_falls_with_the_number_of_grids(n_features):
    rows, others = random_rows(500, n_features), random_rows(200, n_features, seed=1)
    kernel = Laplacian().bind(rows)
    errors = []
    for n_grids in (32, 128, 512):
        grids, _ = bin_rows(kernel, rows, n_grids=n_grids, random_state=0)
        true = np.sqrt(np.mean((grids.kernel(others, rows) - kernel(others, rows)) ** 2))
        assert 0.5 < true / grids.error < 2.0
        assert grids.error < 0.5 / np.sqrt(n_grids)  # independent grids at even odds
        errors.append(grids.error)
    assert errors[0] > 1.5 * errors[1] > 1.5**2 * errors[2]


def test_cells_are_numbered_from_zero_in_every_grid():
    grids, cells = bin_rows(Laplacian().bind(X), X, n_grids=20, random_state=0)
    assert cells.shape == (len(X), 20)
    assert cells.dtype == np.int32
    for p in range(20):
        assert_array_equal(np.unique(cells[:, p]), np.arange(grids.n_cells[p]))


def test_empty_cells_hold_nothing():
    grids, _ = bin_rows(Laplacian().bind(X), X, n_grids=20, random_state=0)
    far = X[:2] + 1e6
    assert (grids.cells(far) == -1).all()
    assert_array_equal(grids.kernel(far, X), 0.0)
    assert_array_equal(grids.kernel(far), 0.0)


@pytest.mark.large
def test_blocks_of_rows_are_found_like_the_sample():
    rows = random_rows(20_000, 2)
    grids, cells = bin_rows(Laplacian(50.0).bind(rows), rows, n_grids=8, random_state=0)
    assert grids.n_cells.max() > 2_000
    assert_array_equal(grids.cells(rows), cells)


def test_the_same_random_state_draws_the_same():
    kernel = Laplacian().bind(X)
    first, second, other = (bin_rows(kernel, X, n_grids=9, random_state=s)[0] for s in (0, 0, 1))
    assert first == second
    assert first != other
    assert pickle.loads(pickle.dumps(first)) == first


def test_one_row_has_no_error():
    grids, cells = bin_rows(Laplacian(1.0).bind(X), X[:1], n_grids=5, random_state=0)
    assert grids.error == 0.0
    assert_array_equal(cells, 0)


def test_rows_come_in_any_form():
    rows = np.where(X > 0.5, X, 0.0)
    frame = pd.DataFrame(rows, columns=list("abc"))
    kernel = Laplacian().on(["c", "a"]).bind(frame)
    grids, cells = bin_rows(kernel, frame, n_grids=30, random_state=0)
    assert_array_equal(grids.cells(frame[["b", "a", "c"]]), cells)
    assert_array_equal(grids.cells(rows), cells)
    whole, cells = bin_rows(Laplacian(0.5).bind(rows), rows, n_grids=30, random_state=0)
    stored = sparse.csr_array(rows)
    assert_array_equal(whole.cells(stored), cells)
    assert_array_equal(
        bin_rows(Laplacian(0.5).bind(stored), stored, random_state=0)[0].cells(rows),
        bin_rows(Laplacian(0.5).bind(rows), rows, random_state=0)[1],
    )
    single = rows.astype(np.float32)
    assert_array_equal(whole.cells(single), whole.cells(single.astype(np.float64)))


@pytest.mark.parametrize("kernel", [Stump(), Exponential(), Laplacian() + Stump()], ids=repr)
def test_other_kernels_are_refused(kernel):
    with pytest.raises(NoCellsError, match=r"use Laplacian\(\) or DecisionTree\(\)"):
        bin_rows(kernel.bind(X), X)


def test_bad_arguments_are_refused():
    with pytest.raises(UnboundKernelError):
        bin_rows(Laplacian(), X)
    with pytest.raises(ValueError, match="n_grids"):
        bin_rows(Laplacian().bind(X), X, n_grids=0)
    with pytest.raises(ValueError, match="NaN"):
        bin_rows(Laplacian().bind(X), np.full((2, 3), np.nan))
