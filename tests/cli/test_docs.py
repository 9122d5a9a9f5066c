"""The commands of the documentation run, and print what the documentation shows."""

import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
SIZES = {"train": 2000, "test": 1000, "new": 50}


def documented_commands():
    """Yield the words of each command of the page, and the lines shown below it."""
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        for entry in block.split("$ kernsemble ")[1:]:
            command, *lines = entry.splitlines()
            yield shlex.split(command), [line for line in map(without_times, lines) if line]


def without_times(line):
    """Return a line with single spaces and without its times."""
    return re.sub(r"\d+\.\d seconds", "… seconds", " ".join(line.split()))


def assert_same_output(printed, shown):
    """Check that texts are equal up to 2 per cent in each number, as on another computer."""
    number = r"\d+\.\d+"
    texts = [re.sub(number, "#", "\n".join(lines)) for lines in (printed, shown)]
    assert texts[0] == texts[1]
    values = [list(map(float, re.findall(number, "\n".join(lines)))) for lines in (printed, shown)]
    np.testing.assert_allclose(*values, rtol=0.02)


def customers(n, seed):
    """Return the customers of the page, some of whom left."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 80, n), np.round(rng.lognormal(3.5, 0.5, n), 1)
    town = rng.choice(["Aachen", "Brno", "Cork"], n)
    score = 0.08 * np.abs(age - 45) - 0.02 * income + (town == "Cork") + rng.logistic(size=n)
    known = [None if k % 20 == 0 else float(each) for k, each in enumerate(income)]
    left = np.where(score > 0.5, "yes", "no")
    return pl.DataFrame({"age": age, "income": known, "town": town, "left": left})


def sensors():
    """Return measurements of six sensors, two of which predict a rare fault."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    fault = X[:, 0] + X[:, 2] + 0.3 * rng.normal(size=300) > 2.2
    columns = {f"s{d}": X[:, d] for d in range(6)}
    return pl.DataFrame(columns | {"fault": np.where(fault, "yes", "no")})


@pytest.mark.large
def test_the_commands_of_the_documentation_print_what_it_shows(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, (name, n) in enumerate(SIZES.items()):
        customers(n, seed).write_csv(f"{name}.csv")
    sensors().write_csv("sensors.csv")
    commands = list(documented_commands())
    names = {words[0] for words, _ in commands}
    assert names >= {"fit", "predict", "explain", "select", "rare"}
    assert any(lines for _, lines in commands)
    for words, lines in commands:
        result = run(*words)
        assert result.exit_code == 0, (words, result.output)
        printed = [line for line in map(without_times, result.stdout.splitlines()) if line]
        if lines:
            assert_same_output(printed, lines)


@pytest.mark.large
def test_the_predictions_of_the_documentation_are_those_of_its_model(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, (name, n) in enumerate(SIZES.items()):
        customers(n, seed).write_csv(f"{name}.csv")
    for words, _ in list(documented_commands())[:2]:
        assert run(*words).exit_code == 0
    block = re.search(r"^```text\n(prediction,.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    shown = pl.read_csv(block[1].encode())
    written = pl.read_csv("scores.csv")[: shown.height]
    assert shown.columns == written.columns
    assert shown["prediction"].to_list() == written["prediction"].to_list()
    numbers = shown.columns[1:]
    np.testing.assert_allclose(shown.select(numbers), written.select(numbers), rtol=1e-4)
