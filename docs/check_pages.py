"""Check the built pages: they load nothing from the network and fit on screens.

``make docs`` runs it after the build: ``pytest docs/check_pages.py``.
"""

import re
import shutil
from pathlib import Path

import pytest

PAGES = Path(__file__).parent / "_build" / "html"
REQUEST = re.compile(
    r"<(?:script|img|iframe|source|audio|video)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"'\s>]*"
    r"|<link\b(?![^>]*\brel=[\"']?canonical)[^>]*\bhref=[\"']?(?:https?:)?//[^\"'\s>]*"
    r"|@import\s+(?:url\()?[\"']?(?:https?:)?//[^\"')\s]*"
    r"|url\([\"']?(?:https?:)?//[^\"')\s]*"
)
SHOWN = [
    "index",
    "user_guide",
    "quickstart",
    "theory/stump_kernel",
    "theory/definiteness",
    "reference/index",
    "reference/generated/kernsemble.svm.InfiniteEnsembleClassifierCV",
    "reference/generated/kernsemble.svm.SVMPath",
]
OUTSIDE = """() => [...document.querySelectorAll("article h1, article p, article code, article li")]
    .filter((each) => !each.closest("pre, .pst-scrollable-table-container, div.math"))
    .filter((each) => each.getBoundingClientRect().right > window.innerWidth + 1)
    .map((each) => each.innerText.slice(0, 80))"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


def opened(browser, name, width, scheme="light"):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    page.goto((PAGES / f"{name}.html").as_uri())
    page.evaluate("document.fonts.ready")
    return page


def requests(text):
    return [found.group() for found in REQUEST.finditer(text)]


@pytest.mark.parametrize(
    "text",
    [
        '<script async src="https://cdn.example/mathjax.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "@import url(https://fonts.example/css);",
        "src: url('https://fonts.example/a.woff2')",
        '<img alt="badge" src="http://img.example/a.svg">',
    ],
)
def test_requests_are_found(text):
    assert len(requests(text)) == 1
    assert requests(text.replace("https:", "").replace("http:", "").replace("//", "")) == []


def test_pages_load_nothing_from_the_network():
    files = [path for kind in ("html", "css") for path in PAGES.rglob(f"*.{kind}")]
    assert len(files) > 100
    found = {path.name: requests(path.read_text(encoding="utf-8")) for path in files}
    assert {name: each for name, each in found.items() if each} == {}


def test_navigation_is_one_row_of_a_small_desktop(browser):
    page = opened(browser, "index", 1280)
    items = page.locator(".navbar-header-items .navbar-nav > .nav-item:visible").all()
    assert 4 <= len(items) <= 8
    assert len({each.bounding_box()["y"] for each in items}) == 1
    assert page.locator(".bd-header").bounding_box()["height"] < 90
    assert page.locator(".nav-item.dropdown:visible").count() == 0


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", SHOWN)
def test_nothing_is_wider_than_the_screen(browser, name, width):
    page = opened(browser, name, width)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.evaluate(OUTSIDE) == []


def test_formulas_are_drawn_offline_in_their_own_font(browser):
    page = opened(browser, "theory/stump_kernel", 1280, "dark")
    assert page.locator("math").count() > 10
    assert page.locator("script[src*=athJax], script[src*=athjax]").count() == 0
    fonts = page.evaluate("[...document.fonts].map((each) => [each.family, each.status])")
    assert ["STIX Two Math", "loaded"] in [[name.strip('"'), status] for name, status in fonts]
    assert page.locator("div.math math").first.bounding_box()["height"] > 30  # a large sum
    assert "\\" not in page.locator("math").first.text_content()
