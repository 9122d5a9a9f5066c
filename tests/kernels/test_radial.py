"""Radial kernels: their widths, and one matrix of distances for every width."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from cases import random_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from kernsemble.exceptions import UnboundKernelError
from kernsemble.kernels import Exponential, Gaussian, Laplacian, as_kernel

X = random_rows(1_000, 3)
Z = random_rows(700, 3, seed=1)
RADIAL = [(Laplacian, "cityblock"), (Exponential, "euclidean"), (Gaussian, "sqeuclidean")]
KINDS = [kind for kind, _ in RADIAL]
RATES = [1e-6, 0.01, 0.3, 7.0, 1e6]


@pytest.mark.parametrize(("kind", "metric"), RADIAL)
def test_distances_are_those_in_the_exponent(kind, metric):
    assert_allclose(kind().distances(X[:50]), cdist(X[:50], X[:50], metric), atol=1e-12)
    assert_allclose(kind(0.5).distances(X[:50], Z[:70]), cdist(X[:50], Z[:70], metric), atol=1e-12)


@pytest.mark.large
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", ["scale", *RATES])
def test_one_matrix_of_distances_serves_every_rate(kind, dtype, gamma):
    rows, others = X.astype(dtype), Z.astype(dtype)
    kernel = kind(gamma).bind(rows)
    within, between = kind().distances(rows), kind().distances(rows, others)
    rounding = {"rtol": 1e-12, "atol": 1e-12} if dtype is np.float64 else {"atol": 1e-6}
    assert_allclose(kernel.from_distances(within), kernel(rows), **rounding)
    assert_array_equal(kernel.from_distances(between), kernel(rows, others))
    assert kernel.from_distances(within).dtype == dtype
    assert_array_equal(np.diagonal(kernel.from_distances(within)), 1.0)
    assert_array_equal(kernel.from_distances(within), kernel.from_distances(within).T)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows_and_tables_have_distances_too(kind):
    rows = np.where(X[:80] > 0.5, X[:80], 0.0)
    expected = kind().distances(rows)
    assert_allclose(kind().distances(sparse.csr_array(rows)), expected, atol=1e-12)
    frame = pd.DataFrame(rows, columns=list("abc"))
    bound = kind().bind(frame)
    assert_array_equal(bound.distances(frame), expected)
    assert_array_equal(bound.distances(frame, frame), expected)
    with pytest.raises(ValueError, match="pass the same columns in the same order"):
        bound.distances(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="Y has 2 features, but the kernel is bound to 3"):
        bound.distances(frame, rows[:, :2])


class TestPlaces:
    D = cdist(X, X, "cityblock")
    K = np.exp(-0.3 * D)

    def test_the_matrix_may_replace_the_distances(self):
        D = self.D.copy()
        assert Laplacian(0.3).from_distances(D, out=D) is D
        assert_array_equal(D, self.K)

    def test_a_view_of_the_distances_may_be_replaced_too(self):
        D = self.D.copy()
        Laplacian(0.3).from_distances(D[:, :500], out=D[:, :500])
        assert_array_equal(D[:, :500], self.K[:, :500])
        assert_array_equal(D[:, 500:], self.D[:, 500:])

    def test_the_matrix_can_be_written_to_out(self, tmp_path):
        place = np.empty_like(self.D)
        assert Laplacian(0.3).from_distances(self.D, out=place) is place
        assert_array_equal(place, self.K)
        on_disk = np.memmap(tmp_path / "gram", dtype=np.float64, mode="w+", shape=self.D.shape)
        assert_array_equal(Laplacian(0.3).from_distances(self.D, out=on_disk), self.K)
        by_columns = np.empty_like(self.D, order="F")
        assert_array_equal(Laplacian(0.3).from_distances(self.D, out=by_columns), self.K)

    def test_rounding_comes_last(self):
        single = np.empty(self.D.shape, dtype=np.float32)
        Laplacian(0.3).from_distances(self.D, out=single)
        assert_array_equal(single, self.K.astype(np.float32))

    def test_the_distances_may_be_read_only_and_stay_as_they_are(self):
        D = self.D.copy()
        D.flags.writeable = False
        assert_array_equal(Laplacian(0.3).from_distances(D), self.K)
        assert_array_equal(D, self.D)

    @pytest.mark.parametrize(
        ("place", "message"),
        [
            (lambda D: D.T, "out shares memory with D: pass D itself"),
            (lambda D: D[::-1], "out shares memory with D: pass D itself"),
            (lambda D: D.view(np.float32)[:, :1_000], "out shares memory with D"),
            (lambda D: D[:5], r"out has shape \(5, 1000\): pass an array of shape \(1000, 1000\)"),
            (lambda D: D.tolist(), "writable array of floating-point numbers"),
            (lambda D: D.astype(int), "writable array of floating-point numbers"),
        ],
    )
    def test_invalid_outs_are_refused(self, place, message):
        D = self.D.copy()
        with pytest.raises(ValueError, match=message):
            Laplacian(0.3).from_distances(D, out=place(D))
        assert_array_equal(D, self.D)

    def test_distances_can_be_written_to_out(self):
        place = np.empty((50, 50))
        assert Laplacian().distances(X[:50], out=place) is place
        assert_allclose(place, self.D[:50, :50], rtol=1e-12)


@pytest.mark.large
@pytest.mark.parametrize("in_place", [True, False])
def test_no_second_matrix_is_needed(in_place):
    D = Laplacian().distances(random_rows(4_000, 2))
    place = D if in_place else np.empty_like(D)
    tracemalloc.start()
    Laplacian(0.1).from_distances(D, out=place)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * D.nbytes


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_number_of_threads_changes_nothing(threads, monkeypatch):
    expected = Gaussian(0.3).from_distances(TestPlaces.D)
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    assert_array_equal(Gaussian(0.3).from_distances(TestPlaces.D), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rate_that_comes_from_data_needs_a_bound_kernel(kind):
    with pytest.raises(UnboundKernelError, match=r"kernel\.bind\(X_train\)"):
        kind().from_distances([[0.0]])
    assert_array_equal(kind().bind(X[:50]).from_distances([[0.0]]), [[1.0]])


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ([[0.0, np.nan]], "D contains NaN"),
        ([[0.0, -1.0]], r"negative numbers.*Laplacian\(\)\.distances\(X\)"),
        (np.full((2_000, 800), -1.0), "negative numbers"),  # seen by several threads
        ([0.0, 1.0], r"D has shape \(2,\).*pass a matrix"),
        ([["a"]], "pass a matrix"),
        ([[1.0j]], "Complex data not supported"),
        (sparse.csr_array([[1.0]]), r"dense data is required.*toarray"),
    ],
)
def test_invalid_distances_are_refused(D, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Laplacian(1.0).from_distances(D)


def test_odd_distances_have_a_right_answer():
    kernel = Laplacian(2.0)
    assert_array_equal(
        kernel.from_distances([[0, 1], [1, 0]]), kernel.from_distances(1.0 - np.eye(2))
    )
    assert_array_equal(kernel.from_distances([[np.inf, 1e308, 1e-320]]), [[0.0, 0.0, 1.0]])
    assert_array_equal(kernel.from_distances(np.zeros((2, 3), dtype=np.float16)), np.ones((2, 3)))
    assert kernel.from_distances(np.zeros((2, 3), dtype=np.longdouble)).dtype == np.float64
    assert kernel.from_distances(np.empty((0, 4))).shape == (0, 4)
    assert kernel.from_distances(np.empty((4, 0))).shape == (4, 0)
    frame = pd.DataFrame([[0.0, 1.0]])
    assert_array_equal(kernel.from_distances(frame), kernel.from_distances([[0.0, 1.0]]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rates_beyond_a_type_give_the_identity(kind, dtype):
    rows, kernel = X[:20].astype(dtype), kind(1e300)
    assert_array_equal(kernel(rows), np.eye(20))
    assert_array_equal(kernel.from_distances(kernel.distances(rows)), np.eye(20))
    assert kernel(rows[0], 1e9 * rows[1]) == 0.0
    assert_array_equal(kind(1e-300)(rows), 1.0)


@pytest.mark.parametrize("kind", [Laplacian, Exponential])
@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 1e100])
def test_huge_and_tiny_scales_do_not_change_the_kernel(kind, scale):
    rows = scale * X[:30]
    kernel = kind().bind(rows)
    assert_allclose(kernel.from_distances(kernel.distances(rows)), kernel(rows), rtol=1e-12)
    assert_allclose(kernel(rows), kind().bind(X[:30])(X[:30]), rtol=1e-9)


def test_distances_that_floats_cannot_hold_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match="scale the columns"):
        Gaussian().distances(1e170 * X[:30])
    with pytest.raises(ValueError, match="pass float64"):
        Gaussian().distances((1e25 * X[:30]).astype(np.float32))


def mean_squared_distance_from_the_mean(rows):
    return np.square(rows - rows.mean(axis=0)).sum(axis=1).mean()


def test_the_spread_is_the_mean_squared_distance_from_the_mean():
    kernel = Gaussian("spread").bind(X)
    assert kernel.gamma == "spread"
    assert kernel.rate == pytest.approx(1.0 / mean_squared_distance_from_the_mean(X))
    assert_allclose(kernel(X[:9], Z[:9]), Gaussian(kernel.rate)(X[:9], Z[:9]))
    assert as_kernel("gaussian-spread") == Gaussian("spread")
    assert as_kernel("gaussian") == Gaussian("scale")


def test_the_spread_is_half_the_mean_squared_distance_of_two_rows():
    n, rows = 60, X[:60]
    scale, spread = Gaussian("scale").bind(rows).rate, Gaussian("spread").bind(rows).rate
    assert spread == pytest.approx(2.0 * scale * n / (n - 1))


def test_the_spread_of_weighted_and_sparse_rows_is_that_of_repeated_and_dense_ones():
    rows, weight = np.where(X[:40] > 0.3, X[:40], 0.0), np.arange(40) % 4
    repeated = Gaussian("spread").bind(np.repeat(rows, weight, axis=0)).rate
    assert Gaussian("spread").bind(rows, weight).rate == pytest.approx(repeated)
    assert Gaussian("spread").bind(sparse.csr_array(rows), weight).rate == pytest.approx(repeated)
    assert Gaussian("spread").bind(rows.astype(np.float32), weight).rate == pytest.approx(
        repeated, rel=1e-6
    )


def test_equal_rows_have_a_spread_of_one():
    rows = np.full((5, 2), 3.3)
    assert Gaussian("spread").bind(rows).rate == 1.0
    assert Gaussian("spread").bind(sparse.csr_array(rows)).rate == 1.0


@pytest.mark.parametrize("scale", [1e170, 1e-160])
def test_spreads_beyond_floats_are_refused_with_the_remedy(scale):
    with pytest.raises(ValueError, match=r"gamma = 'spread': .* scale the columns"):
        Gaussian("spread").bind(scale * X)


@pytest.mark.parametrize("kind", [Laplacian, Exponential])
def test_only_the_gaussian_kernel_has_a_spread(kind):
    with pytest.raises((TypeError, ValueError), match="gamma = 'spread'"):
        kind("spread")
