"""What commands learn from: the features and the target of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from kernsemble._typing import Array
from kernsemble.cli.console import CommandError, note
from kernsemble.cli.tables import (
    Kind,
    TableFile,
    as_features,
    as_kinds,
    import_polars,
    kinds_of,
    refuse_infinite,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Sample", "Task", "read_sample", "read_test_sample", "refuse_all_but_numbers"]

Task: TypeAlias = Literal["classification", "regression"]

FEW_CLASSES = 10  # whole numbers with more values than that are numbers, not names


class Sample(NamedTuple):
    """Rows to learn from or to test on."""

    X: "pl.DataFrame"  # columns of numbers and of text
    y: Array  # classes, or numbers
    kinds: dict[str, Kind]
    task: Task

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.y)

    @property
    def has_categories(self) -> bool:
        """Whether some columns hold categories."""
        return "category" in self.kinds.values()

    @property
    def has_missing(self) -> bool:
        """Whether some entries are missing."""
        return any(column.null_count() or _has_nan(column) for column in self.X)


def _has_nan(column: "pl.Series") -> bool:
    return column.dtype.is_float() and bool(column.is_nan().any())


def read_sample(
    table: TableFile,
    target: str,
    drop: tuple[str, ...] = (),
    task: Task | None = None,
    max_rows: int | None = None,
    seed: int = 0,
) -> Sample:
    """Return all rows of a table, or at most so many drawn at random, to learn from."""
    for option, name in (("--target", target), *(("--drop", each) for each in drop)):
        _find(option, name, table)
    if target in drop:
        raise CommandError(f"--drop {target!r} is the target: keep it")
    frame = table.read()
    if max_rows is not None and frame.height > max_rows:
        note(f"fitted to {max_rows:,} of {frame.height:,} rows, drawn at random (--max-rows)")
        frame = frame.sample(max_rows, seed=seed, shuffle=True)
    nameless = [name for name in frame.columns if not name.strip() and name != target]
    if nameless:
        note(f"{table.path}: a column without a name, as of row numbers, is left out")
    features = frame.drop(target, *drop, *nameless)
    if features.width == 0:
        raise CommandError(f"{table.path} has no columns besides the target: give some to learn")
    kinds = kinds_of(features, table.path)
    _tell_of_names(features, kinds)
    y = frame[target]
    _refuse_missing_target(y, table.path)
    found = _task_of(y, table.path) if task is None else task
    labels = _classes(y, table.path) if found == "classification" else _numbers(y, table.path)
    rows = as_kinds(features, kinds)
    refuse_infinite(rows, table.path)
    return Sample(rows, labels, kinds, found)


def read_test_sample(table: TableFile, target: str, like: Sample) -> Sample:
    """Return the rows of another table with the columns of a sample."""
    _find("--target", target, table)
    absent = [name for name in like.kinds if name not in table.columns]
    if absent:
        raise CommandError(
            f"{table.path} has no column {absent[0]!r}, which the training rows have"
        )
    frame = table.read()
    y = frame[target]
    _refuse_missing_target(y, table.path)
    is_classes = like.task == "classification"
    labels = _classes(y, table.path, like.y) if is_classes else _numbers(y, table.path)
    return Sample(as_features(frame, like.kinds, table.path, 1), labels, like.kinds, like.task)


def refuse_all_but_numbers(sample: Sample, path: Path, what: str) -> None:
    """Refuse categories and missing entries, for what knows numbers only."""
    texts = [name for name, kind in sample.kinds.items() if kind == "category"]
    if texts:
        remedy = " ".join(f"--drop {name!r}" for name in texts)
        raise CommandError(
            f"{path}: column {texts[0]!r} holds text, and {what} needs numbers: encode it, or "
            f"leave such columns out by {remedy}"
        )
    for column in sample.X:
        n = column.null_count() + column.is_nan().sum()
        if n:
            raise CommandError(
                f"{path}: column {column.name!r} misses {n:,} of {len(column):,} values, and "
                f"{what} needs all: fill them in, or leave it out by --drop {column.name!r}"
            )


def _find(option: str, name: str, table: TableFile) -> None:
    if name in table.columns:
        return
    import difflib

    near = difflib.get_close_matches(name, table.columns, n=1)
    known = ", ".join(map(repr, table.columns[:10])) + (", …" if len(table.columns) > 10 else "")
    hint = f"did you mean {near[0]!r}?" if near else f"there are {known}"
    raise CommandError(f"{option} {name!r}: {table.path} has no such column; {hint}")


def _tell_of_names(features: "pl.DataFrame", kinds: dict[str, Kind]) -> None:
    """Say which columns of text are hardly categories."""
    for name, kind in kinds.items():
        n, n_rows = features[name].n_unique() if kind == "category" else 0, features.height
        if n > max(50, n_rows // 2):
            note(
                f"column {name!r} has {n:,} categories in {n_rows:,} rows; if it names rows, leave "
                f"it out by --drop {name!r}"
            )


def _refuse_missing_target(y: "pl.Series", path: Path) -> None:
    is_missing = y.is_null() | (y.is_nan() if y.dtype.is_float() else False)
    n = int(is_missing.sum())
    if n:
        first = int(is_missing.arg_max()) + 1  # type: ignore[arg-type]
        raise CommandError(
            f"{path}: the target {y.name!r} is missing in {n:,} of {len(y):,} rows, first in row "
            f"{first}: remove these rows"
        )


def _task_of(y: "pl.Series", path: Path) -> Task:
    """Return classification for text, truth values and whole numbers of few values."""
    if not y.dtype.is_numeric():
        kinds_of(y.to_frame(), path)
        return "classification"
    numbers = y.cast(import_polars().Float64)
    is_few = bool((numbers == numbers.floor()).all()) and numbers.n_unique() <= FEW_CLASSES
    return "classification" if is_few else "regression"


def _classes(y: "pl.Series", path: Path, known: Array | None = None) -> Array:
    """Return text as text, truth values as "true" and "false", and whole numbers as integers."""
    pl = import_polars()
    kinds_of(y.to_frame(), path)
    if not y.dtype.is_numeric():
        labels = y.cast(pl.String).to_numpy().astype(str)
    elif y.dtype.is_float() and not bool((y == y.floor()).all()):
        raise CommandError(
            f"{path}: the target {y.name!r} holds numbers such as {y[0]!r}, not classes: give "
            "--task regression"
        )
    else:
        labels = y.cast(pl.Int64).to_numpy()
    if known is None and len(np.unique(labels)) < 2:
        raise CommandError(
            f"{path}: the target {y.name!r} holds one class only, {labels[0]!s}: give examples of "
            "two or more"
        )
    if known is not None and known.dtype.kind != labels.dtype.kind:
        labels = labels.astype(str) if known.dtype.kind == "U" else labels
    return labels


def _numbers(y: "pl.Series", path: Path) -> Any:
    if not y.dtype.is_numeric():
        raise CommandError(
            f"{path}: the target {y.name!r} holds {y.dtype}, not numbers: give --task "
            "classification, or turn it into numbers"
        )
    numbers = y.cast(import_polars().Float64)
    refuse_infinite(numbers.to_frame(), path)
    return numbers.to_numpy()
