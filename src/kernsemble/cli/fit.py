"""``kernsemble fit``: fit a model to a table, with model selection by cross-validation."""

import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import (
    CommandError,
    import_optional,
    note,
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
    limit_threads,
    missing_markers,
    split_names,
)
from kernsemble.cli.progress import follow, working
from kernsemble.cli.table_files import TableFile

if TYPE_CHECKING:
    from kernsemble.cli.kernel_search import LeaderboardEntry
    from kernsemble.cli.training_data import TrainingData
    from kernsemble.inspection.scores import Score

AUTO = "auto"
MAX_SHOWN = 12


class Fitted(NamedTuple):
    """The results of a fit, and the files written."""

    data: "TrainingData"
    model: Any
    board: "list[LeaderboardEntry]"
    tests: "list[Score]"
    out: Path
    report: Path | None
    seconds: float


def fit(  # noqa: PLR0913, PLR0917 (options, given by name)
    train: Table,
    target: Target,
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write (.skops).")],
    kernel: Annotated[
        list[str],
        typer.Option(
            "--kernel", "-k", help="Kernels to compare: stump, perceptron, laplacian, …, or auto."
        ),
    ] = [AUTO],  # noqa: B006 (typer copies it)
    test: Annotated[
        Path | None, typer.Option("--test", help="Table to test the model on, for unbiased scores.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="HTML report to write.")] = None,
    task: Annotated[
        str, typer.Option("--task", help="classification or regression; auto: from the target.")
    ] = AUTO,
    scaling: Annotated[
        str, typer.Option("--scaling", help="Scaling: range, rank or distinct; auto: compare all.")
    ] = AUTO,
    solver: Annotated[
        str, typer.Option("--solver", help="Solver: exact (kernel matrix) or additive (any size).")
    ] = AUTO,
    loss: Annotated[
        str, typer.Option("--loss", help="Loss: hinge, logistic, epsilon_insensitive, squared, …")
    ] = AUTO,
    folds: Annotated[
        int | None, typer.Option("--folds", min=2, help="Number of cross-validation folds.")
    ] = None,
    scoring: Annotated[
        str | None, typer.Option("--scoring", help="scikit-learn scorer to select the model by.")
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option("--max-rows", min=2, help="Maximum number of training rows.")
    ] = None,
    drop: Drop = None,
    missing: Missing = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
    force: Force = False,
    progress: Progress = None,
) -> None:
    """Fit a model, with model selection by cross-validation.

    Kernels, scalings and C are compared, and the best are refitted to all rows.
    """
    limit_threads(jobs)
    from kernsemble.cli.kernel_search import LOSSES, KernelSearch, leaderboard

    kernels = _checked_kernels(kernel)
    _check_choices(task, scaling, solver, loss)
    _check_scoring(scoring)
    _check_outputs(out, report, force, (train, test))

    from kernsemble.cli.model_files import TableSchema
    from kernsemble.cli.training_data import read_test_data, read_training_data
    from kernsemble.inspection.predictions import Predictions
    from kernsemble.inspection.scores import scores

    start, markers = time.perf_counter(), missing_markers(missing)
    train_file = TableFile(train, markers)
    test_file = None if test is None else TableFile(test, markers)
    given = None if task == AUTO else task
    with working("reading", progress):
        data = read_training_data(train_file, target, tuple(drop or ()), given, max_rows, seed)  # type: ignore[arg-type]
        _check_choice("--loss", loss, LOSSES[data.task])
        held_out = None if test_file is None else read_test_data(test_file, target, data)
    model = KernelSearch(kernels, scaling, solver, loss, folds, scoring, seed).estimator(data)
    if not json:
        _show_data(data, train, target, is_inferred=given is None)
    try:
        with follow(model, progress):
            model.fit(data.X, data.y)
    except ValueError as error:
        with_scoring = f" with --scoring {scoring}" if scoring else ""
        raise CommandError(f"{train} cannot be fitted{with_scoring}: {error}") from error
    metric = scoring or ("accuracy" if data.task == "classification" else "r2")
    board = leaderboard(model, metric, data.n_rows)
    tests = []
    if held_out:
        tests = scores(Predictions.from_estimator(model, held_out.X, held_out.y, "test rows"))
    TableSchema.from_kinds(data.kinds, target, markers).attach_to(model)
    page = _report_contents(data, held_out, board, f"{target} of {train.name}") if report else {}
    _write_files(model, out, report, page)
    fitted = Fitted(data, model, board, tests, out, report, time.perf_counter() - start)
    if json:
        write_json(_as_object(fitted, target))
    else:
        _show(fitted)


def _check_choices(task: str, scaling: str, solver: str, loss: str) -> None:
    from typing import get_args

    from kernsemble.cli.kernel_search import LOSSES, SCALINGS, SOLVERS
    from kernsemble.cli.training_data import LearningTask

    _check_choice("--task", task, get_args(LearningTask))
    _check_choice("--scaling", scaling, SCALINGS)
    _check_choice("--solver", solver, SOLVERS)
    _check_choice("--loss", loss, tuple(name for losses in LOSSES.values() for name in losses))


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    choices = tuple(dict.fromkeys((AUTO, *choices)))
    if value not in choices:
        raise typer.BadParameter(f"{value!r}: use one of {', '.join(choices)}", param_hint=option)


def _checked_kernels(given: list[str]) -> tuple[str, ...]:
    from kernsemble._suggestions import suggest
    from kernsemble.exceptions import ArgumentError
    from kernsemble.kernels.registry import KERNELS, as_kernel

    names = split_names(given)
    if not names:
        raise typer.BadParameter("use at least one name, or auto", param_hint="--kernel")
    if AUTO in names and len(names) > 1:
        raise typer.BadParameter(
            "auto selects the kernels itself: use it alone, or names without it",
            param_hint="--kernel",
        )
    for name in names:
        try:
            if name != AUTO:
                as_kernel(name)
        except ArgumentError as error:
            known = ", ".join(KERNELS)
            hint = suggest(error.value, KERNELS, otherwise="no such kernel")
            raise typer.BadParameter(
                f"{error.value!r}: {hint} (kernels: {known})", param_hint="--kernel"
            ) from error
    return names


def _check_scoring(scoring: str | None) -> None:
    if scoring is None:
        return
    from sklearn.metrics import get_scorer_names

    from kernsemble._suggestions import suggest

    if scoring not in get_scorer_names():
        hint = suggest(scoring, get_scorer_names(), otherwise="use accuracy, roc_auc, r2, …")
        raise typer.BadParameter(f"{scoring!r}: {hint}", param_hint="--scoring")


def _check_outputs(
    out: Path, report: Path | None, force: bool, inputs: tuple[Path | None, ...]
) -> None:
    check_output("--out", out, force, inputs)
    if report is not None:
        check_output("--report", report, force, inputs)
        if report.resolve() == out.resolve():
            raise CommandError(f"--report {report} is also --out: use two names")
        _report_writer()


def _report_writer() -> Any:
    remedy = "pip install 'kernsemble[report]', or omit --report"
    return import_optional("report", "write_report", "writing --report", remedy)


def _report_contents(
    data: "TrainingData",
    held_out: "TrainingData | None",
    board: "list[LeaderboardEntry]",
    title: str,
) -> dict[str, Any]:
    """Return the contents of a report besides the model."""
    return {
        "X": data.X,
        "y": data.y,
        "X_test": None if held_out is None else held_out.X,
        "y_test": None if held_out is None else held_out.y,
        "title": title,
        "leaderboard": [
            {
                "kernel": _short(each.kernel),
                "scaling": each.scaling,
                "C": f"{each.C:.3g}",
                f"{each.score.name} (95 % interval)": str(each.score),
                "rows": f"{each.n_rows:,}",
            }
            for each in board[:MAX_SHOWN]
        ],
    }


def _write_files(model: Any, out: Path, report: Path | None, contents: dict[str, Any]) -> None:
    """Write all files, or none of them."""
    from kernsemble.persistence import save

    with ExitStack() as files:
        save(model, files.enter_context(atomic_write(out)))
        if report is not None:
            _report_writer()(model, files.enter_context(atomic_write(report)), **contents)


def _show_data(data: "TrainingData", path: Path, target: str, is_inferred: bool) -> None:
    kinds = list(data.kinds.values())
    n_numbers, n_categories = kinds.count("number"), kinds.count("category")
    write_line(
        f"{path}: {data.n_rows:,} rows, {n_numbers} numeric and {n_categories} categorical "
        f"columns{', with missing values' if data.has_missing else ''}"
    )
    how = " (inferred; set it with --task)" if is_inferred else ""
    if data.task == "classification":
        import numpy as np

        classes, counts = np.unique(data.y, return_counts=True)
        shares = ", ".join(
            f"{label!s} {100 * n / data.n_rows:.1f} %"
            for label, n in list(zip(classes, counts, strict=True))[:MAX_SHOWN]
        )
        more = f", and {len(classes) - MAX_SHOWN} more" if len(classes) > MAX_SHOWN else ""
        write_line(f"{target}: classification{how}, {len(classes)} classes: {shares}{more}")
    else:
        write_line(f"{target}: regression{how}, from {data.y.min():g} to {data.y.max():g}")


def _show(fitted: Fitted) -> None:
    n_all, board = fitted.data.n_rows, fitted.board
    best = board[0]
    is_race = any(each.n_rows < n_all for each in board)
    header = ["", "kernel", "scaling", "C", f"{best.score.name} (95 % interval)"]
    rows = [
        [str(place), _short(each.kernel), each.scaling, f"{each.C:.3g}", str(each.score)]
        + ([f"{each.n_rows:,}"] if is_race else [])
        for place, each in enumerate(board[:MAX_SHOWN], start=1)
    ]
    n_folds = fitted.model.cv.get_n_splits()
    show_table(f"Leaderboard, {n_folds} folds", header + (["on rows"] if is_race else []), rows)
    write_line(f"selected: {_short(best.kernel)}, scaling {best.scaling}, C = {best.C:.3g}")
    if fitted.tests:
        for score in fitted.tests:
            write_line(f"test: {score.name} {score}")
    elif len(board) > 1:
        note(
            f"the best of {len(board)} cross-validation scores is optimistic; use --test for an "
            "unbiased score"
        )
    for path in (fitted.out, fitted.report):
        if path is not None:
            write_line(f"wrote {path}")
    write_line(f"{fitted.seconds:.1f} seconds")


def _short(kernel: str) -> str:
    """Return the text of a kernel with three digits per number."""
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda found: f"{float(found[0]):.3g}", kernel)


def _as_object(fitted: Fitted, target: str) -> dict[str, Any]:
    data = fitted.data
    return {
        "command": "fit",
        "task": data.task,
        "target": target,
        "rows": data.n_rows,
        "columns": data.kinds,
        "classes": fitted.model.classes_ if data.task == "classification" else None,
        "leaderboard": [{**each._asdict(), "score": each.score._asdict()} for each in fitted.board],
        "test": [score._asdict() for score in fitted.tests],
        "model": str(fitted.out),
        "report": fitted.report and str(fitted.report),
        "seconds": round(fitted.seconds, 3),
    }
