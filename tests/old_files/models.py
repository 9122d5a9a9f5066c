"""Models whose files are kept: ``python tests/old_files/models.py`` writes those of this version.

A folder per format contains the files of all its models, and ``expected.json``: rows, and what the
models predicted there when they were written. Files are written once, when a format is new: the
script refuses to replace a folder.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kernsemble.boosting import AdaBoostClassifier
from kernsemble.detection import LagoClassifier
from kernsemble.export import to_json
from kernsemble.inspection.additive_model import VERSION
from kernsemble.kernels import Category, Gaussian, Kernel, Laplacian, Perceptron, Stump
from kernsemble.persistence import FORMAT, save
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)

HERE = Path(__file__).parent
METHODS = ("predict", "decision_function", "predict_proba")
ADDITIVE = ("additive", "pairs", "regressor", "AdaBoost")  # to_json writes these


def table(n: int, seed: int) -> pd.DataFrame:
    """Draw rows with numbers, some missing, and categories."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, size=n).astype(float)
    hours = rng.normal(38.0, 8.0, size=n).round(1)
    town = rng.choice(["Cork", "Galway", "Sligo"], size=n).astype(object)
    age[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "hours": hours, "town": town})


def amounts(rows: pd.DataFrame) -> Any:
    """Return a target with an interaction."""
    older, here = rows["age"].fillna(50.0) > 45.0, rows["town"] == "Cork"
    return 0.1 * rows["hours"] + 2.0 * (older ^ here) + older


def fitted_models() -> dict[str, Any]:
    """Fit one small model of each kind to 60 rows."""
    mixed, rng = table(60, seed=0), np.random.default_rng(1)
    amount = amounts(mixed).to_numpy()
    paid = np.where(amount > np.median(amount), "yes", "no")
    points = rng.normal(size=(60, 3))
    place = np.digitize(points[:, 0] + points[:, 1] ** 2, [0.0, 1.5])
    tables = {"solver": "additive", "random_state": 0}
    return {
        "additive": InfiniteEnsembleClassifier("stump", loss="logistic", **tables).fit(mixed, paid),
        "pairs": InfiniteEnsembleClassifier(
            "stump", loss="logistic", pairs=[("age", "town")], max_levels=8, **tables
        ).fit(mixed, paid),
        "exact": InfiniteEnsembleClassifier(
            Laplacian().on([0, 1]) + Perceptron(), solver="exact", calibration="sigmoid"
        ).fit(points, place),
        "local": InfiniteEnsembleClassifier(
            Laplacian(), solver="local", loss="squared", random_state=0
        ).fit(points, place),
        "vote": InfiniteEnsembleClassifierCV("auto", loss="squared", cv=2, random_state=0).fit(
            mixed, paid
        ),
        "regressor": InfiniteEnsembleRegressor("stump", **tables).fit(mixed, amount),
        "AdaBoost": AdaBoostClassifier(n_estimators=8).fit(points, place),
        "LAGO": LagoClassifier(rare=[2]).fit(points, place),
    }


def bound_kernels() -> list[Kernel]:
    """Bind kernels to eight fixed rows."""
    rows = np.arange(16.0).reshape(8, 2) % 5.0
    kernels = (Stump() + 0.5 * Category().on([1]), Laplacian(), Perceptron() * Gaussian(0.1))
    return [kernel.bind(rows) for kernel in kernels]


def new_rows(model: Any) -> dict[str, Any]:
    """Return rows between and beyond the training rows; None for missing numbers."""
    if not hasattr(model, "feature_names_in_"):
        rows = (1.5 * np.random.default_rng(3).normal(size=(12, 3))).round(6)
        return {"columns": None, "rows": rows.tolist()}
    rows = table(12, seed=2)
    rows.loc[0, "hours"] = 90.0
    entries = rows.astype(object).where(rows.notna(), None)
    return {"columns": list(rows), "rows": entries.to_numpy().tolist()}


def predictions(model: Any, kept: dict[str, Any]) -> dict[str, Any]:
    """Return all predictions of a model at rows that were kept."""
    if kept["columns"] is None:
        X = np.array(kept["rows"])
    else:
        X = pd.DataFrame(kept["rows"], columns=kept["columns"], dtype=object)
        X = X.astype({"age": float, "hours": float})
    return {name: getattr(model, name)(X) for name in METHODS if name in kept}


def write() -> None:
    """Write the files of this version."""
    models, expected = fitted_models(), {}
    for name, model in models.items():
        expected[name] = new_rows(model)
        methods = {name: None for name in METHODS if hasattr(model, name)}
        found = predictions(model, expected[name] | methods)
        expected[name] |= {method: each.tolist() for method, each in found.items()}
    if (folder := new_folder(f"models-{FORMAT}")) is not None:
        for name, model in models.items():
            save(model, folder / f"{name}.skops")
        save(bound_kernels(), folder / "kernels.skops")
        _write_expected(folder, expected)
    if (folder := new_folder(f"documents-{VERSION}")) is not None:
        for name in ADDITIVE:
            to_json(models[name], folder / f"{name}.json")
        _write_expected(folder, {name: expected[name] for name in ADDITIVE})


def new_folder(name: str) -> Path | None:
    """Make a folder; return None if there is one, which is left as it is."""
    folder = HERE / name
    if folder.exists():
        sys.stderr.write(f"{name} exists: the files of a format are written once\n")
        return None
    folder.mkdir()
    return folder


def _write_expected(folder: Path, expected: dict[str, Any]) -> None:
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    (folder / "expected.json").write_text(text.replace("]],", "]],\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
