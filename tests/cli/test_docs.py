"""Every command of the documentation does what it says."""

import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cases import has_part

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
COMMANDS = re.findall(r"^\$ kernsemble (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

PARTS = {
    "explain": ("inspection", "EnsembleView"),
    "select": ("selection", "ParallelEvolutionSelector"),
    "rare": ("detection", "LagoClassifier"),
}


def customers(n, seed):
    """Return the table of the documentation."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 80, n), np.round(rng.lognormal(3.5, 0.5, n), 1)
    town = rng.choice(["Aachen", "Brno", "Cork"], n)
    score = 0.08 * np.abs(age - 45) - 0.02 * income + (town == "Cork") + rng.logistic(size=n)
    known = [None if k % 20 == 0 else float(each) for k, each in enumerate(income)]
    left = np.where(score > 0.5, "yes", "no")
    return pl.DataFrame({"age": age, "income": known, "town": town, "left": left})


def sensors():
    """Return numbers of which some tell a fault, which is rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    fault = X[:, 0] + X[:, 2] + 0.3 * rng.normal(size=300) > 2.2
    columns = {f"s{d}": X[:, d] for d in range(6)}
    return pl.DataFrame(columns | {"fault": np.where(fault, "yes", "no")})


@pytest.mark.large
def test_the_commands_of_the_documentation_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, n, seed in (("train", 200, 0), ("test", 100, 1), ("new", 50, 2)):
        customers(n, seed).write_csv(f"{name}.csv")
    sensors().write_csv("sensors.csv")
    assert len(COMMANDS) == 9
    for command in COMMANDS:
        words = shlex.split(command)
        if words[0] not in PARTS or has_part(*PARTS[words[0]]):
            result = run(*words)
            assert result.exit_code == 0, (command, result.output)
