"""The model of a server: predictions and explanations of rows as JSON."""

import os
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any, Self

from kernsemble._memory import Budget
from kernsemble.inspection import EnsembleView, by_class
from kernsemble.inspection.value_unit import value_unit
from kernsemble.serving.rows import RowReader
from kernsemble.svm.classifier import EnsembleClassifier


@dataclass(frozen=True, eq=False)
class Predictor:
    """A fitted model, and the reader of its rows."""

    model: Any
    reader: RowReader
    started: float

    @classmethod
    def of_model(cls, model: Any, max_rows: int) -> Self:
        """Return the predictor of a fitted model, with everything compiled.

        The memory that kernel matrices may use is measured now, and not for every request.
        """
        if getattr(model, "cache_size", 0.0) is None:
            model = copy(model)
            model.cache_size = Budget.from_megabytes(None).n_bytes / 2**20
        found = cls(model, RowReader.of_model(model, max_rows), time.monotonic())
        found.predictions([found.reader.example])
        return found

    @property
    def _classes(self) -> list[Any] | None:
        return self.model.classes_.tolist() if hasattr(self.model, "classes_") else None

    def predictions(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the prediction for each row, and its probabilities if the model has them."""
        X, model = self.reader.table(rows), self.model
        if not hasattr(model, "predict_proba"):
            return [{"prediction": each} for each in model.predict(X).tolist()]
        shares = model.predict_proba(X)
        # the largest probability is that of the predicted class
        is_consistent = isinstance(model, EnsembleClassifier)
        found = model.classes_[shares.argmax(axis=1)] if is_consistent else model.predict(X)
        names = [str(each) for each in self._classes or ()]
        return [
            {"prediction": label, "probabilities": dict(zip(names, row, strict=True))}
            for label, row in zip(found.tolist(), shares.tolist(), strict=True)
        ]

    @cached_property
    def _views(self) -> dict[str, EnsembleView]:
        return EnsembleView.each(by_class(self.model))

    def explanations(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the prediction for each row, and the contributions of the columns to it.

        Raise a TypeError or ValueError if the model cannot be explained.
        """
        X, found = self.reader.table(rows), self.predictions(rows)
        unit = value_unit(self.model, "")
        for label, view in self._views.items():
            explained = view.explain(X)
            for place, each in enumerate(found):
                machines = each.setdefault("machines", {})
                contributions = explained.contributions[place].tolist()
                machines[label] = {
                    "unit": unit,
                    "method": explained.method,
                    "intercept": explained.intercept,
                    "contributions": dict(zip(explained.feature_names, contributions, strict=True)),
                    "value": float(explained.values[place]),
                }
        return found

    def schema(self) -> dict[str, Any]:
        """Return the columns, the classes, and the limits of requests."""
        target = getattr(getattr(self.model, "table_schema_", None), "target", None)
        return {
            "model": type(self.model).__name__,
            "target": target,
            "task": "regression" if self._classes is None else "classification",
            "classes": self._classes,
            "has_probabilities": hasattr(self.model, "predict_proba"),
            "columns": [each.as_dict() for each in self.reader.columns],
            "max_rows": self.reader.max_rows,
        }

    def health(self) -> dict[str, Any]:
        """Return the state of this worker."""
        return {
            "status": "ok",
            "model": type(self.model).__name__,
            "kernsemble": version("kernsemble"),
            "worker": os.getpid(),
            "seconds": round(time.monotonic() - self.started, 3),
        }
