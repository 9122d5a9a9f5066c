"""Threshold slider and what-if section: the numbers of the browser are those of Python."""

from dataclasses import replace
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from report.models import GRID, cancer, every_model, stumps
from report.pages import WIDTHS, browser, folder, opened
from sklearn.datasets import load_iris

from kernsemble.boosting import AdaBoostClassifier, LPBoostClassifier
from kernsemble.datasets import make_mixed_table
from kernsemble.inspection import EnsembleView
from kernsemble.inspection.additive_model import additive_model
from kernsemble.inspection.fitted_models import as_fitted_model, column_categories
from kernsemble.kernels import Category, HistogramIntersection, Linear, MiddleStump, Stump
from kernsemble.report import Report, write_report
from kernsemble.report.threshold import class_counts, thresholds
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)

__all__ = ["browser", "folder"]

EVIL = "<img src=x onerror=alert(1)>"
ADDITIVE = {"solver": "additive", "loss": "logistic"}
CASES = (("mixed", "phone"), ("stumps", "desktop"), ("numbers", "desktop"))


@cache
def report(name):
    """Return the model of a report, its report, and the rows that it scores."""
    if name == "stumps":
        X, X_test, y, y_test = cancer()
        found = Report.from_estimator(stumps(), X, y, X_test=X_test, y_test=y_test)
        return stumps(), found, X, X_test
    model, X, y = every_model()[name]
    if name == "mixed":
        X = X.assign(region=X["region"].astype(object).replace("north", EVIL))
        model = InfiniteEnsembleClassifierCV("stump", Cs=GRID, cv=3, **ADDITIVE).fit(X, y)
    return model, Report.from_estimator(model, X, y), X, X


def page_of(browser, folder, name, **settings):
    path = folder / f"{name}.html"
    if not path.exists():
        report(name)[1].write(path)
    return opened(browser, path, **settings)


# -- threshold


def numpys_measures(y, score, threshold, costs):
    is_above = score > threshold
    tp, fp = int((y & is_above).sum()), int((~y & is_above).sum())
    fn, tn = int((y & ~is_above).sum()), int((~y & ~is_above).sum())
    cost = 1000.0 * (costs[0] * fp + costs[1] * fn) / len(y)
    return {"tp": tp, "fp": fp, "fn": fn, "tn": tn}, {
        "precision": tp / (tp + fp) if tp + fp else np.nan,
        "recall": tp / (tp + fn),
        "false_positive_rate": fp / (fp + tn),
        "accuracy": (tp + tn) / len(y),
        "cost": cost,
    }


def check_threshold(page, y, score, threshold, costs):
    tool = page.locator("#threshold-tool")
    counts, measures = numpys_measures(y, score, threshold, costs)
    for name, count in counts.items():
        shown = tool.locator(f"[data-part={name}]").inner_text()
        assert int(shown.replace(",", "")) == count
    for name, value in measures.items():
        output = tool.locator(f"[data-part={name}]")
        assert_allclose(float(output.get_attribute("data-value")), value, rtol=1e-12)
        if name != "cost":
            assert output.inner_text() == ("–" if np.isnan(value) else f"{value:.3f}")


def test_counts_at_every_threshold_are_numpys():
    rng = np.random.default_rng(0)
    score, y = rng.normal(size=300).round(1), rng.random(300) < 0.3
    found = class_counts(("yes", "no"), score, y, 0.0, 1000)
    assert not found["is_thinned"]
    assert_array_equal(found["scores"], np.unique(score))
    for t, tp, fp in zip(
        found["scores"], found["true_positives"], found["false_positives"], strict=True
    ):
        assert (tp, fp) == ((y & (score > t)).sum(), (~y & (score > t)).sum())
    assert (found["n_positive"], found["n_negative"]) == (y.sum(), (~y).sum())


@pytest.mark.parametrize("costs", [(1.0, 1.0), (1.0, 10.0), (7.0, 1.0), (0.0, 1.0), (1.0, 0.0)])
def test_thinned_thresholds_contain_the_cheapest_and_the_start(costs):
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.3
    score = rng.normal(size=3000) + y
    found = class_counts(("yes", "no"), score, y, 0.5, 50)
    assert found["is_thinned"]
    assert len(found["scores"]) < 120
    true, false = (np.array(found[f"{name}_positives"]) for name in ("true", "false"))
    for t, tp, fp in zip(found["scores"], true, false, strict=True):
        assert (tp, fp) == ((y & (score > t)).sum(), (~y & (score > t)).sum())
    every = [numpys_measures(y, score, t, costs)[1]["cost"] for t in [-np.inf, *score]]
    kept = costs[0] * np.append(false, (~y).sum()) + costs[1] * np.append(y.sum() - true, 0)
    assert_allclose(1000.0 * kept.min() / len(y), min(every), rtol=1e-12)
    at_start = np.searchsorted(found["scores"], 0.5, side="right") - 1
    assert true[at_start] == (y & (score > 0.5)).sum()


def test_the_first_threshold_is_that_of_predict():
    for name in ("stumps", "boosted", "multiplicative"):
        model, X, y = every_model()[name]
        predictions = Report.from_estimator(model, X, y).summary.predictions
        counts = thresholds(predictions).classes[0]
        place = np.searchsorted(counts["scores"], counts["start"], side="right") - 1
        assert [counts["false_positives"][place], counts["true_positives"][place]] == [
            line[1] for line in predictions.confusion()
        ]


def test_regressors_have_no_threshold():
    assert report("numbers")[1].summary.thresholds is None


@pytest.mark.parametrize("width", WIDTHS)
def test_the_threshold_moves_confusion_matrix_measures_and_cost(browser, folder, width):
    page, messages = page_of(browser, folder, "mixed", width=width, scheme="dark")
    predictions = report("mixed")[1].summary.predictions
    y, score = predictions.y == predictions.classes[1], predictions.probabilities[:, 1]
    tool = page.locator("#threshold-tool")
    field, slider = tool.locator("[data-part=number]"), tool.locator("[data-part=slider]")
    check_threshold(page, y, score, 0.5, (1.0, 1.0))
    for threshold in (0.0, 0.123, float(np.sort(score)[40]), 0.9, 1.0):
        field.fill(repr(threshold))
        check_threshold(page, y, score, threshold, (1.0, 1.0))
    tool.get_by_label("Cost of a false positive").fill("2.5")
    tool.get_by_label("Cost of a false negative").fill("7")
    check_threshold(page, y, score, 1.0, (2.5, 7.0))
    slider.focus()
    page.keyboard.press("ArrowLeft")
    moved = float(field.input_value())
    assert 0.9 < moved < 1.0
    slider.evaluate("each => { each.value = 0.31; each.dispatchEvent(new Event('input')); }")
    assert float(field.input_value()) == 0.31
    check_threshold(page, y, score, 0.31, (2.5, 7.0))
    tool.get_by_role("button", name="Use the cheapest threshold").click()
    cheapest = float(field.input_value())
    check_threshold(page, y, score, cheapest, (2.5, 7.0))
    every = [numpys_measures(y, score, t, (2.5, 7.0))[1]["cost"] for t in [-1.0, *score]]
    shown = tool.locator("[data-part=cost]").get_attribute("data-value")
    assert_allclose(float(shown), min(every), rtol=1e-12)
    assert len(tool.locator("path.curve").get_attribute("d")) > 100
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert messages == []
    page.context.close()


def test_each_of_several_classes_has_a_threshold(browser, folder):
    page, messages = page_of(browser, folder, "classes")
    predictions = report("classes")[1].summary.predictions
    tool = page.locator("#threshold-tool")
    for code, name in enumerate(predictions.classes):
        tool.locator("[data-part=class]").select_option(str(name))
        y, score = predictions.y == name, predictions.probabilities[:, code]
        check_threshold(page, y, score, 0.5, (1.0, 1.0))
        tool.locator("[data-part=number]").fill("0.3")
        check_threshold(page, y, score, 0.3, (1.0, 1.0))
    assert messages == []
    page.context.close()


def test_thinned_thresholds_show_the_one_that_is_counted(browser, folder):
    model, found, _, _ = report("stumps")
    predictions = found.summary.predictions
    few = replace(found.summary, thresholds=thresholds(predictions, max_thresholds=8))
    page, messages = opened(browser, Report(few, "few").write(folder / "few.html"))
    y, score = predictions.y == model.classes_[1], predictions.probabilities[:, 1]
    check_threshold(page, y, score, 0.5, (1.0, 1.0))
    tool = page.locator("#threshold-tool")
    tool.locator("[data-part=number]").fill("0.7")
    note = tool.locator("[data-part=exact]").inner_text()
    counted = float(note.split(",")[0].removeprefix("Counts at "))
    assert counted <= 0.7
    check_threshold(page, y, score, counted, (1.0, 1.0))
    assert messages == []
    page.context.close()


# -- what if


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
        "AdaBoost": (AdaBoostClassifier(n_estimators=10), iris, species),
        "LPBoost": (LPBoostClassifier(C=0.1), X, y),
        "regression": (InfiniteEnsembleRegressor(solver="additive"), mixed, np.arange(150.0)),
    }
    found = {
        name: (model.fit(rows, targets), rows) for name, (model, rows, targets) in fitted.items()
    }
    for name in ("stumps", "classes", "numbers", "mixed", "boosted"):
        model, rows, _ = every_model()[name]
        found[name] = model, pd.DataFrame(rows)
    return found


NAMES = (
    *("ranks", "steps", "exact steps", "lines", "intersection", "points", "point tables"),
    *("exact categories", "isotonic", "one per class", "AdaBoost", "LPBoost", "regression"),
    *("stumps", "classes", "numbers", "mixed", "boosted"),
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
    source = files("kernsemble.report").joinpath("templates", "what_if.js")
    page.add_script_tag(content=source.read_text(encoding="utf-8"))
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


def test_models_with_interactions_are_refused_with_the_reason():
    model, X, y = every_model()["trees"]
    found = Report.from_estimator(model, X, y)
    assert found.summary.what_if.data is None
    assert "The model has interactions (Laplacian(" in found.to_html()
    with pytest.raises(ValueError, match="is no sum over columns because of Laplacian"):
        additive_model([EnsembleView.from_estimator(model, X)])
