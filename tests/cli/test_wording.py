"""Messages at the command line name options, not parameters of Python."""

import re

import numpy as np
import polars as pl
import pytest

from kernsemble.cli.wording import OPTIONS, in_options, kernel_in_words
from kernsemble.exceptions import ArgumentError

PYTHON = re.compile(
    r"\b(cache_size|max_iter|n_universes|n_jobs|sample_weight|class_weight|X_test|float32|NaN"
    r"|[a-z_]+=\S|X|y (?:has|contains)|[A-Z]\w+\(\))\b"
)


@pytest.fixture
def table(tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 2))
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    labels = np.where(X[:, 0] * X[:, 1] > 0.0, "u", "v")
    frame.with_columns(pl.Series("label", labels)).write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


QUICK = "--scaling", "rank", "--folds", 2


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--tol", -1), "--tol -1.0: use a positive, finite number"),
        (("--loss", "logistic", "--solver", "exact"), "use --loss hinge, or --solver additive"),
        (("-k", "stump", "--scoring", "neg_log_loss"), "--scoring needs probabilities"),
    ],
)
def test_errors_name_options(run, table, options, part):
    result = run("fit", table, "-t", "label", *QUICK, *options, "-o", table.with_name("m.skops"))
    assert result.exit_code > 0
    line = result.stderr.splitlines()[-1]
    assert part in line
    assert not PYTHON.search(line), line


def test_warnings_name_options(run, table):
    words = "fit", table, "-t", "label", *QUICK, "-k", "laplacian", "--max-iter", 1, "--force"
    notes = run(*words).stderr
    assert "--max-iter 1 was reached" in notes
    assert "raise --max-iter, loosen --tol" in notes
    assert not PYTHON.search(notes), notes


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "it takes 80 MB, and cache_size allows 1: its rows are computed on demand, 10 "
            "are cached; raise cache_size to hold all, or pass float32 rows to halve it",
            "it takes 80 MB, and --memory allows 1: its rows are computed on demand, 10 are "
            "cached; raise --memory to hold all, or fit fewer rows with --max-rows",
        ),
        (
            "column 'b' of X has missing values (NaN), and kernel = Perceptron() has no hypothesis "
            "for them: fill them in, or use Stump(), MiddleStump() or Category() on this column",
            "column 'b' has missing values, and --kernel perceptron has no hypothesis for them: "
            "fill them in, or use --kernel stump or middle-stump",
        ),
        (
            "select = 'gap': the largest gap between importances, 0.1, is below 0.2 and may be due "
            "to chance with 25 universes: raise n_universes, or use select=('top', k)",
            "the largest gap between importances, 0.1, is below 0.2 and may be due to chance with "
            "25 universes: raise --universes",
        ),
        (
            "y has only one row of a rare class or of the background, so none can be held out: "
            "pass more rows, or use numbers for alpha and threshold",
            "the target has only one row of a rare class or of the background, so none can be held "
            "out: use more rows",
        ),
        ("use the epsilon insensitive loss", "use --loss epsilon_insensitive"),
        (
            "60 MB of memory are allowed: use fewer rows, or free memory",
            "60 MB of memory are allowed: fit fewer rows with --max-rows, or raise --memory",
        ),
        (
            "column 'b' of X has missing values (NaN), and kernel = Perceptron() has no hypothesis "
            "for them: fill them in, or use Mixed(Perceptron()), or Stump(), MiddleStump() or "
            "Category() on this column",
            "column 'b' has missing values, and --kernel perceptron has no hypothesis for them: "
            "fill them in, or use --kernel auto, stump or middle-stump",
        ),
        (
            "cells take 9 MB, and cache_size allows 1: reduce n_grids, use fewer rows, or raise "
            "cache_size",
            "cells take 9 MB, and --memory allows 1: fit fewer rows with --max-rows, or raise "
            "--memory",
        ),
        (
            "a.csv was not written by kernsemble.save: pass a file that was, or load other skops "
            "files with skops.io.load",
            "a.csv was not written by kernsemble fit: use a file that was",
        ),
        (ArgumentError("kernel", "x", "use a name"), "--kernel x: use a name"),
        (ValueError("the column 'tol' = 3 is kept"), "the column 'tol' = 3 is kept"),
    ],
)
def test_messages_of_the_library_are_translated(message, expected):
    assert in_options(message) == expected


def test_every_option_of_the_table_exists(run):
    """A remedy must be possible at the command line."""
    helped = " ".join(run(command, "--help").stdout for command in ("fit", "select", "rare"))
    known = set(re.findall(r"--[a-z-]+", helped))
    assert {option for option in OPTIONS.values() if option.startswith("--")} <= known


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        ("stump", "stump"),
        ("Perceptron()", "perceptron"),
        ("Mixed(Stump())", "stump"),
        ("Mixed(Exponential(gamma=1.7649))", "exponential (polytopes), gamma 1.76"),
        ("Laplacian(gamma=1e-05)", "laplacian (trees), gamma 1e-05"),
        ("Stump() + 0.12345 * Perceptron()", "Stump() + 0.123 * Perceptron()"),
    ],
)
def test_kernels_are_shown_by_the_names_of_the_option(kernel, text):
    assert kernel_in_words(kernel) == text
