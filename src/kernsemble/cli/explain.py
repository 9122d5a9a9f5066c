"""``kernsemble explain``: which columns a model goes by, and why it decides as it does."""

from pathlib import Path
from typing import Annotated, Any

import typer

from kernsemble.cli.console import CommandError, answer, say, show_table
from kernsemble.cli.options import Json, ModelFile
from kernsemble.cli.parts import part
from kernsemble.cli.tables import TableFile, as_features

MOST_SHOWN = 20


def explain(
    model: ModelFile,
    data: Annotated[
        Path | None, typer.Option("--data", help="A CSV or Parquet file with rows to explain.")
    ] = None,
    row: Annotated[
        int | None, typer.Option("--row", min=1, help="Which row of --data, the first is 1.")
    ] = None,
    json: Json = False,
) -> None:
    """Tell the share of each column, or what each contributes to the decision on a row."""
    if (data is None) != (row is None):
        option, other = ("--row", "--data") if data is None else ("--data", "--row")
        raise typer.BadParameter(f"needs {other} too", param_hint=option)

    from kernsemble.cli.models import load_model

    fitted = load_model(model)
    views = _views(model, fitted)
    if data is None or row is None:
        _tell_importances(views, json)
    else:
        _tell_row(views, _row(fitted, model, data, row), row, json)


def _views(path: Path, model: Any) -> dict[str, Any]:
    """Return the view of each machine of a model."""
    view = part("inspection", "EnsembleView", "explaining models")
    try:
        return view.each(model)
    except (TypeError, ValueError) as error:
        raise CommandError(f"{path}: this model cannot be explained ({error})") from error


def _row(fitted: Any, model: Path, data: Path, row: int) -> Any:
    from kernsemble.cli.models import training_table

    known = training_table(fitted, model)
    source = TableFile(data, known.missing)
    absent = [name for name in known.columns if name not in source.columns]
    if absent:
        raise CommandError(f"{data} misses column {absent[0]!r}, which {model} was fitted to")
    n_before = 0
    for frame in source.chunks(known.columns):
        if row <= n_before + frame.height:
            wanted = frame[row - n_before - 1 : row - n_before]
            return as_features(wanted, known.by_name, data, row)
        n_before += frame.height
    raise CommandError(f"--row {row}: {data} has {n_before:,} rows; give one of them")


def _tell_importances(views: dict[str, Any], json: bool) -> None:
    found = {label: view.importances() for label, view in views.items()}
    if json:
        answer({"command": "explain", "importances": {k: _shares(v) for k, v in found.items()}})
        return
    for label, importances in found.items():
        ordered = sorted(_shares(importances)["shares"].items(), key=lambda each: -each[1])
        show_table(
            f"{label}: {importances.method}",
            ["column", "share, %"],
            [[name, f"{100 * share:.1f}"] for name, share in ordered[:MOST_SHOWN]],
        )


def _shares(importances: Any) -> dict[str, Any]:
    return {"method": importances.method, "shares": dict(importances.shares)}


def _tell_row(views: dict[str, Any], X: Any, row: int, json: bool) -> None:
    found = {label: view.explain(X) for label, view in views.items()}
    values = {name: column[0] for name, column in X.to_dict(as_series=False).items()}
    if json:
        told = {
            label: {
                "method": each.method,
                "intercept": each.intercept,
                "contributions": each.row(0),
                "value": float(each.values[0]),
            }
            for label, each in found.items()
        }
        answer({"command": "explain", "row": row, "values": values, "machines": told})
        return
    for label, each in found.items():
        contributions = list(each.row(0).items())
        show_table(
            f"{label}, row {row} ({each.method})",
            ["column", "value", "contribution"],
            [
                [name, "missing" if values[name] is None else str(values[name]), f"{amount:+.4f}"]
                for name, amount in contributions[:MOST_SHOWN]
            ],
        )
        rest = sum(amount for _, amount in contributions[MOST_SHOWN:])
        others = f" {rest:+.4f} (other columns)" if len(contributions) > MOST_SHOWN else ""
        shown = sum(amount for _, amount in contributions[:MOST_SHOWN])
        say(
            f"{each.intercept:.4f} (intercept) {shown:+.4f} (columns above){others} "
            f"= {float(each.values[0]):.4f}, the decision value"
        )
