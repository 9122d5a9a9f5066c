"""``kernsemble rare``: detection of a rare class by ranking rows (LAGO)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import (
    CommandError,
    import_optional,
    join_names,
    show_table,
    write_json,
    write_line,
)
from kernsemble.cli.options import (
    Drop,
    Force,
    Jobs,
    Json,
    Missing,
    Progress,
    Seed,
    Table,
    Target,
    check_output,
    missing_markers,
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


def rare(
    table: Table,
    target: Target,
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
    missing: Missing = None,
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

    from kernsemble.cli.model_files import TableSchema
    from kernsemble.cli.training_data import check_only_numbers, read_training_data
    from kernsemble.persistence import save

    markers = missing_markers(missing)
    file = TableFile(table, markers)
    data = read_training_data(file, target, tuple(drop or ()), task="classification")
    check_only_numbers(data, table, "kernsemble rare")
    label = None if rare is None else _label(rare, data, table, target)
    detector = import_optional("detection", "LagoClassifier", "finding rare classes")(
        rare=label,
        n_neighbors=neighbours,
        n_jobs=jobs,
        random_state=seed,
    )
    with follow(detector, progress):
        detector.fit(data.X, data.y)
    if out is not None:
        TableSchema.from_kinds(data.kinds, target, markers).attach_to(detector)
        with atomic_write(out) as place:
            save(detector, place)
    _show(_detections(detector, data.y), data, out, json)


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
    if out is not None:
        write_line(f"wrote {out}; rank new rows with kernsemble predict {out}")
