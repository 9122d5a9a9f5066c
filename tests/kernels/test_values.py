"""Kernels are values: immutable, compared by content, readable, picklable."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from cases import KERNELS, random_rows
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.svm import SVC

from kernsemble import kernels
from kernsemble.kernels import (
    Category,
    Gaussian,
    Laplacian,
    Perceptron,
    Stump,
    StumpRegion,
    as_kernel,
)
from kernsemble.kernels.registry import KERNELS as NAMES

X = random_rows(20, 4)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_repr_is_the_expression_that_makes_the_kernel(kernel):
    assert eval(repr(kernel), vars(kernels)) == kernel


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_repr_of_a_bound_kernel_shows_it(kernel):
    assert repr(kernel.bind(X)).endswith(".bind(X)")


def test_examples_of_reprs():
    assert repr(Stump()) == "Stump()"
    assert repr(Stump(measure="empirical")) == "Stump(measure='empirical')"
    assert repr(2 * Stump() + Perceptron().on(["a", 1])) == (
        "2.0 * Stump() + Perceptron().on(['a', 1])"
    )
    assert repr((Stump() + Perceptron()) & Stump()) == "(Stump() + Perceptron()) & Stump()"
    assert repr((Stump() + Perceptron()).bind(X)) == "(Stump() + Perceptron()).bind(X)"
    assert repr(Gaussian().bind(X)) == "Gaussian().bind(X)"
    assert repr(Gaussian(np.float64(0.5))) == "Gaussian(gamma=0.5)"
    assert repr(StumpRegion(np.int64(3))) == "StumpRegion(level=3)"
    assert repr(Stump().bind(X) + Perceptron()) == "Stump() + Perceptron()"  # not all is bound


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_equal_content_makes_equal_values_with_equal_hashes(kernel):
    bound, again = kernel.bind(X), kernel.bind(X.copy())
    assert bound == again
    assert hash(bound) == hash(again)
    assert bound != kernel
    assert bound != kernel.bind(X[:, :3])
    assert len({kernel, bound, again}) == 2


def test_different_kernels_differ():
    assert len(set(KERNELS)) == len(KERNELS)
    assert Stump() != "Stump()"


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_clone_pickle_and_copy_keep_the_value(kernel):
    bound = kernel.bind(X)
    for same in (
        clone(bound),
        pickle.loads(pickle.dumps(bound)),
        copy.deepcopy(bound),
    ):
        assert same == bound
        assert_array_equal(same(X), bound(X))


def test_an_estimator_that_holds_a_kernel_can_be_cloned():
    machine = clone(SVC(kernel=Stump().bind(X)))
    assert machine.kernel == Stump().bind(X)


def test_kernels_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Laplacian(0.5).gamma = 1.0
    with pytest.raises(ValueError, match="read-only"):
        Stump().bind(X).hypotheses.knots[0][0] = 99.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_cannot_be_changed_either(copied):
    with pytest.raises(ValueError, match="read-only"):
        copied(Stump().bind(X)).hypotheses.knots[0][0] = 99.0


def test_both_zeros_are_one_value():
    for kernel in (Stump("distinct"), Category()):
        bound, other = kernel.bind([[0.0], [1.0]]), kernel.bind([[-0.0], [1.0]])
        assert bound == other
        assert hash(bound) == hash(other)


def test_bound_categories_of_text_are_values_too():
    rows = [["a", 1], ["b", 2]]
    assert Category().bind(rows) == Category().bind(rows)
    assert hash(Category().bind(rows)) == hash(Category().bind(rows))


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names_become_kernels(name):
    assert as_kernel(name) == NAMES[name]()
    assert as_kernel(name.upper().replace("-", "_")) == as_kernel(name)
    assert as_kernel(name).bind(np.abs(X)).n_features == 4


def test_a_kernel_is_returned_as_it_is():
    kernel = Stump() + Perceptron()
    assert as_kernel(kernel) is kernel


def test_unknown_names():
    with pytest.raises(ValueError, match="'stumpp': did you mean 'stump'"):
        as_kernel("stumpp")
    with pytest.raises(ValueError, match="only classes ending in CV select a kernel"):
        as_kernel("auto")
    with pytest.raises(ValueError, match="use one of 'auto', 'category'"):
        as_kernel("???")
    with pytest.raises(TypeError, match="use a kernel, such as"):
        as_kernel(3)
