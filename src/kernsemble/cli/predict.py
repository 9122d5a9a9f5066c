"""``kernsemble predict``: what a model says of the rows of a file, some rows at a time."""

import gzip
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from kernsemble._files import atomic_write
from kernsemble.cli.console import CommandError, answer, note
from kernsemble.cli.options import (
    Force,
    Jobs,
    Json,
    Missing,
    ModelFile,
    Progress,
    Table,
    all_missing,
    limit_threads,
)
from kernsemble.cli.outputs import check_output
from kernsemble.cli.progress import ShownTask, bars
from kernsemble.cli.tables import TableFile, as_features, import_polars

if TYPE_CHECKING:
    import polars as pl

    from kernsemble.cli.models import TrainingTable


def predict(
    model: ModelFile,
    table: Table,
    out: Annotated[str, typer.Option("--out", "-o", help="The CSV to write; - is the output.")],
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="A column to copy, such as a name.")
    ] = None,
    decision: Annotated[
        bool, typer.Option("--decision", help="Decision values beside probabilities.")
    ] = False,
    missing: Missing = None,
    jobs: Jobs = None,
    json: Json = False,
    force: Force = False,
    progress: Progress = None,
) -> None:
    """Predict: columns are found by name, and rows are read in chunks, whatever the size."""
    limit_threads(jobs)
    if json and out == "-":
        raise typer.BadParameter("-o - takes the output: give -o a file", param_hint="--json")
    if out != "-":
        _check_place(Path(out), force, (model, table))

    from kernsemble.cli.models import load_model, training_table

    start = time.perf_counter()
    fitted = load_model(model)
    known = training_table(fitted, model)
    words = tuple(dict.fromkeys((*known.missing, *all_missing(missing))))
    source = TableFile(table, words)
    extra = _checked_columns(source, known, keep or [], model)
    teller = Teller(fitted, known, source, keep or [], decision)
    with bars(progress) as shown, _opened(out) as file:
        bar = ShownTask(shown, "predicting", source.n_rows() if shown is not None else None)
        for part in teller.parts():
            file.write(part.write_csv(include_header=teller.n_rows == part.height).encode())
            bar.advance(part.height)
        if teller.n_rows == 0:
            file.write(teller.nothing().write_csv().encode())
    _tell(teller, out, extra, json, time.perf_counter() - start)


def _check_place(path: Path, force: bool, inputs: tuple[Path, ...]) -> None:
    if not path.name.lower().endswith((".csv", ".csv.gz")):
        raise CommandError(f"--out {path}: scores are written as .csv or .csv.gz; change the name")
    check_output("--out", path, force, inputs)


def _checked_columns(
    source: TableFile, known: "TrainingTable", keep: list[str], model: Path
) -> list[str]:
    """Return the columns that are not used, once all that are needed are there."""
    absent = [name for name in known.columns if name not in source.columns]
    if absent:
        names = ", ".join(map(repr, absent[:5])) + (", …" if len(absent) > 5 else "")
        raise CommandError(
            f"{source.path} misses {len(absent)} of the {len(known.columns)} columns that {model} "
            f"was fitted to: {names}; add them, empty if they are missing"
        )
    for name in keep:
        if name not in source.columns:
            raise CommandError(f"--keep {name!r}: {source.path} has no such column")
    used = {*known.columns, *keep, known.target}
    return [name for name in source.columns if name not in used]


class Teller:
    """Says of the rows of a file what a model says of them, and counts what is new to it."""

    def __init__(
        self,
        model: Any,
        known: "TrainingTable",
        source: TableFile,
        keep: list[str],
        decision: bool,
    ) -> None:
        self._model, self._known, self._source, self._keep = model, known, source, keep
        self._decision = decision
        self.n_rows = 0
        self.unseen: Counter[str] = Counter()  # entries of each column

    def parts(self) -> Iterator["pl.DataFrame"]:
        """Yield the answers, some rows at a time."""
        wanted = list(dict.fromkeys((*self._keep, *self._known.columns)))
        for frame in self._source.chunks(wanted):
            if frame.height == 0:
                continue
            rows = as_features(frame, self._known.by_name, self._source.path, self.n_rows + 1)
            self._refuse_missing(rows)
            self._count_unseen(rows)
            answers = self._answers(rows)
            self.n_rows += frame.height
            yield import_polars().concat([frame.select(self._keep), answers], how="horizontal")

    def nothing(self) -> "pl.DataFrame":
        """Return the answers to no rows."""
        pl = import_polars()
        names = [*self._keep, "prediction"]
        classes = getattr(self._model, "classes_", ())
        if hasattr(self._model, "predict_proba"):
            names += [f"probability_{label}" for label in classes]
        if self._tells_values():
            names += ["decision"] if len(classes) == 2 else [f"decision_{each}" for each in classes]
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))

    def _tells_values(self) -> bool:
        model = self._model
        is_only = not hasattr(model, "predict_proba")
        return (self._decision or is_only) and hasattr(model, "classes_")

    def _answers(self, rows: "pl.DataFrame") -> "pl.DataFrame":
        pl, model = import_polars(), self._model
        columns = {"prediction": model.predict(rows)}
        if hasattr(model, "predict_proba"):
            columns |= _by_class("probability", model.classes_, model.predict_proba(rows))
        if self._tells_values():
            values = model.decision_function(rows)
            is_single = values.ndim == 1
            columns |= (
                {"decision": values} if is_single else _by_class("decision", model.classes_, values)
            )
        return pl.DataFrame(columns)

    def _refuse_missing(self, rows: "pl.DataFrame") -> None:
        """Refuse missing numbers where the model has no hypothesis for them."""
        if getattr(self._model, "solver_", None) != "exact":
            return
        for column in rows:
            if column.dtype.is_float() and (column.null_count() or column.is_nan().any()):
                absent = column.is_null() | column.is_nan().fill_null(True)
                raise CommandError(
                    f"{self._source.path}: column {column.name!r} misses a value in row "
                    f"{self.n_rows + int(absent.arg_max()) + 1}, and the model compares rows by a "  # type: ignore[arg-type]
                    "matrix, which needs all: fill it in, or fit again with --solver additive"
                )

    def _count_unseen(self, rows: "pl.DataFrame") -> None:
        table = getattr(self._model, "mixed_table_", None)
        if table is None:
            return
        for name, known in zip(self._known.columns, table.categories, strict=True):
            if known is None:
                continue
            labels = [str(each) for each in known if each is not None]
            n = int((~rows[name].is_in(labels)).fill_null(None not in known).sum())
            if n:
                self.unseen[name] += n


def _by_class(what: str, classes: Any, values: Any) -> dict[str, Any]:
    return {f"{what}_{label}": column for label, column in zip(classes, values.T, strict=True)}


@contextmanager
def _opened(out: str) -> Iterator[IO[bytes]]:
    """Lend the place of the answers; a file appears when it is whole."""
    if out == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_write(Path(out)) as place:
        opened = gzip.open if out.lower().endswith(".gz") else open
        with opened(place, "wb") as file:
            yield file  # type: ignore[misc]


def _tell(teller: Teller, out: str, extra: list[str], json: bool, seconds: float) -> None:
    if json:
        answer(
            {
                "command": "predict",
                "rows": teller.n_rows,
                "output": out,
                "extra_columns": extra,
                "unseen_categories": teller.unseen,
                "seconds": round(seconds, 3),
            }
        )
        return
    if extra:
        names = ", ".join(map(repr, extra[:5])) + (", …" if len(extra) > 5 else "")
        note(f"columns that the model does not know are ignored ({len(extra)}): {names}")
    for name, n in teller.unseen.items():
        note(f"column {name!r}: {n:,} entries are of categories that training did not have")
    if out != "-":
        note(f"wrote {teller.n_rows:,} rows to {out} in {seconds:.1f} seconds")
