"""Training and test data of commands: the features and the target of a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernsemble._suggestions import suggest
from kernsemble._typing import Array
from kernsemble.cli.column_findings import note_leaks, useless_columns
from kernsemble.cli.column_types import (
    ColumnKind,
    as_training_kinds,
    cast_columns,
    check_finite,
    column_kinds,
    import_polars,
)
from kernsemble.cli.console import CommandError, note
from kernsemble.cli.csv_layout import is_number
from kernsemble.cli.table_files import TableFile
from kernsemble.solvers.losses import LearningTask

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "LearningTask",
    "TrainingData",
    "infer_task",
    "located",
    "read_test_data",
    "read_training_data",
    "row_labels",
]


MAX_WHOLE = 2.0**53  # below it, every whole number has a float
MAX_CLASSES = 10  # number of distinct whole numbers up to which they are classes


class TrainingData(NamedTuple):
    """Rows to train or to test on."""

    X: "pl.DataFrame"  # columns of numbers, of text and of datetimes
    y: Array  # classes, or numbers
    kinds: dict[str, ColumnKind]
    task: LearningTask
    target: str = ""  # its name
    layouts: Mapping[str, str] = MappingProxyType({})  # of columns that are not plain
    headless: tuple[str, ...] = ()  # names of all columns of a table without a header

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def has_missing(self) -> bool:
        """Whether there are missing values."""
        return any(column.null_count() or _has_nan(column) for column in self.X)


def _has_nan(column: "pl.Series") -> bool:
    return column.dtype.is_float() and bool(column.is_nan().any())


def read_training_data(
    table: TableFile,
    target: str,
    drop: Sequence[str] = (),
    task: LearningTask | None = None,
    max_rows: int | None = None,
    seed: int = 0,
    keep: Sequence[str] = (),
) -> TrainingData:
    """Return the rows of a table that have a target, or a random sample of `max_rows` of them.

    Identifiers, constant and nameless columns are left out unless `keep` names them.
    """
    target = _located("--target", target, table)
    drop = [_located("--drop", each, table) for each in drop]
    keep = [_located("--keep", each, table) for each in keep]
    for option, names in (("--drop", drop), ("--keep", keep)):
        if target in names:
            raise CommandError(f"{option} {target!r} is the target: omit this option")
    frame, layouts = table.read()
    features = _features(frame.drop(target, *drop), layouts, table.path, keep)
    is_known = _has_target(frame[target], table.path)
    features, y = features.filter(is_known), frame[target].filter(is_known)
    if max_rows is not None and len(y) > max_rows:
        note(f"using {max_rows:,} of {len(y):,} rows, drawn at random (--max-rows)")
        places = (
            import_polars().int_range(len(y), eager=True).sample(max_rows, seed=seed, shuffle=True)
        )
        features, y = features[places], y[places]
    kinds = column_kinds(features, table.path, layouts)
    _note_identifiers(features, kinds)
    task = task or infer_task(y, table.path)
    labels = _classes(y, table.path) if task == "classification" else _numbers(y, table.path)
    rows = cast_columns(features, kinds, layouts)
    check_finite(rows, table.path)
    note_leaks(rows, labels, target, task == "regression")
    headless = () if table.has_header else tuple(table.columns)
    used = {name: layouts[name] for name in (*kinds, target) if name in layouts}
    return TrainingData(rows, labels, kinds, task, target, used, headless)


def _features(
    frame: "pl.DataFrame", layouts: dict[str, str], path: Path, keep: Sequence[str]
) -> "pl.DataFrame":
    """Return the columns that may help; a note names each of the others."""
    nameless = [name for name in frame.columns if not name.strip()]
    if any(frame[name].null_count() < frame.height for name in nameless):
        note(f"{path}: a column without a name, probably row numbers, is ignored")
    frame = frame.drop(nameless)
    if frame.width == 0:
        raise CommandError(f"{path} has no columns besides the target: add features")
    useless = useless_columns(frame, column_kinds(frame, path, layouts))
    useless = {name: reason for name, reason in useless.items() if name not in keep}
    for name, reason in useless.items():
        note(f"column {name!r} {reason}: it is left out (--keep {name!r} to use it)")
    frame = frame.drop(list(useless))
    if frame.width == 0:
        raise CommandError(
            f"{path} has no columns left besides the target: add features, or use --keep"
        )
    return frame


def _has_target(y: "pl.Series", path: Path) -> "pl.Series":
    """Return which rows have a target; a note counts the others."""
    is_missing = y.is_null() | (y.is_nan().fill_null(True) if y.dtype.is_float() else False)
    n = int(is_missing.sum())
    if n == len(y):
        raise CommandError(
            f"{path}: the target {y.name!r} is missing in all {n:,} rows: use rows that have one"
        )
    if n:
        first = int(is_missing.arg_max()) + 1  # type: ignore[arg-type]
        note(
            f"{path}: {n:,} of {len(y):,} rows have no {y.name!r} and are left out, the first is "
            f"row {first:,}"
        )
    return ~is_missing


def read_test_data(table: TableFile, train: TrainingData) -> TrainingData:
    """Return the rows of another table that have a target, with the training columns."""
    target = _located("--target", train.target, table)
    absent = [name for name in train.kinds if name not in table.columns]
    if absent:
        raise CommandError(
            f"{table.path} has no column {absent[0]!r}, which the training data have: add it"
        )
    frame = table.read_columns([*train.kinds, target])
    rows = as_training_kinds(
        frame, train.kinds, table.path, 1, train.layouts, table.reading.decimal
    )
    y = frame[target]
    has_words = train.y.dtype.kind == "U"
    if not has_words:
        kinds: dict[str, ColumnKind] = {target: "number"}
        decimal = table.reading.decimal
        y = as_training_kinds(frame, kinds, table.path, 1, train.layouts, decimal)[target]
    is_known = _has_target(y, table.path)
    rows, y = rows.filter(is_known), y.filter(is_known)
    if has_words:
        labels = _words(y, train.y)
    elif train.task == "classification":
        labels = _classes(y, table.path, is_training=False)
    else:
        labels = _numbers(y, table.path)
    return train._replace(X=rows, y=labels)


def located(option: str, given: str, names: Sequence[str], table: object) -> str:
    """Return the name of a column; raise an error that suggests another one."""
    if given in names:
        return given
    raise CommandError(f"{option} {given!r}: {table} has no such column; {suggest(given, names)}")


def _located(option: str, given: str, table: TableFile) -> str:
    """Return the name of a column, which may be a number from 1 in a table without a header."""
    names = table.columns
    if given in names:
        return given
    if not table.has_header and given.isdecimal() and 1 <= int(given) <= len(names):
        return names[int(given) - 1]
    hint = suggest(given, names)
    if not table.has_header:
        hint = f"use {names[0]} to {names[-1]}, or a number from 1 to {len(names)}"
    elif sum(map(is_number, names)) > 0:
        hint += "; if the first line is not a header, use --no-header"
    raise CommandError(f"{option} {given!r}: {table.path} has no such column; {hint}")


def _note_identifiers(features: "pl.DataFrame", kinds: dict[str, ColumnKind]) -> None:
    """Write a note about columns of text with almost as many values as rows."""
    for name, kind in kinds.items():
        n, n_rows = features[name].n_unique() if kind == "category" else 0, features.height
        if n > max(50, n_rows // 2):
            note(
                f"column {name!r} has {n:,} categories in {n_rows:,} rows; if it identifies rows, "
                f"ignore it with --drop {name!r}"
            )


def infer_task(y: "pl.Series", path: Path) -> LearningTask:
    """Return "classification" for text, truth values and few distinct whole numbers."""
    if not y.dtype.is_numeric():
        _check_no_dates(y, path)
        return "classification"
    numbers = y.cast(import_polars().Float64)
    check_finite(numbers.to_frame(), path)
    is_whole = bool((numbers == numbers.floor()).all() and (numbers.abs() < MAX_WHOLE).all())
    has_classes = is_whole and numbers.n_unique() <= MAX_CLASSES
    return "classification" if has_classes else "regression"


def row_labels(y: "pl.Series", task: LearningTask, path: Path) -> Array:
    """Return the targets of some rows, which may be of one class."""
    return _classes(y, path, is_training=False) if task == "classification" else _numbers(y, path)


def _check_no_dates(y: "pl.Series", path: Path) -> None:
    if column_kinds(y.to_frame(), path)[y.name] == "date":
        raise CommandError(
            f"{path}: the target {y.name!r} contains dates: convert them to numbers, such as days "
            "until then"
        )


def _classes(y: "pl.Series", path: Path, is_training: bool = True) -> Array:
    """Return classes: text, truth values as "true" and "false", whole numbers as integers."""
    pl = import_polars()
    _check_no_dates(y, path)
    if not y.dtype.is_numeric():
        labels = y.cast(pl.String).to_numpy().astype(str)
    elif y.dtype.is_float() and not bool(((y == y.floor()) & (y.abs() < MAX_WHOLE)).all()):
        raise CommandError(
            f"{path}: the target {y.name!r} contains numbers such as {y[0]!r}, not classes: use "
            "--task regression of kernsemble fit"
        )
    else:
        labels = y.cast(pl.Int64).to_numpy()
    if is_training and len(np.unique(labels)) < 2:
        raise CommandError(
            f"{path}: the target {y.name!r} contains only one class, {labels[0]!s}: use rows of "
            "two or more"
        )
    return labels


def _words(y: "pl.Series", known: Array) -> Array:
    """Return classes that are text in the training data; truth values in small letters."""
    text = y.cast(import_polars().String).str.strip_chars()
    has_truth_values = set(np.unique(known).tolist()) == {"true", "false"}
    return (text.str.to_lowercase() if has_truth_values else text).to_numpy().astype(str)


def _numbers(y: "pl.Series", path: Path) -> Any:
    if not y.dtype.is_numeric():
        raise CommandError(
            f"{path}: the target {y.name!r} contains {_type_word(y)}, not numbers: use --task "
            "classification, or convert it to numbers"
        )
    numbers = y.cast(import_polars().Float64)
    check_finite(numbers.to_frame(), path)
    return numbers.to_numpy()


def _type_word(y: "pl.Series") -> str:
    pl = import_polars()
    return {pl.String: "text", pl.Boolean: "truth values"}.get(y.dtype, str(y.dtype))
