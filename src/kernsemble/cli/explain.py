"""``kernsemble explain``: feature importances of a model, and explanations of single rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from kernsemble.cli.console import (
    CommandError,
    import_optional,
    show_table,
    write_json,
    write_line,
)
from kernsemble.cli.options import Json, ModelFile
from kernsemble.cli.table_files import TableFile, as_training_kinds
from kernsemble.cli.wording import in_options

MAX_SHOWN = 20


def explain(
    model: ModelFile,
    data: Annotated[
        Path | None, typer.Option("--data", help="CSV or Parquet file with the row to explain.")
    ] = None,
    row: Annotated[
        int | None, typer.Option("--row", min=1, help="Number of the row in --data, from 1.")
    ] = None,
    json: Json = False,
) -> None:
    """Show feature importances, or explain the prediction for a row.

    The contributions of all columns and the intercept add up to the decision value.
    """
    if (data is None) != (row is None):
        option, other = ("--row", "--data") if data is None else ("--data", "--row")
        raise typer.BadParameter(f"also needs {other}: use both or neither", param_hint=option)

    from kernsemble.cli.model_files import load_model

    fitted = load_model(model)
    views = _views(model, fitted)
    if data is None or row is None:
        _show_importances(views, json)
    else:
        _show_row(views, _row(fitted, model, data, row), row, json)


def _views(path: Path, model: Any) -> dict[str, Any]:
    """Return the view of each machine of a model."""
    view = import_optional("inspection", "EnsembleView", "explaining models")
    try:
        return view.each(model)
    except (TypeError, ValueError) as error:
        reason = in_options(error)
        raise CommandError(f"{path}: this model cannot be explained ({reason})") from error


def _row(fitted: Any, model: Path, data: Path, row: int) -> Any:
    from kernsemble.cli.model_files import table_schema

    schema = table_schema(fitted, model)
    source = TableFile(data, schema.missing)
    absent = [name for name in schema.columns if name not in source.columns]
    if absent:
        raise CommandError(
            f"{data} has no column {absent[0]!r}, which {model} was fitted to: add it"
        )
    n_before = 0
    for frame in source.chunks(schema.columns):
        if row <= n_before + frame.height:
            wanted = frame[row - n_before - 1 : row - n_before]
            return as_training_kinds(wanted, schema.by_name, data, row)
        n_before += frame.height
    raise CommandError(f"--row {row}: {data} has {n_before:,} rows: use a smaller number")


def _show_importances(views: dict[str, Any], json: bool) -> None:
    found = {label: view.importances() for label, view in views.items()}
    if json:
        shares = {label: _shares(each) for label, each in found.items()}
        write_json({"command": "explain", "importances": shares})
        return
    for label, importances in found.items():
        ordered = sorted(_shares(importances)["shares"].items(), key=lambda each: -each[1])
        show_table(
            f"{label}: {importances.method}",
            ["column", "share, %"],
            [[name, f"{100 * share:.1f}"] for name, share in ordered[:MAX_SHOWN]],
        )


def _shares(importances: Any) -> dict[str, Any]:
    return {"method": importances.method, "shares": dict(importances.shares)}


def _show_row(views: dict[str, Any], X: Any, row: int, json: bool) -> None:
    found = {label: view.explain(X) for label, view in views.items()}
    values = {name: column[0] for name, column in X.to_dict(as_series=False).items()}
    if json:
        machines = {
            label: {
                "method": each.method,
                "intercept": each.intercept,
                "contributions": each.row(0),
                "value": float(each.values[0]),
            }
            for label, each in found.items()
        }
        write_json({"command": "explain", "row": row, "values": values, "machines": machines})
        return
    for label, each in found.items():
        contributions = list(each.row(0).items())
        show_table(
            f"{label}, row {row} ({each.method})",
            ["column", "value", "contribution"],
            [
                [name, "missing" if values[name] is None else str(values[name]), f"{amount:+.4f}"]
                for name, amount in contributions[:MAX_SHOWN]
            ],
        )
        rest = sum(amount for _, amount in contributions[MAX_SHOWN:])
        others = f" {rest:+.4f} (other columns)" if len(contributions) > MAX_SHOWN else ""
        shown = sum(amount for _, amount in contributions[:MAX_SHOWN])
        write_line(
            f"{each.intercept:.4f} (intercept) {shown:+.4f} (columns above){others} "
            f"= {float(each.values[0]):.4f}, the decision value"
        )
