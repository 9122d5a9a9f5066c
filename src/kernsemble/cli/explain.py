"""``kernsemble explain``: feature importances of a model, and explanations of single rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernsemble._counts import readable
from kernsemble.cli.console import (
    CommandError,
    WrongUsageError,
    import_optional,
    note,
    show_table,
    write_json,
    write_line,
)
from kernsemble.cli.options import Decimal, Encoding, Header, Json, Missing, ModelFile, reading
from kernsemble.cli.wording import in_options

if TYPE_CHECKING:
    from kernsemble.cli.table_files import Reading
    from kernsemble.inspection import Importances

MAX_SHOWN = 20  # columns
MAX_CLASSES = 6  # whose importances are shown side by side
MAX_LIKELY = 3  # classes whose contributions to a row are shown


def explain(
    model: ModelFile,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Table with the row to explain; - for standard input."),
    ] = None,
    row: Annotated[
        int | None, typer.Option("--row", min=1, help="Number of the row in --data, from 1.")
    ] = None,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    header: Header = None,
    json: Json = False,
) -> None:
    """Show feature importances, or explain the prediction for a row.

    The contributions of all columns and the intercept add up to the prediction: to the log-odds or
    the decision value of a class, or to a number in the unit of the target.
    """
    if data is not None and row is None:
        raise WrongUsageError(f"--data {data} needs the row to explain: add one, such as --row 1")
    if row is not None and data is None:
        raise WrongUsageError(f"--row {row} needs the table of that row: add --data TABLE")

    from kernsemble.cli.model_files import load_model

    fitted = load_model(model)
    views = _views(model, fitted)
    if data is None or row is None:
        _show_importances(_importances(fitted), json)
    else:
        how = reading(missing, encoding, decimal, header)
        _show_row(views, fitted, _row(fitted, model, data, how, row), row, json)


def _views(path: Path, model: Any) -> dict[str, Any]:
    """Return the view of each machine of a model, one per class if there are several."""
    view = import_optional("inspection", "EnsembleView", "explaining models")
    by_class = import_optional("inspection", "by_class", "explaining models")
    try:
        return view.each(by_class(model))
    except TypeError as error:
        raise CommandError(
            f"{path} contains {type(model).__name__}, which cannot be explained: use a model of "
            "kernsemble fit"
        ) from error
    except ValueError as error:
        reason = in_options(error)
        raise CommandError(f"{path}: this model cannot be explained ({reason})") from error


def _row(fitted: Any, model: Path, data: Path, how: "Reading", row: int) -> Any:
    from kernsemble.cli.model_files import table_schema

    schema = table_schema(fitted, model)
    source = schema.open(data, how)
    absent = [name for name in schema.columns if name not in source.columns]
    if absent:
        raise CommandError(
            f"{data} has no column {absent[0]!r}, which {model} was fitted to: add it"
        )
    n_before = 0
    for frame in source.chunks(schema.columns):
        if row <= n_before + frame.height:
            wanted = frame[row - n_before - 1 : row - n_before]
            return schema.convert(wanted, source, row)
        n_before += frame.height
    raise CommandError(f"--row {row}: {data} has {n_before:,} rows: use a smaller number")


def _importances(model: Any) -> "dict[str, Importances]":
    from kernsemble.inspection import feature_importances

    return feature_importances(model)


def _show_importances(found: "dict[str, Importances]", json: bool) -> None:
    """Write the importances of each machine; those of several classes side by side."""
    if json:
        shares = {label: each._asdict() for label, each in found.items()}
        write_json({"command": "explain", "importances": shares})
        return
    (label, first), n = next(iter(found.items())), len(found)
    means = {name: sum(each.shares[name] for each in found.values()) / n for name in first.shares}
    shown = list(found.items()) if n <= MAX_CLASSES else []
    has_errors = any(not each.is_exact for _, each in shown)
    header = [each for each, _ in shown] if n > 1 else ["share, %"]
    rows = [
        [
            name,
            *([f"{100 * mean:.1f}"] if n > 1 else []),
            *(_share(each.shares[name], each.standard_errors[name]) for _, each in shown),
        ]
        for name, mean in sorted(means.items(), key=lambda each: -each[1])[:MAX_SHOWN]
    ]
    about = "shares in %" if n > 1 else label
    errors = ", ± standard error" if has_errors else ""
    show_table(
        f"Feature importance, {about}{errors}: {first.method}",
        ["column", *(["mean of classes"] if n > 1 else []), *header],
        rows,
    )
    if not shown:
        note(f"the importances of each of the {n} classes are in the output of --json")


def _share(share: float, error: float) -> str:
    return f"{100 * share:.1f}" + (f" ± {100 * error:.1f}" if error else "")


def _row_values(view: Any, X: Any) -> dict[str, Any]:
    """Return the values of a row by column, and those of parts of the calendar."""
    encoded = dict(zip(view.feature_names, view.model.encode(X)[0].tolist(), strict=True))
    return encoded | {name: column[0] for name, column in X.to_dict(as_series=False).items()}


def _show_row(views: dict[str, Any], fitted: Any, X: Any, row: int, json: bool) -> None:
    values = _row_values(next(iter(views.values())), X)
    prediction = _prediction(fitted, X)
    labels = list(views) if json else _likely_labels(list(views), fitted, X)
    found = {label: views[label].explain(X) for label in labels}
    if json:
        machines = {
            label: {
                "method": each.method,
                "unit": _unit(fitted, label),
                "intercept": each.intercept,
                "contributions": each.row(0),
                "value": float(each.values[0]),
            }
            for label, each in found.items()
        }
        about = {"command": "explain", "row": row, "values": values, **prediction}
        write_json({**about, "machines": machines})
        return
    for label, each in found.items():
        unit = _unit(fitted, label)
        contributions = list(each.row(0).items())
        errors = dict(zip(each.feature_names, each.standard_error[0].tolist(), strict=True))
        show_table(
            f"{label}, row {row} ({each.method})",
            ["column", "value", f"contribution, {unit}"],
            [
                [
                    name,
                    _value_text(values[name]),
                    readable(amount, sign="+") + (f" ± {errors[name]:.2g}" if errors[name] else ""),
                ]
                for name, amount in contributions[:MAX_SHOWN]
            ],
        )
        rest = sum(amount for _, amount in contributions[MAX_SHOWN:])
        others = (
            f" {readable(rest, sign='+')} (other columns)" if len(contributions) > MAX_SHOWN else ""
        )
        shown = sum(amount for _, amount in contributions[:MAX_SHOWN])
        write_line(
            f"{readable(each.intercept)} (intercept) {readable(shown, sign='+')} (columns above)"
            f"{others} = {readable(float(each.values[0]))}, {unit}"
        )
    n_others = len(views) - len(labels)
    if n_others:
        others = "the other class is" if n_others == 1 else f"the other {n_others} classes are"
        note(f"{others} in the output of --json")
    write_line(_prediction_text(prediction, row))


def _likely_labels(labels: list[str], model: Any, X: Any) -> list[str]:
    """Return the labels of the machines to show: the predicted class and the likeliest others."""
    if len(labels) <= MAX_LIKELY:
        return labels
    values = (model.predict_proba if hasattr(model, "predict_proba") else model.decision_function)(
        X
    )
    return [labels[k] for k in (-values[0]).argsort(kind="stable")[:MAX_LIKELY]]


def _value_text(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, float):
        return readable(value, 6)
    return str(value).removesuffix(" 00:00:00")  # of dates


def _unit(model: Any, label: str) -> str:
    """Return the unit of contributions: that of a class, or of the target."""
    from kernsemble.inspection.value_unit import value_unit

    target = getattr(getattr(model, "table_schema_", None), "target", None)
    unit = value_unit(model, target or "")
    return f"{unit} of {label}" if hasattr(model, "classes_") else unit


def _prediction(model: Any, X: Any) -> dict[str, Any]:
    """Return the prediction for a row, and the probabilities if the model has them."""
    found: dict[str, Any] = {"prediction": model.predict(X).tolist()[0], "probabilities": None}
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)[0].tolist()
        found["probabilities"] = dict(zip(model.classes_.tolist(), shares, strict=True))
    return found


def _prediction_text(found: dict[str, Any], row: int) -> str:
    prediction, probabilities = found["prediction"], found["probabilities"]
    if isinstance(prediction, float):
        return f"prediction for row {row}: {readable(prediction)}"
    text = f"prediction for row {row}: {prediction}"
    if probabilities is None:
        return text
    return f"{text}, with probability {probabilities[prediction]:.3f}"
