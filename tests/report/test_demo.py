"""The demonstration: the same folds for every method, a leaderboard, a report."""

import html
import re

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from kernsemble.datasets import make_twonorm
from kernsemble.report import demo as module
from kernsemble.report.demo import DemoDataset, compare_methods, demo, table


@pytest.fixture
def small():
    X, y = make_twonorm(90, random_state=0)
    methods = {
        "dummy": DummyClassifier(strategy="most_frequent"),
        "tree": DecisionTreeClassifier(random_state=0),
    }
    return DemoDataset("twonorm", X, y, methods)


def test_methods_are_compared_on_the_same_folds(small):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    found = compare_methods(small)
    assert [each.method for each in found] == ["tree", "dummy"]
    for each in found:
        scores = cross_val_score(small.methods[each.method], small.X, small.y, cv=folds)
        assert each.error == pytest.approx(1 - scores.mean())
        assert each.standard_error == pytest.approx(scores.std(ddof=1) / np.sqrt(3))


def test_tables_are_aligned():
    lines = table([{"name": "a", "error": "10"}, {"name": "long name", "error": "2"}])
    assert lines == ["name       error", "a          10", "long name  2"]


@pytest.mark.large
def test_the_demonstration_prints_a_leaderboard_and_writes_a_report(small, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "breast_cancer", lambda: small)
    lines = []
    path = demo(tmp_path / "demo-report.html", lines.append, n_rows=200)
    text = "\n".join(lines)
    page = path.read_text(encoding="utf-8")
    for name in ("all stumps and categories", "random forest", "HistGradientBoosting"):
        assert name in text
        assert name in page
    assert "twonorm" in text
    assert "twonorm" not in page  # the leaderboard is that of the data of the report
    assert "are those of test rows" in page
    assert "make_mixed_table(200, random_state=0)" in page
    assert list(tmp_path.iterdir()) == [path]
    program = re.search(r'<code id="program">(.*?)</code>', page, re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    exec(html.unescape(program), names := {})
    assert names["model"].score(names["X_test"], names["y_test"]) == pytest.approx(
        float(re.search(r'class="big">([\d.]+)</span> accuracy', page)[1]), abs=5e-4
    )
