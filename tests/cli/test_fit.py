"""``kernsemble fit``: its output, its files and its errors."""

import gzip
import json
import shutil

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from kernsemble import load
from kernsemble.datasets import make_threenorm

QUICK = ("--kernel", "stump", "--scaling", "range", "--folds", "2")


def numbers_csv(path, n=80, seed=0):
    X, y = make_threenorm(n, random_state=seed)
    table = pl.DataFrame({f"x{d}": X[:, d] for d in range(3)})
    table.with_columns(pl.Series("y", y)).write_csv(path)
    return path


@pytest.mark.large
def test_auto_compares_kernels_on_numbers(run, tmp_path):
    train, out = numbers_csv(tmp_path / "train.csv"), tmp_path / "m.skops"
    test = numbers_csv(tmp_path / "test.csv", seed=1)
    words = "fit", train, "--target", "y", "--test", test, "--out", out
    result = run(*words, "--loss", "hinge", "--json")
    assert result.exit_code == 0, result.output
    output = json.loads(result.stdout)
    assert len(output["leaderboard"]) > 1
    assert "trees, polytopes, perceptrons and stumps" in output["search"]
    assert output["classes"] == [-1, 1]
    best, model = output["leaderboard"][0], load(out)
    assert best["score"]["low"] < best["score"]["value"] < best["score"]["high"]
    assert best["score"]["value"] == pytest.approx(model.best_score_)
    assert str(model.best_params_["kernel"]) == best["kernel"]
    assert best["score"]["value"] == max(each["score"]["value"] for each in output["leaderboard"])
    tests = {each["name"]: each["value"] for each in output["scores"]}
    frame = pl.read_csv(test)
    right = model.score(frame.drop("y"), frame["y"].to_numpy())
    assert tests["accuracy"] == pytest.approx(right)
    assert tests.keys() >= {"accuracy", "balanced accuracy", "ROC AUC"}


def test_auto_is_a_vote(run, tmp_path):
    train, out = numbers_csv(tmp_path / "train.csv"), tmp_path / "m.skops"
    test = numbers_csv(tmp_path / "test.csv", seed=1)
    words = "fit", train, "-t", "y", "--test", test, "-o", out, "--folds", 3, "--force"
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    output = json.loads(result.stdout, parse_constant=pytest.fail)  # NaN is not JSON
    model, (vote, *others) = load(out), output["leaderboard"]
    assert (vote["kernel"], vote["scaling"], vote["C"]) == ("vote", None, None)
    assert vote["score"]["value"] == pytest.approx(model.best_score_)
    assert len(others) == len(model.cv_results_["params"]) - 1
    means = [each["score"]["value"] for each in others]
    assert means == sorted(means, reverse=True)
    members = {each.weight: each for each in model.members_}
    assert [each["weight"] for each in output["members"]] == sorted(
        members, key=lambda weight: -members[weight].share
    )
    for each in output["members"]:
        mine = members[each["weight"]]
        assert (each["name"], each["C"], each["share"]) == (mine.name, mine.C, mine.share)
        (score,) = (
            other["score"]["value"]
            for other in others
            if (other["kernel"], other["scaling"]) == (each["kernel"], each["scaling"])
        )
        assert each["score"]["value"] == score
    tests = {each["name"]: each["value"] for each in output["scores"]}
    frame = pl.read_csv(test)
    right = model.score(frame.drop("y"), frame["y"].to_numpy())
    assert tests["accuracy"] == pytest.approx(right)
    text = run(*words).stdout
    n, name = len(model.members_), output["members"][0]["name"]
    machines = f"{n} machine{'s' if n > 1 else ''}"
    assert f"Vote of {machines}" in text
    (line,) = (each for each in text.splitlines() if each.startswith("selected:"))
    assert line.startswith(f"selected: vote of {machines}: ")
    assert name in line
    explained = run("explain", out, "--data", test, "--row", 2)
    assert explained.exit_code == 0, explained.output
    assert "log-odds of 1 vs -1" in explained.stdout


def test_the_leaderboard_is_sorted_by_score(run, folder, tmp_path):
    words = "fit", folder / "train.csv", "-t", "label", "--drop", "level", "--folds", "2"
    kernels = "--kernel", "stump,middle-stump", "--scaling", "rank", "--json"
    result = run(*words, *kernels, "-o", tmp_path / "m.skops")
    assert result.exit_code == 0, result.output
    board = json.loads(result.stdout)["leaderboard"]
    assert {each["kernel"] for each in board} == {"stump", "middle-stump"}
    means = [each["score"]["value"] for each in board]
    assert means == sorted(means, reverse=True)


def test_the_text_output(run, folder, tmp_path):
    words = "fit", folder / "train.csv", "-t", "level", "--drop", "label", *QUICK
    result = run(*words, "-o", tmp_path / "m.skops", "--test", folder / "new.csv", "--progress")
    assert result.exit_code == 0, result.output
    for part in (
        "150 rows",
        "regression (inferred",
        "means over 2 folds",
        "stump",
        "60 test rows",
    ):
        assert part in result.stdout
    assert "selecting kernel and C" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.skops"]


def test_a_model_file_is_an_estimator_that_python_can_use(folder):
    model, new = load(folder / "classes.skops"), pl.read_parquet(folder / "new.parquet")
    assert list(model.feature_names_in_) == ["a", "b", "colour", "flag"]
    assert model.table_schema_.target == "label"
    assert model.table_schema_.kinds == ("number", "number", "category", "number")
    share = model.score(new.select(model.feature_names_in_.tolist()), new["label"].to_numpy())
    assert share > 0.7


@pytest.mark.parametrize(
    ("values", "options", "task"),
    [
        (["1", "2"], (), "classification"),
        (["1.0", "2.0"], (), "classification"),
        (["true", "false"], (), "classification"),
        (["yes", "no"], (), "classification"),
        ([str(k) for k in range(20)], (), "regression"),
        (["1.5", "2"], (), "regression"),
        (["1", "2"], ("--task", "regression"), "regression"),
    ],
)
def test_the_task_is_inferred_or_given(run, tmp_path, values, options, task):
    lines = [f"{k % 7},{values[k % len(values)]}" for k in range(40)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["x,y", *lines]))
    result = run("fit", table, "-t", "y", *QUICK, *options, "--json", "-o", tmp_path / "m.skops")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["task"] == task


def test_other_separators_missing_markers_and_compressed_files(run, tmp_path):
    rows = [f"{k // 2};{'?' if k % 5 == 0 else k % 3};{'uv'[k % 2]}" for k in range(40)]
    table = tmp_path / "t.csv.gz"
    with gzip.open(table, "wt", encoding="utf-8-sig") as file:
        file.write("\n".join(["x;z;y", *rows]))
    words = "fit", table, "-t", "y", *QUICK, "--missing", "?", "--json", "-o", tmp_path / "m.skops"
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["columns"] == {"x": "number", "z": "number"}


def test_drawn_rows_depend_on_the_seed_only(run, folder, tmp_path):
    words = "fit", folder / "train.csv", "-t", "label", "--drop", "level", *QUICK, "--max-rows", 60
    for name in ("one", "two"):
        result = run(*words, "--seed", 3, "-o", tmp_path / f"{name}.skops", "--json")
        assert json.loads(result.stdout)["rows"] == 60
    one, two = (load(tmp_path / f"{name}.skops") for name in ("one", "two"))
    new = pl.read_parquet(folder / "new.parquet").select(one.feature_names_in_.tolist())
    assert_array_equal(one.decision_function(new), two.decision_function(new))


def test_existing_files_are_overwritten_only_with_force(run, refused, tmp_path):
    train = numbers_csv(tmp_path / "train.csv")
    out = tmp_path / "m.skops"
    out.write_text("precious")
    words = "fit", train, "-t", "y", *QUICK, "-o", out
    assert "exists: use another name, or --force" in refused(*words)
    assert run(*words, "--force").exit_code == 0
    assert out.read_bytes()[:2] == b"PK"
    assert "is an input of this command" in refused("fit", train, "-t", "y", "-o", train, "--force")


def broken_tables():
    """Yield a name, the content of the file, and parts of the error message."""
    yield "missing target", b"x,why\n1,2\n", "--target 'y'", "use one of 'x', 'why'"
    yield "empty", b"", "is empty", "header and rows"
    yield "blank", b"\n\n", "first line is empty", "name the columns"
    yield "no rows", b"x,y\n", "no rows", "t.csv"
    yield "one class", b"x,y\n1,a\n2,a\n3,a\n", "only one class, a", "two or more"
    yield "long line", b"x,y\n1,a\n2,b,c\n", "line 3 has 3 fields, the header has 2", "quotes"
    yield "short line", b"x,z,y\n1,2,a\n2,b\n", "line 3 has 2 fields, the header has 3", "correct"
    yield "binary", b"x,y\0\x01\n", "is not text", "CSV"
    yield "dates", b"x,y\n1,2020-01-01\n2,2020-01-02\n", "target 'y' contains dates", "days"
    yield "no labels", b"x,y\n1,\n2,\n3,\n", "missing in all 3 rows", "rows that have one"
    yield "target alone", b"y\na\nb\n", "no columns besides the target", "add features"
    yield "rare class", b"x,y\n" + b"1,a\n" * 9 + b"2,b\n" * 3, "class b has 3 rows", "--folds 3"
    yield (
        "infinite",
        b"x,y\n" + b"1,a\ninf,b\n" * 9,
        "'x' is infinite in row 2",
        "finite number",
    )


@pytest.mark.parametrize(
    ("content", "parts"),
    [pytest.param(content, parts, id=name) for name, content, *parts in broken_tables()],
)
def test_broken_tables_are_refused_in_one_line(refused, tmp_path, content, parts):
    table = tmp_path / "t.csv"
    table.write_bytes(content)
    line = refused("fit", table, "--target", "y", "--out", tmp_path / "m.skops")
    for part in parts:
        assert part in line


def test_wrong_files_are_refused(refused, folder, tmp_path):
    words = "--target", "y", "--out", tmp_path / "m.skops"
    assert "no such file" in refused("fit", tmp_path / "nothing.csv", *words)
    assert "is not a file" in refused("fit", tmp_path, *words)
    assert "must end in .csv" in refused("fit", folder / "classes.skops", *words)
    fake = tmp_path / "fake.parquet"
    shutil.copy(folder / "train.csv", fake)
    assert "cannot be read as Parquet" in refused("fit", fake, *words)
    packed = tmp_path / "fake.csv.gz"
    shutil.copy(folder / "train.csv", packed)
    assert "cannot be read" in refused("fit", packed, *words)
    words = "--target", "label", "--out", tmp_path / "none" / "m.skops"
    assert "there is no folder" in refused("fit", folder / "train.csv", *words)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--kernel", "stmp"), "did you mean 'stump'"),
        (("--kernel", "forest"), "no such kernel (kernels: auto, category, "),
        (("--kernel", "auto,stump"), "use it alone"),
        (("--kernel", ","), "at least one name"),
        (("--task", "ranking"), "classification, regression"),
        (("--scaling", "z"), "range, rank, distinct"),
        (("--loss", "absolute"), "hinge"),
        (("--scoring", "accurac"), "did you mean 'accuracy'?"),
        (("--folds", "1"), "equal to 2"),
        (("--colour", "1"), "No such option"),
    ],
)
def test_wrong_options_are_usage_errors(refused, folder, tmp_path, options, part):
    words = "fit", folder / "train.csv", "-t", "label", "-o", tmp_path / "m.skops"
    assert part in refused(*words, *options, code=2)


def test_tasks_that_do_not_fit_the_target_are_errors(refused, folder, tmp_path):
    words = "fit", folder / "train.csv", "-o", tmp_path / "m.skops", "-t"
    assert "not numbers" in refused(*words, "label", "--task", "regression")
    assert "not classes" in refused(*words, "level", "--task", "classification")
    assert "is the target" in refused(*words, "label", "--drop", "label")
    line = refused(*words, "level", "--loss", "hinge", code=2)
    assert "epsilon_insensitive" in line


def test_errors_of_the_library_name_the_file(refused, folder, tmp_path):
    words = (
        "fit",
        folder / "train.csv",
        "-t",
        "label",
        "--drop",
        "level",
        "-o",
        tmp_path / "m.skops",
    )
    line = refused(*words, "--kernel", "perceptron", "--json")
    assert "train.csv cannot be fitted: column 'b' has missing values" in line
    assert "--scoring r2" in refused(*words, "--scoring", "r2", "--json")


def test_a_column_without_a_name_is_ignored(run, folder, tmp_path):
    table = tmp_path / "t.csv"
    pd.read_csv(folder / "train_numbers.csv").to_csv(table)  # with row numbers
    words = "fit", table, "-t", "label", *QUICK, "-o", tmp_path / "m.skops", "--json"
    result = run(*words)
    assert json.loads(result.stdout)["columns"] == {"a": "number", "c": "number"}
    assert "a column without a name" in result.stderr


def test_a_note_names_text_columns_that_identify_rows(run, tmp_path):
    lines = [f"{k // 2},name {k // 2 if k < 9 else k},{'uv'[k % 2]}" for k in range(120)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["x,who,y", *lines]))
    result = run("fit", table, "-t", "y", *QUICK, "-o", tmp_path / "m.skops")
    assert "--drop 'who'" in result.stderr


def test_classes_of_the_test_file_have_the_type_of_the_training_classes(run, tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("x,y\n" + "1,1\n2,x\n" * 20)
    test.write_text("x,y\n1,1\n1,1\n")
    words = "fit", train, "-t", "y", *QUICK, "--test", test, "-o", tmp_path / "m.skops", "--json"
    accuracy = json.loads(run(*words).stdout)["headline"]
    assert accuracy["value"] == 1.0
    assert np.isclose(accuracy["low"], 2.0 / (2.0 + 1.959964**2))  # Wilson's, of 2 among 2


@pytest.mark.large
def test_pairs_of_columns_have_functions(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    table = pl.DataFrame({f"x{d}": X[:, d] for d in range(3)})
    table = table.with_columns(pl.Series("y", np.where(X[:, 0] * X[:, 2] > 0.0, "yes", "no")))
    train, out, page = (tmp_path / name for name in ("train.csv", "m.skops", "page.html"))
    table.write_csv(train)
    words = "fit", train, "-t", "y", "-o", out, *QUICK, "--pairs", "1"
    result = run(*words, "--json", "--report", page)
    assert result.exit_code == 0, result.output
    output = json.loads(result.stdout)
    assert output["pairs"] == [["x0", "x2"]]
    assert output["headline"]["value"] > 0.85
    assert load(out).pairs_ == ((0, 2),)
    assert "functions of pairs of features" in page.read_text(encoding="utf-8")
    assert ", 1 pair of columns" in run(*words, "--force").stdout
    wrong = run(*words[:-1], "many", "--force")
    assert wrong.exit_code == 2
    assert "use a number or auto" in wrong.output
    exact = run(*words, "--solver", "exact", "--force")
    assert exact.exit_code != 0
    assert "does not support pairs of columns" in exact.output
