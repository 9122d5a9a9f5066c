"""``kernsemble fit``: the leaderboard, scores on unseen rows, and the time."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from kernsemble import load
from kernsemble.cli.fit import _default_output
from kernsemble.cli.held_out_rows import hold_out, n_trained_on
from kernsemble.cli.kernel_search import leaderboard
from kernsemble.cli.stopwatch import Stopwatch
from kernsemble.cli.training_data import TrainingData

QUICK = ("--kernel", "stump", "--scaling", "range", "--folds", "2")


def classes(n=40):
    y = np.array(["no"] * (n - n // 4) + ["yes"] * (n // 4))
    return TrainingData(
        pl.DataFrame({"a": np.arange(float(n))}), y, {"a": "number"}, "classification"
    )


def fit_words(folder, tmp_path, *more):
    words = "fit", folder / "train.csv", "-t", "label", "--drop", "level", *QUICK
    return *words, "-o", tmp_path / "m.skops", *more


def cross_validated():
    """Return a stand-in for a race: two finalists at two C, and an eliminated candidate."""
    settings = [("Stump()", 1.0), ("Stump()", 2.0), ("Perceptron()", 1.0), ("Perceptron()", 2.0)]
    scores = np.array([[0.5, 0.7], [0.6, 0.8], [0.8, 0.9], [0.1, 0.2]])
    results = {
        "params": [{"kernel": k, "scaling": "rank", "C": C} for k, C in settings],
        "rank_test_score": np.array([3, 2, 1, 4]),
        "mean_test_score": scores.mean(axis=1),
        **{f"split{fold}_test_score": scores[:, fold] for fold in range(2)},
    }
    raced = {"kernel": ["Laplacian(1.0)", "Stump()"], "scaling": ["rank", "rank"]}
    return SimpleNamespace(cv_results_=results, best_index_=2, race_results_=raced)


def test_the_leaderboard_has_one_comparable_score_per_kernel_and_scaling():
    """Candidates that a race eliminated on fewer rows are not listed."""
    model = cross_validated()
    board = leaderboard(model, "accuracy")
    assert [(each.kernel, each.C) for each in board] == [("Perceptron()", 1.0), ("Stump()", 2.0)]
    assert [each.score.value for each in board] == pytest.approx([0.85, 0.7])
    expected = np.sqrt((1 / 2 + 1) * np.var([0.8, 0.9], ddof=1))
    assert board[0].score.standard_error == pytest.approx(expected)


def test_a_line_states_what_was_compared_and_left_out_in_options(run, folder, tmp_path):
    words = "fit", folder / "train.csv", "-t", "label", "--drop", "level", "--solver", "additive"
    words = *words, "--folds", 2, "-o", tmp_path / "m.skops"
    line = json.loads(run(*words, "--json").stdout)["search"]
    assert line.startswith("compared stumps")
    assert "left out trees" in line
    assert line.endswith("use --solver exact")
    assert line in run(*words, "--force").stdout


def test_out_of_fold_scores_stand_beside_those_of_always_guessing(run, folder, tmp_path):
    output = json.loads(run(*fit_words(folder, tmp_path, "--json")).stdout)
    assert (output["scored_on"], output["scored_rows"]) == ("out-of-fold rows", 150)
    y = pl.read_csv(folder / "train.csv")["label"].to_numpy()
    model, share = (
        load(tmp_path / "m.skops"),
        {each: np.mean(y == each) for each in ("high", "low")},
    )
    found = output["headline"]
    right = model.out_of_fold_.predicted == y[model.out_of_fold_.rows]
    assert found["value"] == pytest.approx(right.mean())
    assert found["always_guessing"] == pytest.approx(max(share.values()))
    assert output["guess"] == max(share, key=share.get)
    *_, last = run(*fit_words(folder, tmp_path, "--force")).stdout.splitlines()
    assert last == (
        f"accuracy {found['value']:.3f} (95 % CI {found['low']:.3f} to {found['high']:.3f}) on 150 "
        f"out-of-fold rows; always guessing {output['guess']} gives {found['always_guessing']:.3f}"
    )


def test_the_headline_is_the_score_that_the_model_was_selected_by(run, folder, tmp_path):
    words = fit_words(folder, tmp_path, "--scoring", "roc_auc")
    assert run(*words).stdout.splitlines()[-1].startswith("ROC AUC 0.")
    words = "fit", folder / "train.csv", "-t", "level", "--drop", "label", *QUICK, "--force"
    *_, last = run(*words, "-o", tmp_path / "m.skops").stdout.splitlines()
    assert last.startswith("R² 0.")
    assert "always guessing the mean (" in last
    assert ") gives 0.000; mean absolute error " in last


def test_held_out_rows_choose_nothing_and_are_scored(run, folder, tmp_path):
    output = json.loads(run(*fit_words(folder, tmp_path, "--json", "--holdout", 0.2)).stdout)
    assert (output["rows"], output["scored_rows"]) == (120, 30)
    assert output["scored_on"] == "held-out rows"
    assert len(load(tmp_path / "m.skops").out_of_fold_.rows) == 120


def test_held_out_rows_are_stratified_and_disjoint():
    data = classes()
    kept, held_out = hold_out(data, 0.2, seed=0)
    assert [np.sum(each.y == "yes") for each in (kept, held_out)] == [8, 2]
    assert sorted([*kept.X["a"], *held_out.X["a"]]) == list(range(40))
    assert n_trained_on(kept, held_out) == 0
    assert n_trained_on(data, held_out) == 8


def test_test_rows_count_as_trained_on_if_features_and_target_are_equal():
    def rows(a, colour, y):
        frame = pl.DataFrame(
            {"a": a, "colour": colour}, schema={"a": pl.Float64, "colour": pl.String}
        )
        return TrainingData(frame, np.array(y), {}, "classification")

    train = rows([1.0, None, 3.0], ["red", "red", None], ["u", "v", "u"])
    test = rows([1.0, np.nan, 3.0, 1.0], ["red", "red", None, "red"], ["u", "v", "v", "v"])
    assert n_trained_on(train, test) == 2


def test_rows_that_are_equal_by_chance_are_not_counted():
    def rows(n, seed):
        a = np.random.default_rng(seed).integers(40, size=n).astype(float)
        return TrainingData(pl.DataFrame({"a": a}), np.zeros(n), {}, "regression")

    train = rows(100, 0)
    assert n_trained_on(train, rows(50, 1)) == 0
    distinct = TrainingData(pl.DataFrame({"a": np.arange(100.0)}), np.zeros(100), {}, "regression")
    assert n_trained_on(distinct, rows(50, 1)) == 50


def test_a_note_counts_test_rows_that_were_trained_on(run, folder, tmp_path):
    result = run(*fit_words(folder, tmp_path, "--test", folder / "train.csv"))
    assert "150 of 150 test rows are also training rows" in result.stderr
    result = run(*fit_words(folder, tmp_path, "--force", "--test", folder / "new.csv"))
    assert "training rows" not in result.stderr
    assert "60 test rows" in result.stdout


def test_wrong_shares_are_usage_errors(refused, folder, tmp_path):
    words = fit_words(folder, tmp_path, "--holdout")
    assert "use one of them" in refused(*words, 0.2, "--test", folder / "new.csv", code=2)
    assert "share between 0 and 1" in refused(*words, 20, code=2)
    assert "need a row of every class" in refused(*words, 0.001)


def test_the_times_of_all_parts_add_up(run, folder, tmp_path):
    output = json.loads(run(*fit_words(folder, tmp_path, "--json")).stdout)
    parts = output["seconds_by_part"]
    assert list(parts) == ["loading", "reading", "selection", "scoring", "writing"]
    assert output["seconds"] == pytest.approx(sum(parts.values()), abs=0.01)


def test_time_counts_from_the_start_of_the_process():
    watch = Stopwatch(start=2.0, clock=lambda: 5.0)
    watch.lap("loading")
    assert str(watch) == "loading 3.0 s; 3.0 seconds in all"


@pytest.mark.parametrize(
    ("table", "model"),
    [("train.csv", "train.skops"), ("a.b.parquet", "a.b.skops"), ("t.csv.gz", "t.skops")],
)
def test_the_model_file_has_the_name_of_the_table(table, model):
    assert _default_output(Path("folder") / table) == Path("folder") / model
    assert _default_output(Path("-")) == Path("model.skops")


def test_without_out_the_model_is_written_beside_the_table(run, refused, folder, tmp_path):
    table = tmp_path / "t.csv"
    pl.read_csv(folder / "train_numbers.csv").write_csv(table)
    words = "fit", table, "-t", "label", *QUICK
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert load(tmp_path / "t.skops").classes_.tolist() == ["high", "low"]
    assert "t.skops exists: use another name, or --force" in refused(*words)


def test_without_target_the_columns_are_listed(refused, folder, tmp_path):
    for command in ("fit", "select", "rare"):
        line = refused(command, folder / "train_numbers.csv", code=2)
        assert "has the columns 'a', 'c', 'label'; perhaps --target 'label'" in line
        assert line.endswith(f"(see kernsemble {command} --help)")
    table = tmp_path / "t.csv"
    table.write_text("Class,a,b\nu,1,2\nv,2,1\n")
    assert "perhaps --target 'Class'" in refused("fit", table, code=2)


def test_a_report_is_suggested(run, folder, tmp_path):
    assert "add --report report.html" in run(*fit_words(folder, tmp_path)).stderr
