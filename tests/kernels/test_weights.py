"""Weights are repetition: a kernel bound to weighted rows is bound to repeated ones."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import ENSEMBLES, KERNELS, pairs_of_samples, random_rows
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy import sparse

from kernsemble.hypotheses import PerceptronSet, StumpSet
from kernsemble.kernels import (
    Category,
    Constant,
    Exponential,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Perceptron,
    Polynomial,
    Stump,
    as_kernel,
)
from kernsemble.kernels.registry import KERNELS as NAMES

X = np.round(random_rows(24, 3), 1)
Z = np.vstack([X[:6], 3.0 * random_rows(9, 3, seed=1)])  # known and new, inside and outside
TIMES = np.random.default_rng(2).choice([1, 2, 9], size=24)
HOLES = np.where(np.abs(X).max(axis=1) < 1.2, TIMES, 0)  # the outermost rows are absent

INDEPENDENT_OF_SAMPLE = {
    Constant(2.0),
    Laplacian(0.05),
    Exponential(0.05),
    Gaussian(0.1),
    Linear(),
    Polynomial(degree=3, offset=0.5),
    Perceptron().simplified,
}
COUNT_COPIES = [
    Stump("empirical"),
    Stump("empirical").simplified,
    Stump("empirical").logic,
    2.0 * Stump("empirical"),
    Perceptron(),
    Laplacian(),
    Exponential(),
    Gaussian(),
    Constant() + Gaussian(),
    Linear() * Laplacian(),
    Stump() & Perceptron(),
    Exponential().on([0, 2]),
]


@pytest.mark.parametrize("kernel", list(dict.fromkeys([*KERNELS, *COUNT_COPIES])), ids=repr)
@pytest.mark.parametrize("times", [TIMES, HOLES], ids=["repeated", "some absent"])
def test_whole_weights_are_repetition(kernel, times):
    weighted, repeated = kernel.bind(X, times), kernel.bind(np.repeat(X, times, axis=0))
    assert_allclose(weighted(Z), repeated(Z), rtol=1e-10, atol=1e-12)
    assert_allclose(weighted.diagonal(Z), repeated.diagonal(Z), rtol=1e-10, atol=1e-12)
    assert weighted.n_features == 3


@pytest.mark.parametrize("kernel", ENSEMBLES, ids=repr)
def test_whole_weights_are_repetition_to_the_hypotheses(kernel):
    weighted, repeated = kernel.bind(X, HOLES), kernel.bind(np.repeat(X, HOLES, axis=0))
    assert_allclose(
        weighted.hypotheses.sample(200, 0).kernel(Z), repeated.hypotheses.sample(200, 0).kernel(Z)
    )


@given(rows=pairs_of_samples(), data=st.data())
def test_whole_weights_are_repetition_whatever_the_rows(rows, data):
    sample, others = rows
    kernel = data.draw(st.sampled_from(COUNT_COPIES[:-1]))
    times = data.draw(arrays(np.int64, len(sample), elements=st.integers(0, 5)).filter(np.any))
    repeated = kernel.bind(np.repeat(sample, times, axis=0))
    assert_allclose(kernel.bind(sample, times)(others), repeated(others), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_whole_weights_are_repetition_for_every_name(name):
    rows, others, kernel = np.abs(X), np.abs(Z), as_kernel(name)
    repeated = kernel.bind(np.repeat(rows, HOLES, axis=0))
    assert_allclose(kernel.bind(rows, HOLES)(others), repeated(others), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", COUNT_COPIES, ids=repr)
def test_weights_change_the_kernel(kernel):
    assert not np.allclose(kernel.bind(X, TIMES)(Z), kernel.bind(X)(Z), rtol=1e-3)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k not in INDEPENDENT_OF_SAMPLE], ids=repr)
def test_zero_weights_change_the_kernel(kernel):
    assert not np.allclose(kernel.bind(X, HOLES)(Z), kernel.bind(X, TIMES)(Z), rtol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_weight_zero_is_absence(kernel):
    present = HOLES > 0
    assert kernel.bind(X, HOLES) == kernel.bind(X[present], HOLES[present])
    assert kernel.bind(X, present) == kernel.bind(X[present])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_without_weights_every_row_counts_once(kernel):
    assert kernel.bind(X) == kernel.bind(X, None) == kernel.bind(X, np.ones(24))


@pytest.mark.parametrize("kernel", [Stump(), Stump("empirical"), *COUNT_COPIES], ids=repr)
def test_a_row_of_weight_one_is_a_sample_of_one(kernel):
    alone = np.eye(24)[3]
    assert_allclose(kernel.bind(X, alone)(Z), kernel.bind(X[[3]])(Z))
    assert_allclose(kernel.bind(X, 5 * alone)(Z), kernel.bind(X[[3] * 5])(Z))


FORMS = {
    "float32": lambda rows: rows.astype(np.float32),
    "a list": np.ndarray.tolist,
    "CSR": sparse.csr_array,
    "an old CSR matrix": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "pandas": lambda rows: pd.DataFrame(rows, columns=list("abc"), index=range(99, 123)),
    "polars": lambda rows: pl.DataFrame(rows, schema=list("abc")),
}
WEIGHTS = {
    "a list": np.ndarray.tolist,
    "float32": lambda weight: weight.astype(np.float32),
    "a column of pandas": lambda weight: pd.Series(weight, index=range(7, 31)),
    "a column of polars": pl.Series,
    "a strided view": lambda weight: np.repeat(weight, 2)[::2],
}
SOME = [Stump("empirical"), Perceptron(), Laplacian(), Gaussian(), Exponential() * Stump()]


@pytest.mark.parametrize("kernel", SOME, ids=repr)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("times", [TIMES, HOLES], ids=["repeated", "some absent"])
def test_rows_of_any_kind_can_be_weighted(kernel, form, times):
    expected = kernel.bind(X, times)(Z)
    tolerance = 1e-5 if form == "float32" else 1e-10
    bound = kernel.bind(FORMS[form](X), times)
    assert_allclose(bound(Z), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("form", WEIGHTS)
def test_weights_of_any_kind(form):
    assert Gaussian().bind(X, WEIGHTS[form](HOLES)) == Gaussian().bind(X, HOLES)


def test_one_number_is_the_weight_of_every_row():
    assert Gaussian().bind(X, 3.0) == Gaussian().bind(X, np.full(24, 3))


def test_column_names_are_stored_and_categories_weighted():
    frame = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 1.2, "red", "blue")})
    kernel = Stump("empirical").on("size") + Category().on("colour")
    weighted, repeated = (
        kernel.bind(frame, HOLES),
        kernel.bind(frame.iloc[np.repeat(range(24), HOLES)]),
    )
    assert_allclose(weighted(frame), repeated(frame))
    assert weighted.delta == pytest.approx(repeated.delta)
    with pytest.raises(ValueError, match="pass the same columns in the same order"):
        Stump().bind(frame[["size"]], HOLES)(frame[["size"]].rename(columns={"size": "weight"}))


def test_columns_of_zero_weight_rows_still_count():
    rows = sparse.csr_array(np.where(X > 0.5, X, 0.0))
    assert HistogramIntersection().bind(rows, HOLES).n_features == 3


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 0.5, 1e6, 1e300])
@pytest.mark.parametrize("kernel", [Stump("empirical"), Perceptron()], ids=repr)
def test_only_proportions_matter_to_measures_and_means(kernel, scale):
    assert_allclose(kernel.bind(X, scale * TIMES)(Z), kernel.bind(X, TIMES)(Z), rtol=1e-10)


class TestGammaScale:
    @pytest.mark.parametrize("kernel", [Laplacian(), Exponential(), Gaussian()], ids=repr)
    @pytest.mark.parametrize("scale", [1e-300, 1.0 / TIMES.sum(), 1e6, 1e300])
    def test_weights_on_another_scale_change_it_little(self, kernel, scale):
        rate = kernel.bind(X, scale * TIMES).rate
        assert rate == pytest.approx(kernel.bind(X, TIMES).rate, rel=0.05)

    def test_shares_are_corrected_by_the_number_of_rows(self):
        distances = Laplacian().distances(X)
        share = TIMES / TIMES.sum()
        expected = (share @ distances @ share) * 24 / 23
        assert 1.0 / Laplacian().bind(X, share).rate == pytest.approx(expected)
        assert 1.0 / Laplacian().bind(X, 5.0 * share).rate == pytest.approx(expected)

    def test_equal_rows_are_at_no_distance_whatever_their_weights(self):
        assert Laplacian().bind(np.ones((3, 2)), [0.1, 2.0, 0.7]).rate == 1.0
        assert Gaussian().bind(X, 0.3 * np.eye(24)[0]).rate == 1.0

    @pytest.mark.large
    @pytest.mark.parametrize("times", [100 * HOLES, np.where(HOLES > 1, 700, HOLES)])
    def test_many_copies_are_sampled_like_many_rows(self, times):
        repeated = Gaussian().bind(np.repeat(X, times, axis=0))
        assert Gaussian().bind(X, times).rate == pytest.approx(repeated.rate, rel=1e-12)

    @pytest.mark.large
    def test_many_rows_are_drawn_by_weight(self):
        rows = random_rows(6_000, 3)
        weight = np.random.default_rng(1).exponential(size=6_000) * (1.0 + (rows[:, 0] > 0))
        variance = np.cov(rows.T, aweights=weight, ddof=0).trace()
        for scale in (1e-4, 1.0, 1e9, 1e200):
            rate = Gaussian().bind(rows, scale * weight).rate
            assert rate == pytest.approx(1.0 / (2.0 * variance), rel=0.05)
            assert Gaussian().bind(rows, scale * weight).rate == rate


BAD_WEIGHTS = {
    "too few": (np.ones(23), r"sample_weight has shape \(23,\): pass 24 numbers"),
    "a matrix": (np.ones((24, 1)), r"sample_weight has shape \(24, 1\): pass 24 numbers"),
    "negative": (np.arange(24) - 1.0, "sample_weight is -1.0 for row 0: pass finite numbers"),
    "NaN": (np.where(TIMES > 1, TIMES, np.nan), "sample_weight is nan for row"),
    "infinite": (np.where(TIMES > 1, TIMES, np.inf), "sample_weight is inf for row"),
    "nothing": (np.zeros(24), "sample_weight is zero for every row"),
    "text": (["much"] * 24, "sample_weight contains values that are not numbers"),
    "missing": (pd.array([pd.NA] * 24), "sample_weight"),
    "huge": (np.full(24, 1e308), "the sum of sample_weight overflows"),
}


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights_are_refused(kernel, case):
    weight, message = BAD_WEIGHTS[case]
    with pytest.raises(ValueError, match=message):
        kernel.bind(X, weight)


@pytest.mark.parametrize("spanning", [StumpSet.spanning, PerceptronSet.spanning])
def test_sets_refuse_bad_weights_too(spanning):
    with pytest.raises(ValueError, match=r"^weight has shape \(2,\): pass 24 numbers"):
        spanning(X, weight=np.ones(2))
