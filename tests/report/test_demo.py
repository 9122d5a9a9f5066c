"""The demonstration: the same folds for every method, a leaderboard, a report."""

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
    for name in ("tree", "all stumps and categories", "random forest", "HistGradientBoosting"):
        assert name in text
        assert name in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]
