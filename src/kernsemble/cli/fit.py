"""``kernsemble fit``: fit a model to a table, with model selection by cross-validation."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import (
    CommandError,
    WrongUsageError,
    import_optional,
    note,
    write_json,
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
    Tables,
    Target,
    check_output,
    limit_threads,
    reading,
    required_target,
    split_names,
)
from kernsemble.cli.progress import follow, working
from kernsemble.cli.reading_program import reading_program
from kernsemble.cli.table_files import TableFile, is_streamed
from kernsemble.cli.wording import in_options

if TYPE_CHECKING:
    from kernsemble.cli.training_data import TrainingData

AUTO = "auto"


def fit(  # noqa: PLR0913, PLR0915, PLR0917 (options, given by name)
    context: typer.Context,
    tables: Tables,
    target: Target = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Model file to write; default: TABLE.skops beside TABLE."),
    ] = None,
    kernel: Annotated[
        list[str],
        typer.Option(
            "--kernel", "-k", help="Kernels to compare: stump, perceptron, laplacian, …, or auto."
        ),
    ] = [AUTO],  # noqa: B006 (typer copies it)
    test: Annotated[
        Path | None, typer.Option("--test", help="Table to test the model on, for unbiased scores.")
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option("--holdout", help="Share of rows to test the model on, such as 0.2."),
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
    pairs: Annotated[
        str,
        typer.Option(
            "--pairs", help="Number of pairs of columns with a function each; auto: select it."
        ),
    ] = "0",
    folds: Annotated[
        int | None, typer.Option("--folds", min=2, help="Number of cross-validation folds.")
    ] = None,
    scoring: Annotated[
        str | None, typer.Option("--scoring", help="scikit-learn scorer to select the model by.")
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option("--max-rows", min=2, help="Maximum number of training rows.")
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option("--memory", min=1, help="Memory for kernel matrices, in MB."),
    ] = None,
    tol: Annotated[
        float | None, typer.Option("--tol", help="Tolerance of the solver at which it stops.")
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option("--max-iter", min=1, help="Maximum iterations per machine.")
    ] = None,
    drop: Drop = None,
    keep: Keep = None,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    header: Header = None,
    day_first: DayFirst = None,
    dask: Annotated[
        str | None,
        typer.Option("--dask", help="Address of a Dask scheduler, or local: fit on a cluster."),
    ] = None,
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
    how = reading(missing, encoding, decimal, header, day_first)
    train = tables[0]
    if dask is not None or is_streamed(tables):
        _fit_in_blocks(
            context,
            tables,
            (target, drop, keep, how.missing, task),
            (kernel, scaling, solver, loss, folds, scoring, seed),
            {"memory": memory, "tol": tol, "max_iter": max_iter},
            {"out": out, "force": force, "dask": dask, "progress": progress, "json": json},
            {
                "--test": test,
                "--holdout": holdout,
                "--report": report,
                "--max-rows": max_rows,
                "--encoding": encoding,
                "--decimal": decimal,
                "--header": header,
                "--day-first": day_first,
            },
        )
        return
    train_file = TableFile(train, how)
    target = required_target(target, train_file)
    out = out or _default_output(train)
    _check_test_options(test, holdout)
    with working("loading", progress):
        _check_outputs(out, report, force, (train, test))

        from kernsemble.cli.fit_output import (
            Fitted,
            as_object,
            report_contents,
            score_model,
            show,
            show_data,
        )
        from kernsemble.cli.kernel_search import LOSSES, KernelSearch, leaderboard
        from kernsemble.cli.model_files import TableSchema
        from kernsemble.cli.training_data import read_training_data

        _check_choices(task, scaling, solver, loss)
        _check_scoring(scoring)
        search = KernelSearch(_checked_kernels(kernel), scaling, solver, loss, folds, scoring, seed)
        search = search._replace(
            memory=memory, tol=tol, max_iter=max_iter, n_pairs=_checked_pairs(pairs)
        )
    watch = context.obj.watch
    watch.lap("loading")

    given = None if task == AUTO else task
    with working("reading", progress):
        data = read_training_data(train_file, target, drop or (), given, max_rows, seed, keep or ())  # type: ignore[arg-type]
        target = data.target
        test_file = None if test is None else TableFile(test, how, data.headless)
        _check_choice("--loss", loss, LOSSES[data.task])
        data, tested = _split(data, test_file, holdout, seed)
        model = search.estimator(data)
    watch.lap("reading")
    if not json:
        show_data(data, tested, train, target, is_inferred=given is None)
    with follow(model, progress), _named_errors(train, scoring):
        model.fit(data.X, data.y)
    watch.lap("selection")
    with working("scoring", progress):
        board = leaderboard(model, search.metric(data.task))
        scored = score_model(model, data, tested, "test rows" if test else "held-out rows")
    TableSchema.from_data(data, how.missing).attach_to(model)
    watch.lap("scoring")
    with working("writing the report" if report else "writing", progress):
        title = f"{target} of {train.name}"
        page = report_contents(data, tested, board, title) if report else {}
        page |= {
            "target": target,
            "command": context.obj.command,
            "reading": reading_program(
                train_file, target, drop, keep, given, max_rows, holdout, seed
            ),
        }
        _write_files(model, out, report, page)
    watch.lap("writing" if report is None else "report")
    fitted = Fitted(data, model, search, board, scored, out, report, watch)
    if json:
        write_json(as_object(fitted, target))
    else:
        show(fitted)


def _default_output(train: Path) -> Path:
    """Return the name of a model file beside the table; in this folder for standard input."""
    if str(train) == "-":
        return Path("model.skops")
    name = train.name.removesuffix(".gz").removesuffix(".zip")
    return train.with_name(f"{Path(name).stem}.skops")


def _fit_in_blocks(
    context: typer.Context,
    paths: list[Path],
    table: tuple[Any, ...],
    search: tuple[Any, ...],
    limits: dict[str, Any],
    output: dict[str, Any],
    unsupported: dict[str, Any],
) -> None:
    """Fit to files that are read in blocks of rows, or by the workers of a cluster."""
    from kernsemble.cli.fit_stream import StreamedFit, refuse_options
    from kernsemble.cli.kernel_search import KernelSearch
    from kernsemble.cli.streamed_table import StreamedTable

    refuse_options(unsupported)
    target, drop, keep, missing, task = table
    if target is None:
        raise WrongUsageError("--target is missing, the column to predict")
    kernels, scaling, solver, loss, *others = search
    _check_choices(task, scaling, solver, loss)
    out = output["out"] or _streamed_output(paths[0])
    _check_outputs(out, None, output["force"], (paths[0],))
    names = tuple(drop or ()), tuple(keep or ())
    given = None if task == AUTO else task
    settings = KernelSearch(_checked_kernels(kernels), scaling, solver, loss, *others)
    StreamedFit(
        StreamedTable(tuple(paths), target, *names, missing, given),
        settings._replace(**limits),
        out,
        output["dask"],
        context.obj.watch,
    ).run(output["progress"], output["json"])


def _streamed_output(train: Path) -> Path:
    """Return the name of a model file beside the first file, or beside the folder."""
    if train.is_dir():
        return train.with_suffix(".skops")
    if any(sign in train.name for sign in "*?["):
        return train.with_name("model.skops")
    return _default_output(train)


def _check_test_options(test: Path | None, holdout: float | None) -> None:
    if test is not None and holdout is not None:
        raise WrongUsageError(
            f"--test {test} and --holdout {holdout:g} both give rows to test on: use one of them"
        )
    if holdout is not None and not 0.0 < holdout < 1.0:
        raise WrongUsageError(f"--holdout {holdout:g}: use a share between 0 and 1, such as 0.2")


def _split(
    data: "TrainingData", test: TableFile | None, holdout: float | None, seed: int
) -> "tuple[TrainingData, TrainingData | None]":
    """Return the training rows, and those to test on if there are any."""
    from kernsemble.cli.held_out_rows import hold_out, n_trained_on
    from kernsemble.cli.training_data import read_test_data

    if holdout is not None:
        return hold_out(data, holdout, seed)
    if test is None:
        return data, None
    tested = read_test_data(test, data)
    n = n_trained_on(data, tested)
    if n:
        note(
            f"{test.path}: {n:,} of {tested.n_rows:,} test rows are also training rows, so the "
            "scores are optimistic: use other rows, or --holdout 0.2 instead of --test"
        )
    return data, tested


@contextmanager
def _named_errors(train: Path, scoring: str | None) -> Iterator[None]:
    """Name the table in errors of the library."""
    try:
        yield
    except ValueError as error:
        with_scoring = f" with --scoring {scoring}" if scoring else ""
        reason = in_options(error)
        raise CommandError(f"{train} cannot be fitted{with_scoring}: {reason}") from error


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
            known = ", ".join((AUTO, *KERNELS))
            hint = suggest(error.value, (AUTO, *KERNELS), otherwise="no such kernel")
            raise typer.BadParameter(
                f"{error.value!r}: {hint} (kernels: {known})", param_hint="--kernel"
            ) from error
    return names


def _checked_pairs(given: str) -> int | Literal["auto"]:
    if given == AUTO:
        return "auto"
    if not given.isdecimal():
        raise typer.BadParameter(f"{given!r}: use a number or auto", param_hint="--pairs")
    return int(given)


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


def _write_files(model: Any, out: Path, report: Path | None, contents: dict[str, Any]) -> None:
    """Write all files, or none of them."""
    from kernsemble.persistence import save

    with ExitStack() as files:
        save(model, files.enter_context(atomic_write(out)))
        if report is not None:
            _report_writer()(model, files.enter_context(atomic_write(report)), **contents)
