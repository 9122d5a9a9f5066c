"""``kernsemble predict``: predictions for the rows of a file, in chunks of rows."""

import gzip
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from kernsemble._counts import counted, is_or_are
from kernsemble._files import atomic_write
from kernsemble.cli.column_types import import_polars
from kernsemble.cli.console import (
    CommandError,
    InterruptedCommandError,
    join_names,
    note,
    write_json,
)
from kernsemble.cli.formula_cells import n_formulas, without_formulas
from kernsemble.cli.options import (
    Decimal,
    Encoding,
    Force,
    Header,
    Jobs,
    Json,
    Missing,
    ModelFile,
    Progress,
    Table,
    check_output,
    limit_threads,
    reading,
)
from kernsemble.cli.progress import ShownTask, bars_or_lines
from kernsemble.cli.table_files import CHUNK_ROWS, TableFile

if TYPE_CHECKING:
    import polars as pl

    from kernsemble.cli.model_files import TableSchema


def predict(  # noqa: PLR0913, PLR0917 (options, given by name)
    context: typer.Context,
    model: ModelFile,
    table: Table,
    out: Annotated[
        str, typer.Option("--out", "-o", help="CSV file to write; default: standard output.")
    ] = "-",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", help="Column to copy to the output, such as an identifier; repeatable."
        ),
    ] = None,
    decision: Annotated[
        bool, typer.Option("--decision", help="Write decision values in addition to probabilities.")
    ] = False,
    chunk_rows: Annotated[
        int, typer.Option("--chunk-rows", min=1, help="Number of rows in memory at a time.")
    ] = CHUNK_ROWS,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="Write ' before text that spreadsheets would run as a formula.",
        ),
    ] = False,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    header: Header = None,
    jobs: Jobs = None,
    json: Json = False,
    force: Force = False,
    progress: Progress = None,
) -> None:
    """Predict the rows of a table; columns are matched by name.

    Rows are read in chunks, so the table may be larger than memory.
    """
    limit_threads(jobs)
    if json and out == "-":
        raise typer.BadParameter(
            "the predictions go to standard output: write them to a file with --out",
            param_hint="--json",
        )
    if out != "-":
        _check_out(Path(out), force, (model, table))

    from kernsemble.cli.model_files import load_model, table_schema

    fitted = load_model(model)
    schema = table_schema(fitted, model)
    source = schema.open(table, reading(missing, encoding, decimal, header))
    unused = _check_columns(source, schema, keep or [], model)
    predictor = TablePredictor(
        fitted, schema, source, keep or [], decision, chunk_rows, escape_formulas
    )
    with (
        bars_or_lines(progress) as shown,
        _opened(out) as file,
        _counted_interrupts(out, predictor),
    ):
        bar = ShownTask(shown, "predicting", source.n_rows() if shown is not None else None)
        for chunk in predictor.chunks():
            file.write(chunk.write_csv(include_header=predictor.n_written == 0).encode())
            predictor.n_written += chunk.height
            bar.advance(chunk.height)
        if predictor.n_rows == 0:
            file.write(predictor.empty().write_csv().encode())
    watch = context.obj.watch
    watch.lap("predicting")
    _show(predictor, out, unused, json, watch.seconds)


def _check_out(path: Path, force: bool, inputs: tuple[Path, ...]) -> None:
    if not path.name.lower().endswith((".csv", ".csv.gz")):
        raise CommandError(f"--out {path}: the name must end in .csv or .csv.gz: change it")
    check_output("--out", path, force, inputs)


def _check_columns(
    source: TableFile, schema: "TableSchema", keep: list[str], model: Path
) -> list[str]:
    """Raise an error if a column is missing, and return those that are not used."""
    present = set(source.columns)
    absent = [name for name in schema.columns if name not in present]
    if absent:
        raise CommandError(
            f"{source.path} lacks {len(absent)} of the {len(schema.columns)} columns that {model} "
            f"was fitted to: {join_names(absent)}; add them, empty if the values are missing"
        )
    for name in keep:
        if name not in present:
            raise CommandError(f"--keep {name!r}: {source.path} has no such column: check the name")
    used = {*schema.columns, *keep, schema.target}
    return [name for name in source.columns if name not in used]


class TablePredictor:
    """Predictions of a model for the rows of a file, with counts of unseen categories."""

    def __init__(
        self,
        model: Any,
        schema: "TableSchema",
        source: TableFile,
        keep: list[str],
        decision: bool,
        chunk_rows: int = CHUNK_ROWS,
        escapes: bool = False,
    ) -> None:
        self._model, self._schema, self._source, self._keep = model, schema, source, keep
        self._decision, self._chunk_rows, self.escapes = decision, chunk_rows, escapes
        self.n_rows = self.n_written = self.n_formulas = 0
        self.unseen: Counter[str] = Counter()  # entries of each column

    def chunks(self) -> Iterator["pl.DataFrame"]:
        """Yield the predictions, one chunk of rows at a time."""
        wanted = list(dict.fromkeys((*self._keep, *self._schema.columns)))
        for frame in self._source.chunks(wanted, self._chunk_rows):
            if frame.height == 0:
                continue
            self._check_kept(frame)
            rows = self._schema.convert(frame, self._source, self.n_rows + 1)
            self._check_missing(rows)
            self._count_unseen(rows)
            predictions = self._predict(rows)
            self.n_rows += frame.height
            written = import_polars().concat(
                [frame.select(self._keep), predictions], how="horizontal"
            )
            self.n_formulas += n_formulas(written)
            yield without_formulas(written) if self.escapes else written

    def _check_kept(self, frame: "pl.DataFrame") -> None:
        """Raise an error if a column to copy has values that CSV files cannot contain."""
        pl = import_polars()
        for name in self._keep:
            kind = frame[name].dtype
            if kind.is_nested() or kind in (pl.Binary, pl.Duration, pl.Object):
                raise CommandError(
                    f"--keep {name!r}: {self._source.path} has values of the type {kind} there, "
                    "which a CSV file cannot contain: convert them to numbers or text"
                )

    def empty(self) -> "pl.DataFrame":
        """Return the predictions for no rows: the column names."""
        pl = import_polars()
        names = [*self._keep, "prediction"]
        classes = getattr(self._model, "classes_", ())
        if hasattr(self._model, "predict_proba"):
            names += [f"probability_{label}" for label in classes]
        if self._has_decision_values():
            names += ["decision"] if len(classes) == 2 else [f"decision_{each}" for each in classes]
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))

    def _has_decision_values(self) -> bool:
        has_probabilities = hasattr(self._model, "predict_proba")
        return (self._decision or not has_probabilities) and hasattr(self._model, "classes_")

    def _predict(self, rows: "pl.DataFrame") -> "pl.DataFrame":
        pl, model = import_polars(), self._model
        columns = {"prediction": model.predict(rows)}
        if hasattr(model, "predict_proba"):
            columns |= _by_class("probability", model.classes_, model.predict_proba(rows))
        if self._has_decision_values():
            values = model.decision_function(rows)
            is_single = values.ndim == 1
            columns |= (
                {"decision": values} if is_single else _by_class("decision", model.classes_, values)
            )
        return pl.DataFrame(columns)

    def _check_missing(self, rows: "pl.DataFrame") -> None:
        """Raise an error if a number is missing and the model does not support that."""
        machines = getattr(self._model, "machines_", None)
        if machines is None or machines.supports_missing:
            return
        for column in rows:
            if column.dtype.is_float() and (column.null_count() or column.is_nan().any()):
                absent = column.is_null() | column.is_nan().fill_null(True)
                row = self.n_rows + int(absent.arg_max()) + 1  # type: ignore[arg-type]
                raise CommandError(
                    f"{self._source.path}: column {column.name!r} has a missing value in row "
                    f"{row}, which the solver of the model does not support: fill it in, or "
                    "fit again with --solver additive"
                )

    def _count_unseen(self, rows: "pl.DataFrame") -> None:
        table = getattr(self._model, "mixed_table_", None)
        if table is None:
            return
        for name, known in zip(self._schema.columns, table.categories, strict=False):
            if known is None:
                continue
            labels = [str(each) for each in known if each is not None]
            n = int((~rows[name].is_in(labels)).fill_null(None not in known).sum())
            if n:
                self.unseen[name] += n


def _by_class(prefix: str, classes: Any, values: Any) -> dict[str, Any]:
    return {f"{prefix}_{label}": column for label, column in zip(classes, values.T, strict=True)}


@contextmanager
def _opened(out: str) -> Iterator[IO[bytes]]:
    """Open the output; a file appears only when it is complete."""
    if out == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_write(Path(out)) as place:
        opened = gzip.open if out.lower().endswith(".gz") else open
        with opened(place, "wb") as file:
            yield file  # type: ignore[misc]


@contextmanager
def _counted_interrupts(out: str, predictor: TablePredictor) -> Iterator[None]:
    """State the number of rows that an interrupt left on standard output."""
    try:
        yield
    except KeyboardInterrupt as error:
        if out != "-" or predictor.n_written == 0:
            raise
        raise InterruptedCommandError(
            f"interrupted: {counted(predictor.n_written, 'row')} of predictions were written to "
            "standard output, the rest is missing: run the command again"
        ) from error


def _show(
    predictor: TablePredictor, out: str, unused: list[str], json: bool, seconds: float
) -> None:
    if json:
        write_json(
            {
                "command": "predict",
                "rows": predictor.n_rows,
                "output": out,
                "extra_columns": unused,
                "unseen_categories": predictor.unseen,
                "seconds": round(seconds, 3),
            }
        )
        return
    if unused:
        n = len(unused)
        columns = f"{counted(n, 'column')} {is_or_are(n)}"
        note(f"{columns} not used by the model: {join_names(unused)}")
    if predictor.n_formulas and not predictor.escapes:
        n = predictor.n_formulas
        note(
            f"{counted(n, 'cell')} {'begins' if n == 1 else 'begin'} with =, +, - or @, which "
            "spreadsheets run as a formula: add --escape-formulas to write them as text"
        )
    for name, n in predictor.unseen.items():
        entries = "1 entry has a category" if n == 1 else f"{n:,} entries have categories"
        note(f"column {name!r}: {entries} not in the training data")
    if out != "-":
        note(f"wrote {counted(predictor.n_rows, 'row')} to {out} in {seconds:.1f} seconds")
