"""Training and test data of commands: the features and the target of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernsemble._suggestions import suggest
from kernsemble._typing import Array
from kernsemble.cli.console import CommandError, note
from kernsemble.cli.table_files import (
    ColumnKind,
    TableFile,
    as_training_kinds,
    cast_columns,
    check_finite,
    column_kinds,
    import_polars,
)
from kernsemble.solvers.losses import LearningTask

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "LearningTask",
    "TrainingData",
    "check_only_numbers",
    "read_test_data",
    "read_training_data",
]


MAX_CLASSES = 10  # number of distinct whole numbers up to which they are classes


class TrainingData(NamedTuple):
    """Rows to train or to test on."""

    X: "pl.DataFrame"  # columns of numbers and of text
    y: Array  # classes, or numbers
    kinds: dict[str, ColumnKind]
    task: LearningTask

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
    drop: tuple[str, ...] = (),
    task: LearningTask | None = None,
    max_rows: int | None = None,
    seed: int = 0,
) -> TrainingData:
    """Return the rows of a table, or a random sample of `max_rows` of them."""
    for option, name in (("--target", target), *(("--drop", each) for each in drop)):
        _check_column(option, name, table)
    if target in drop:
        raise CommandError(f"--drop {target!r} is the target: do not drop it")
    frame = table.read()
    if max_rows is not None and frame.height > max_rows:
        note(f"using {max_rows:,} of {frame.height:,} rows, drawn at random (--max-rows)")
        frame = frame.sample(max_rows, seed=seed, shuffle=True)
    nameless = [name for name in frame.columns if not name.strip() and name != target]
    if nameless:
        note(f"{table.path}: a column without a name, probably row numbers, is ignored")
    features = frame.drop(target, *drop, *nameless)
    if features.width == 0:
        raise CommandError(f"{table.path} has no columns besides the target: add features")
    kinds = column_kinds(features, table.path)
    _note_identifiers(features, kinds)
    y = frame[target]
    _check_target_complete(y, table.path)
    task = task or _infer_task(y, table.path)
    labels = _classes(y, table.path) if task == "classification" else _numbers(y, table.path)
    rows = cast_columns(features, kinds)
    check_finite(rows, table.path)
    return TrainingData(rows, labels, kinds, task)


def read_test_data(table: TableFile, target: str, train: TrainingData) -> TrainingData:
    """Return the rows of another table, with the columns of the training data."""
    _check_column("--target", target, table)
    absent = [name for name in train.kinds if name not in table.columns]
    if absent:
        raise CommandError(
            f"{table.path} has no column {absent[0]!r}, which the training data have: add it"
        )
    frame = table.read()
    y = frame[target]
    _check_target_complete(y, table.path)
    is_classifier = train.task == "classification"
    labels = _classes(y, table.path, train.y) if is_classifier else _numbers(y, table.path)
    rows = as_training_kinds(frame, train.kinds, table.path, 1)
    return TrainingData(rows, labels, train.kinds, train.task)


def check_only_numbers(data: TrainingData, path: Path, command: str) -> None:
    """Raise an error if there are categories or missing values."""
    texts = [name for name, kind in data.kinds.items() if kind == "category"]
    if texts:
        remedy = " ".join(f"--drop {name!r}" for name in texts)
        raise CommandError(
            f"{path}: column {texts[0]!r} contains text, and {command} needs numbers: encode it, "
            f"or ignore such columns with {remedy}"
        )
    for column in data.X:
        n = column.null_count() + column.is_nan().sum()
        if n:
            raise CommandError(
                f"{path}: column {column.name!r} has {n:,} missing values in {len(column):,} rows, "
                f"which {command} does not support: fill them in, or ignore the column with "
                f"--drop {column.name!r}"
            )


def _check_column(option: str, name: str, table: TableFile) -> None:
    if name not in table.columns:
        hint = suggest(name, table.columns)
        raise CommandError(f"{option} {name!r}: {table.path} has no such column; {hint}")


def _note_identifiers(features: "pl.DataFrame", kinds: dict[str, ColumnKind]) -> None:
    """Write a note about columns of text with almost as many values as rows."""
    for name, kind in kinds.items():
        n, n_rows = features[name].n_unique() if kind == "category" else 0, features.height
        if n > max(50, n_rows // 2):
            note(
                f"column {name!r} has {n:,} categories in {n_rows:,} rows; if it identifies rows, "
                f"ignore it with --drop {name!r}"
            )


def _check_target_complete(y: "pl.Series", path: Path) -> None:
    is_missing = y.is_null() | (y.is_nan() if y.dtype.is_float() else False)
    n = int(is_missing.sum())
    if n:
        first = int(is_missing.arg_max()) + 1  # type: ignore[arg-type]
        raise CommandError(
            f"{path}: the target {y.name!r} is missing in {n:,} of {len(y):,} rows, first in row "
            f"{first}: remove these rows"
        )


def _infer_task(y: "pl.Series", path: Path) -> LearningTask:
    """Return "classification" for text, truth values and few distinct whole numbers."""
    if not y.dtype.is_numeric():
        column_kinds(y.to_frame(), path)
        return "classification"
    numbers = y.cast(import_polars().Float64)
    has_classes = bool((numbers == numbers.floor()).all()) and numbers.n_unique() <= MAX_CLASSES
    return "classification" if has_classes else "regression"


def _classes(y: "pl.Series", path: Path, known: Array | None = None) -> Array:
    """Return classes: text, truth values as "true" and "false", whole numbers as integers."""
    pl = import_polars()
    column_kinds(y.to_frame(), path)
    if not y.dtype.is_numeric():
        labels = y.cast(pl.String).to_numpy().astype(str)
    elif y.dtype.is_float() and not bool((y == y.floor()).all()):
        raise CommandError(
            f"{path}: the target {y.name!r} contains numbers such as {y[0]!r}, not classes: use "
            "--task regression"
        )
    else:
        labels = y.cast(pl.Int64).to_numpy()
    if known is None and len(np.unique(labels)) < 2:
        raise CommandError(
            f"{path}: the target {y.name!r} contains only one class, {labels[0]!s}: use rows of "
            "two or more"
        )
    if known is not None and known.dtype.kind != labels.dtype.kind:
        labels = labels.astype(str) if known.dtype.kind == "U" else labels
    return labels


def _numbers(y: "pl.Series", path: Path) -> Any:
    if not y.dtype.is_numeric():
        raise CommandError(
            f"{path}: the target {y.name!r} contains {y.dtype}, not numbers: use --task "
            "classification, or convert it to numbers"
        )
    numbers = y.cast(import_polars().Float64)
    check_finite(numbers.to_frame(), path)
    return numbers.to_numpy()
