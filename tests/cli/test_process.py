"""The command line as a process: exit codes and interrupts."""

import json
import os
import signal
import subprocess
import sys

import polars as pl
import pytest

import kernsemble

COMMAND = [sys.executable, "-m", "kernsemble"]
COMPILED = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}


def typed(*words):
    """Run a command in a process and return its result."""
    command = [*COMMAND, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=COMPILED)


@pytest.mark.large
def test_fit_and_predict_leave_only_their_outputs(folder, tmp_path):
    out, scores = tmp_path / "m.skops", tmp_path / "scores.csv"
    words = "--target", "label", "--drop", "level", "--kernel", "stump", "--jobs", 1, "--folds", 2
    words = *words, "--no-progress"
    fitted = typed("fit", folder / "train.csv", *words, "--out", out, "--json")
    assert fitted.returncode == 0, fitted.stderr
    assert fitted.stderr == ""
    assert json.loads(fitted.stdout)["rows"] == 150
    predicted = typed("predict", out, folder / "new.csv", "-o", scores, "--no-progress")
    assert predicted.returncode == 0, predicted.stderr
    assert predicted.stdout == ""
    assert pl.read_csv(scores).height == 60
    assert {path.name for path in tmp_path.iterdir()} == {"m.skops", "scores.csv"}


def test_version_and_errors():
    output = typed("--version")
    assert (output.returncode, output.stdout) == (0, f"kernsemble {kernsemble.__version__}\n")
    wrong = typed("fit", "none.csv", "--target", "y", "--no-progress")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("kernsemble: error: none.csv: no such file")
    assert wrong.stderr.count("\n") == 1


@pytest.mark.parametrize("sent", SIGNALS, ids=lambda each: each.name)
def test_an_interrupted_fit_leaves_nothing(tmp_path, sent):
    """Send the signal during model selection, when the bar is shown."""
    table = tmp_path / "train.csv"
    lines = (f"{(k * 7919) % 1009},{(k * 104729) % 997},{k % 3}" for k in range(30_000))
    table.write_text("\n".join(["a,b,y", *lines]))
    words = "fit", table, "-t", "y", "-o", tmp_path / "m.skops", "--folds", 20, "--progress"
    with subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=COMPILED,
    ) as process:
        seen = ""
        while "selecting" not in seen:
            letter = process.stderr.read(1)
            assert letter, seen
            seen += letter
        process.send_signal(sent)
        rest = process.communicate(timeout=120)[1]
    assert process.returncode == SIGNALS[sent], rest
    assert "Traceback" not in rest
    if sent is signal.SIGINT:
        assert rest.endswith("kernsemble: error: interrupted: nothing was written\n")
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


def test_a_closed_pipe_is_silent(folder):
    command = [
        *COMMAND,
        "predict",
        str(folder / "classes.skops"),
        str(folder / "new.csv"),
        "-o",
        "-",
        "--no-progress",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        output = process.stderr.read().decode()
    assert process.returncode == 1
    assert output == ""
