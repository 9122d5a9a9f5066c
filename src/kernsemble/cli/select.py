"""``kernsemble select``: feature selection by parallel evolution."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import (
    CommandError,
    import_optional,
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
    from kernsemble.cli.training_data import TrainingData


def select(
    table: Table,
    target: Target,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV file to write: the selected columns and the target."),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option("--criterion", help="aic, bic, gcv, logistic-aic, …; default: by target."),
    ] = None,
    universes: Annotated[
        int, typer.Option("--universes", min=1, help="Number of parallel searches that vote.")
    ] = 25,
    drop: Drop = None,
    missing: Missing = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
    force: Force = False,
    progress: Progress = None,
) -> None:
    """Select features by parallel evolution (Zhu 2008)."""
    if out is not None:
        check_output("--out", out, force, (table,))

    from kernsemble.cli.training_data import check_only_numbers, read_training_data

    file = TableFile(table, missing_markers(missing))
    data = read_training_data(file, target, tuple(drop or ()))
    check_only_numbers(data, table, "kernsemble select")
    criterion = criterion or _criterion(data, table, target)
    selector = import_optional("selection", "ParallelEvolutionSelector", "selecting columns")(
        criterion=criterion, n_universes=universes, random_state=seed, n_jobs=jobs
    )
    with follow(selector, progress):
        selector.fit(data.X, data.y)
    support = zip(data.kinds, selector.get_support(), strict=True)
    names = [name for name, is_selected in support if is_selected]
    if out is not None:
        with atomic_write(out) as place:
            _with_target(data, target).select([*names, target]).write_csv(place)
    _show(data, selector, criterion, names, out, json)


def _criterion(data: "TrainingData", path: Path, target: str) -> str:
    import numpy as np

    if data.task == "regression":
        return "aic"
    n_classes = len(np.unique(data.y))
    if n_classes > 2:
        raise CommandError(
            f"{path}: the target {target!r} has {n_classes} classes; only two, or numbers, are "
            "supported: use --criterion aic if the classes are numbers, or merge some"
        )
    return "logistic-aic"


def _with_target(data: "TrainingData", target: str) -> Any:
    import polars as pl

    return data.X.with_columns(pl.Series(target, data.y))


def _show(
    data: "TrainingData",
    selector: Any,
    criterion: str,
    names: list[str],
    out: Path | None,
    json: bool,
) -> None:
    ranked = sorted(
        zip(data.kinds, selector.importances_, selector.ranking_, strict=True),
        key=lambda each: each[2],
    )
    if json:
        write_json(
            {
                "command": "select",
                "criterion": criterion,
                "selected": names,
                "columns": [
                    {"column": name, "importance": share, "rank": rank}
                    for name, share, rank in ranked
                ],
                "output": out and str(out),
            }
        )
        return
    show_table(
        f"Columns by the share of searches that selected them ({criterion})",
        ["rank", "column", "importance", ""],
        [
            [str(rank), name, f"{share:.2f}", "selected" if name in names else ""]
            for name, share, rank in ranked
        ],
    )
    write_line(f"selected: {', '.join(names) or 'none'}")
    if out is not None:
        write_line(f"wrote {out}")
