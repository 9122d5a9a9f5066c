"""Sums over groups of rows are those of the kernel matrix between all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.kernels import Exponential, Gaussian, Laplacian, Stump
from kernsemble.kernels.grouped import Groups, grouped_sums

RNG = np.random.default_rng(0)
KERNELS = [Laplacian(0.3), Exponential(0.5), Gaussian(0.2), Stump(), Laplacian(0.3) + Gaussian(0.2)]


def sums_of_matrix(kernel, groups, new, row, group):
    K = kernel(new, groups.rows)
    found = []
    for i, place in zip(row, group, strict=True):
        mine = slice(groups.ends[place], groups.ends[place + 1])
        found.append(K[i, groups.members[mine]] @ groups.coefficients[mine])
    return np.array(found).reshape(len(row), groups.coefficients.shape[1])


def some_groups(rows, sizes=(7, 0, 1, 30, 12), n_sums=3):
    members = np.concatenate([RNG.permutation(len(rows))[:n] for n in sizes])
    ends = np.cumsum([0, *sizes])
    return Groups(rows, members, ends, RNG.normal(size=(len(members), n_sums)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("n_features", [1, 4, 7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_are_those_of_the_kernel_matrix(kernel, n_features, dtype):
    rows = RNG.normal(size=(40, n_features)).astype(dtype)
    new = RNG.normal(size=(25, n_features)).astype(dtype)
    row, group = RNG.integers(25, size=60), np.sort(RNG.integers(5, size=60))
    bound, groups = kernel.bind(rows), some_groups(rows)
    prepared = groups._replace(rows=bound._embed(rows, "X"))
    found = grouped_sums(bound, prepared, bound._embed(new, "X"), row, group)
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    assert_allclose(
        found, sums_of_matrix(bound, groups, new, row, group), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("span", [1, 50])
def test_the_number_of_values_at_a_time_changes_nothing(monkeypatch, span):
    rows, new = RNG.normal(size=(40, 3)), RNG.normal(size=(9, 3))
    row, group = np.arange(9), np.sort(RNG.integers(5, size=9))
    kernel, groups = Laplacian(0.4).bind(rows), some_groups(rows)
    expected = grouped_sums(kernel, groups, new, row, group)
    monkeypatch.setattr("kernsemble.kernels.grouped.SPAN", span)
    np.testing.assert_array_equal(grouped_sums(kernel, groups, new, row, group), expected)


@pytest.mark.parametrize("size", [1e-40, 1e25])
def test_distances_whose_squares_leave_the_range_of_floats(size):
    rows, new = RNG.normal(size=(40, 3)), RNG.normal(size=(9, 3))
    row, group = np.arange(9), np.sort(RNG.integers(5, size=9))
    groups, kernel = some_groups(rows), Exponential(0.5)
    expected = grouped_sums(kernel.bind(rows), groups, new, row, group)
    scaled = groups._replace(rows=(rows * size).astype(np.float64))
    kernel = Exponential(0.5 / size).bind(scaled.rows)
    assert_allclose(grouped_sums(kernel, scaled, new * size, row, group), expected, rtol=1e-9)


def test_no_entries_have_no_sums():
    groups = some_groups(RNG.normal(size=(40, 3)))
    none = np.empty(0, dtype=np.intp)
    assert grouped_sums(Laplacian(1.0), groups, np.empty((0, 3)), none, none).shape == (0, 3)
