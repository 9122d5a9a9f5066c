"""The what-if section: the numbers of the browser are those of Python."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from report.interactive_reports import ADDITIVE, EVIL, page_of, report
from report.models import GRID, cancer, every_model
from report.pages import browser, folder, opened
from sklearn.datasets import load_iris

from kernsemble.boosting import AdaBoostClassifier, LPBoostClassifier
from kernsemble.datasets import make_mixed_table
from kernsemble.export import javascript_reader
from kernsemble.inspection import EnsembleView
from kernsemble.inspection.additive_model import additive_model
from kernsemble.inspection.fitted_models import as_fitted_model, column_categories
from kernsemble.kernels import Category, HistogramIntersection, Linear, MiddleStump, Stump
from kernsemble.report import Report, write_report
from kernsemble.report.row_samples import RowSample
from kernsemble.report.what_if import what_if
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)

__all__ = ["browser", "folder"]

CASES = (("mixed", "phone"), ("stumps", "desktop"), ("numbers", "desktop"))


@cache
def more_models():
    """Return additive models of every kind of function, curve and combination."""
    X, _, y, _ = cancer()
    iris, species = load_iris(return_X_y=True, as_frame=True)
    iris, species = iris.iloc[::3].round(1), species.iloc[::3]
    mixed, income = make_mixed_table(150, random_state=1)
    whole = mixed.dropna()
    codes = mixed[["age", "education"]].fillna(10.0)
    each_class = {"multiclass": "one-vs-rest", **ADDITIVE}
    fitted = {
        "ranks": (InfiniteEnsembleClassifier(scaling="rank"), X, y),
        "steps": (InfiniteEnsembleClassifier(MiddleStump(), solver="additive"), mixed, income),
        "exact steps": (InfiniteEnsembleClassifier(MiddleStump(), scaling=None), X, y),
        "lines": (InfiniteEnsembleClassifier(Linear() + Stump()), X, y),
        "intersection": (InfiniteEnsembleClassifier(HistogramIntersection()), X, y),
        "points": (
            InfiniteEnsembleClassifier(Stump() + Category().on(["education"])),
            codes,
            income,
        ),
        "point tables": (
            InfiniteEnsembleClassifier(Stump() + Category().on(["age"]), **ADDITIVE),
            codes,
            income,
        ),
        "exact categories": (
            InfiniteEnsembleClassifier(solver="exact"),
            whole,
            income[whole.index],
        ),
        "isotonic": (
            InfiniteEnsembleClassifierCV("stump", Cs=GRID, cv=3, calibration="isotonic"),
            iris,
            species,
        ),
        "one per class": (InfiniteEnsembleClassifier(**each_class), iris, species),
        "pairs of columns and classes": (
            InfiniteEnsembleClassifier(n_pairs=2, calibration="sigmoid"),
            iris,
            species,
        ),
        "AdaBoost": (AdaBoostClassifier(n_estimators=10), iris, species),
        "LPBoost": (LPBoostClassifier(C=0.1), X, y),
        "regression": (InfiniteEnsembleRegressor(solver="additive"), mixed, np.arange(150.0)),
    }
    found = {
        name: (model.fit(rows, targets), rows) for name, (model, rows, targets) in fitted.items()
    }
    for name in ("stumps", "classes", "numbers", "mixed", "boosted", "pairs of columns"):
        model, rows, _ = every_model()[name]
        found[name] = model, pd.DataFrame(rows)
    return found


NAMES = (
    *("ranks", "steps", "exact steps", "lines", "intersection", "points", "point tables"),
    *("exact categories", "isotonic", "one per class", "AdaBoost", "LPBoost", "regression"),
    *("stumps", "classes", "numbers", "mixed", "boosted"),
    *("pairs of columns", "pairs of columns and classes"),
)


def varied(model, rows):
    """Return rows, and others between and beyond them, with missing values and new categories."""
    rows, rng = rows.iloc[:40].reset_index(drop=True), np.random.default_rng(0)
    moved = rows.copy()
    for d, name in enumerate(rows.columns):
        if column_categories(model)[d] is None:
            values = rows[name].to_numpy(dtype=np.float64)
            spread = np.nanmax(values) - np.nanmin(values)
            moved[name] = values + spread * rng.normal(size=len(rows))
            if getattr(model, "solver_", "") == "additive":
                moved.loc[rng.random(len(rows)) < 0.1, name] = np.nan
        else:
            unseen = rng.random(len(rows)) < 0.2
            moved[name] = np.where(
                unseen, "never seen", rng.permutation(rows[name].to_numpy(dtype=object))
            )
    return pd.concat([rows, moved], ignore_index=True)


def as_plain_rows(model, rows):
    """Return rows as the browser gets them."""
    encoded, known = as_fitted_model(model).encode(rows), column_categories(model)
    return [
        [
            None if np.isnan(x) else x if known[d] is None else _category(known[d], int(x))
            for d, x in enumerate(row)
        ]
        for row in encoded.tolist()
    ]


def _category(known, code):
    return known[code] if code >= 0 else "never seen"


@pytest.fixture(scope="module")
def evaluator(browser):
    """Return the function `evaluate` of the page, for models and rows."""
    page = browser.new_page()
    page.add_script_tag(content=javascript_reader())
    yield lambda model, rows: page.evaluate(
        "([model, rows]) => rows.map((row) => evaluate(model, row))", [model, rows]
    )
    page.close()


@pytest.mark.parametrize("name", NAMES)
def test_the_browser_evaluates_a_model_as_python_does(evaluator, name):
    model, rows = more_models()[name]
    views = list(EnsembleView.each(model, rows).values())
    X = varied(model, rows)
    found = evaluator(additive_model(views), as_plain_rows(model, X))
    exact = {"rtol": 1e-9, "atol": 1e-9}
    assert_allclose([each["values"] for each in found], views[0].model.values(X), **exact)
    for k, view in enumerate(views):
        contributions = [each["contributions"][k] for each in found]
        assert_allclose(contributions, view.explain(X).contributions, **exact)
    if not hasattr(model, "classes_"):
        assert_allclose([each["values"][0] for each in found], model.predict(X), **exact)
        return
    decisions = np.squeeze([each["decisions"] for each in found])
    assert_allclose(decisions, model.decision_function(X), **exact)
    assert_array_equal(model.classes_[[each["predicted"] for each in found]], model.predict(X))
    probabilities = [each["probabilities"] for each in found]
    if hasattr(model, "predict_proba"):
        assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-9)
    else:
        assert probabilities == [None] * len(X)


def shown_number(tool, part):
    return float(tool.locator(f"[data-part={part}]").get_attribute("data-value"))


def check_what_if(page, name, row):
    """Compare all numbers of the section with those of Python at a row."""
    model, _, X, _ = report(name)
    tool, view = page.locator("#what-if-tool"), EnsembleView.from_estimator(model, X)
    explanation = view.explain(row)
    for feature, contribution in zip(view.feature_names, explanation.contributions[0], strict=True):
        output = tool.locator(f'[data-column="{feature}"] > output')
        assert_allclose(float(output.get_attribute("data-value")), contribution, atol=1e-9)
    assert_allclose(shown_number(tool, "base"), explanation.intercept, atol=1e-9)
    if name == "numbers":
        assert_allclose(shown_number(tool, "value"), model.predict(row)[0], atol=1e-9)
        return
    assert_allclose(shown_number(tool, "value"), model.decision_function(row)[0], atol=1e-9)
    probabilities = [
        float(each.get_attribute("data-value"))
        for each in tool.locator("[data-part=classes] output").all()
    ]
    assert_allclose(probabilities, model.predict_proba(row)[0], atol=1e-9)
    names = tool.locator("[data-part=classes] .predicted .name").all_inner_texts()
    assert names == model.predict(row).tolist()


@pytest.mark.parametrize(("name", "width"), CASES)
def test_the_reader_picks_a_row_and_changes_its_values(browser, folder, name, width):
    _, found, X, scored = report(name)
    page, messages = page_of(browser, folder, name, width=width, scheme="dark")
    tool = page.locator("#what-if-tool")
    sampled = found.summary.what_if.data["rows"]
    assert len(sampled) == min(len(scored), 200)
    check_what_if(page, name, scored.iloc[[sampled[0]["number"] - 1]])
    tool.locator("[data-part=row]").select_option(index=17)
    row = scored.iloc[[sampled[17]["number"] - 1]].astype(object).infer_objects()
    check_what_if(page, name, row)
    feature = X.columns[1]
    line = tool.locator(f'[data-column="{feature}"]')
    low, high = X[feature].min(), X[feature].max()
    line.locator("input[type=range]").evaluate(
        "(each, x) => { each.value = x; each.dispatchEvent(new Event('input')); }",
        float(low + 0.3 * (high - low)),
    )
    row[feature] = float(line.locator("input[type=number]").input_value())
    check_what_if(page, name, row)
    line.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    row[feature] = float(line.locator("input[type=number]").input_value())
    check_what_if(page, name, row)
    line.locator("input[type=number]").fill(repr(float(high + 1.0)))  # beyond the slider
    row[feature] = float(high + 1.0)
    check_what_if(page, name, row)
    if name == "mixed":
        check_skewed_slider(page, tool, row)
        check_categories_and_missing_values(page, tool, row)
    tool.get_by_role("button", name="Reset").click()
    check_what_if(page, name, scored.iloc[[sampled[17]["number"] - 1]])
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert messages == []
    page.context.close()


def check_skewed_slider(page, tool, row):
    line = tool.locator('[data-column="gain"]')
    slider, field = line.locator("input[type=range]"), line.locator("input[type=number]")
    gains = report("mixed")[2]["gain"]
    slider.focus()
    shown = []
    for key in ("Home", "End", "PageDown"):
        page.keyboard.press(key)
        shown.append(float(field.input_value()))
        row["gain"] = shown[-1]
        check_what_if(page, "mixed", row)
    assert shown[:2] == [0.0, gains.max()]
    assert gains[gains > 0.0].min() < shown[2] < 0.7 * gains.max()  # nine in ten are zero
    assert slider.get_attribute("aria-valuetext") is not None


def check_categories_and_missing_values(page, tool, row):
    for text, value in ((EVIL, EVIL), ("another category", "never seen")):
        tool.get_by_label("region", exact=True).select_option(text)
        row["region"] = value
        check_what_if(page, "mixed", row)
    tool.get_by_label("occupation", exact=True).select_option("missing")
    row["occupation"] = None
    check_what_if(page, "mixed", row)
    tool.locator('[data-column="hours"]').get_by_label("missing").check()
    row["hours"] = np.nan
    check_what_if(page, "mixed", row)
    assert tool.locator('[data-column="age"]').get_by_label("missing").count() == 0


def test_a_date_moves_its_calendar_parts(browser, folder):
    when = pd.Series(pd.date_range("2023-11-30 06:30", periods=60, freq="31h"))
    X = pd.DataFrame({"when": when, "x": np.arange(60) % 7})
    X.loc[3, "when"] = pd.NaT
    y = np.where((when.dt.day_of_week > 2) ^ (X["x"] > 5), "yes", "no")
    model = InfiniteEnsembleClassifier(**ADDITIVE).fit(X, y)
    page, messages = opened(browser, write_report(model, folder / "dates.html", X, y))
    tool = page.locator("#what-if-tool")
    tool.locator("[data-part=row]").select_option(index=10)
    row = X.iloc[[10]].copy()
    for text in (None, "2024-01-05T17:45", "2024-02-11T00:00", "missing"):
        if text == "missing":
            tool.locator('[data-column="when"]').get_by_label("missing").check()
        elif text is not None:
            tool.get_by_label("when", exact=True).fill(text)
        row["when"] = row["when"] if text is None else pd.NaT if text == "missing" else text
        row["when"] = pd.to_datetime(row["when"])
        expected = EnsembleView.from_estimator(model, X).explain(row)
        for name, value in zip(expected.feature_names, expected.contributions[0], strict=True):
            shown = tool.locator(f'[data-column="{name}"] > output').get_attribute("data-value")
            assert_allclose(float(shown), value, atol=1e-9)
        value = model.decision_function(row)[0]
        assert_allclose(shown_number(tool, "value"), value, atol=1e-9)
    assert messages == []
    page.context.close()


def test_contributions_to_a_class_are_the_mean_of_its_pairs(browser, folder):
    model, found, X, _ = report("classes")
    page, messages = page_of(browser, folder, "classes")
    tool = page.locator("#what-if-tool")
    tool.locator("[data-part=output]").select_option("1")
    row = X[[found.summary.what_if.data["rows"][0]["number"] - 1]]
    first, _, last = (view.explain(row) for view in EnsembleView.each(model, X).values())
    expected = 0.5 * (last.contributions - first.contributions)[0]  # 0 vs 1, 0 vs 2, 1 vs 2
    for d, contribution in enumerate(expected):
        output = tool.locator(f'[data-column="x{d}"] > output')
        assert_allclose(float(output.get_attribute("data-value")), contribution, atol=1e-9)
    shown = tool.locator("[data-part=classes] output").all()
    probabilities = [float(each.get_attribute("data-value")) for each in shown]
    assert_allclose(probabilities, model.predict_proba(row)[0], atol=1e-9)
    assert messages == []
    page.context.close()


def test_columns_without_an_input_keep_their_values(browser, folder):
    X = np.random.default_rng(0).normal(size=(60, 33))
    y = X[:, 0] + X[:, 1] > 0
    model = InfiniteEnsembleClassifier().fit(X, y)
    page, messages = opened(browser, write_report(model, folder / "wide.html", X, y))
    tool = page.locator("#what-if-tool")
    assert tool.locator("[data-column]").count() == 30
    assert "the other 3 keep their values" in page.locator("#what-if p").first.inner_text()
    for place in (0, 9):
        tool.locator("[data-part=row]").select_option(index=place)
        expected = model.decision_function(X[[place]])[0]
        assert_allclose(shown_number(tool, "value"), expected, atol=1e-9)
    assert messages == []
    page.context.close()


@pytest.mark.parametrize(("name", "kernel"), [("trees", "Laplacian("), ("vote", "")])
def test_models_with_interactions_are_refused_with_the_reason(name, kernel):
    model, X, y = every_model()[name]
    found = Report.from_estimator(model, X, y)
    assert found.summary.what_if.data is None
    html = found.to_html()
    assert f"The model has interactions ({kernel}" in html
    assert "(--kernel stump at the command line)" in html


def test_pairs_that_are_too_large_for_a_page_are_refused_with_the_reason():
    model, X, y = every_model()["pairs of columns"]
    sample = RowSample.draw(X, y, 100)
    found = what_if(model, sample, sample, np.arange(2), {}, max_pair_numbers=10)
    assert found.data is None
    assert "cells, too many for a page: at most 10." in found.reason


def test_columns_of_pairs_have_inputs_together_or_not_at_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = X[:, 1] * X[:, 3] + X[:, 0] > 0.0
    model = InfiniteEnsembleClassifier(pairs=[(1, 3)], **ADDITIVE).fit(X, y)
    sample = RowSample.draw(X, y, 100)
    shares = {"x0": 0.5, "x1": 0.3, "x2": 0.2}
    arguments = model, sample, sample, np.arange(2), shares
    for n, columns in ((2, ["x1", "x3"]), (3, ["x1", "x3", "x0"])):
        found = what_if(*arguments, max_inputs=n)
        assert [each["name"] for each in found.data["model"]["columns"]] == columns
    assert "more columns than the 1" in what_if(*arguments, max_inputs=1).reason
    (pair,) = what_if(*arguments, max_inputs=2).data["model"]["machines"][0]["pairs"]
    assert pair["columns"] == [0, 1]


def test_rows_are_counted_among_those_scored():
    """Held-out rows are not the first rows of their file."""
    for name, rows in (("stumps", "test rows"), ("numbers", "training rows")):
        assert f"Row 1 is the first\nof the {rows}." in report(name)[1].to_html()


def test_models_with_interactions_are_no_sum():
    model, X, _ = every_model()["trees"]
    with pytest.raises(ValueError, match="is no sum over columns because of Laplacian"):
        additive_model([EnsembleView.from_estimator(model, X)])
