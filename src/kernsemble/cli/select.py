"""``kernsemble select``: feature selection by parallel evolution."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
    from kernsemble.cli.training_data import TrainingData


class RankedColumn(NamedTuple):
    """A column of the table, the share of searches that selected it, and its rank."""

    column: str
    importance: float
    rank: int
    is_selected: bool


def select(  # noqa: PLR0913, PLR0917 (options, given by name)
    table: Table,
    target: Target = None,
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
    """Select features by parallel evolution (Zhu 2008)."""
    if out is not None:
        check_output("--out", out, force, (table,))

    from kernsemble.cli.training_data import read_training_data
    from kernsemble.preprocessing import TableEncoder

    file = TableFile(table, reading(missing, encoding, decimal, header, day_first))
    target = required_target(target, file)
    data = read_training_data(file, target, drop or (), keep=keep or ())
    target = data.target
    criterion = criterion or _criterion(data, table, target)
    encoder = TableEncoder(reference=True)
    selector = import_optional("selection", "ParallelEvolutionSelector", "selecting columns")(
        criterion=criterion, n_universes=universes, random_state=seed, n_jobs=jobs
    )
    with follow(selector, progress):
        selector.fit(encoder.fit_transform(data.X), data.y)
    found = _by_column(encoder, selector, list(data.kinds))
    names = [each.column for each in found if each.is_selected]
    if out is not None:
        with atomic_write(out) as place:
            _with_target(data, target).select(
                [*(n for n in data.kinds if n in names), target]
            ).write_csv(place)
    _show(found, criterion, out, json)


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


def _by_column(encoder: Any, selector: Any, names: list[str]) -> list[RankedColumn]:
    """Return the columns of the table by rank; each has the best of its encoded columns."""
    import numpy as np
    from scipy.stats import rankdata

    shares, is_selected = np.zeros(len(names)), np.zeros(len(names), dtype=bool)
    np.maximum.at(shares, encoder.columns_, selector.importances_)
    np.logical_or.at(is_selected, encoder.columns_, selector.get_support())
    ranks = rankdata(-shares, method="min")
    found = map(RankedColumn, names, shares.tolist(), ranks.tolist(), is_selected.tolist())
    return sorted(found, key=lambda each: each.rank)


def _show(found: list[RankedColumn], criterion: str, out: Path | None, json: bool) -> None:
    names = [each.column for each in found if each.is_selected]
    if json:
        write_json(
            {
                "command": "select",
                "criterion": criterion,
                "selected": names,
                "columns": [
                    {"column": each.column, "importance": each.importance, "rank": each.rank}
                    for each in found
                ],
                "output": out and str(out),
            }
        )
        return
    show_table(
        f"Columns by the share of searches that selected them ({criterion})",
        ["rank", "column", "importance", ""],
        [
            [
                str(each.rank),
                each.column,
                f"{each.importance:.2f}",
                "selected" if each.is_selected else "",
            ]
            for each in found
        ],
    )
    write_line(f"selected: {', '.join(names) or 'none'}")
    if out is not None:
        write_line(f"wrote {out}")
