"""A kernel is the sum of its slices."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import pairs_of_samples, random_rows
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernsemble.exceptions import UnboundKernelError
from kernsemble.kernels import (
    Category,
    Constant,
    DecisionTree,
    Exponential,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    MiddleStump,
    Perceptron,
    Stump,
    StumpRegion,
)
from kernsemble.kernels.directions import slicing_error, spread_directions
from kernsemble.kernels.slices import NoSlicesError, slices_of

EXACT = [
    Stump(),
    Stump(measure="empirical"),
    Stump(measure="distinct", margin=0.5),
    MiddleStump(),
    Category(),
    Constant(2.0),
    Perceptron().on(0),
    0.25 * Stump() + 3.0 * MiddleStump() + Constant(),
    Stump().simplified,
    (Stump() + 2.0 * Category()).simplified,
    (Stump() + 2.0 * Category()).simplified.full,
    Stump().on(0) + 0.5 * Category().on(-1),
    (2.0 * (Stump() + Category().on(0))).on([0, -1]),
    Stump().logic,
    (Stump() + Category()).logic.on([-1]),
]

NONE = [
    Stump() * Perceptron(),
    Stump() & Perceptron(),
    StumpRegion(level=2),
    DecisionTree(gamma=0.01),
    Laplacian(),
    Exponential(),
    Gaussian(),
    Linear(),
    HistogramIntersection(),
]

X, Z = random_rows(40, 3), random_rows(30, 3, seed=1)


def relative_errors(slices, kernel, X):
    pairs = np.triu_indices(len(X), 1)
    distance = -kernel.simplified(X)[pairs]
    return (slices.kernel(X)[pairs] - kernel(X)[pairs]) / distance


class TestExactSlices:
    @pytest.mark.parametrize("kernel", EXACT, ids=repr)
    @given(rows=pairs_of_samples())
    def test_their_sum_is_the_kernel(self, kernel, rows):
        X, Z = rows
        bound = kernel.bind(X)
        slices = slices_of(bound)
        assert slices.is_exact
        assert slices.error == 0.0
        assert_allclose(slices.kernel(X), bound(X), atol=1e-9)
        assert_allclose(slices.kernel(X, Z), bound(X, Z), atol=1e-9)  # unseen values in Z

    @pytest.mark.parametrize("kernel", [Stump(), MiddleStump(), Perceptron()], ids=repr)
    def test_positions_are_increasing_functions_of_views(self, kernel):
        slices = slices_of((0.5 * kernel).bind(X), n_slices=5, random_state=0)
        views, positions = slices.views(Z), slices.positions(Z)
        assert views.shape == positions.shape == (len(Z), slices.n_ordered)
        for k in range(slices.n_ordered):
            assert_allclose(slices.position(k, views[:, k]), positions[:, k], rtol=1e-12)
            order = np.argsort(views[:, k])
            assert (np.diff(positions[order, k]) >= 0.0).all()
        with pytest.raises(IndexError, match=f"{slices.n_ordered} ordered"):
            slices.position(slices.n_ordered, views[:, 0])

    @pytest.mark.parametrize("kernel", [Stump("distinct"), MiddleStump(), Perceptron()], ids=repr)
    def test_the_position_of_a_missing_value_is_missing(self, kernel):
        slices = slices_of(kernel.bind(X), n_slices=4, random_state=0)
        values = np.array([0.1, np.nan, -0.3])
        assert_array_equal(np.isnan(slices.position(0, values)), [False, True, False])

    def test_the_svm_sees_equal_categories_only(self):
        rows = [["red", "s"], ["blue", "m"], ["red", "l"], ["red", "s"]]
        kernel = (2.0 * Category().on(0) + Category().on(1)).bind(rows)
        slices = slices_of(kernel)
        codes, weights = slices.codes(rows), slices.weights
        agreement = ((codes[:, np.newaxis] == codes) * weights).sum(axis=2)
        assert_allclose(kernel(rows), slices.constant - weights.sum() + agreement)
        assert_array_equal(slices.codes([["green", "s"]]), [[-1, codes[0, 1]]])
        assert slices.positions(rows).shape == (4, 0)

    def test_they_report_their_columns(self):
        kernel = Stump().on([2, 0]) + Perceptron().on([0, 1]) + Category().on([1]).on([1, 2])
        slices = slices_of((kernel + Perceptron().on([-1])).bind(X), n_slices=3)
        assert_array_equal(slices.columns, [2, 0, -1, -1, -1, 2])
        assert (slices.n_ordered, slices.n_unordered) == (6, 1)


class TestDirections:
    @pytest.mark.parametrize("n_features", [2, 3, 5, 20])
    def test_the_error_falls_with_their_number(self, n_features):
        rng = np.random.default_rng(0)
        errors = [slicing_error(spread_directions(n, n_features, rng)) for n in (24, 60, 150)]
        assert errors[0] > 1.5 * errors[1] > 1.5**2 * errors[2] > 0.0

    @pytest.mark.parametrize(("n_features", "n_slices"), [(2, 16), (3, 32), (8, 64), (20, 100)])
    def test_the_error_is_that_of_rows_in_all_directions(self, n_features, n_slices):
        X = random_rows(60, n_features)
        kernel = Perceptron().bind(X)
        slices = slices_of(kernel, n_slices=n_slices, random_state=0)
        true = np.sqrt(np.mean(relative_errors(slices, kernel, X) ** 2))
        assert true == pytest.approx(slices.error, rel=0.1)
        assert not slices.is_exact

    def test_the_error_is_honest_where_rows_differ_in_few_directions(self):
        X = random_rows(25, 12) * np.geomspace(1.0, 1e-3, 12)
        kernel = Perceptron().bind(X)
        drawn = [slices_of(kernel, n_slices=40, random_state=seed) for seed in range(30)]
        true = np.sqrt(np.mean([relative_errors(each, kernel, X) ** 2 for each in drawn]))
        assert 0.5 < true / np.mean([each.error for each in drawn]) < 2.0

    def test_distances_are_unbiased(self):
        x = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, -2.0, 0.0, 4.0]])
        kernel = Perceptron().bind(x)
        drawn = [slices_of(kernel, n_slices=9, random_state=seed) for seed in range(100)]
        errors = np.array([relative_errors(each, kernel, x)[0] for each in drawn])
        assert abs(errors.mean()) < 4.0 * errors.std() / np.sqrt(len(errors))

    @pytest.mark.parametrize("n_features", [3, 10, 30])
    def test_spread_ones_beat_orthogonal_and_random_ones(self, n_features):
        rng = np.random.default_rng(0)
        random = rng.standard_normal((100, n_features))
        random /= np.linalg.norm(random, axis=1, keepdims=True)
        spread = spread_directions(100, n_features, rng)
        blocks = np.linalg.qr(rng.standard_normal((50, n_features, n_features)))[0]
        orthogonal = blocks.reshape(-1, n_features)[:100]
        assert_allclose(np.linalg.norm(spread, axis=1), 1.0)
        assert slicing_error(spread) < 0.95 * slicing_error(orthogonal)
        assert slicing_error(orthogonal) < slicing_error(random)

    def test_few_are_orthogonal(self):
        directions = spread_directions(5, 8, np.random.default_rng(0))
        assert_allclose(directions @ directions.T, np.eye(5), atol=1e-12)

    def test_in_the_plane_they_are_equally_spaced(self):
        directions = spread_directions(6, 2, np.random.default_rng(0))
        assert_allclose((directions[1:] * directions[:-1]).sum(axis=1), np.cos(np.pi / 6))

    def test_the_same_random_state_draws_the_same(self):
        kernel = (Perceptron() + Perceptron().on([0, 1])).bind(X)
        first, second, other = (slices_of(kernel, n_slices=9, random_state=s) for s in (0, 0, 1))
        assert first == second
        assert hash(first) == hash(second)
        assert first != other
        assert pickle.loads(pickle.dumps(first)) == first

    def test_a_sum_is_sampled_where_it_must_be(self):
        kernel = (Stump() + 2.0 * Perceptron() + Category().on(0)).bind(X)
        slices = slices_of(kernel, n_slices=200, random_state=0)
        assert slices.n_ordered == 203
        errors = relative_errors(slices, kernel, X)
        assert 0.0 < np.sqrt(np.mean(errors**2)) < slices.error
        assert_allclose(slices.kernel(X).diagonal(), kernel(X).diagonal())


class TestRows:
    KERNEL = Stump().on([0]) + Perceptron().on([1, 2]) + MiddleStump()

    def test_float32_stays_float32(self):
        slices = slices_of(self.KERNEL.bind(X), n_slices=20, random_state=0)
        positions = slices.positions(X.astype(np.float32))
        assert positions.dtype == slices.views(X.astype(np.float32)).dtype == np.float32
        assert_allclose(positions[:, :21], slices.positions(X)[:, :21], atol=1e-5)

    @pytest.mark.parametrize("kernel", [Stump(), MiddleStump(), Perceptron()], ids=repr)
    def test_sparse_rows_have_dense_positions(self, kernel):
        rows = np.where(X > 0.5, X, 0.0)
        slices = slices_of(kernel.bind(sparse.csr_array(rows)), n_slices=7, random_state=0)
        positions = slices.positions(sparse.csr_array(rows))
        assert isinstance(positions, np.ndarray)
        assert_allclose(positions, slices.positions(rows), atol=1e-12)
        assert_allclose(slices.views(sparse.csr_array(rows)), slices.views(rows), atol=1e-12)

    def test_columns_are_found_by_name(self):
        frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"], "c": [0.0, 1.0, 1.0]})
        kernel = (Stump().on(["c", "a"]) + Category().on("b")).bind(frame)
        slices = slices_of(kernel)
        assert_allclose(slices.kernel(frame), kernel(frame))
        moved = frame[["b", "c", "a"]]
        assert_array_equal(slices.positions(moved), slices.positions(frame))
        assert_array_equal(slices.codes(moved), [[0], [1], [0]])
        assert_array_equal(slices.columns, [2, 0])

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_rows_that_the_kernel_refuses_are_refused(self, bad):
        slices = slices_of(Stump().bind(X))
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            slices.positions(np.full((2, 3), bad))
        with pytest.raises(ValueError, match="X has 2 features, but the kernel is bound to 3"):
            slices.positions(X[:, :2])
        with pytest.raises(ValueError, match="X has 2 features, but the kernel is bound to 3"):
            slices_of(Stump().on([0]).bind(X)).positions(X[:, :2])


class TestKernelsWithoutSlices:
    @pytest.mark.parametrize("kernel", NONE, ids=repr)
    def test_are_refused_by_name(self, kernel):
        for whole in (kernel, 2.0 * kernel, Stump() + kernel, kernel.on([0, 1])):
            with pytest.raises(NoSlicesError, match="is not a sum of one-dimensional") as caught:
                slices_of(whole.bind(abs(X)))
            assert str(caught.value).startswith(repr(kernel.bind(X)))

    @pytest.mark.parametrize(
        ("kernel", "remedy"),
        [
            (Laplacian(), "bin_rows"),
            (DecisionTree(0.01), "bin_rows"),
            (HistogramIntersection(), r"Stump\(\), which gives the same SVM"),
            (Gaussian(), "use its matrix"),
        ],
        ids=repr,
    )
    def test_the_error_names_the_remedy(self, kernel, remedy):
        with pytest.raises(NoSlicesError, match=remedy):
            slices_of(kernel.bind(X))

    def test_unbound_kernels_are_refused(self):
        with pytest.raises(UnboundKernelError):
            slices_of(Stump())

    @pytest.mark.parametrize("n_slices", [0, 2.5])
    def test_numbers_of_slices_are_whole_and_positive(self, n_slices):
        with pytest.raises(ValueError, match="n_slices"):
            slices_of(Perceptron().bind(X), n_slices=n_slices)
