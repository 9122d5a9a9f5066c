"""The program of a report runs from a clean prompt and makes the same model."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from report.models import NAMES, cancer, every_model, stumps
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import kernsemble
from kernsemble.boosting import AdaBoostClassifier
from kernsemble.kernels import Category, Laplacian, Perceptron, Stump
from kernsemble.report import Report
from kernsemble.report.model_program import Origin, UnwritableError, expression, model_program
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV


def run(program, folder):
    """Run a program in a folder, as from a clean prompt."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    source = str(Path(kernsemble.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": source, "PATH": "", "NUMBA_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return kernsemble.load(folder / "model.skops")


def evaluated(value):
    imports = set()
    text = expression(value, imports)
    names = {}
    exec("\n".join(imports), names)
    return eval(text, names)


@pytest.mark.large
def test_the_program_runs_from_a_clean_prompt(tmp_path):
    X, _, y, _ = cancer()
    X.assign(malign=y, other=1.0).to_csv(tmp_path / "train.csv", index=False)
    model = InfiniteEnsembleClassifierCV(
        [Stump(), Laplacian(0.1)],
        Cs=(0.1, 1.0),
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(X, y)
    report = Report.from_estimator(model, X, y, source="train.csv", target="malign")
    again = run(report.summary.settings.code, tmp_path)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", NAMES)
def test_every_program_makes_an_equal_model(name, tmp_path, monkeypatch):
    """Without a file the program has a comment, and runs where X and y exist."""
    monkeypatch.chdir(tmp_path)
    model, X, y = every_model()[name]
    program = model_program(model, Origin())
    assert "# X and y are the training rows and targets" in program
    names = {"X": X, "y": y}
    exec(compile(program, "program", "exec"), names)
    assert repr(names["model"]) == repr(model)
    assert_array_equal(names["model"].predict(X), model.predict(X))


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"a": [1, (2.5,), "x"]},
        (np.float64(0.5), np.int64(2), np.inf),
        range(3),
        2.0 * Stump().on("age") + Category().on("city") * Perceptron(),
        KFold(3, shuffle=True, random_state=np.int64(1)),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=7),
        InfiniteEnsembleClassifier(C=2.0**-15, class_weight={"a": 1.0, "b": 0.1}, random_state=3),
    ],
)
def test_expressions_make_equal_values(value):
    assert repr(evaluated(value)) == repr(value).replace("np.float64(0.5)", "0.5").replace(
        "np.int64(2)", "2"
    )


def test_arrays_are_written_in_full():
    values = np.arange(2000.0).reshape(1000, 2)
    assert_array_equal(evaluated(values), values)


def test_values_without_an_expression_are_named():
    with pytest.raises(UnwritableError, match="function"):
        expression(lambda: 0, set())
    model = InfiniteEnsembleClassifier(random_state=np.random.RandomState(0))
    assert model_program(model, Origin()).startswith("# There is no program: RandomState")


def test_columns_and_commands_are_on_the_page():
    X, _, y, _ = cancer()
    command = "kernsemble fit train.csv -t malign --report r.html"
    report = Report.from_estimator(
        stumps(), X, y, source="train.csv", target="malign", command=command
    )
    page = report.to_html()
    assert command in page
    assert "--holdout" in page
    assert "X_test" not in page
    assert "['mean radius', 'mean texture', 'worst concave points']" in report.summary.settings.code
