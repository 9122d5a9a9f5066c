"""Model files: a fitted estimator together with the columns of its training data."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kernsemble._value_object import Value
from kernsemble.cli.column_types import ColumnKind, as_training_kinds
from kernsemble.cli.console import CommandError
from kernsemble.cli.table_files import MISSING, Reading, TableFile
from kernsemble.cli.wording import in_options

if TYPE_CHECKING:
    import polars as pl

    from kernsemble.cli.training_data import TrainingData

__all__ = ["TableSchema", "load_model", "table_schema"]

ATTRIBUTE = "table_schema_"


@dataclass(frozen=True, eq=False, repr=False)
class TableSchema(Value):
    """Columns and target that a model was fitted to, and how their text is read."""

    columns: tuple[str, ...]
    kinds: tuple[ColumnKind, ...]
    target: str | None = None
    missing: tuple[str, ...] = MISSING
    layouts: tuple[str, ...] = ()  # of the columns, see `column_types`; none if all are plain
    headless: tuple[str, ...] = ()  # all columns of a training table without a header

    @classmethod
    def from_data(cls, data: "TrainingData", missing: tuple[str, ...]) -> Self:
        """Return the schema of training data."""
        return cls(
            tuple(data.kinds),
            tuple(data.kinds.values()),
            data.target,
            missing,
            tuple(data.layouts.get(name, "") for name in data.kinds),
            data.headless,
        )

    def attach_to(self, model: Any) -> None:
        """Store the schema as an attribute of an estimator, for later commands."""
        setattr(model, ATTRIBUTE, self)

    @property
    def by_name(self) -> dict[str, ColumnKind]:
        """Kind of each column."""
        return dict(zip(self.columns, self.kinds, strict=True))

    def open(self, path: Path, reading: Reading) -> TableFile:
        """Open a table with the markers of missing values, and the header, of the training data."""
        missing = tuple(dict.fromkeys((*self.missing, *reading.missing)))
        return TableFile(path, replace(reading, missing=missing), self.headless, self.target)

    def convert(self, frame: "pl.DataFrame", table: TableFile, first_row: int) -> "pl.DataFrame":
        """Return rows of a table as the model expects them; `first_row` is counted from 1."""
        layouts = dict(zip(self.columns, self.layouts, strict=False))
        decimal = table.reading.decimal
        return as_training_kinds(frame, self.by_name, table.path, first_row, layouts, decimal)


def table_schema(model: Any, path: Path) -> TableSchema:
    """Return the stored schema of a model, or the one that its attributes imply."""
    stored = getattr(model, ATTRIBUTE, None)
    if stored is not None:
        return stored
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise CommandError(
            f"{path} contains a model without column names: fit it to a DataFrame, or with "
            "kernsemble fit"
        )
    from kernsemble.inspection.fitted_models import column_categories

    categories = column_categories(model)[: len(names)]  # without parts of the calendar
    for name, known in zip(names, categories, strict=True):
        if any(not isinstance(each, str | None) for each in known or ()):
            raise CommandError(
                f"{path} contains a model whose column {name!r} has categories that are not text, "
                "which files cannot distinguish from text: fit it to text, or with kernsemble fit"
            )
    dates = getattr(getattr(model, "mixed_table_", None), "dates", ())
    kinds: tuple[ColumnKind, ...] = tuple(
        "date" if d in dates else "number" if known is None else "category"
        for d, known in enumerate(categories)
    )
    return TableSchema(tuple(map(str, names)), kinds)


def load_model(path: Path) -> Any:
    """Return the fitted model of a file, opened with skops, which runs no code of the file."""
    from kernsemble.persistence import ModelFileError, UntrustedModelError, load

    if not path.exists():
        raise CommandError(f"{path}: no such file; write it with kernsemble fit --out {path}")
    if not path.is_file():
        raise CommandError(f"{path} is not a file: use one written by kernsemble fit --out")
    try:
        model = load(path)
    except UntrustedModelError as error:
        raise CommandError(
            f"{path} contains types that are not known to be harmless "
            f"({', '.join(error.types)}), so it is not opened: fit the model again with "
            "kernsemble fit"
        ) from error
    except ModelFileError as error:
        raise CommandError(in_options(error)) from error
    if not hasattr(model, "predict") or not hasattr(model, "n_features_in_"):
        raise CommandError(
            f"{path} contains {type(model).__name__}, not a fitted model: use a file written by "
            "kernsemble fit --out"
        )
    return model
