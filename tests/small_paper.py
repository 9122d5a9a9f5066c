"""A small paper of two tables and a figure, with fake methods."""

from types import SimpleNamespace

import matplotlib
import pytest

from kernsemble.exceptions import DatasetNotFoundError
from kernsemble.experiments import Cell, Record, Store, folders, pictures
from kernsemble.experiments.paper import Paper

CONFIG = """
title = "A paper <of> ours"
published_runs = 100
[profiles.full]
runs = 3
[profiles.quick]
runs = 1
rows = ["twonorm"]
[tables.table1]
caption = "errors"
[tables.table1.columns]
"good" = "SVM-Stump"
"bad" = "SVM-Mid"
"steps" = "SVM-Mid: iterations"
[tables.table1b]
caption = "errors as the paper meant them"
published = "table1"
[tables.table1b.columns]
"bad" = "SVM-Stump"
[tables.table2]
caption = "seconds"
is_judged = false
[tables.table2.columns]
"good" = "SVM-Stump: fit"
[figures.figure1]
caption = "a curve"
picture = "curve"
rows = ["twonorm"]
methods = ["SVM-Stump"]
[figures.figure2]
caption = "a picture that fails"
picture = "no such picture"
[[explanations]]
table = "table1"
columns = ["bad"]
rows = ["ringnorm"]
text = "Its columns were exchanged."
tested_by = "table1b"
[[claims]]
text = "good is better than bad"
table = "table1"
smaller = "good"
larger = ["bad"]
[[claims]]
text = "bad is better than good"
table = "table1"
smaller = "bad"
larger = ["good"]
"""
PUBLISHED = """{"table1": {"rows": {
  "twonorm": {"good": {"mean": 1.0, "se": 0.1}, "bad": {"mean": 9.0, "se": 0.1}},
  "ringnorm": {"good": {"mean": 1.0, "se": 0.1}, "bad": {"mean": 1.0, "se": 0.1}},
  "absent": {"good": {"mean": 5.0, "se": 0.1}}}}, "table2": {"rows": {
  "twonorm": {"good": {"mean": 7.0}}}}}"""
ERRORS = {"SVM-Stump": 1.0, "SVM-Mid": 2.0}
TITLE = "A paper <of> ours"


def computed(cell: Cell) -> dict[str, float]:
    """Return the values of the fake methods."""
    error = ERRORS[cell.method] + 0.1 * cell.seed
    return {"error": error, "iterations": 7.0, "fit": 0.5}


def curve(records):
    """Draw errors against draws."""
    figure = matplotlib.figure.Figure()
    figure.subplots().plot([record.values["error"] for record in records])
    return figure


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder of two papers, and replace everything that takes long."""
    place = tmp_path / "papers"
    for name in ("small-2026", "other-2026"):
        (place / name).mkdir(parents=True)
        (place / name / "config.toml").write_text(CONFIG)
        (place / name / "published.json").write_text(PUBLISHED)
    config = CONFIG.replace("tables.table1", "tables.table9").replace('"table1', '"table9')
    (place / "other-2026" / "config.toml").write_text(config)
    monkeypatch.setattr(folders, "PLACES", (tmp_path / "none", place))
    monkeypatch.setattr(folders, "draw", draw)
    monkeypatch.setattr(folders, "dataset_of", lambda name: name if name == "absent" else None)
    monkeypatch.setattr(folders, "locate", draw)
    monkeypatch.setattr("kernsemble.experiments.paper.n_draws", lambda name: None)
    monkeypatch.setattr("kernsemble.experiments.paper.compute", computed)
    monkeypatch.setitem(pictures.PICTURES, "curve", curve)
    folders._absence.cache_clear()
    yield place
    folders._absence.cache_clear()


def draw(name, seed=0):
    """Raise the error of a missing data set."""
    if name == "absent":
        raise DatasetNotFoundError("absent is in none of the sources:\n  1. put it there")


@pytest.fixture
def small(place, tmp_path):
    """Return the paper, and a store of all its cells, one of which failed."""
    paper = Paper.from_folder(place / "small-2026")
    store = Store(tmp_path / "records.jsonl")
    with store.writing():
        for data in ("twonorm", "ringnorm"):
            for method in ERRORS:
                for seed in range(3):
                    cell = Cell(data, method, seed)
                    failure = "ValueError: no" if cell == ("twonorm", "SVM-Mid", 2) else None
                    values = {} if failure else computed(cell)
                    store.append(Record(cell, values, 1.5, 1.0, failure, "1"))
    return SimpleNamespace(paper=paper, store=store)
