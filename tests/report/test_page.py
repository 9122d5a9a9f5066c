"""The page is one small file, loads nothing and escapes names."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report.models import NAMES, cancer, every_model, stumps

from kernsemble.report import Report, write_report
from kernsemble.svm import InfiniteEnsembleClassifier

LIMIT = 3_000_000
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


class Elements(HTMLParser):
    """The elements of a page, those not closed, and its text."""

    empty = frozenset({"meta", "link", "br", "hr", "img", "input", "!doctype"})

    def __init__(self, page):
        super().__init__()
        self.found, self.open, self.text = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.empty:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def count(self, tag):
        return sum(found == tag for found, _ in self.found)


def test_jargon_is_not_on_the_page():
    for name in ("stumps", "numbers", "classes"):
        page = Report.from_estimator(*every_model()[name]).to_html()
        text = " ".join(Elements(page).text)
        for word in ("‖w‖", "density", "adds", "0 vs 1", "Machine"):
            assert word not in text


@pytest.mark.parametrize("name", ["vote", "vote of classes", "vote of numbers"])
def test_the_page_of_a_vote_has_a_row_per_member(name):
    model, X, y = every_model()[name]
    report = Report.from_estimator(model, X, y)
    members = report.summary.members
    assert {each.weight for each in members} == {each.weight for each in model.members_}
    text = " ".join(" ".join(Elements(report.to_html()).text).split())
    (table,) = re.findall(r"Members of the vote (.*?) Reproducibility", text)
    for each, found in zip(members, model.members_, strict=True):
        assert each.name in table
        assert f"{100 * each.share:.0f} %" in table
        assert f"member {model.members_.index(found) + 1}" in text
    machines = f"{len(members)} machine{'s' if len(members) > 1 else ''}"
    assert f"vote of {machines}: {max(members, key=share_of_name(members)).name}" in text
    assert report.summary.selection is None
    assert report.summary.cross_validated.value == pytest.approx(model.best_score_)


def share_of_name(members):
    """Return the share that all members of the name of one have together."""
    return lambda member: sum(each.share for each in members if each.name == member.name)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_loads_nothing_and_is_small(name, tmp_path):
    model, X, y = every_model()[name]
    path = write_report(model, tmp_path / "report.html", X, y, rows=[0, 1])
    page = path.read_text(encoding="utf-8")
    assert path.stat().st_size < LIMIT
    elements = Elements(page)
    assert elements.open == []
    for _, attributes in elements.found:
        for key in ("src", "href", "action", "data"):
            assert attributes.get(key, "#").startswith(("#", "data:,"))
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert list(tmp_path.iterdir()) == [path]


def test_names_are_escaped(tmp_path):
    X, _, y, _ = cancer()
    X = X.set_axis([EVIL, "</script>", "{{ 7 * 7 }}"], axis=1)
    labels = np.where(y == "benign", EVIL, "</title>")
    model = InfiniteEnsembleClassifier().fit(X, labels)
    board = [{EVIL: EVIL, "error": 0.5}]
    report = Report.from_estimator(model, X, labels, title=EVIL, leaderboard=board)
    elements = Elements(report.to_html())
    assert elements.count("img") == 0
    assert elements.count("script") == 3
    text = "".join(elements.text)
    assert EVIL in text
    assert "{{ 7 * 7 }}" in text
    figures = str([each for chart in report.charts.values() for each in chart.figures])
    assert "<script" not in figures
    assert "<img" not in figures


@pytest.mark.large
def test_a_page_of_a_thousand_features_is_small(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 1000))).add_prefix("a feature with a long name ")
    y = X.iloc[:, 0] + X.iloc[:, 1] > 0
    model = InfiniteEnsembleClassifier(scaling="rank").fit(X, y)
    path = write_report(model, tmp_path / "report.html", X, y)
    assert path.stat().st_size < LIMIT
    page = path.read_text(encoding="utf-8")
    assert "The 80 most important of 1,000" in page
    assert "800 more columns are not listed" in page


def test_scores_are_labelled_and_those_of_training_rows_have_a_warning():
    X, X_test, y, y_test = cancer()
    page = Report.from_estimator(stumps(), X, y).to_html()
    assert "are those of out-of-fold rows. Each row is predicted by a machine that was" in page
    assert "slightly optimistic" in page
    assert "only training scores" not in page
    tested = Report.from_estimator(stumps(), X, y, X_test=X_test, y_test=y_test).to_html()
    assert "are those of test rows" in tested
    alone = np.r_[y[:59], ["strange"]]
    model = InfiniteEnsembleClassifier().fit(X[:60], alone)
    page = Report.from_estimator(model, X[:60], alone).to_html()
    assert "There are only training scores, which are optimistic" in page
    assert "the class strange has only one row" in page


def test_the_navigation_has_the_names_of_the_sections():
    X, _, y, _ = cancer()
    page = Report.from_estimator(stumps(), X, y, leaderboard=[{"method": "tree"}]).to_html()
    links = re.findall(r'<a href="#([\w-]+)">([^<]+)</a>', page)
    headings = re.findall(r'<section id="([\w-]+)">\s*<h2>([^<]+)</h2>', page)
    assert links == headings
    assert {"Summary", "Performance", "Data", "Model selection"} <= {name for _, name in links}


def test_an_old_file_stays_when_writing_fails(tmp_path, monkeypatch):
    X, _, y, _ = cancer()
    path = tmp_path / "report.html"
    path.write_text("older", encoding="utf-8")
    report = Report.from_estimator(stumps(), X, y)

    def fail(*_):
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="no space"):
            report.write(path)
    assert path.read_text(encoding="utf-8") == "older"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        report.write(tmp_path / "absent" / "report.html")


def test_a_missing_library_is_named_with_its_remedy():
    code = (
        f"import sys; sys.path[:] = {sys.path}; sys.modules['plotly'] = None\n"
        "try: import kernsemble.report\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "reports need plotly" in done.stdout
    assert "pip install 'kernsemble[report]'" in done.stdout


@pytest.mark.large
def test_charts_have_one_figure_per_choice():
    for model, X, y in every_model().values():
        for chart in Report.from_estimator(model, X, y).charts.values():
            sizes = [len(options) for options in chart.choices.values()]
            assert len(chart.figures) == np.prod(sizes, dtype=int)
            assert all(len(figure.data) > 0 for figure in chart.figures)
