"""``kernsemble reproduce``: the papers' tables and figures, computed again."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import (
    CommandError,
    InterruptedCommandError,
    note,
    one_line,
    say,
    show_table,
)
from kernsemble.cli.options import Progress
from kernsemble.cli.parts import part
from kernsemble.cli.progress import ShownTask, bars, working

if TYPE_CHECKING:
    from kernsemble.experiments import Cell, Record, Store
    from kernsemble.experiments.folders import Presence
    from kernsemble.experiments.paper import Paper

ALL = "all"
N_NOTES = 20  # on the way, where no bar is shown


class Asked(NamedTuple):
    """A paper, its tables and figures that are asked for, and what of it can be computed."""

    paper: "Paper"
    parts: list[str]
    presence: "Presence"


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER... [TABLE/FIGURE...]",
            help="Papers, or all; then tables and figures, which are all by default.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few draws of a few data sets, in minutes.")
    ] = False,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, help="How many draws, if there are so many.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="How many processes; by default all cores."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="A Dask scheduler whose workers are used."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder of records, tables and page.")
    ] = Path("reproduction"),
    keep: Annotated[
        bool, typer.Option("--keep", help="Write results into the folders of the papers too.")
    ] = False,
    is_list: Annotated[
        bool, typer.Option("--list", help="Tell the papers, their tables and figures.")
    ] = False,
    progress: Progress = None,
) -> None:
    """Compute tables and figures of the papers again, beside the published numbers.

    What is computed is kept in the output folder: the same command goes on where another ended,
    and computes nothing twice. Exits with 1 if a cell failed.
    """
    start = time.perf_counter()
    from kernsemble.experiments.folders import papers

    known, profile = papers(), "quick" if quick else "full"
    if is_list:
        _list([known[name] for name in _papers_of(names or [ALL], known)], progress)
        return
    if not names:
        raise typer.BadParameter(
            f"give some of {', '.join(known)}, or {ALL}; --list tells more",
            param_hint="PAPER",
        )
    if dask is not None:
        _check_dask()
    chosen = {name: known[name] for name in _papers_of(names, known)}
    asked = _asked(names, chosen, profile, progress)
    cells = _cells(asked, profile, runs)
    _check_output(output)

    from kernsemble.experiments import Store

    store = Store(output / "records.jsonl")
    is_whole = _compute(cells, store, jobs, dask, progress)
    records = [store.records[cell] for cell in cells if cell in store.records]
    with working("writing tables and page", progress):
        written = _write(asked, known, store, output)
        written += [path for each in asked if keep for path in _keep(each.paper, store)]
    _tell(asked, records, store, written, time.perf_counter() - start)
    if not is_whole:
        raise InterruptedCommandError(
            f"interrupted: {len(records)} of {len(cells)} cells are kept in {store.path}, and the "
            "same command goes on from there"
        )
    if any(record.failure for record in records):
        raise typer.Exit(1)


def _papers_of(names: Sequence[str], known: "dict[str, Paper]") -> list[str]:
    """Return the papers among names; the others must be tables or figures of these."""
    chosen = list(known) if ALL in names else [name for name in known if name in names]
    others = [name for name in names if name != ALL and name not in known]
    if not chosen:
        raise typer.BadParameter(
            f"{others[0]!r} is no paper: give some of {', '.join(known)}, or {ALL}",
            param_hint="PAPER",
        )
    parts = [each for name in chosen for each in known[name].parts()]
    for name in others:
        if name not in parts:
            raise typer.BadParameter(
                f"{name!r} is no paper, and no table or figure of {', '.join(chosen)}: give some "
                f"of {', '.join(dict.fromkeys(parts))}",
                param_hint="TABLE/FIGURE",
            )
    return chosen


def _asked(
    names: Sequence[str], chosen: "dict[str, Paper]", profile: str, progress: bool | None
) -> list[Asked]:
    """Return what is asked for of each paper, and say which data are missing."""
    from kernsemble.experiments.folders import Presence

    asked = []
    is_all = not any(name in paper.parts() for paper in chosen.values() for name in names)
    with working("looking for data", progress):
        for paper in chosen.values():
            parts = [name for name in paper.parts() if is_all or name in names]
            if parts:
                asked.append(Asked(paper, parts, Presence.of(paper, profile, parts)))
    for each in asked:
        if each.presence.missing:
            rows, reasons = zip(*each.presence.missing.items(), strict=True)
            note(f"{each.paper.name}: left out, without data: {', '.join(rows)}; {reasons[0]}")
    return asked


def _cells(asked: Sequence[Asked], profile: str, runs: int | None) -> "list[Cell]":
    """Return the cells of all papers, draw by draw, so that an early end leaves all begun."""
    cells = {
        cell for each in asked for cell in each.presence.paper.cells(profile, each.parts, runs)
    }
    return sorted(cells, key=lambda cell: (cell.seed, cell.data, cell.method))


def _check_output(output: Path) -> None:
    if output.exists() and not output.is_dir():
        raise CommandError(f"--output {output} is a file: give a folder, which is made if needed")
    output.mkdir(parents=True, exist_ok=True)


def _check_dask() -> None:
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise CommandError(
            "--dask needs distributed, which is not installed: pip install 'kernsemble[dask]', or "
            "leave --dask out"
        )


def _compute(
    cells: "list[Cell]", store: "Store", jobs: int | None, dask: str | None, progress: bool | None
) -> bool:
    """Compute what the store has not, and return whether that was not interrupted."""
    from kernsemble.cli.countdown import Countdown
    from kernsemble.experiments import run_cells
    from kernsemble.experiments.paper import compute

    missing = [cell for cell in cells if not store.has(cell)]
    if not missing:
        return True
    countdown = Countdown(missing, store.records.values())
    with bars(progress) as drawn:
        task = ShownTask(drawn, str(countdown), 1.0)

        def hear(record: "Record") -> None:
            countdown.count(record)
            task.show(str(countdown), countdown.share)
            if drawn is None and _is_noted(countdown.n_done, countdown.n_cells):
                note(countdown)

        try:
            run_cells(missing, compute, store, jobs or -1, dask, hear)
        except KeyboardInterrupt:
            return False
        except OSError as error:
            if dask is None:
                raise
            raise CommandError(f"--dask {dask}: {error}; is there a scheduler?") from error
        except RuntimeError as error:  # another writer, or a worker that was killed
            raise CommandError(
                f"{error} (what was computed is kept: the same command goes on from there)"
            ) from error
    return True


def _is_noted(n_done: int, n_cells: int) -> bool:
    """Whether a note is due: there are at most `N_NOTES` of them."""
    return n_done * N_NOTES // n_cells > (n_done - 1) * N_NOTES // n_cells


def _write(
    asked: Sequence[Asked], known: "dict[str, Paper]", store: "Store", output: Path
) -> list[Path]:
    """Write the tables of the papers asked for, and the page of all that have numbers."""
    from kernsemble.experiments.rendering import as_markdown

    written = [output / f"{each.paper.name}.md" for each in asked]
    with ExitStack() as files:
        for each, path in zip(asked, written, strict=True):
            text = as_markdown(each.paper, store)
            files.enter_context(atomic_write(path)).write_text(text, encoding="utf-8")
    try:
        page = part(
            "report.reproduction",
            "reproduction_page",
            "the page",
            "pip install 'kernsemble[report,plot]'",
        )
    except CommandError as error:
        note(error)
        return written
    names = {each.paper.name for each in asked}
    told = [paper for name, paper in known.items() if name in names or _has_numbers(paper, store)]
    with atomic_write(output / "index.html") as path:
        path.write_text(page(told, store), encoding="utf-8")
    return [*written, output / "index.html"]


def _has_numbers(paper: "Paper", store: "Store") -> bool:
    return any(
        entry.ours is not None for name in paper.tables for entry in paper.entries(name, store)
    )


def _keep(paper: "Paper", store: "Store") -> list[Path]:
    """Write what is kept with the code into the folder of a paper."""
    keep = part("report.reproduction", "keep_results", "--keep", "pip install 'kernsemble[report]'")
    written: list[Path] = keep(paper, store)
    return written


def _tell(
    asked: Sequence[Asked],
    records: "list[Record]",
    store: "Store",
    written: list[Path],
    seconds: float,
) -> None:
    from kernsemble.cli.comparisons import show_paper, tell_failures
    from kernsemble.experiments.rendering import duration, told_of

    for each in asked:
        show_paper(each.paper, each.parts, store)
    if len(asked) > 1:
        say(f"\nAll papers: {told_of(*(each.paper.tally(store) for each in asked))}")
    tell_failures(record for record in records if record.failure)
    say("")
    for path in written:
        say(f"wrote {path}")
    processor = sum(record.processor for record in records)
    say(
        f"{duration(seconds)}; the {len(records)} cells, of this run and earlier ones, took "
        f"{duration(processor)} of processors"
    )


def _list(papers: "list[Paper]", progress: bool | None) -> None:
    """Say what can be computed of each paper, how many cells it has, and what is missing."""
    from kernsemble.experiments.folders import Presence

    for paper in papers:
        with working(f"looking for data of {paper.name}", progress):
            presence = Presence.of(paper)
            lines = [
                [
                    name,
                    (paper.tables | paper.figures)[name].caption,
                    *(f"{len(presence.paper.cells(p, [name])):,}" for p in ("full", "quick")),
                ]
                for name in paper.parts()
            ]
            totals = [f"{len(presence.paper.cells(p)):,}" for p in ("full", "quick")]
        lines.append(["all", "cells that several share count once", *totals])
        header = ["", "", "cells", "cells with --quick"]
        show_table(f"{paper.name}: {paper.title}", header, lines)
        if presence.missing:
            rows, reasons = zip(*presence.missing.items(), strict=True)
            say(f"data that are missing here: {', '.join(rows)}\n  ({one_line(reasons[0])})\n")
