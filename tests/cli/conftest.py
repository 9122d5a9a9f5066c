"""Tables with mixed columns, and models fitted to them from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from small_paper import place, small
from typer.testing import CliRunner

from kernsemble.cli.app import app
from kernsemble.cli.progress_lines import ProgressLines

__all__ = ["place", "small"]

QUICK = ("--kernel", "stump", "--scaling", "range", "--folds", "2")


def mixed_table(n: int, seed: int) -> Any:
    """Return a table of numbers, truth values, categories and missing values, with two targets."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    colour, flag = rng.choice(["red", "grün", "blue"], n), rng.random(n) < 0.5
    level = 2.0 * a + (colour == "red") + flag + 0.3 * rng.normal(size=n)
    return pl.DataFrame(
        {
            "a": a,
            "b": [None if k % 9 == 0 else value for k, value in enumerate(b)],
            "colour": [None if k % 11 == 3 else str(each) for k, each in enumerate(colour)],
            "flag": flag,
            "level": level,
            "label": np.where(level > 1.0, "high", "low"),
        }
    )


@pytest.fixture(autouse=True)
def without_progress_lines(monkeypatch) -> None:
    """Write no progress lines, which depend on the time that commands take."""
    monkeypatch.setattr(ProgressLines, "_keep_writing", lambda _: None)


@pytest.fixture
def run() -> Callable[..., Any]:
    """Return a function that runs a command in this process."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """Return a folder with tables, and models fitted to them."""
    place = tmp_path_factory.mktemp("tables")
    for name, n, seed in (("train", 150, 0), ("new", 60, 1)):
        table = mixed_table(n, seed)
        table.write_csv(place / f"{name}.csv")
        table.write_parquet(place / f"{name}.parquet")
        numbers = table.select("a", pl.col("level").alias("c"), "label")
        numbers.write_csv(place / f"{name}_numbers.csv")
    for model, table, settings in (
        ("classes", "train.csv", ("--target", "label", "--drop", "level")),
        ("numbers", "train.parquet", ("--target", "level", "--drop", "label")),
        ("exact", "train_numbers.csv", ("--target", "label")),
    ):
        words = "fit", place / table, *settings, *QUICK, "--out", place / f"{model}.skops"
        result = CliRunner().invoke(app, list(map(str, words)))
        assert result.exit_code == 0, result.output
    return place


@pytest.fixture
def refused(run, tmp_path) -> Callable[..., str]:
    """Return a function that checks that a command fails with one line and writes no file."""

    def refused_line(*words: Any, code: int = 1) -> str:
        before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
        result = run(*words)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        (line,) = [each for each in result.stderr.splitlines() if ": note: " not in each]
        assert line.startswith("kernsemble: error: ")
        after = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
        assert after == before
        return line

    return refused_line
