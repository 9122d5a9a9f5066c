import math
import os
import time

import numpy as np
import pandas as pd
import pytest
from leaderboard.board import board_of, read_board
from leaderboard.cells import attempt, run_method, store_of
from leaderboard.comparison import (
    bootstrap_interval,
    difference,
    mean_win_rate,
    ranks,
    win_rates,
)
from leaderboard.measures import MEASURES, area, classification, log_loss, of_guessing, regression
from leaderboard.problems import SMALL_SETS, SOURCES, TUNED_ON, all_sets, as_table, draw_split
from leaderboard.processes import CellTimeoutError, call_within
from leaderboard.tables import averages, differences, per_set
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.datasets import Dataset
from kernsemble.experiments import Cell, Record

ERROR = MEASURES[0]
LOSS = np.array([[0.1, 0.2, 0.3], [0.2, 0.2, 0.1], [0.3, 0.1, 0.5], [0.1, 0.4, 0.6]])
NEVER = np.zeros(LOSS.shape, dtype=bool)


def record(data, method, seed=0, error=0.1, failure=None):
    values = {"error": error, "auroc_loss": error, "log_loss": error}
    if failure is None:
        values |= {"fit_seconds": 1.0, "predict_seconds": 0.5}
    return Record(Cell(data, method, seed), values, seconds=9.0, failure=failure)


def records(*each):
    found = {}
    for one in each:
        by_set = found.setdefault(one.cell.method, {})
        by_set.setdefault(one.cell.data, {})[one.cell.seed] = one
    return found


def test_ties_share_their_mean_rank():
    assert_array_equal(ranks(LOSS, NEVER), [[1, 2, 3], [2.5, 2.5, 1], [2, 1, 3], [1, 2, 3]])


def test_differences_by_rounding_are_ties():
    loss = np.array([[0.1 + 0.2, 0.3, 0.4]])
    assert_array_equal(ranks(loss, NEVER[:1]), [[1.5, 1.5, 3.0]])


def test_failures_come_last_whatever_their_loss():
    failed = NEVER.copy()
    failed[0, 0] = failed[1, :2] = True
    assert_array_equal(ranks(LOSS, failed)[:2], [[3, 1, 2], [2.5, 2.5, 1]])


def test_a_tie_is_half_a_win():
    rates = win_rates(LOSS, NEVER)
    assert rates[0, 1] == (1 + 0.5 + 0 + 1) / 4
    assert_allclose(rates + rates.T, np.where(np.eye(3), np.nan, 1.0))
    assert mean_win_rate(LOSS, NEVER)[0] == (rates[0, 1] + rates[0, 2]) / 2


def test_the_difference_is_positive_where_ours_is_better():
    found = difference(LOSS, NEVER, ours=0, rival=2, sources="abcd")
    assert found.mean == pytest.approx(np.mean([0.2, -0.1, 0.2, 0.5]))
    assert found.low < found.mean < found.high
    assert (found.won, found.tied, found.lost) == (3, 0, 1)


def test_a_failure_loses_but_has_the_loss_of_guessing():
    failed = NEVER.copy()
    failed[1, 2] = True
    found = difference(LOSS, failed, ours=0, rival=2, sources="abcd")
    assert (found.won, found.lost) == (4, 0)
    assert found.mean == difference(LOSS, NEVER, 0, 2, "abcd").mean


def test_the_bootstrap_interval_is_that_of_the_normal_distribution_for_many_sets():
    values = np.random.default_rng(0).normal(1.0, 2.0, size=400)
    low, high = bootstrap_interval(values, [str(k) for k in range(400)])
    width = 1.96 * values.std() / 20.0
    assert_allclose([low, high], values.mean() + np.array([-width, width]), atol=0.02)


def test_sets_of_one_source_are_drawn_together():
    values = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    together = bootstrap_interval(values, ["a"] * 4 + ["b", "c"])
    apart = bootstrap_interval(values, "abcdef")
    assert together == (0.0, 1.0)
    assert apart[0] > 0.0
    assert bootstrap_interval(values, ["a"] * 6) == (values.mean(), values.mean())


def test_measures_of_two_classes():
    y, chance = np.array([0, 0, 1, 1]), np.array([0.1, 0.6, 0.4, 0.8])
    found = classification(y, (chance > 0.5).astype(int), np.column_stack([1 - chance, chance]))
    assert found["error"] == 0.5
    assert found["auroc_loss"] == 0.25
    assert found["log_loss"] == pytest.approx(-np.log([0.9, 0.4, 0.4, 0.8]).mean())


def test_classes_without_test_rows_have_no_area():
    y, probability = (
        np.array([0, 0, 2]),
        np.array([[0.8, 0.1, 0.1], [0.6, 0.1, 0.3], [0.1, 0, 0.9]]),
    )
    assert area(y, probability) == 1.0


def test_the_log_loss_of_a_certain_mistake_is_bounded():
    assert log_loss(np.array([1]), np.array([[1.0, 0.0]])) == pytest.approx(-math.log(1e-6))


def test_guessing_has_no_order_and_the_error_of_the_rarer_class():
    found = of_guessing("classification", np.array([0, 0, 0, 1]), np.array([0, 1, 0, 0]))
    assert found["error"] == 0.25
    assert found["auroc_loss"] == 0.5
    y = np.array([1.0, 2.0, 3.0])
    assert of_guessing("regression", y, y) == {"rmse": 1.0}
    assert regression(y, y) == {"rmse": 0.0}


def test_a_call_returns_its_result_or_raises_its_error():
    assert call_within(60.0, math.sqrt, 4.0) == 2.0
    with pytest.raises(RuntimeError, match="ValueError: "):
        call_within(60.0, math.sqrt, -1.0)
    with pytest.raises(RuntimeError, match="exit code 3"):
        call_within(60.0, os._exit, 3)


def test_a_call_that_only_waits_is_stopped_late():
    start = time.perf_counter()
    with pytest.raises(CellTimeoutError, match=r"stopped after 0\.1 s"):
        call_within(0.1, time.sleep, 60.0)
    assert 1.0 <= time.perf_counter() - start < 30.0


def test_a_call_that_computes_is_stopped_in_time():
    start = time.perf_counter()
    with pytest.raises(CellTimeoutError):
        call_within(1.0, pow, 7, 10**9)  # takes hours
    assert time.perf_counter() - start < 9.0


def test_a_timeout_is_a_failure_with_the_measures_of_guessing():
    minute = 60.0  # in place of a cell, since the function is found by name in a new process
    found = attempt(minute, 0.1, compute=time.sleep, guess=lambda cell: {"error": 0.5})
    assert found.failure == "stopped after 0.1 s"
    assert found.values == {"error": 0.5}


def test_failures_are_tried_again_only_if_asked(tmp_path):
    asked = []

    def fail(cell, limit):
        asked.append(cell.data)
        return record(*cell, failure="stopped")

    cells = [Cell("a", "m", 0), Cell("b", "m", 0)]
    for kept in (True, True, False):
        run_method(cells, store_of(tmp_path, "m"), 1.0, lambda record: kept, attempt=fail)  # noqa: B023
    assert asked == ["a", "b", "a", "b"]


def test_a_board_has_the_splits_that_all_methods_have():
    board = board_of(
        records(
            record("a", "ours", 0, 0.1),
            record("a", "ours", 1, 0.3),
            record("a", "rival", 0, 0.2),
            record("b", "ours", 0, 0.2),
        ),
        ["ours", "rival"],
    )
    assert board.sets == ["a"]
    assert_array_equal(board.values["error"], [[0.1, 0.2]])


def test_a_failed_split_makes_the_set_a_failure_and_its_time_is_that_until_it_failed():
    board = board_of(
        records(record("a", "ours", 0), record("a", "ours", 1, failure="stopped")), ["ours"]
    )
    assert board.failed.tolist() == [[True]]
    assert_array_equal(board.values["fit_seconds"], [[5.0]])


def test_a_copied_file_is_a_method_of_its_own(tmp_path):
    store = store_of(tmp_path, "auto")
    with store.writing():
        store.append(record("a", "auto"))
    (tmp_path / "before.jsonl").write_bytes(store.path.read_bytes())
    board = read_board(tmp_path, ["auto", "before"], {"a"}, n_splits=1)
    assert_array_equal(board.values["error"], [[0.1, 0.1]])


def test_tables_show_failures_as_dashes_and_the_best_in_bold():
    board = board_of(
        records(
            record("a", "ours", 0, 0.1),
            record("a", "rival", 0, 0.2),
            record("b", "ours", 0, 0.125),
            record("b", "rival", 0, 0.5, failure="stopped"),
        ),
        ["ours", "rival"],
    )
    assert "| a | **10.00** | 20.00 |\n| b | **12.50** | – |" in per_set(board, ERROR)
    assert "| ours | 11.25 | 1.00 | 100 |" in averages(board)
    assert "| rival | +23.75 [+10.00, +37.50]: 2–0–0 |" in differences(board, "ours")


def test_named_sets_exist():
    names = set(all_sets())
    assert names >= set(TUNED_ON) | set(SOURCES) | set(SMALL_SETS)
    assert all(
        len({name in TUNED_ON for name in SOURCES if SOURCES[name] == s}) == 1
        for s in SOURCES.values()
    )


def test_a_table_has_categories_and_missing_values():
    X = np.array([[0.5, 1.0], [np.nan, np.nan]])
    names, y = ("size", "colour"), np.array([-1, 1])
    categories = {"colour": ("red", "blue")}
    table = as_table(Dataset("", "", X, y, (), {}, "", names, categories))
    assert isinstance(table["x1"].dtype, pd.CategoricalDtype)
    assert table["x1"][0] == "blue"
    assert table.isna().sum().tolist() == [1, 1]


def test_draws_keep_groups_together_and_leave_out_classes_with_one_row():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)
    dataset = Dataset("", "", X, np.arange(200) % 2, (), {}, "", groups=groups)
    train, test = draw_split(dataset, 0, "classification")
    assert not set(groups[train]) & set(groups[test])
    y = np.array([0, 1] * 50 + [2, 2])
    train, test = draw_split(Dataset("", "", X[:102], y, (), {}, ""), 0, "classification")
    assert 2 not in y[test]
    assert len(train) + len(test) == 100


def test_draws_for_regression_are_of_60_percent():
    X = np.zeros((50, 1))
    dataset = Dataset("", "", X, np.linspace(0, 1, 50), (), {}, "", task="regression")
    train, test = draw_split(dataset, 0, "regression")
    assert (len(train), len(test)) == (30, 20)
    assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(50))
