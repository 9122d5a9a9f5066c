"""Reprs are one short line, whatever the size of the data."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from kernsemble._value_object import Value, short_repr
from kernsemble.boosting import AdaBoostClassifier
from kernsemble.detection import LagoClassifier, hit_curve
from kernsemble.hypotheses import StumpSet
from kernsemble.inspection import EnsembleView
from kernsemble.inspection.predictions import Predictions
from kernsemble.solvers import solve_dual
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV, SVMPath

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, y = X[::4], y[::4]
MODELS = [
    InfiniteEnsembleClassifier(calibration="isotonic"),
    InfiniteEnsembleClassifier("perceptron", scaling="rank"),
    InfiniteEnsembleClassifier(solver="additive", loss="logistic"),
    InfiniteEnsembleClassifier("laplacian", solver="additive", n_grids=8, random_state=0),
    InfiniteEnsembleClassifierCV("stump", Cs=[0.1, 1.0], cv=3),
    SVMPath("stump", max_breakpoints=20),
    AdaBoostClassifier(n_estimators=5),
    LagoClassifier(cv=3),
]


def values_of(item):
    """Yield the objects of this library in the attributes of an object, and in theirs."""
    for each in vars(item).values():
        for part in each if isinstance(each, (tuple, list)) else (each,):
            if type(part).__module__.startswith("kernsemble"):
                yield part
                if hasattr(part, "__dict__"):
                    yield from values_of(part)


@pytest.mark.filterwarnings("ignore:max_breakpoints")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_fitted_models_and_their_parts_have_short_reprs(model):
    model.fit(X, y)
    found = [model, *values_of(model)]
    assert len(found) > 1
    for each in found:
        assert len(repr(each)) < 200, type(each)


def test_a_view_and_its_numbers_have_short_reprs():
    model = InfiniteEnsembleClassifier().fit(X, y)
    view = EnsembleView.from_estimator(model, X)
    assert repr(view) == "<EnsembleView of '1 vs 0': 30 features, InfiniteEnsembleClassifier>"
    for each in (
        view.model,
        view.decomposition,
        view.importances(),
        view.explain(X.head(2)),
        view.shape("mean radius"),
        view.densities["mean radius"][0],
        view.averaged_stumps(),
        view.margins(X, y),
        Predictions.from_estimator(model, X, y, "training rows"),
        hit_curve(y, model.decision_function(X)),
        solve_dual(np.eye(3), np.ones(3), -np.ones(3), np.ones(3)),
    ):
        assert len(repr(each)) < 200, type(each)


def test_the_label_of_a_view_is_cut():
    iris, species = load_iris(return_X_y=True)
    names = np.array(["a" * 200, "b" * 200, "c"])[species]
    view = EnsembleView.from_estimator(InfiniteEnsembleClassifier().fit(iris, names), machine=0)
    assert len(repr(view)) < 200


@dataclass(frozen=True, eq=False, repr=False)
class Several(Value):
    name: str
    numbers: np.ndarray
    items: tuple
    inner: object = None
    _hidden: int = 0


class Pair(NamedTuple):
    first: list
    second: dict

    __repr__ = short_repr


def test_arrays_are_shown_by_their_shape_and_long_things_by_their_size():
    shown = repr(Several("x", np.zeros((3, 4)), (1, 2.5)))
    assert shown == "Several(name='x', numbers=<array of shape (3, 4)>, items=(1, 2.5), inner=None)"
    many = Several("x" * 300, np.zeros(2), tuple(range(100)), StumpSet.spanning(np.eye(3)))
    assert "items=<100 items>" in repr(many)
    assert len(repr(many)) < 200
    assert repr(Pair([1, 2], {"a": 1})) == "Pair(first=[1, 2], second=<1 item>)"
    deep = Several("y" * 59, np.zeros(2), ("z" * 50,), Several("n" * 30, np.zeros(1), (1, 2)))
    assert repr(deep).endswith("...)") or len(repr(deep)) <= 190
