"""Theorem 2 of Lin & Li: every embodied kernel is positive semidefinite."""

import numpy as np
import pytest
from cases import CONDITIONAL, DEFINITE, samples
from hypothesis import given

from kernsemble.kernels import Stump, centre, definiteness
from kernsemble.kernels.geometry import DefinitenessKind

DEFINITE_KINDS = {DefinitenessKind.PD, DefinitenessKind.PSD}
CONDITIONAL_KINDS = {*DEFINITE_KINDS, DefinitenessKind.CPD, DefinitenessKind.CPSD}


def kind_of(kernel, X):
    X = 0.1 * X  # small enough for the bound on gamma of the tree kernel
    K = kernel.bind(X)(X)
    return definiteness(K, tol=1e-9 * max(np.abs(K).max(), 1e-300)).kind


@pytest.mark.parametrize("kernel", DEFINITE, ids=repr)
@given(X=samples())
def test_theorem_2_gram_matrices_are_positive_semidefinite(kernel, X):
    assert kind_of(kernel, X) in DEFINITE_KINDS
    assert not kernel.is_conditional


@pytest.mark.parametrize("kernel", CONDITIONAL, ids=repr)
@given(X=samples(min_rows=2))
def test_simplified_gram_matrices_are_conditionally_positive_semidefinite(kernel, X):
    assert kind_of(kernel, X) in CONDITIONAL_KINDS
    assert kernel.is_conditional


@pytest.mark.parametrize("kernel", [k for k in CONDITIONAL if "Gaussian" not in repr(k)], ids=repr)
def test_simplified_kernels_are_not_definite(kernel):
    X = np.random.default_rng(0).normal(size=(10, 3))
    assert definiteness(kernel.bind(X)(X)).kind in {DefinitenessKind.CPD, DefinitenessKind.CPSD}


@pytest.mark.parametrize("kernel", [k for k in CONDITIONAL if "Gaussian" not in repr(k)], ids=repr)
def test_full_and_simplified_differ_by_a_constant(kernel):
    X = np.random.default_rng(0).normal(size=(10, 3))
    bound = kernel.bind(X)
    difference = bound.full(X) - bound(X)
    np.testing.assert_allclose(difference, difference[0, 0])
    np.testing.assert_allclose(centre(bound.full(X)), centre(bound(X)), atol=1e-10)


def test_stump_kernel_stays_definite_for_rows_outside_the_sample():
    rng = np.random.default_rng(0)
    bound = Stump().bind(rng.normal(size=(20, 3)))
    outside = 10 * rng.normal(size=(30, 3))
    assert definiteness(bound(outside), tol=1e-9).kind in DEFINITE_KINDS
