"""HTML reprs in notebooks: small cards without script, with escaped names."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes

from kernsemble._folds import corrected_standard_error, fold_scores
from kernsemble._html_cards import bar_chart, card, curve, dot_chart
from kernsemble._model_cards import model_card
from kernsemble.boosting import AdaBoostClassifierCV
from kernsemble.detection import LagoClassifier
from kernsemble.inspection import EnsembleView
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressorCV,
    SVMPath,
)

X, y = (part[::4] for part in load_breast_cancer(return_X_y=True, as_frame=True))
HOSTILE = "<script>alert('&')</script>"


def check(text):
    """Parse a card as XML, which escaped HTML without script is."""
    found = ElementTree.fromstring(text.replace("&nbsp;", " "))
    assert "<script" not in text
    assert not re.search(r"\son\w+=", text)
    return found


@pytest.mark.parametrize(
    ("model", "words", "has_picture"),
    [
        (InfiniteEnsembleClassifier(), ("Stump()", "support vectors", "hinge, exact"), False),
        (InfiniteEnsembleClassifierCV("stump", Cs=[0.1, 1.0], cv=3), ("accuracy, 3 folds",), True),
        (
            InfiniteEnsembleClassifierCV(["stump", "perceptron"], Cs=[0.1, 1.0], cv=3),
            ("stump, range", "perceptron, range"),
            True,
        ),
        (
            InfiniteEnsembleClassifierCV("stump", Cs=[1.0], cv=3, scoring="roc_auc"),
            ("roc auc",),
            False,
        ),
        (AdaBoostClassifierCV(ns_estimators=[2, 4], cv=2), ("n_estimators", "hypotheses"), True),
        (LagoClassifier(cv=2), ("alpha", "average precision"), True),
        (LagoClassifier(alpha=1.0, threshold=0.0), ("alpha",), False),
        (SVMPath("stump"), ("leave-one-out bound along C",), True),
    ],
    ids=str,
)
def test_fitted_models_have_a_card_above_the_diagram(model, words, has_picture):
    assert model_card(model) == ""
    assert "kernsemble-card" not in model._repr_html_()
    text = model_card(model.fit(X, y))
    check(text)
    for word in (type(model).__name__, *words):
        assert word in text
    assert ("<svg" in text) == has_picture
    assert len(text) < 6_000
    for shown in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert shown.startswith(text)
        assert "sk-" in shown  # scikit-learn's diagram
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_the_score_of_a_card_is_that_of_the_selected_setting():
    rows, numbers = (part[::4] for part in load_diabetes(return_X_y=True, as_frame=True))
    model = InfiniteEnsembleRegressorCV("stump", Cs=[0.1, 1.0], cv=4).fit(rows, numbers)
    error = corrected_standard_error(fold_scores(model.cv_results_)[model.best_index_])
    assert f"{model.best_score_:.3f} ± {error:.3f} (standard error)" in model_card(model)
    assert "R², 4 folds" in model_card(model)


def test_the_card_of_a_vote_has_a_line_per_member():
    model = InfiniteEnsembleClassifierCV(cv=3, random_state=0).fit(X.iloc[:, :4], y)
    text = model_card(model)
    check(text)
    n = len(model.members_)
    assert f"{n} machine{'s' if n > 1 else ''}" in text
    for place, each in enumerate(model.members_, start=1):
        assert f"{place}. {each.name}" in text
        assert f"{100 * each.share:.0f} % of the vote, C = {each.C:.3g}" in text
    assert f"{model.best_score_:.3f} ±" in text
    picture = text.split("<svg")[1]
    assert ">vote</text>" in picture
    assert picture.count("<circle") == min(len(model.cv_results_["params"]), 10)


def test_one_fold_has_no_error():
    cv = [(np.arange(100), np.arange(100, 140))]
    model = InfiniteEnsembleClassifierCV(["stump", "perceptron"], Cs=[1.0], cv=cv).fit(X, y)
    assert "± " not in model_card(model).split("<svg")[0]


def test_a_view_has_a_card_with_importances():
    model = InfiniteEnsembleClassifier().fit(X, y)
    view = EnsembleView.from_estimator(model)
    text = view._repr_html_()
    check(text)
    shares = view.importances().shares
    largest = max(shares, key=shares.get)
    assert largest in text
    assert f"{shares[largest]:.3g}" in text
    assert "20 more" in text
    few = X.iloc[:, :4]
    product = EnsembleView.from_estimator(InfiniteEnsembleClassifier("laplacian").fit(few, y))
    assert "to 10 rows" in product._repr_html_()


def test_a_view_without_rows_has_no_picture():
    model = InfiniteEnsembleClassifier("laplacian", solver="additive", n_grids=8, random_state=0)
    text = EnsembleView.from_estimator(model.fit(X, y))._repr_html_()
    check(text)
    assert "<svg" not in text


def test_names_are_escaped():
    frame = pd.DataFrame({HOSTILE: X.iloc[:, 0].to_numpy(), "b": X.iloc[:, 1].to_numpy()})
    classes = np.where(y == 1, HOSTILE, "no")
    model = InfiniteEnsembleClassifier().fit(frame, classes)
    text = EnsembleView.from_estimator(model)._repr_html_()
    check(text)
    assert "&lt;script&gt;" in text
    check(card(HOSTILE, {HOSTILE: HOSTILE}, bar_chart({HOSTILE: 1.0}, HOSTILE)))
    check(f"<p>{dot_chart({HOSTILE: 1.0}, {HOSTILE: 0.1}, HOSTILE)}</p>")


def test_pictures_show_what_they_are_given():
    many = {f"x{k}": float(k) for k in range(30)}
    text = bar_chart(many, "sizes")
    assert text.count("<rect") == 10
    assert "sizes, 19 more" in text
    assert bar_chart({"a": 0.0}, "none") == ""
    dots = dot_chart(many, dict.fromkeys(many, 1.0), "scores")
    assert dots.count("<circle") == 10
    assert "scores, 20 more" in dots
    assert "a" * 29 + "…" in bar_chart({"a" * 50: 1.0}, "")
    line = check(f"<p>{curve([1.0, 10.0, 100.0], [0.1, np.nan, 0.3], 2, 'C')}</p>")
    points = line.find(".//{*}polyline").get("points").split()
    assert len(points) == 2
