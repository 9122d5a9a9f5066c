"""The threshold slider: the counts and measures of the browser are those of NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from report.interactive_reports import page_of, report
from report.models import every_model
from report.pages import WIDTHS, browser, folder, opened

from kernsemble.report import Report
from kernsemble.report.threshold import class_counts, thresholds

__all__ = ["browser", "folder"]


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


@pytest.mark.large
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
    note = tool.locator("[data-part=exact]")
    counted = float(note.get_attribute("data-value"))
    assert note.inner_text().startswith(f"Counts at {counted:.4g}, the nearest of ")
    assert counted <= 0.7
    check_threshold(page, y, score, counted, (1.0, 1.0))
    assert messages == []
    page.context.close()
