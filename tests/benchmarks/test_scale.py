"""The benchmark at scale: problems, tables and exponents."""

import numpy as np
import pytest
from leaderboard.board import board_of
from leaderboard.measures import MEASURES, classification_by_value
from leaderboard.scale import AT_SCALE, MOST_ROWS, SETS, n_rows_of, problem_at_scale, whole_split
from leaderboard.scale_report import against_best, costs, draw, exponents, sizes

from kernsemble.datasets import Dataset
from kernsemble.experiments import Cell, Record

ERROR = MEASURES[0]


def record(data, method, error, seconds=1.0, failure=None):
    values = {"error": error, "fit_seconds": seconds, "predict_seconds": 0.1}
    values |= {"predict_microseconds": 5.0, "peak_gigabytes": 0.5}
    return Record(Cell(data, method, 0), values, seconds=9.0, failure=failure)


def board(*records):
    found = {}
    for each in records:
        found.setdefault(each.cell.method, {}).setdefault(each.cell.data, {})[0] = each
    return board_of(found, list(found))


def test_ours_is_compared_with_the_best_rival_of_each_set():
    found = board(
        *(record("a", name, error) for name, error in (("x", 0.1), ("y", 0.2), ("z", 0.12))),
        *(record("b", name, error) for name, error in (("x", 0.3), ("y", 0.25), ("z", 0.4))),
    )
    assert "| error, % | 1 of 2 | -1.50 |" in against_best(found, "x", ["y", "z"])
    assert "| a | 1.00 | 1.00 | 1.00 |" in costs(found)


def test_exponents_are_slopes_over_the_two_largest_sizes():
    points = [(10_000, 5.0), (100_000, 8.0), (1_000_000, 80.0)]
    records = [record(f"threenorm {n}", "x", 0.1, seconds) for n, seconds in points]
    failed = record("threenorm 10000", "y", 0.5, failure="stopped")
    found = exponents([*records, failed])
    assert found == {"x": pytest.approx(1.0)}
    text = sizes([*records, failed], ERROR)
    assert "| 1,000,000 | x | 10.00 | 80.00 | 5.0 | 0.50 |" in text
    assert "| 10,000 | y | – |" in text


def test_the_picture_is_drawn(tmp_path):
    records = [record(f"threenorm {n}", "auto", 0.1, n / 1e4) for n in (10_000, 100_000)]
    draw(records, ERROR, "auto", tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1_000


def test_threenorm_is_a_problem_of_any_size():
    problem = problem_at_scale("threenorm 500")
    assert problem.X_train.shape == (500, 20)
    assert len(problem.y_test) == 20_000
    assert set(np.unique(problem.y_train)) == {0, 1}
    assert n_rows_of("threenorm 500") == 500
    assert n_rows_of("adult") == 0
    assert set(MOST_ROWS) <= set(AT_SCALE)
    assert len(SETS) == 11


def test_whole_splits_use_all_rows_and_keep_groups_together():
    X, groups = np.arange(100.0)[:, np.newaxis], np.arange(100) // 5
    y = np.arange(100) % 2
    names, known = ("x",), {"name": "some", "title": "", "splits": (), "source": ""}
    known |= {"target_names": {0: "a", 1: "b"}, "task": "classification"}
    plain = whole_split(Dataset(X=X, y=y, feature_names=names, **known))
    assert len(plain.train) == 70
    assert len(np.union1d(*plain)) == 100
    grouped = whole_split(Dataset(X=X, y=y, feature_names=names, groups=groups, **known))
    assert not np.isin(groups[grouped.test], groups[grouped.train]).any()


def test_methods_without_probabilities_have_error_and_area():
    y, value = np.array([0, 0, 1, 1]), np.array([-1.0, 0.5, 0.2, 2.0])
    found = classification_by_value(y, (value > 0).astype(int), value)
    assert found == {"error": 0.25, "auroc_loss": pytest.approx(0.25)}
    assert set(classification_by_value(y, y, np.zeros((4, 3)))) == {"error"}
