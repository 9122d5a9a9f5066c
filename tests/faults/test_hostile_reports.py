"""Names of columns, classes and categories run nothing in a report."""

import gzip
import re
from base64 import b64decode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from report.pages import browser, folder
from typer.testing import CliRunner

from kernsemble.cli.app import app
from kernsemble.cli.console import note, one_line, show_table, write_json, write_line
from kernsemble.report import Report
from kernsemble.svm import InfiniteEnsembleClassifier

__all__ = ["browser", "folder"]

ATTACK = "window.attacked=1"
NAMES = [
    f'"><script>{ATTACK}</script>',
    f"</script><script>{ATTACK}</script>",
    f"<img src=x onerror={ATTACK}>",
    f"<svg onload={ATTACK}></svg>",
    f'<a href="javascript:{ATTACK}">link</a>',
    f"' autofocus onfocus={ATTACK} '",
    f"</title></style></textarea><script>{ATTACK}</script>",
    "{{ 7 * 7 }}{% raw %}${7*7}%{x}",
    f"`;{ATTACK};\u2028{ATTACK}//\u2029",
    "\u202eevil\u2066\x1b[31m\x07\x9b31m\x00",
    "__proto__",
    "constructor",
]


def hostile_report():
    """Return the report of a model whose columns, categories and classes are hostile."""
    rng = np.random.default_rng(0)
    n, k = 120, len(NAMES) // 2
    numbers = {name: rng.normal(size=n) for name in NAMES[:k]}
    texts = {name: rng.choice(NAMES, n) for name in NAMES[k:]}
    X = pd.DataFrame(numbers | texts)
    y = np.where(X.iloc[:, 0] > 0.0, NAMES[0], NAMES[2])
    model = InfiniteEnsembleClassifier(calibration=None).fit(X, y)
    board = [{NAMES[1]: NAMES[3], "error": 0.5}]
    return Report.from_estimator(model, X, y, title=NAMES[6], leaderboard=board, target=NAMES[4])


@pytest.fixture(scope="module")
def page(folder):
    path = folder / "hostile.html"
    path.write_text(hostile_report().to_html(), encoding="utf-8")
    return path


class Scripts(HTMLParser):
    """Tags, attributes and scripts of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.policy = [], [], [], ""
        self.is_in_script = False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if dict(attributes).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attributes)["content"]
        self.is_in_script = tag == "script" and not attributes

    def handle_data(self, data):
        if self.is_in_script:
            self.scripts.append(data)

    def handle_endtag(self, tag):
        self.is_in_script = False


def test_names_become_neither_elements_nor_attributes(page):
    parsed = Scripts(page.read_text(encoding="utf-8"))
    assert parsed.tags.count("script") == 3
    assert not {"img", "iframe", "object", "embed", "form", "base"} & set(parsed.tags)
    for name, value in parsed.attributes:
        assert not name.startswith("on")
        assert not (value or "").lower().startswith("javascript:")


def test_the_policy_allows_the_scripts_of_the_page_only(page):
    text = page.read_text(encoding="utf-8")
    parsed = Scripts(text)
    library = re.search(r'id="library">([^<]*)<', text)[1]
    allowed = re.search(r"script-src (.*)", parsed.policy)[1].split()
    (script,) = parsed.scripts
    expected = [script.encode(), gzip.decompress(b64decode(unescape(library)))]
    hashes = [b64decode(each.removeprefix("'sha256-").rstrip("'")) for each in allowed]
    assert hashes == [sha256(each).digest() for each in expected]
    assert "default-src 'none'" in parsed.policy
    assert "unsafe-eval" not in parsed.policy


def test_charts_contain_escaped_names(page):
    text = page.read_text(encoding="utf-8")
    drawn = gzip.decompress(b64decode(re.search(r'id="drawn">([^<]*)<', text)[1])).decode()
    figures = drawn[drawn.index('"charts"') : drawn.index('"choices"')]
    assert not re.search(r"<(?!br>|/?b>|/?i>|extra>|/extra>)\w", figures)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_runs_in_a_browser(browser, page, width):
    """Draw everything, select every option and hover, without a script of the names."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    opened, problems = context.new_page(), []
    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("dialog", lambda dialog: problems.append(dialog.message))
    opened.on("request", lambda each: problems.append(each.url) if "http" in each.url else None)
    opened.goto(page.as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    assert opened.locator("#problem").is_hidden()
    for select in opened.locator("select").all():
        if select.is_visible():
            for k in range(select.locator("option").count()):
                select.select_option(index=k)
    for details in opened.locator("details summary").all():
        if details.is_visible():
            details.click()
    opened.wait_for_timeout(300)
    assert opened.evaluate("window.attacked") is None
    assert opened.locator("svg a").count() == 0
    assert problems == []
    context.close()


@pytest.mark.parametrize("attack", [f"<script>{ATTACK}</script>", f"<img src=x onerror={ATTACK}>"])
def test_the_policy_holds_if_a_name_were_not_escaped(browser, page, tmp_path, attack):
    spoilt = tmp_path / "spoilt.html"
    text = page.read_text(encoding="utf-8")
    spoilt.write_text(text.replace("<main>", f"<main>{attack}"), encoding="utf-8")
    opened = browser.new_page()
    opened.goto(spoilt.as_uri())
    opened.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    assert opened.evaluate("window.attacked") is None
    opened.close()


# -- the terminal


@pytest.mark.parametrize(
    "name", ["\x1b[2J", "\x9b31m", "\x07", "\x08\x08", "\x7f", "\u202e", "\u2066", "\x00", "\udcff"]
)
def test_control_characters_reach_the_terminal_as_escapes(name, capsys):
    note(f"column {name}")
    write_line(f"column {name}\n")
    show_table(name, ["", name], [[name, "1"]])
    write_json({"column": name, name: 1})
    written = "".join(capsys.readouterr())
    assert name not in written
    assert written.replace("\n", "").isprintable()


def test_ordinary_text_is_not_changed(capsys):
    for text in ("grün – 3·10⁵ °C, 年齢, 👍", "a\nb"):
        write_line(text)
        assert capsys.readouterr().out == f"{text}\n"
    assert one_line("a\n b") == "a b"


def test_commands_write_escapes_for_hostile_columns(tmp_path):
    header = ["\x1b[2Ja", "\x9bb", "\u202ec", "[bold]d[/bold]", "y"]
    rows = np.random.default_rng(0).normal(size=(30, 4)).round(2).astype(str)
    lines = [",".join([*row, "\x1b[31mp" if float(row[0]) > 0 else "q"]) for row in rows]
    table, out = tmp_path / "t.csv", tmp_path / "m.skops"
    table.write_text("\n".join([",".join(header), *lines]), encoding="utf-8")
    words = "--kernel", "stump", "--scaling", "range", "--folds", "2", "--no-progress"
    results = [
        CliRunner().invoke(app, list(map(str, each)))
        for each in (
            ("fit", table, "-t", "y", *words, "-o", out),
            ("explain", out),
            ("explain", out, "--data", table, "--row", 1),
            ("explain", out, "--json"),
            ("fit", table, "-t", "\x1b[2J", *words),
            ("predict", out, table, "--keep", "\x1b[2J"),
        )
    ]
    assert [each.exit_code for each in results] == [0, 0, 0, 0, 1, 1]
    for result in results:
        assert result.output.replace("\n", "").isprintable()
    assert "[bold]d[/bold]" in results[1].stdout
