"""Bad input ends in a clear error, odd input in a right answer."""

import numpy as np
import pandas as pd
import pytest
from cases import KERNELS, random_rows
from numpy.testing import assert_allclose
from scipy import sparse

from kernsemble.exceptions import UnboundKernelError
from kernsemble.hypotheses import StumpSet
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
    Polynomial,
    Stump,
    StumpRegion,
)

X = random_rows(20, 4)

BAD_ROWS = {
    "NaN": (np.where(X > 2, X, np.nan), "NaN|missing value"),
    "infinity": (np.where(X > -1, X, np.inf), "infinity"),
    "no rows": (np.empty((0, 4)), "0 sample"),
    "no columns": (np.empty((4, 0)), "0 feature"),
    "one dimension": (X[0], "1D array"),
    "three dimensions": (X[np.newaxis], "dim 3"),
    "a scalar": (3.0, "scalar|0D"),
}


def numeric(kernel):
    return "Category" not in repr(kernel)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if numeric(k)], ids=repr)
@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_refused(kernel, case):
    rows, message = BAD_ROWS[case]
    with pytest.raises(ValueError, match=message):
        kernel.bind(rows)
    with pytest.raises(ValueError, match=message):
        kernel.bind(X)(rows)
    with pytest.raises(ValueError, match=message):
        kernel.bind(X)(X, rows)


@pytest.mark.parametrize("case", [case for case in BAD_ROWS if case != "infinity"])
def test_bad_categories_are_refused(case):
    rows, message = BAD_ROWS[case]
    with pytest.raises(ValueError, match=message):
        Category().bind(rows)
    with pytest.raises(ValueError, match=message):
        Category().bind(X)(rows)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if numeric(k)], ids=repr)
def test_text_is_refused_with_the_remedy(kernel):
    rows = [["red", 1.0], ["blue", 2.0]]
    for text in (rows, np.array(rows, dtype=object), pd.DataFrame(rows)):
        with pytest.raises(ValueError, match=r"not a number.*Category\(\)\.on\(columns\)"):
            kernel.bind(text)


def test_objects_that_are_numbers_are_numbers():
    assert_allclose(Stump().bind(X.astype(object))(X.astype(object)), Stump().bind(X)(X))
    with pytest.raises(ValueError, match="not a number"):
        Stump().bind(np.array([[object()], [1.0]], dtype=object))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_another_number_of_features_is_refused(kernel):
    bound = kernel.bind(X)
    with pytest.raises(ValueError, match="X has 3 features, but the kernel is bound to 4"):
        bound(X[:, :3])
    with pytest.raises(ValueError, match="Y has 5 features, but the kernel is bound to 4"):
        bound(X, np.hstack([X, X[:, :1]]))


NEED_DATA = [
    Stump(),
    MiddleStump(),
    Perceptron(),
    Category(),
    HistogramIntersection(),
    StumpRegion(2),
    DecisionTree(0.1),
    Laplacian(),
    Exponential(),
    Gaussian(),
    Stump().simplified,
    Gaussian(0.5) + Stump(),
    Stump() & Perceptron(),
    Stump().on([0]),
]


@pytest.mark.parametrize("kernel", NEED_DATA, ids=repr)
def test_unbound_kernels_are_refused(kernel):
    for use in (lambda: kernel(X), lambda: kernel(X, X), lambda: kernel.diagonal(X)):
        with pytest.raises(UnboundKernelError, match=r"kernel\.bind\(X_train\)"):
            use()


@pytest.mark.parametrize("kernel", [Stump(), Laplacian(0.5), StumpRegion(2)], ids=repr)
def test_unbound_kernels_know_no_hypotheses(kernel):
    with pytest.raises(UnboundKernelError):
        _ = kernel.hypotheses


@pytest.mark.parametrize(
    "kernel", [Laplacian(0.5), Gaussian(0.5), Linear(), Polynomial(), Constant()], ids=repr
)
def test_kernels_that_need_nothing_from_data_need_no_binding(kernel):
    assert_allclose(kernel(X), kernel.bind(X)(X))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Laplacian(-1.0), "gamma = -1.0: give a positive"),
        (lambda: Gaussian(0.0), "gamma = 0.0: give a positive"),
        (lambda: Exponential(np.nan), "gamma = nan: give a positive"),
        (lambda: Gaussian("auto"), "gamma = 'auto': give a positive"),
        (lambda: DecisionTree(-0.1), "gamma = -0.1: give a positive"),
        (lambda: StumpRegion(0), "level = 0: give a whole number of at least 1"),
        (lambda: StumpRegion(1.5), "level = 1.5: give a whole number"),
        (lambda: Polynomial(degree=0), "degree = 0: give a whole number"),
        (lambda: Polynomial(offset=-1), "offset = -1: give a finite number, 0 or above"),
        (lambda: Constant(0.0), "value = 0.0: give a positive"),
        (lambda: Stump(measure="normal").bind(X), "measure = 'normal': give one of 'uniform'"),
        (lambda: Stump(margin=0.0).bind(X), "margin = 0.0: give a positive"),
        (lambda: Perceptron(margin=-1).bind(X), "margin = -1: give a positive"),
        (lambda: StumpSet.spanning(X).sample(0), "n = 0: give a whole number of at least 1"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_unseen_categories_move_no_decision():
    rows = [["a", "x"], ["b", "x"], ["c", "y"]]
    bound = Category().bind(rows)
    known, unseen = bound([["a", "x"]], rows), bound([["new", "x"]], rows)
    assert_allclose(known - unseen, [[0.5, -0.5, -0.5]])
    assert_allclose(bound([["new", "x"]], [["other", "x"]]), bound.delta)


def test_categories_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="Convert the column as in training"):
        Category().bind([["1"], ["2"]])([[1], [2]])
    with pytest.raises(ValueError, match="mixes int and str"):
        Category().bind(np.array([["a"], [1]], dtype=object))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_categories_are_refused_with_the_remedy(missing):
    with pytest.raises(ValueError, match=r"missing value in row 1, column 0.*fillna"):
        Category().bind(pd.DataFrame({"a": ["x", missing]}))


ODD_ROWS = {
    "one row": X[:1],
    "equal rows": np.repeat(X[:1], 5, axis=0),
    "a constant column": np.column_stack([X[:, 0], np.full(20, 3.0)]),
    "a repeated column": np.column_stack([X[:, 0], X[:, 0]]),
    "a huge scale": 1e30 * X,
    "a tiny scale": 1e-200 * X,
    "integers": np.arange(12).reshape(4, 3),
    "booleans": X > 0,
    "Fortran order": np.asfortranarray(X),
    "a strided view": np.repeat(X, 2, axis=1)[::2, ::2],
}


@pytest.mark.parametrize(
    "kernel",
    [
        Stump(),
        Stump("empirical"),
        Stump("distinct"),
        MiddleStump(),
        Perceptron(),
        Laplacian(),
        Exponential(),
        Gaussian(),
        Stump() + Perceptron(),
        Stump() & Perceptron(),
        Category(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("case", ODD_ROWS)
def test_odd_rows_have_a_right_answer(kernel, case):
    rows = np.asarray(ODD_ROWS[case])
    K = kernel.bind(ODD_ROWS[case])(ODD_ROWS[case])
    assert K.shape == (len(rows), len(rows))
    assert np.isfinite(K).all()
    assert_allclose(K, kernel.bind(rows.astype(float))(rows.astype(float).copy()))


def test_read_only_rows_are_welcome():
    rows = X.copy()
    rows.flags.writeable = False
    assert_allclose(Stump().bind(rows)(rows), Stump().bind(X)(X))


def test_a_sample_without_range_holds_no_hypotheses():
    stumps = StumpSet.spanning(np.ones((3, 2)))
    assert stumps.total_measure == 0.0
    assert not stumps.has_constant
    with pytest.raises(ValueError, match="are all columns of the sample constant"):
        stumps.sample(5)
    assert_allclose(Stump().bind(np.ones((3, 2)))(X[:, :2]), 0.0)


def test_ranges_that_overflow_are_refused():
    wide = np.array([[-1.5e308], [1.5e308]])
    with pytest.raises(ValueError, match=r"more than a float can measure\. Scale that column"):
        Stump().bind(wide)
    with pytest.raises(ValueError, match=r"squares overflow\. Scale the columns"):
        Perceptron().bind(1e200 * X)


def test_boxes_too_many_to_draw_from_are_refused():
    with pytest.raises(ValueError, match=r"gamma = 1e\+300 makes .* smaller gamma"):
        _ = Laplacian(1e300).bind(X).hypotheses


@pytest.mark.parametrize(
    "kernel",
    [
        Stump(),
        Stump("empirical"),
        Stump("distinct"),
        MiddleStump(),
        Perceptron(),
        Laplacian(0.1),
        Laplacian(),
        Exponential(),
        Gaussian(),
        Linear(),
        Polynomial(),
        HistogramIntersection(),
        Stump() & Perceptron(),
        DecisionTree(0.01),
    ],
    ids=repr,
)
def test_sparse_rows_give_what_dense_rows_give(kernel):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((25, 6)) < 0.3, rng.integers(1, 4, size=(25, 6)), 0).astype(float)
    for make in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        rows = make(dense)
        bound = kernel.bind(rows)
        assert_allclose(bound(rows), kernel.bind(dense)(dense), rtol=1e-10, atol=1e-10)
        assert_allclose(bound(rows, dense), bound(rows), rtol=1e-10, atol=1e-10)
        assert_allclose(bound.diagonal(rows), kernel.bind(dense).diagonal(dense))


def test_histograms_with_negative_sparse_values_are_refused_with_the_remedy():
    rows = sparse.csr_array(np.array([[-1.0, 0.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match=r"dense array, or use Stump\(\)"):
        HistogramIntersection().bind(rows)(rows)


@pytest.mark.parametrize(
    ("kernel", "power"), [(Laplacian(), 1), (Exponential(), 2), (Gaussian(), 2)], ids=repr
)
def test_gamma_scale_is_one_over_the_mean_distance(kernel, power):
    distances = (np.abs(X[:, np.newaxis] - X) ** power).sum(axis=2)
    if isinstance(kernel, Exponential):
        distances = np.sqrt(distances)
    mean = distances[np.triu_indices(20, 1)].mean()
    assert kernel.bind(X).gamma == pytest.approx(1 / mean)


@pytest.mark.large
def test_gamma_scale_of_many_rows_is_estimated_and_repeats():
    rows = random_rows(6_000, 3)
    exact = 1 / (2 * rows.var(axis=0, ddof=1).sum())
    gamma = Gaussian().bind(rows).gamma
    assert gamma == pytest.approx(exact, rel=0.05)
    assert Gaussian().bind(rows).gamma == gamma


def test_gamma_scale_of_equal_rows_is_one():
    assert Laplacian().bind(np.ones((3, 2))).gamma == 1.0
