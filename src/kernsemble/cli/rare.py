"""``kernsemble rare``: detection of a rare class by ranking rows (LAGO)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import (
    CommandError,
    import_optional,
    join_names,
    note,
    show_table,
    write_json,
    write_line,
)
from kernsemble.cli.options import (
    DayFirst,
    Decimal,
    Drop,
    Encoding,
    Force,
    Header,
    Jobs,
    Json,
    Keep,
    Missing,
    Progress,
    Seed,
    Table,
    Target,
    check_output,
    reading,
    required_target,
)
from kernsemble.cli.progress import follow
from kernsemble.cli.table_files import TableFile

if TYPE_CHECKING:
    from kernsemble._typing import Array, FloatArray
    from kernsemble.cli.training_data import TrainingData

TOP_ROWS = (10, 20, 50, 100, 200, 500, 1000)  # lengths of the ranking to report hits for


class RareClassScores(NamedTuple):
    """Scores of the ranking for one rare class, on held-out rows."""

    label: Any
    n_rare: int
    average_precision: float
    alpha: float
    hits: dict[int, int]


def rare(  # noqa: PLR0913, PLR0917 (options, given by name)
    table: Table,
    target: Target = None,
    rare: Annotated[
        str | None, typer.Option("--rare", help="Rare class; default: the smallest.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Model file to write (.skops), for kernsemble predict."),
    ] = None,
    neighbours: Annotated[
        int,
        typer.Option("--neighbours", min=1, help="Number of background neighbours per radius."),
    ] = 5,
    drop: Drop = None,
    keep: Keep = None,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    header: Header = None,
    day_first: DayFirst = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
    force: Force = False,
    progress: Progress = None,
) -> None:
    """Detect a rare class by ranking rows (LAGO, Zhu 2008).

    The ranking is scored on held-out rows.
    """
    if out is not None:
        check_output("--out", out, force, (table,))

    from sklearn.pipeline import Pipeline

    from kernsemble.cli.model_files import TableSchema
    from kernsemble.cli.training_data import read_training_data
    from kernsemble.persistence import save
    from kernsemble.preprocessing import TableEncoder

    file = TableFile(table, reading(missing, encoding, decimal, header, day_first))
    target = required_target(target, file)
    task = None if rare is None else "classification"
    data = read_training_data(file, target, drop or (), task, keep=keep or ())  # type: ignore[arg-type]
    label = None if rare is None else _label(rare, data, table, data.target)
    _check_classes(data, table, label)
    detector = import_optional("detection", "LagoClassifier", "finding rare classes")(
        rare=label,
        n_neighbors=neighbours,
        n_jobs=jobs,
        random_state=seed,
    )
    encoder = TableEncoder()
    rows = encoder.fit_transform(data.X)
    with follow(detector, progress):
        detector.fit(rows, data.y)
    if out is not None:
        model = Pipeline([("table", encoder), ("lago", detector)])
        TableSchema.from_data(data, file.reading.missing).attach_to(model)
        with atomic_write(out) as place:
            save(model, place)
    _show(_detections(detector, data.y), data, out, json)


def _check_classes(data: "TrainingData", path: Path, label: Any) -> None:
    """Raise an error unless the target has classes, with rows of the rare ones to hold out."""
    import numpy as np

    if data.task == "regression":
        raise CommandError(
            f"{path}: the target {data.target!r} contains numbers from {data.y.min():g} to "
            f"{data.y.max():g}, not classes: use a column with a rare class, or predict the "
            "numbers with kernsemble fit"
        )
    classes, counts = np.unique(data.y if label is None else data.y == label, return_counts=True)
    if counts.min() < 2:
        name = classes[counts.argmin()] if label is None else label
        raise CommandError(
            f"{path}: class {name!s} of {data.target!r} has only one row, so that none can be held "
            "out: use more rows of it, or name another class with --rare"
        )


def _label(given: str, data: "TrainingData", path: Path, target: str) -> Any:
    """Return the class of the target whose text was given."""
    import numpy as np

    classes = np.unique(data.y).tolist()
    for label in classes:
        if str(label) == given:
            return label
    raise CommandError(
        f"--rare {given!r}: {target!r} of {path} has the classes {join_names(classes, 10)}: use "
        "one of them"
    )


def _detections(detector: Any, y: "Array") -> list[RareClassScores]:
    import numpy as np

    held_out = np.asarray(detector.out_of_fold_scores_).reshape(len(y), -1)
    found = []
    for place, label in enumerate(detector.rare_classes_.tolist()):
        is_rare = y == label
        found.append(
            RareClassScores(
                label,
                int(is_rare.sum()),
                float(np.ravel(detector.best_score_)[place]),
                float(np.ravel(detector.alpha_)[place]),
                _hits(is_rare, held_out[:, place]),
            )
        )
    return found


def _hits(is_rare: "Array", scores: "FloatArray") -> dict[int, int]:
    """Return the number of rare rows among the top rows; rows without a score are last."""
    import numpy as np

    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
    reached = np.cumsum(is_rare[order])
    return {n: int(reached[n - 1]) for n in TOP_ROWS if n <= len(order)}


def _show(found: list[RareClassScores], data: "TrainingData", out: Path | None, json: bool) -> None:
    if json:
        write_json(
            {
                "command": "rare",
                "rows": data.n_rows,
                "rare": [each._asdict() for each in found],
                "output": out and str(out),
            }
        )
        return
    for each in found:
        write_line(
            f"{each.label!s}: {each.n_rare:,} of {data.n_rows:,} rows; average precision "
            f"{each.average_precision:.3f} on held-out rows "
            f"(by chance {each.n_rare / data.n_rows:.3f}), alpha = {each.alpha:.3g}"
        )
        show_table(
            "Rare rows among the first rows of the ranking",
            ["rows", str(each.label), "by chance"],
            [
                [f"{n:,}", str(hits), f"{n * each.n_rare / data.n_rows:.1f}"]
                for n, hits in each.hits.items()
            ],
        )
    if out is None:
        note("no model was written: add --out rare.skops to rank new rows")
    else:
        write_line(f"wrote {out}; rank new rows with kernsemble predict {out}")
