"""Laws of the operators, over the table of kernels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import DEFINITE, KERNELS, random_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernsemble.exceptions import ConditionalKernelError, NotNeutralError
from kernsemble.kernels import (
    Category,
    Gaussian,
    Laplacian,
    Linear,
    MiddleStump,
    Perceptron,
    Stump,
    StumpRegion,
)
from kernsemble.kernels.base import Kernel

X = random_rows(20, 4)
Z = random_rows(15, 4, seed=1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_matrix_is_that_of_its_rows_with_themselves(kernel):
    bound = kernel.bind(X)
    K = bound(X)
    assert_array_equal(K, K.T)
    assert_allclose(K, bound(X, X.copy()), atol=1e-12)
    assert_allclose(bound.diagonal(X), np.diagonal(K), rtol=1e-10)
    assert_allclose(bound(X, Z), bound(Z, X).T, rtol=1e-10, atol=1e-12)
    assert K.dtype == np.float64


@pytest.mark.parametrize("kernel", DEFINITE, ids=repr)
def test_two_points_have_a_number(kernel):
    bound = kernel.bind(X)
    value = bound(X[0], Z[1])
    assert isinstance(value, float)
    assert value == pytest.approx(bound(X[:1], Z[1:2])[0, 0])


@pytest.mark.parametrize("left", [Stump(), Gaussian(0.5), Stump() & Perceptron()], ids=repr)
@pytest.mark.parametrize("right", [MiddleStump(), Linear(), 2.0 * Perceptron()], ids=repr)
def test_sums_and_products_are_those_of_the_matrices(left, right):
    a, b = left.bind(X), right.bind(X)
    assert_allclose((left + right).bind(X)(X, Z), a(X, Z) + b(X, Z))
    assert_allclose((left * right).bind(X)(X, Z), a(X, Z) * b(X, Z))
    assert_allclose((3 * left).bind(X)(X, Z), 3 * a(X, Z))
    assert_allclose((left * 0.5).bind(X)(X, Z), 0.5 * a(X, Z))


def test_ands_are_the_product_of_the_shifted_matrices():
    a, b = Stump().bind(X), Perceptron().bind(X)
    assert_allclose((a & b)(X, Z), (a(X, Z) + a.delta) * (b(X, Z) + b.delta))


def test_sum_adds_kernels_and_numpy_numbers_multiply_them():
    assert sum([Stump(), Perceptron()]) == Stump() + Perceptron()
    assert np.float64(2) * Stump() == 2 * Stump() == Stump() * np.float64(2)
    with pytest.raises(TypeError):
        np.array([1.0, 2.0]) * Stump()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_binding_again_is_binding_anew(kernel):
    assert kernel.bind(Z).bind(X) == kernel.bind(X)


def test_sums_and_products_are_associative_values():
    a, b, c = Stump(), Perceptron(), Gaussian(0.5)
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    assert (2 * a) * (3 * b) == 6 * (a * b)
    assert 2 * (3 * a) == 6 * a
    assert 1 * a == a
    assert (a & b) & a != a & (b & a)  # chains of AND are literal


@pytest.mark.parametrize("factor", [0, -1.0, np.inf, np.nan])
def test_a_factor_must_be_positive(factor):
    with pytest.raises(ValueError, match=r"the factor of a kernel = .* positive, finite"):
        factor * Stump()


@pytest.mark.parametrize("other", ["stump", None, [1.0]])
def test_kernels_combine_with_kernels_and_numbers_only(other):
    for operation in (Kernel.__add__, Kernel.__mul__, Kernel.__and__):
        assert operation(Stump(), other) is NotImplemented
    with pytest.raises(TypeError):
        Stump() + other


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), StumpRegion(2), Linear()], ids=repr)
def test_and_is_refused_when_a_side_is_not_neutral(kernel):
    for make in (lambda: kernel & Stump(), lambda: Stump() & kernel):
        with pytest.raises(NotNeutralError, match=r"vote ±1 and cancel.*'\*' \(XOR\)"):
            make()


def test_conditional_kernels_are_refused_where_a_definite_one_is_needed():
    conditional = Stump().bind(X).simplified
    attempts = {
        "a product": lambda: conditional * Perceptron(),
        "AND": lambda: Stump() & Perceptron().simplified,
        "which AND": lambda: Perceptron().simplified.logic,
        "a Gaussian process": conditional.as_gaussian_process_kernel,
        "a single pair of points": lambda: conditional(X[0], X[1]),
        "kernel ridge": lambda: conditional.require_definite("kernel ridge"),
    }
    for purpose, attempt in attempts.items():
        with pytest.raises(ConditionalKernelError, match=rf"(?s){purpose}.*kernel\.full"):
            attempt()
    assert conditional.full == Stump().bind(X)
    assert conditional.full.require_definite("kernel ridge") is conditional.full


def test_only_kernels_with_a_constant_have_a_simplified_form():
    for kernel in (Gaussian(), Linear(), Stump() * Stump(), StumpRegion(2), Stump() + Gaussian()):
        with pytest.raises(AttributeError, match="has no simplified form"):
            _ = kernel.simplified
    assert Stump().simplified.simplified == Stump().simplified
    assert Stump().full == Stump()


def test_kernels_without_known_hypotheses_have_no_delta():
    for kernel in (Gaussian(0.5), Stump() + Linear()):
        assert kernel.bind(X).hypotheses is None
    for kernel in (Gaussian(0.5), Stump() + Linear(), Laplacian(0.1), 2 * StumpRegion(2)):
        with pytest.raises(AttributeError, match="no hypotheses are known that vote ±1"):
            _ = kernel.bind(X).delta


class TestColumns:
    def test_a_kernel_of_columns_sees_only_those(self):
        for columns in ([1, 3], [-3, -1], (1, 3), np.array([1, 3])):
            bound = Stump().on(columns).bind(X)
            assert_allclose(bound(X, Z), Stump().bind(X[:, [1, 3]])(X[:, [1, 3]], Z[:, [1, 3]]))
        assert Stump().on(2) == Stump().on([2]) == Stump().on(np.int64(2))
        mask = np.array([False, True, False, True])
        assert_allclose(Stump().on(mask).bind(X)(X), Stump().on([1, 3]).bind(X)(X))

    def test_names_are_found_in_pandas_and_polars_tables(self):
        data = dict(zip("abcd", X.T, strict=True))
        expected = Stump().on([1, 3]).bind(X)(X)
        for frame in (pd.DataFrame(data), pl.DataFrame(data)):
            bound = Stump().on(["b", "d"]).bind(frame)
            assert_allclose(bound(frame), expected)
            assert_allclose(bound(X), expected)  # positions remembered
            turned = frame[["d", "c", "b", "a"]]
            assert_allclose(bound(turned), expected)  # names found anew
            votes = bound.hypotheses.sample(50, 0).vote(frame)
            assert_array_equal(bound.hypotheses.sample(50, 0).vote(turned), votes)
            with pytest.raises(ValueError, match="pass the same columns in the same order"):
                Stump().bind(frame)(turned)

    def test_whole_tables_are_accepted_everywhere(self):
        data = dict(zip("abcd", X.T, strict=True))
        for frame in (pd.DataFrame(data), pl.DataFrame(data)):
            assert_allclose(Perceptron().bind(frame)(frame), Perceptron().bind(X)(X))

    def test_text_columns_are_compared_as_categories(self):
        frame = pd.DataFrame({"size": [1.0, 2.0, 4.0], "colour": ["red", "blue", "red"]})
        kernel = (Stump().on("size") + Category().on("colour")).simplified.bind(frame)
        assert_allclose(kernel(frame), [[0, -2, -3], [-2, 0, -3], [-3, -3, 0]])
        assert kernel.n_features == 2

    def test_sparse_columns(self):
        assert_allclose(
            Stump().on([1, 3]).bind(sparse.csr_array(X))(sparse.csr_array(X)),
            Stump().on([1, 3]).bind(X)(X),
        )

    def test_columns_of_columns(self):
        nested = Stump().on([1, 0]).on([2, 3])
        assert_allclose(nested.bind(X)(X), Stump().on([3, 2]).bind(X)(X))

    def test_hypotheses_look_at_the_columns(self):
        bound = Stump().on([3]).bind(X)
        votes = bound.hypotheses.sample(50, 0).vote(X)
        changed = X.copy()
        changed[:, :3] = 99.0
        assert_array_equal(bound.hypotheses.sample(50, 0).vote(changed), votes)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ([], "select one or several columns"),
            (np.array([False, False]), "select one or several columns"),
            ([True, 2], "select one or several columns"),
            (slice(2), "select one or several columns"),
            ([1.7], "by its index or name"),
            ([("a", "b")], "by its index or name"),
            ([True, False], "on\\(a mask of length 2\\): the data has 4 columns"),
            ([4], "only 4 columns"),
            ([-5], "only 4 columns"),
            (["b"], "by name only in a DataFrame"),
        ],
    )
    def test_wrong_columns(self, columns, message):
        with pytest.raises(ValueError, match=message):
            Stump().on(columns).bind(X)

    def test_repeated_names_can_be_selected_by_index_only(self):
        frame = pd.DataFrame(X, columns=["a", "a", "b", "c"])
        assert_allclose(Stump().on([1]).bind(frame)(frame), Stump().on([1]).bind(X)(X))
        with pytest.raises(ValueError, match="several columns of that name"):
            Stump().on("a").bind(frame)

    def test_wrong_name(self):
        with pytest.raises(ValueError, match=r"on\('z'\): no such column; use one of \['a'\]"):
            Stump().on("z").bind(pd.DataFrame({"a": [1.0, 2.0]}))
