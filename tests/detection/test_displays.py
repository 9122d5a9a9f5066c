"""Displays of hit curves show the computed curves."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import PrecisionRecallDisplay
from sklearn.tree import DecisionTreeClassifier

from kernsemble.detection import HitCurveDisplay, LagoClassifier, hit_curve

y = (np.arange(100) < 15).astype(int)
MODELS = [LagoClassifier(), LogisticRegression(), DecisionTreeClassifier()]


def shifted_rows():
    """Draw rows whose rare class is shifted by one."""
    return np.random.default_rng(0).normal(size=(100, 2)) + y[:, np.newaxis]


@pytest.fixture(autouse=True)
def _without_screen():
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("labels", [["b", "a"], ["a", "b"]])
def test_the_curve_of_a_classifier_is_that_of_its_scores(model, labels):
    X = shifted_rows()
    classes = np.array(labels)[y]
    rare, model = labels[1], model.fit(X, classes)
    display = HitCurveDisplay.from_estimator(model, X, classes, rare=rare)
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X) * (1 if rare == "b" else -1)
    else:
        scores = model.predict_proba(X)[:, labels.index(rare) if rare == "b" else 0]
    expected = hit_curve(classes, scores, pos_label=rare)
    assert_array_equal(display.line_.get_ydata(), expected.n_hits)
    assert_array_equal(display.line_.get_xdata(), expected.n_selected)
    assert display.line_.get_label() == type(model).__name__


def test_the_rare_class_of_a_detector_needs_no_name():
    X = shifted_rows()
    model = LagoClassifier().fit(X, -y)
    display = HitCurveDisplay.from_estimator(model, X, -y, name="mine")
    assert_array_equal(display.curve, hit_curve(-y, model.score_samples(X), pos_label=-1))
    again = HitCurveDisplay.from_predictions(y, X[:, 0], ax=display.ax_, color="red")
    assert len(again.ax_.lines) == 4  # the best and a random ranking, and two curves
    assert again.figure_ is display.figure_


def test_precision_and_recall_are_drawn_by_scikit_learn():
    X = shifted_rows()
    model = LagoClassifier().fit(X, y)
    assert PrecisionRecallDisplay.from_estimator(model, X, y).average_precision > 0.5


def test_several_classes_have_a_column_each():
    X = shifted_rows()
    several = y + (np.arange(100) < 7)
    model = LagoClassifier().fit(X, several)
    display = HitCurveDisplay.from_estimator(model, X, several, rare=2)
    expected = hit_curve(several, model.score_samples(X)[:, 1], pos_label=2)
    assert_array_equal(display.line_.get_ydata(), expected.n_hits)
