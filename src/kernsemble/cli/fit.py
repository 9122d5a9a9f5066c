"""``kernsemble fit``: learn from a table, and write the model."""

import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import CommandError, answer, note, say, show_table
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
    limit_threads,
    split_names,
)
from kernsemble.cli.outputs import check_output
from kernsemble.cli.parts import part
from kernsemble.cli.progress import follow, working
from kernsemble.cli.tables import TableFile

if TYPE_CHECKING:
    from kernsemble.cli.contest import Contender
    from kernsemble.cli.samples import Sample
    from kernsemble.inspection.scores import Score

TASKS = ("auto", "classification", "regression")
SCALINGS = ("auto", "range", "rank", "distinct")
SOLVERS = ("auto", "exact", "additive")
LOSSES = {
    "classification": ("auto", "hinge", "logistic", "squared_hinge"),
    "regression": ("auto", "epsilon_insensitive", "squared"),
}
MOST_SHOWN = 12


class Fitted(NamedTuple):
    """What a fit found, and where it was written."""

    sample: "Sample"
    model: Any
    board: "list[Contender]"
    tests: "list[Score]"
    out: Path
    report: Path | None
    seconds: float


def fit(  # noqa: PLR0913, PLR0917 (options, given by name)
    train: Table,
    target: Target,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write, .skops.")],
    kernel: Annotated[
        list[str],
        typer.Option(
            "--kernel", "-k", help="auto, stump, perceptron, laplacian, …; several contend."
        ),
    ] = ["auto"],  # noqa: B006 (typer copies it)
    test: Annotated[
        Path | None, typer.Option("--test", help="Rows to test on, which are not learned from.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="An HTML page about the model to write.")
    ] = None,
    task: Annotated[
        str, typer.Option("--task", help="classification or regression; auto looks at the target.")
    ] = "auto",
    scaling: Annotated[
        str, typer.Option("--scaling", help="range, rank or distinct; auto tries them all.")
    ] = "auto",
    solver: Annotated[
        str, typer.Option("--solver", help="exact (a matrix) or additive (tables, any size).")
    ] = "auto",
    loss: Annotated[
        str, typer.Option("--loss", help="hinge, logistic, epsilon_insensitive, squared, …")
    ] = "auto",
    folds: Annotated[
        int | None, typer.Option("--folds", min=2, help="Folds of the cross-validation.")
    ] = None,
    scoring: Annotated[
        str | None, typer.Option("--scoring", help="What is best, a scorer of scikit-learn.")
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option("--max-rows", min=2, help="Learn from at most so many rows.")
    ] = None,
    drop: Drop = None,
    missing: Missing = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
    force: Force = False,
    progress: Progress = None,
) -> None:
    """Learn from a table: kernels contend by cross-validation, and the best becomes the model."""
    limit_threads(jobs)
    _check_choice("--task", task, TASKS)
    _check_choice("--scaling", scaling, SCALINGS)
    _check_choice("--solver", solver, SOLVERS)
    _check_choice("--loss", loss, tuple(dict.fromkeys(sum(LOSSES.values(), ()))))
    kernels = _checked_kernels(kernel)
    _check_scoring(scoring)
    for option, path in (("--out", out), ("--report", report)):
        if path is not None:
            check_output(option, path, force, (train, test))
    if report is not None:
        if report.resolve() == out.resolve():
            raise CommandError(f"--report {report} is also --out: give two names")
        _report_writer()

    from kernsemble.cli.contest import Contest, leaderboard
    from kernsemble.cli.models import TrainingTable
    from kernsemble.cli.samples import read_sample, read_test_sample
    from kernsemble.inspection.predictions import Predictions
    from kernsemble.inspection.scores import scores

    start, words = time.perf_counter(), all_missing(missing)
    train_file = TableFile(train, words)
    test_file = None if test is None else TableFile(test, words)
    asked = None if task == "auto" else task
    with working("reading", progress):
        sample = read_sample(train_file, target, tuple(drop or ()), asked, max_rows, seed)  # type: ignore[arg-type]
        _check_choice("--loss", loss, LOSSES[sample.task])
        apart = None if test_file is None else read_test_sample(test_file, target, sample)
    contest = Contest(kernels, scaling, solver, loss, folds, scoring, seed)
    model = contest.estimator(sample)
    if not json:
        _tell_sample(sample, train, target, is_inferred=asked is None)
    try:
        with follow(model, progress):
            model.fit(sample.X, sample.y)
    except ValueError as error:
        asked_for = f" with --scoring {scoring}" if scoring else ""
        raise CommandError(f"{train} cannot be fitted{asked_for}: {error}") from error
    is_classifier = sample.task == "classification"
    metric = scoring or ("accuracy" if is_classifier else "r2")
    board = leaderboard(model, metric, sample.n_rows)
    tests = (
        scores(Predictions.from_estimator(model, apart.X, apart.y, "test rows")) if apart else []
    )
    TrainingTable.of(sample.kinds, target, words).of_model(model)
    about = _about(sample, apart, board, f"{target} of {train.name}") if report else {}
    _write(model, out, report, about)
    fitted = Fitted(sample, model, board, tests, out, report, time.perf_counter() - start)
    if json:
        answer(_as_object(fitted, target))
    else:
        _tell(fitted)


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise typer.BadParameter(f"{value!r}: give one of {', '.join(choices)}", param_hint=option)


def _checked_kernels(given: list[str]) -> tuple[str, ...]:
    from kernsemble.kernels.registry import KERNELS, as_kernel

    names = split_names(given)
    if not names:
        raise typer.BadParameter("give at least one name, or auto", param_hint="--kernel")
    if "auto" in names and len(names) > 1:
        raise typer.BadParameter(
            "auto chooses by itself: give it alone, or names without it", param_hint="--kernel"
        )
    for name in names:
        try:
            if name != "auto":
                as_kernel(name)
        except ValueError as error:
            hint = str(error).partition(": ")[2].partition(";")[0]
            known = "" if "names are" in hint else f"; all are {', '.join(sorted(KERNELS))}"
            raise typer.BadParameter(f"{name!r}: {hint}{known}", param_hint="--kernel") from error
    return names


def _check_scoring(scoring: str | None) -> None:
    if scoring is None:
        return
    from difflib import get_close_matches

    from sklearn.metrics import get_scorer_names

    if scoring not in get_scorer_names():
        near = get_close_matches(scoring, get_scorer_names(), n=1)
        hint = f"did you mean {near[0]}?" if near else "give accuracy, roc_auc, r2, …"
        raise typer.BadParameter(f"{scoring!r}: {hint}", param_hint="--scoring")


def _report_writer() -> Any:
    remedy = "pip install 'kernsemble[report]', or leave --report out"
    return part("report", "write_report", "writing --report", remedy)


def _about(
    sample: "Sample", apart: "Sample | None", board: "list[Contender]", title: str
) -> dict[str, Any]:
    """Return what a page tells besides the model."""
    return {
        "X": sample.X,
        "y": sample.y,
        "X_test": None if apart is None else apart.X,
        "y_test": None if apart is None else apart.y,
        "title": title,
        "leaderboard": [
            {
                "kernel": _short(each.kernel),
                "scaling": each.scaling,
                "C": f"{each.C:.3g}",
                f"{each.score.name} (95 % interval)": str(each.score),
                "rows": f"{each.n_rows:,}",
            }
            for each in board[:MOST_SHOWN]
        ],
    }


def _write(model: Any, out: Path, report: Path | None, about: dict[str, Any]) -> None:
    """Write all files, or none of them."""
    from kernsemble.persistence import save

    with ExitStack() as files:
        save(model, files.enter_context(atomic_write(out)))
        if report is not None:
            _report_writer()(model, files.enter_context(atomic_write(report)), **about)


def _tell_sample(sample: "Sample", path: Path, target: str, is_inferred: bool) -> None:
    kinds = list(sample.kinds.values())
    n_numbers, n_categories = kinds.count("number"), kinds.count("category")
    say(
        f"{path}: {sample.n_rows:,} rows, {n_numbers} columns of numbers and {n_categories} of "
        f"categories{', some values missing' if sample.has_missing else ''}"
    )
    how = " (inferred; --task tells)" if is_inferred else ""
    if sample.task == "classification":
        import numpy as np

        classes, counts = np.unique(sample.y, return_counts=True)
        shares = ", ".join(
            f"{label!s} {100 * n / sample.n_rows:.1f} %"
            for label, n in list(zip(classes, counts, strict=True))[:MOST_SHOWN]
        )
        more = f", and {len(classes) - MOST_SHOWN} more" if len(classes) > MOST_SHOWN else ""
        say(f"{target}: classification{how}, {len(classes)} classes: {shares}{more}")
    else:
        say(f"{target}: regression{how}, from {sample.y.min():g} to {sample.y.max():g}")


def _tell(fitted: Fitted) -> None:
    n_all, board = fitted.sample.n_rows, fitted.board
    metric = board[0].score.name
    is_race = any(each.n_rows < n_all for each in board)
    header = ["", "kernel", "scaling", "C", f"{metric} (95 % interval)"]
    rows = [
        [str(place), _short(each.kernel), each.scaling, f"{each.C:.3g}", str(each.score)]
        + ([f"{each.n_rows:,}"] if is_race else [])
        for place, each in enumerate(board[:MOST_SHOWN], start=1)
    ]
    n_folds = fitted.model.cv.get_n_splits()
    show_table(f"Leaderboard, {n_folds} folds", header + (["on rows"] if is_race else []), rows)
    say(f"chosen: {_short(board[0].kernel)} on the scale {board[0].scaling}, C = {board[0].C:.3g}")
    if fitted.tests:
        for score in fitted.tests:
            say(f"test: {score.name} {score}")
    elif len(board) > 1:
        note(
            f"the score of the best of {len(board)} is a little too good; --test tells one of rows "
            "that chose nothing"
        )
    for path in (fitted.out, fitted.report):
        if path is not None:
            say(f"wrote {path}")
    say(f"{fitted.seconds:.1f} seconds")


def _short(kernel: str) -> str:
    """Return the text of a kernel with few digits."""
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda found: f"{float(found[0]):.3g}", kernel)


def _as_object(fitted: Fitted, target: str) -> dict[str, Any]:
    sample = fitted.sample
    return {
        "command": "fit",
        "task": sample.task,
        "target": target,
        "rows": sample.n_rows,
        "columns": sample.kinds,
        "classes": fitted.model.classes_ if sample.task == "classification" else None,
        "leaderboard": [{**each._asdict(), "score": each.score._asdict()} for each in fitted.board],
        "test": [score._asdict() for score in fitted.tests],
        "model": str(fitted.out),
        "report": fitted.report and str(fitted.report),
        "seconds": round(fitted.seconds, 3),
    }
