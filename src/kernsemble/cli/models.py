"""Models in files: the estimator itself, and with it what the columns of its table were."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kernsemble._value import Value
from kernsemble.cli.console import CommandError, one_line
from kernsemble.cli.tables import MISSING, Kind

__all__ = ["TrainingTable", "load_model", "training_table"]

ATTRIBUTE = "training_table_"


@dataclass(frozen=True, eq=False)
class TrainingTable(Value):
    """The columns that a model was fitted to, its target, and how missing values were written."""

    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    target: str | None = None
    missing: tuple[str, ...] = MISSING

    @classmethod
    def of(cls, kinds: dict[str, Kind], target: str, missing: tuple[str, ...]) -> Self:
        """Return the table of columns in order."""
        return cls(tuple(kinds), tuple(kinds.values()), target, missing)

    def of_model(self, model: Any) -> Any:
        """Return the model, with this table for later commands; it stays the same estimator."""
        setattr(model, ATTRIBUTE, self)
        return model

    @property
    def by_name(self) -> dict[str, Kind]:
        """What each column holds."""
        return dict(zip(self.columns, self.kinds, strict=True))


def training_table(model: Any, path: Path) -> TrainingTable:
    """Return the table of a model, as it was noted or as its columns tell."""
    noted = getattr(model, ATTRIBUTE, None)
    if noted is not None:
        return noted
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise CommandError(
            f"{path} holds a model that knows no names of columns: fit it to a DataFrame, or by "
            "kernsemble fit"
        )
    from kernsemble.inspection.fitted_models import column_categories

    categories = column_categories(model)
    for name, known in zip(names, categories, strict=True):
        if any(not isinstance(each, str | None) for each in known or ()):
            raise CommandError(
                f"{path} holds a model whose column {name!r} has categories that are not text, "
                "which files cannot tell from text: fit it to text, or by kernsemble fit"
            )
    kinds: tuple[Kind, ...] = tuple("number" if each is None else "category" for each in categories)
    return TrainingTable(tuple(map(str, names)), kinds)


def load_model(path: Path) -> Any:
    """Return the fitted model of a file, which is opened by skops only: no code is run."""
    from kernsemble.persistence import ModelFileError, UntrustedModelError, load

    if not path.exists():
        raise CommandError(f"{path}: there is no such file; kernsemble fit --out {path} writes it")
    if not path.is_file():
        raise CommandError(f"{path} is not a file: give one that kernsemble fit --out wrote")
    try:
        model = load(path)
    except UntrustedModelError as error:
        types = str(error).partition(": ")[2].partition(". ")[0]
        raise CommandError(
            f"{path} holds types that are not known to be harmless ({types}): it is not opened; "
            "fit the model again with kernsemble"
        ) from error
    except ModelFileError as error:
        raise CommandError(one_line(error)) from error
    if not hasattr(model, "predict") or not hasattr(model, "n_features_in_"):
        raise CommandError(
            f"{path} holds {type(model).__name__}, not a fitted model: give a file that "
            "kernsemble fit --out wrote"
        )
    return model
