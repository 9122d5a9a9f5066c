"""``kernsemble select``: which columns parallel evolutions agree on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import CommandError, answer, say, show_table
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
    all_missing,
)
from kernsemble.cli.outputs import check_output
from kernsemble.cli.parts import part
from kernsemble.cli.progress import follow
from kernsemble.cli.tables import TableFile

if TYPE_CHECKING:
    from kernsemble.cli.samples import Sample


def select(
    table: Table,
    target: Target,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A CSV of the selected columns and the target to write."),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option("--criterion", help="aic, bic, gcv, logistic-aic, …; by default by target."),
    ] = None,
    universes: Annotated[int, typer.Option("--universes", min=1, help="How many vote.")] = 25,
    drop: Drop = None,
    missing: Missing = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
    force: Force = False,
    progress: Progress = None,
) -> None:
    """Select the columns that matter (parallel evolution, Zhu 2008)."""
    if out is not None:
        check_output("--out", out, force, (table,))

    from kernsemble.cli.samples import read_sample, refuse_all_but_numbers

    sample = read_sample(TableFile(table, all_missing(missing)), target, tuple(drop or ()))
    refuse_all_but_numbers(sample, table, "kernsemble select")
    criterion = criterion or _criterion(sample, table, target)
    selector = part("selection", "ParallelEvolutionSelector", "selecting columns")(
        criterion=criterion, n_universes=universes, random_state=seed, n_jobs=jobs
    )
    with follow(selector, progress):
        selector.fit(sample.X, sample.y)
    names = [
        name for name, is_in in zip(sample.kinds, selector.get_support(), strict=True) if is_in
    ]
    if out is not None:
        with atomic_write(out) as place:
            _with_target(sample, target).select([*names, target]).write_csv(place)
    _tell(sample, selector, criterion, names, out, json)


def _criterion(sample: "Sample", path: Path, target: str) -> str:
    import numpy as np

    if sample.task == "regression":
        return "aic"
    n_classes = len(np.unique(sample.y))
    if n_classes > 2:
        raise CommandError(
            f"{path}: the target {target!r} has {n_classes} classes, and columns are selected for "
            "two or for numbers: give --criterion aic if the classes are numbers, or join some"
        )
    return "logistic-aic"


def _with_target(sample: "Sample", target: str) -> Any:
    import polars as pl

    return sample.X.with_columns(pl.Series(target, sample.y))


def _tell(
    sample: "Sample",
    selector: Any,
    criterion: str,
    names: list[str],
    out: Path | None,
    json: bool,
) -> None:
    ranked = sorted(
        zip(sample.kinds, selector.importances_, selector.ranking_, strict=True),
        key=lambda each: each[2],
    )
    if json:
        answer(
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
        f"Columns by the share of universes that hold them ({criterion})",
        ["rank", "column", "importance", ""],
        [
            [str(rank), name, f"{share:.2f}", "selected" if name in names else ""]
            for name, share, rank in ranked
        ],
    )
    say(f"selected: {', '.join(names) or 'none'}")
    if out is not None:
        say(f"wrote {out}")
