"""Additive models as one SELECT."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernsemble._files import atomic_write, check_folder
from kernsemble.exceptions import ArgumentError
from kernsemble.export.machine_terms import plain_additive_model
from kernsemble.export.pair_terms import PairTerms, levels_of_categories
from kernsemble.export.piecewise_tables import PiecewiseTable
from kernsemble.export.sql.dialects import Dialect, database, literal, name, number
from kernsemble.export.sql.functions import of_categories, piecewise
from kernsemble.export.sql.probabilities import add_codes, add_probabilities
from kernsemble.export.sql.stages import Stages, selected
from kernsemble.inspection.additive_model import AdditiveModel, ColumnData

SOURCE = "source"  # alias of the table to select from


def to_sql(
    model: Any,
    dialect: Dialect = "duckdb",
    table: str = "rows",
    path: str | os.PathLike[str] | None = None,
    *,
    keep: Sequence[str] = (),
    contributions: bool = False,
) -> str:
    """Return an additive model as one SELECT from a table with the columns of the training table.

    Functions of columns are CASE expressions. The columns of the result are those to keep, the
    ``prediction``, and ``probability_<class>`` for each class if the model has probabilities,
    else ``decision_<label>`` for each machine of a classifier. Missing values are NULL; dates are
    of type DATE or TIMESTAMP in DuckDB, and text such as 2024-03-01 in SQLite.

    Parameters
    ----------
    model : fitted estimator
        Model of stumps and categories, a vote of such machines, or boosted stumps.
    dialect : {"duckdb", "sqlite"}, default="duckdb"
        Database. SQLite needs version 3.35 and its mathematical functions.
    table : str, default="rows"
        Table to select from.
    path : str or path, optional
        File to write.
    keep : sequence of str, default=()
        Columns of the table to copy to the result, such as a key.
    contributions : bool, default=False
        Whether to return the contribution of every column to every machine, as
        ``contribution_<column>``, followed by the label if there are several machines.

    Returns
    -------
    str

    Raises
    ------
    NotExportableError
        If the model is not a sum over columns; the message names the reason.

    Examples
    --------
    >>> import duckdb
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernsemble.export import to_sql
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = InfiniteEnsembleClassifier(calibration="sigmoid").fit(X[::3], y[::3])
    >>> rows = X.head(2)
    >>> found = duckdb.sql(to_sql(model)).df()
    >>> found.columns.tolist()
    ['prediction', 'probability_0', 'probability_1']
    >>> bool(abs(found.iloc[:, 1:].to_numpy() - model.predict_proba(rows)).max() < 1e-9)
    True
    """
    _check_names("table", [table])
    _check_names("keep", keep)
    plain, stages = plain_additive_model(model), Stages(database(dialect))
    kept = {f"k{place}": each for place, each in enumerate(keep)}
    raw = {key: _of_source(each) for key, each in kept.items()}
    raw |= {f"c{d}": _raw(each, stages) for d, each in enumerate(plain["columns"])}
    stages.start(raw, f"{name(table)} AS {SOURCE}")
    _add_values(stages, plain)
    results = {name(each): key for key, each in kept.items()} | _results(stages, plain)
    if contributions:
        results |= _contributions(plain)
    query = stages.query(results)
    if path is not None:
        target = Path(path)
        check_folder(target)
        with atomic_write(target) as part:
            part.write_text(query, encoding="utf-8")
    return query


def _check_names(argument: str, names: Any) -> None:
    """Raise an error unless the values of an argument are names of a table or of columns."""
    are_many = isinstance(names, (list, tuple))
    wrong = [each for each in names if not isinstance(each, str) or not each] if are_many else names
    if not are_many or wrong:
        raise ArgumentError(argument, names, "use names that are text and not empty")


def _of_source(column: str) -> str:
    """Return a column of the table; SQLite reads a name alone as text if there is no column."""
    return f"{SOURCE}.{name(column)}"


def _raw(column: ColumnData, stages: Stages) -> str:
    """Return a column as the functions use it."""
    if "part_of" in column:
        return stages.database.parts[column["part"]].format(_of_source(column["part_of"]))
    mine = _of_source(column["name"])
    if column["kind"] == "category":
        return mine
    is_date = column.get("is_date", False)
    return stages.database.day.format(mine) if is_date else stages.database.numbers(mine)


def _add_values(stages: Stages, plain: AdditiveModel) -> None:
    """Add the contributions g0_0, … of columns to machines, and the values v0, … of machines."""
    functions, places = {}, range(len(plain["columns"]))
    for d, column in enumerate(plain["columns"]):
        several = [each["functions"][d] for each in plain["machines"]]
        table = PiecewiseTable.from_functions(several, column.get("categories"))
        for k, function in enumerate(several):
            functions[f"g{k}_{d}"] = (
                of_categories(function, column["categories"], f"c{d}")
                if column["kind"] == "category"
                else piecewise(table, k, f"c{d}")
            )
    stages.add(functions)
    pairs = _add_pairs(stages, plain)
    stages.add(
        {
            f"v{k}": " + ".join(
                [
                    number(machine["intercept"]),
                    *(f"g{k}_{d}" for d in places),
                    *(f"h{k}_{p}" for p in range(len(pairs))),
                ]
            )
            for k, machine in enumerate(plain["machines"])
        }
    )


def _add_pairs(stages: Stages, plain: AdditiveModel) -> list[tuple[int, int]]:
    """Add the functions h0_0, … of pairs of columns in machines; return the columns of each.

    The levels of columns are b0, …, and the cells of pairs i0, ….
    """
    pairs = PairTerms.of_additive(plain)
    if pairs is None:
        return []
    levels, cells, functions = {}, {}, {}
    for d, table in zip(pairs.columns, pairs.levels, strict=True):
        column: dict[str, Any] = dict(plain["columns"][d])
        if column["kind"] == "category":
            function = levels_of_categories(column["levels"], column["categories"])
            levels[f"b{d}"] = of_categories(function, column["categories"], f"c{d}")
        else:
            levels[f"b{d}"] = piecewise(table, 0, f"c{d}")
    for p, (columns, heights) in enumerate(pairs.tables):
        cells[f"i{p}"] = f"b{columns[0]} * {heights.shape[1]} + b{columns[1]}"
        in_order = heights.reshape(-1, heights.shape[2])
        table = PiecewiseTable.of_codes(in_order, np.zeros(heights.shape[2]))
        for k in range(heights.shape[2]):
            functions[f"h{k}_{p}"] = piecewise(table, k, f"i{p}")
    for each in (levels, cells, functions):
        stages.add(each)
    return [each.columns for each in pairs.tables]


def _results(stages: Stages, plain: AdditiveModel) -> dict[str, str]:
    classes = plain["classes"]
    if classes is None:
        return {"prediction": "v0"}
    add_codes(stages, plain)
    found = {"prediction": selected("code", [literal(each) for each in classes])}
    if plain["link"] is None:
        labels = enumerate(each["label"] for each in plain["machines"])
        return found | {name(f"decision_{label}"): f"v{k}" for k, label in labels}
    add_probabilities(stages, plain)
    return found | {
        # DuckDB's functions of several numbers ignore NULL
        name(f"probability_{each}"): f"CASE WHEN code IS NOT NULL THEN q{k} END"
        for k, each in enumerate(classes)
    }


def _contributions(plain: AdditiveModel) -> dict[str, str]:
    """Return the contribution of each column to each machine, with half of those of its pairs."""
    is_single, pairs = len(plain["machines"]) == 1, PairTerms.of_additive(plain)
    halves = np.zeros((len(plain["columns"]), 0))
    if pairs is not None:
        halves = pairs.halves(len(plain["columns"]))
    return {
        name(f"contribution_{column['name']}" + ("" if is_single else f"_{machine['label']}")): (
            " + ".join([f"g{k}_{d}", *(f"0.5e0 * h{k}_{p}" for p in np.flatnonzero(halves[d]))])
        )
        for k, machine in enumerate(plain["machines"])
        for d, column in enumerate(plain["columns"])
    }
