"""The page in a browser: drawn without errors, usable with a mouse and on a phone."""

import pytest
from report.models import cancer, every_model, stumps
from report.pages import WIDTHS, browser, folder, opened

from kernsemble.report import write_report
from kernsemble.report.reproduction import reproduction_page

__all__ = ["browser", "folder"]


def written(folder, name):
    model, X, y = every_model()[name]
    path = folder / f"{name}.html"
    if path.exists():
        return path
    if name == "stumps":
        X, X_test, y, y_test = cancer()
        return write_report(stumps(), path, X, y, X_test=X_test, y_test=y_test)
    return write_report(model, path, X, y)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["stumps", "trees", "classes", "numbers", "mixed", "boosted"])
def test_every_chart_is_drawn_without_errors(browser, folder, name, width):
    page, messages = opened(browser, written(folder, name), width)
    charts = page.locator("[data-chart]")
    assert charts.count() >= 3
    for chart in charts.all():
        assert chart.get_attribute("data-drawn") == "yes"
        box = chart.locator(".main-svg").first.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 90
        marks = ".scatterlayer .trace, .barlayer .trace"
        assert chart.locator(marks).count() >= 1
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0
    assert messages == []
    assert page.locator("#problem").is_hidden()
    page.context.close()


def test_hovering_shows_a_value(browser, folder):
    page, messages = opened(browser, written(folder, "stumps"))
    chart = page.locator("#chart-importances")
    chart.scroll_into_view_if_needed()
    chart.locator(".barlayer .point").first.hover(force=True)  # through Plotly's overlay
    label = chart.locator(".hoverlayer .hovertext")
    label.first.wait_for()
    first = page.locator("#chart-shapes select option").first.inner_text()
    assert label.first.text_content().startswith(first)
    assert "%" in label.first.text_content()
    assert messages == []
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_reader_selects_features_machines_and_rows(browser, folder, width):
    page, messages = opened(browser, written(folder, "classes"), width)
    chart = page.locator("#chart-shapes")
    machine, feature = chart.locator("select").all()
    for choice in (machine, feature):
        before = chart.locator(".scatterlayer path.js-line").first.get_attribute("d")
        choice.select_option(index=1)
        page.wait_for_function(
            "before => document.querySelector('#chart-shapes .scatterlayer path.js-line')"
            ".getAttribute('d') !== before",
            arg=before,
        )
    assert chart.locator(".xtitle, .x2title, .x3title").last.text_content() == (
        feature.locator("option").nth(1).inner_text()
    )
    rows = page.locator("#chart-contributions")
    note = rows.locator(".note").inner_text()
    rows.locator("select").last.select_option(index=1)
    page.wait_for_function(
        "note => document.querySelector('#chart-contributions .note').innerText !== note", arg=note
    )
    assert messages == []
    page.context.close()


def test_the_data_of_a_chart_are_a_table(browser, folder):
    page, _ = opened(browser, written(folder, "stumps"), "phone")
    chart = page.locator("#chart-importances")
    chart.locator("summary").click()
    chart.locator("table").wait_for()
    assert chart.locator("table tbody tr").count() == 3
    names = set(page.locator("#chart-shapes select option").all_inner_texts())
    assert {each.split("\t")[2] for each in chart.locator("tbody tr").all_inner_texts()} == names
    page.context.close()


def test_dark_pages_are_dark(browser, folder):
    path = written(folder, "stumps")
    ink = {}
    for scheme in ("light", "dark"):
        page, messages = opened(browser, path, scheme=scheme)
        text = page.locator("#chart-roc .xtitle")
        ink[scheme] = text.evaluate("each => getComputedStyle(each).fill")
        assert messages == []
        page.context.close()
    assert ink == {"light": "rgb(28, 28, 28)", "dark": "rgb(232, 232, 232)"}


def test_theme_follows_the_reader(browser, folder):
    page, messages = opened(browser, written(folder, "stumps"))
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('#chart-roc .xtitle')).fill"
        " === 'rgb(232, 232, 232)'"
    )
    assert messages == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_reproduction_is_readable_without_errors(browser, small, tmp_path, width, scheme):
    path = tmp_path / "index.html"
    path.write_text(reproduction_page([small.paper], small.store), encoding="utf-8")
    page, messages = opened(browser, path, width, scheme, ready="footer")
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0  # tables scroll in their boxes
    for picture in page.locator("figure img").all():
        picture.scroll_into_view_if_needed()
        picture.evaluate("each => each.decode()")
        box = picture.bounding_box()
        assert 200 < box["width"] <= WIDTHS[width][0]
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    colours = {
        verdict: page.locator(f"[data-verdict={verdict}] span").first.evaluate(
            "each => getComputedStyle(each).color"
        )
        for verdict in ("within", "better", "worse")
    }
    assert len({ground, *colours.values()}) == 4
    assert page.locator("[data-verdict=worse]").first.inner_text().endswith("▲ worse")
    assert page.locator("[data-holds=True]").inner_text().startswith("✓")
    assert messages == []
    page.context.close()
