"""Bad input raises a clear error, unusual input gives the right answer."""

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
        with pytest.raises(ValueError, match=r"not numbers.*Category\(\)\.on\(columns\)"):
            kernel.bind(text)


def test_dates_are_refused_with_the_remedy():
    dates = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=3), "x": [1.0, 2.0, 3.0]})
    for rows in (dates, dates[["when"]], dates[["when"]].to_numpy()):
        with pytest.raises(ValueError, match="convert them to numbers"):
            Stump().bind(rows)


def test_objects_that_are_numbers_are_numbers():
    assert_allclose(Stump().bind(X.astype(object))(X.astype(object)), Stump().bind(X)(X))
    with pytest.raises(ValueError, match="not numbers"):
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
    assert_allclose(Gaussian(1.0)(1e170 * X), np.eye(20))


@pytest.mark.parametrize("kernel", [Stump(), Laplacian(0.5), StumpRegion(2)], ids=repr)
def test_unbound_kernels_have_no_hypotheses(kernel):
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
        (lambda: Laplacian(-1.0), "gamma = -1.0: use a positive"),
        (lambda: Gaussian(0.0), "gamma = 0.0: use a positive"),
        (lambda: Exponential(np.nan), "gamma = nan: use a positive"),
        (lambda: Gaussian("auto"), "gamma = 'auto': use a positive"),
        (lambda: DecisionTree(-0.1), "gamma = -0.1: use a positive"),
        (lambda: StumpRegion(0), "level = 0: use a whole number of at least 1"),
        (lambda: Gaussian(np.array([1.0, 2.0])), r"gamma = array\(.*use a positive"),
        (lambda: StumpRegion(1.5), "level = 1.5: use a whole number"),
        (lambda: Polynomial(degree=0), "degree = 0: use a whole number"),
        (lambda: Polynomial(offset=-1), "offset = -1: use a finite number, 0 or above"),
        (lambda: Constant(0.0), "value = 0.0: use a positive"),
        (lambda: Stump(measure="normal"), "measure = 'normal': use one of 'uniform'"),
        (lambda: Stump(margin=0.0), "margin = 0.0: use a positive"),
        (lambda: Perceptron(margin=-1), "margin = -1: use a positive"),
        (lambda: StumpSet.spanning(X).sample(0), "n = 0: use a whole number of at least 1"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_unseen_categories_do_not_change_decision_values():
    rows = [["a", "x"], ["b", "x"], ["c", "y"]]
    bound = Category().bind(rows)
    known, unseen = bound([["a", "x"]], rows), bound([["new", "x"]], rows)
    assert_allclose(known - unseen, [[0.5, -0.5, -0.5]])
    assert_allclose(bound([["new", "x"]], [["other", "x"]]), bound.delta)


def test_categories_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="convert the column as in training"):
        Category().bind([["1"], ["2"]])([[1], [2]])
    with pytest.raises(ValueError, match="mixes int and str"):
        Category().bind(np.array([["a"], [1]], dtype=object))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_categories_are_refused_with_the_remedy(missing):
    with pytest.raises(ValueError, match=r"missing value in row 1, column 0.*fillna"):
        Category().bind(pd.DataFrame({"a": ["x", missing]}))


LAYOUTS = {
    "integers": np.arange(12).reshape(4, 3),
    "booleans": X > 0,
    "half precision": X.astype(np.float16),
    "long double": X.astype(np.longdouble),
    "Fortran order": np.asfortranarray(X),
    "a strided view": np.repeat(X, 2, axis=1)[::2, ::2],
    "a list": X.tolist(),
    "nullable columns": pd.DataFrame(X).convert_dtypes(),
}
SOME = [
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
]


@pytest.mark.parametrize("kernel", SOME, ids=repr)
@pytest.mark.parametrize("case", LAYOUTS)
def test_type_and_layout_of_rows_do_not_matter(kernel, case):
    tidy = np.array(LAYOUTS[case], dtype=np.float64, order="C")
    assert_allclose(kernel.bind(LAYOUTS[case])(LAYOUTS[case]), kernel.bind(tidy)(tidy))


@pytest.mark.parametrize("kernel", SOME, ids=repr)
@pytest.mark.parametrize("n", [1, 5])
def test_equal_rows_have_one_value(kernel, n):
    rows = np.repeat(X[:1], n, axis=0)
    K = kernel.bind(rows)(rows)
    assert_allclose(K, K[0, 0])
    assert_allclose(K, kernel.bind(rows).diagonal(rows)[0], atol=1e-12)


@pytest.mark.parametrize(
    "kernel", [k for k in SOME if "Perceptron" not in repr(k)] + [Perceptron().simplified], ids=repr
)
def test_constant_columns_separate_no_rows(kernel):
    wider = np.column_stack([X, np.full(20, 3.0)])
    K, L = kernel.bind(X)(X), kernel.bind(wider)(wider)
    assert_allclose(L - L[0, 0], K - K[0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "power"),
    [
        (Stump(), 1),
        (Perceptron(), 1),
        (Stump() & Perceptron(), 2),
        (Stump("empirical"), 0),
        (MiddleStump(), 0),
        (Laplacian(), 0),
        (Exponential(), 0),
        (Gaussian(), 0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 1e100])
def test_huge_and_tiny_scales_are_only_scales(kernel, power, scale):
    expected = scale**power * kernel.bind(X)(X)
    assert_allclose(
        kernel.bind(scale * X)(scale * X), expected, rtol=1e-9, atol=1e-12 * scale**power
    )


def test_scales_that_floats_cannot_hold_are_refused_with_the_remedy():
    single = X.astype(np.float32)
    refused = [
        lambda: Gaussian().bind(1e-170 * X),
        lambda: Gaussian().bind(1e170 * X),
        lambda: Linear()(np.float32(1e25) * single),
        lambda: StumpRegion(80).bind(1e4 * X)(1e4 * X),
        lambda: Stump().bind(1e308 * np.sign(X)),
        lambda: Perceptron().bind(1.5e308 * np.sign(X))(1.5e308 * np.sign(X)),
    ]
    for use in refused:
        with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"scale th[ae]"):
            use()
    assert_allclose(Gaussian(1.0)(1e170 * X), np.eye(20))


def test_read_only_rows_are_accepted():
    rows = X.copy()
    rows.flags.writeable = False
    assert_allclose(Stump().bind(rows)(rows), Stump().bind(X)(X))


def test_a_sample_without_range_holds_no_hypotheses():
    stumps = StumpSet.spanning(np.ones((3, 2)))
    assert stumps.total_measure == 0.0
    assert not stumps.has_constant
    with pytest.raises(ValueError, match="drop constant columns"):
        stumps.sample(5)
    assert_allclose(Stump().bind(np.ones((3, 2)))(X[:, :2]), 0.0)


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
def test_sparse_and_dense_rows_have_equal_kernels(kernel):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((25, 6)) < 0.3, rng.integers(1, 4, size=(25, 6)), 0).astype(float)
    for make in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        rows = make(dense)
        bound = kernel.bind(rows)
        assert_allclose(bound(rows), kernel.bind(dense)(dense), rtol=1e-10, atol=1e-10)
        assert_allclose(bound(rows, dense), bound(rows), rtol=1e-10, atol=1e-10)
        assert_allclose(bound.diagonal(rows), kernel.bind(dense).diagonal(dense))


def test_histograms_clip_unseen_negative_values_sparse_or_dense():
    bound, rows = HistogramIntersection().bind([[1.0, 2.0], [3.0, 0.0]]), [[-4.0, 1.0]]
    assert_allclose(bound(rows), 2.0)
    assert_allclose(bound(sparse.csr_array(np.array(rows))), 2.0)


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
    assert kernel.bind(X).rate == pytest.approx(1 / mean)


@pytest.mark.large
def test_gamma_scale_of_many_rows_is_estimated_and_repeats():
    rows = random_rows(6_000, 3)
    exact = 1 / (2 * rows.var(axis=0, ddof=1).sum())
    gamma = Gaussian().bind(rows).rate
    assert gamma == pytest.approx(exact, rel=0.05)
    assert Gaussian().bind(rows).rate == gamma


def test_gamma_scale_of_equal_rows_is_one():
    assert Laplacian().bind(np.ones((3, 2))).rate == 1.0
