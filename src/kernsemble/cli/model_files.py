"""Model files: a fitted estimator together with the columns of its training data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kernsemble._value_object import Value
from kernsemble.cli.console import CommandError, one_line
from kernsemble.cli.table_files import MISSING, ColumnKind

__all__ = ["TableSchema", "load_model", "table_schema"]

ATTRIBUTE = "table_schema_"


@dataclass(frozen=True, eq=False)
class TableSchema(Value):
    """Columns and target that a model was fitted to, and its markers of missing values."""

    columns: tuple[str, ...]
    kinds: tuple[ColumnKind, ...]
    target: str | None = None
    missing: tuple[str, ...] = MISSING

    @classmethod
    def from_kinds(
        cls, kinds: dict[str, ColumnKind], target: str, missing: tuple[str, ...]
    ) -> Self:
        """Return the schema of columns given by name, in order."""
        return cls(tuple(kinds), tuple(kinds.values()), target, missing)

    def attach_to(self, model: Any) -> None:
        """Store the schema as an attribute of an estimator, for later commands."""
        setattr(model, ATTRIBUTE, self)

    @property
    def by_name(self) -> dict[str, ColumnKind]:
        """Kind of each column."""
        return dict(zip(self.columns, self.kinds, strict=True))


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

    categories = column_categories(model)
    for name, known in zip(names, categories, strict=True):
        if any(not isinstance(each, str | None) for each in known or ()):
            raise CommandError(
                f"{path} contains a model whose column {name!r} has categories that are not text, "
                "which files cannot distinguish from text: fit it to text, or with kernsemble fit"
            )
    kinds: tuple[ColumnKind, ...] = tuple(
        "number" if each is None else "category" for each in categories
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
        raise CommandError(one_line(error)) from error
    if not hasattr(model, "predict") or not hasattr(model, "n_features_in_"):
        raise CommandError(
            f"{path} contains {type(model).__name__}, not a fitted model: use a file written by "
            "kernsemble fit --out"
        )
    return model
