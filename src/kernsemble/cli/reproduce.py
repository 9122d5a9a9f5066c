"""``kernsemble reproduce``: compute the papers' tables and figures again."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kernsemble._counts import counted, is_or_are
from kernsemble._files import atomic_write
from kernsemble._suggestions import suggest
from kernsemble.cli.console import (
    CommandError,
    InterruptedCommandError,
    import_optional,
    note,
    one_line,
    show_table,
    write_line,
)
from kernsemble.cli.options import Progress
from kernsemble.cli.progress import ShownTask, bars, working

if TYPE_CHECKING:
    from kernsemble.experiments import Cell, Record, Store
    from kernsemble.experiments.folders import Availability
    from kernsemble.experiments.paper import Paper

ALL = "all"
N_NOTES = 20  # maximum number of progress notes where no bar is shown


class PaperRequest(NamedTuple):
    """A paper, the requested tables and figures, and the data that are available."""

    paper: "Paper"
    parts: list[str]
    availability: "Availability"


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER... [TABLE/FIGURE...]",
            help="Papers, or all; then their tables and figures, all by default.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Compute a few draws of a few data sets, in minutes.")
    ] = False,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, help="Maximum number of draws.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Number of processes; default: all cores."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Address of a Dask scheduler to run on."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for records, tables and HTML page.")
    ] = Path("reproduction"),
    keep: Annotated[
        bool, typer.Option("--keep", help="Also write results into the folders of the papers.")
    ] = False,
    is_list: Annotated[
        bool, typer.Option("--list", help="List the papers, their tables and figures.")
    ] = False,
    progress: Progress = None,
) -> None:
    """Reproduce the tables and figures of the papers.

    Our numbers are compared with the published ones. Results are stored in the output folder:
    the same command continues an interrupted run, and computes nothing twice. The exit code is 1
    if a cell failed.
    """
    start = time.perf_counter()
    from kernsemble.experiments.folders import papers

    known, profile = papers(), "quick" if quick else "full"
    if is_list:
        _list([known[name] for name in _paper_names(names or [ALL], known)])
        return
    if not names:
        raise typer.BadParameter(
            f"use one or several of {', '.join(known)}, or {ALL}; see --list",
            param_hint="PAPER",
        )
    if dask is not None:
        _check_dask()
    selected = {name: known[name] for name in _paper_names(names, known)}
    requests = _requests(names, selected, profile, progress)
    cells = _cells(requests, profile, runs)
    _check_output(output)

    from kernsemble.experiments import Store

    store = Store(output / "records.jsonl")
    is_complete = _compute(cells, store, jobs, dask, progress)
    records = [store.records[cell] for cell in cells if cell in store.records]
    with working("writing tables and page", progress):
        written = _write(requests, known, store, output)
        written += [path for each in requests if keep for path in _keep(each.paper, store)]
    _show(requests, records, store, written, time.perf_counter() - start)
    if not is_complete:
        raise InterruptedCommandError(
            f"interrupted: {len(records):,} of {counted(len(cells), 'cell')} "
            f"{is_or_are(len(records))} stored in {store.path}; the same command continues from "
            "there"
        )
    if any(record.failure for record in records):
        raise typer.Exit(1)


def _paper_names(names: Sequence[str], known: "dict[str, Paper]") -> list[str]:
    """Return the papers among names; the others must be tables or figures of these."""
    selected = list(known) if ALL in names else [name for name in known if name in names]
    others = [name for name in names if name != ALL and name not in known]
    if not selected:
        raise typer.BadParameter(
            f"{others[0]!r} is not a paper: {suggest(others[0], [*known, ALL])}",
            param_hint="PAPER",
        )
    parts = [each for name in selected for each in known[name].parts()]
    for name in others:
        if name not in parts:
            raise typer.BadParameter(
                f"{name!r} is neither a paper nor a table or figure of {', '.join(selected)}: "
                f"{suggest(name, dict.fromkeys(parts))}",
                param_hint="TABLE/FIGURE",
            )
    return selected


def _requests(
    names: Sequence[str], selected: "dict[str, Paper]", profile: str, progress: bool | None
) -> list[PaperRequest]:
    """Return the requested parts of each paper, and write notes about missing data."""
    from kernsemble.experiments.folders import Availability

    requests = []
    is_all = not any(name in paper.parts() for paper in selected.values() for name in names)
    with working("looking for data", progress):
        for paper in selected.values():
            parts = [name for name in paper.parts() if is_all or name in names]
            if parts:
                availability = Availability.of_paper(paper, profile, parts)
                requests.append(PaperRequest(paper, parts, availability))
    for each in requests:
        if each.availability.missing:
            rows, reasons = zip(*each.availability.missing.items(), strict=True)
            note(f"{each.paper.name}: skipped, no data: {', '.join(rows)}; {reasons[0]}")
    return requests


def _cells(requests: Sequence[PaperRequest], profile: str, runs: int | None) -> "list[Cell]":
    """Return the cells of all papers by draw, so that an interrupted run has all tables."""
    cells = {
        cell
        for each in requests
        for cell in each.availability.paper.cells(profile, each.parts, runs)
    }
    return sorted(cells, key=lambda cell: (cell.seed, cell.data, cell.method))


def _check_output(output: Path) -> None:
    if output.exists() and not output.is_dir():
        raise CommandError(f"--output {output} is a file: use a folder, existing or new")
    output.mkdir(parents=True, exist_ok=True)


def _check_dask() -> None:
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise CommandError(
            "--dask needs distributed, which is not installed: pip install 'kernsemble[dask]', or "
            "omit --dask"
        )


def _compute(
    cells: "list[Cell]", store: "Store", jobs: int | None, dask: str | None, progress: bool | None
) -> bool:
    """Compute the cells that the store does not have; return False if interrupted."""
    from kernsemble.cli.countdown import Countdown
    from kernsemble.experiments import run_cells
    from kernsemble.experiments.paper import compute

    missing = [cell for cell in cells if not store.has(cell)]
    if not missing:
        return True
    countdown = Countdown(missing, store.records.values())
    with bars(progress) as drawn:
        task = ShownTask(drawn, str(countdown), 1.0)

        def on_record(record: "Record") -> None:
            countdown.count(record)
            task.show(str(countdown), countdown.share)
            if drawn is None and _is_noted(countdown.n_done, countdown.n_cells):
                note(countdown)

        try:
            run_cells(missing, compute, store, jobs or -1, dask, on_record)
        except KeyboardInterrupt:
            return False
        except OSError as error:
            if dask is None:
                raise
            raise CommandError(
                f"--dask {dask}: {error}: start the scheduler, or check its address"
            ) from error
        except RuntimeError as error:  # another writer, or a killed worker
            raise CommandError(
                f"{error} (results so far are stored: the same command continues from there)"
            ) from error
    return True


def _is_noted(n_done: int, n_cells: int) -> bool:
    """Return whether a note is due after `n_done` cells, at most `N_NOTES` in all."""
    return n_done * N_NOTES // n_cells > (n_done - 1) * N_NOTES // n_cells


def _write(
    requests: Sequence[PaperRequest], known: "dict[str, Paper]", store: "Store", output: Path
) -> list[Path]:
    """Write the tables of the requested papers, and the page of the requested parts."""
    from kernsemble.experiments.rendering import as_markdown

    written = [output / f"{each.paper.name}.md" for each in requests]
    with ExitStack() as files:
        for each, path in zip(requests, written, strict=True):
            text = as_markdown(each.paper, store)
            files.enter_context(atomic_write(path)).write_text(text, encoding="utf-8")
    try:
        page = import_optional(
            "report.reproduction",
            "reproduction_page",
            "the page",
            "pip install 'kernsemble[report,plot]'",
        )
    except CommandError as error:
        note(error)
        return written
    parts = {each.paper.name: each.parts for each in requests}
    others = [paper for name, paper in known.items() if name not in parts]
    html = page([each.paper for each in requests], store, parts, others)
    with atomic_write(output / "index.html") as path:
        path.write_text(html, encoding="utf-8")
    return [*written, output / "index.html"]


def _keep(paper: "Paper", store: "Store") -> list[Path]:
    """Write the results into the folder of a paper."""
    keep = import_optional(
        "report.reproduction", "keep_results", "--keep", "pip install 'kernsemble[report]'"
    )
    written: list[Path] = keep(paper, store)
    return written


def _show(
    requests: Sequence[PaperRequest],
    records: "list[Record]",
    store: "Store",
    written: list[Path],
    seconds: float,
) -> None:
    from kernsemble._counts import duration
    from kernsemble.cli.reproduction_output import show_failures, show_paper
    from kernsemble.experiments.verdicts import Tally

    for each in requests:
        show_paper(each.paper, each.parts, store)
    if len(requests) > 1:
        total = Tally.total(each.paper.tally(store, each.parts) for each in requests)
        write_line(f"\nAll papers: {total}")
    show_failures(record for record in records if record.failure)
    write_line("")
    for path in written:
        write_line(f"wrote {path}")
    processor = sum(record.processor for record in records)
    write_line(
        f"{duration(seconds)}; the {counted(len(records), 'cell')} of this and earlier runs took "
        f"{duration(processor)} of processor time"
    )


def _list(papers: "list[Paper]") -> None:
    """List the tables and figures of each paper and their numbers of cells, without network."""
    from kernsemble.experiments.folders import Availability

    for paper in papers:
        availability = Availability.of_paper(paper, is_online=False)
        available = availability.paper
        lines = [
            [
                name,
                (paper.tables | paper.figures)[name].caption,
                *(f"{len(available.cells(p, [name])):,}" for p in ("full", "quick")),
            ]
            for name in paper.parts()
        ]
        totals = [f"{len(available.cells(p)):,}" for p in ("full", "quick")]
        lines.append(["all", "shared cells counted once", *totals])
        header = ["", "", "cells", "cells with --quick"]
        show_table(f"{paper.name}: {paper.title}", header, lines)
        if fetched := availability.from_network():
            write_line(f"data fetched from OpenML when computed: {'; '.join(fetched)}\n")
        if availability.missing:
            rows, reasons = zip(*availability.missing.items(), strict=True)
            write_line(f"missing data: {'; '.join(rows)}\n  ({one_line(reasons[0])})\n")
