"""``kernsemble rare``: rows ranked by how likely they are of a rare class."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
    from kernsemble._typing import Array, FloatArray
    from kernsemble.cli.samples import Sample

FIRST = (10, 20, 50, 100, 200, 500, 1000)  # rows to look at


class Detected(NamedTuple):
    """How well the rows of one rare class are found among the first of a ranking."""

    label: Any
    n_rare: int
    average_precision: float
    alpha: float
    hits: dict[int, int]


def rare(
    table: Table,
    target: Target,
    rare: Annotated[
        str | None, typer.Option("--rare", help="The rare class; by default the smallest.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The model file to write, for predict.")
    ] = None,
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=1, help="Background rows a radius is made of.")
    ] = 5,
    drop: Drop = None,
    missing: Missing = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
    force: Force = False,
    progress: Progress = None,
) -> None:
    """Find rows of a rare class (LAGO, Zhu 2008), judged on rows that were held out."""
    if out is not None:
        check_output("--out", out, force, (table,))

    from kernsemble.cli.models import TrainingTable
    from kernsemble.cli.samples import read_sample, refuse_all_but_numbers
    from kernsemble.persistence import save

    words = all_missing(missing)
    sample = read_sample(TableFile(table, words), target, tuple(drop or ()), task="classification")
    refuse_all_but_numbers(sample, table, "kernsemble rare")
    label = None if rare is None else _label(rare, sample, table, target)
    detector = part("detection", "LagoClassifier", "finding rare classes")(
        rare=label,
        n_neighbors=neighbours,
        n_jobs=jobs,
        random_state=seed,
    )
    with follow(detector, progress):
        detector.fit(sample.X, sample.y)
    if out is not None:
        TrainingTable.of(sample.kinds, target, words).of_model(detector)
        with atomic_write(out) as place:
            save(detector, place)
    _tell(_detected(detector, sample.y), sample, out, json)


def _label(given: str, sample: "Sample", path: Path, target: str) -> Any:
    """Return the class that was typed, as the target holds it."""
    import numpy as np

    classes = np.unique(sample.y).tolist()
    for label in classes:
        if str(label) == given:
            return label
    known = ", ".join(map(str, classes[:10])) + (", …" if len(classes) > 10 else "")
    raise CommandError(f"--rare {given!r}: {target!r} of {path} has the classes {known}")


def _detected(detector: Any, y: "Array") -> list[Detected]:
    import numpy as np

    held_out = np.asarray(detector.out_of_fold_scores_).reshape(len(y), -1)
    found = []
    for place, label in enumerate(detector.rare_classes_.tolist()):
        is_rare = y == label
        found.append(
            Detected(
                label,
                int(is_rare.sum()),
                float(np.ravel(detector.best_score_)[place]),
                float(np.ravel(detector.alpha_)[place]),
                _hits(is_rare, held_out[:, place]),
            )
        )
    return found


def _hits(is_rare: "Array", scores: "FloatArray") -> dict[int, int]:
    """Return how many rare rows are among the first so many; rows that were not scored are last."""
    import numpy as np

    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")
    reached = np.cumsum(is_rare[order])
    return {n: int(reached[n - 1]) for n in FIRST if n <= len(order)}


def _tell(found: list[Detected], sample: "Sample", out: Path | None, json: bool) -> None:
    if json:
        answer(
            {
                "command": "rare",
                "rows": sample.n_rows,
                "rare": [each._asdict() for each in found],
                "output": out and str(out),
            }
        )
        return
    for each in found:
        say(
            f"{each.label!s}: {each.n_rare:,} of {sample.n_rows:,} rows; average precision "
            f"{each.average_precision:.3f} on held-out rows "
            f"(by chance {each.n_rare / sample.n_rows:.3f}), alpha = {each.alpha:.3g}"
        )
        show_table(
            "Who looks at the first rows of the ranking finds",
            ["rows", str(each.label), "by chance"],
            [
                [f"{n:,}", str(hits), f"{n * each.n_rare / sample.n_rows:.1f}"]
                for n, hits in each.hits.items()
            ],
        )
    if out is not None:
        say(f"wrote {out}; kernsemble predict {out} ranks new rows")
