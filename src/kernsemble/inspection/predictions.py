"""What a model says of rows whose targets are known."""

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import confusion_matrix

from kernsemble._typing import Array, FloatArray

Where: TypeAlias = Literal["test rows", "training rows"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model said of rows.

    Attributes
    ----------
    where : {"test rows", "training rows"}
        Which rows they are.
    y, predicted : arrays of shape (n,)
        What is true, and what was said.
    classes : array or None
        The classes that the model knows, None if it tells numbers.
    values : array of shape (n, n_classes) or None
        Decision values, the larger the likelier the class; None if there are none by class.
    probabilities : array of shape (n, n_classes) or None
        Probabilities, if the model tells any.
    """

    where: Where
    y: Array
    predicted: Array
    classes: Array | None = None
    values: FloatArray | None = None
    probabilities: FloatArray | None = None

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Array, where: Where) -> Self:
        """Ask a model."""
        predicted = model.predict(X)
        if not is_classifier(model):
            y = np.asarray(y, dtype=np.float64)
            return cls(where, y, np.asarray(predicted, dtype=np.float64))
        classes = model.classes_
        unknown = np.setdiff1d(y, classes)
        if len(unknown) > 0:
            raise ValueError(
                f"the {where} hold the class {unknown.tolist()[0]!r}, and the model knows only "
                f"{classes.tolist()}: leave such rows out, or fit again"
            )
        probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
        values = probabilities if len(classes) > 2 else None
        if values is None and getattr(model, "decision_function_shape", "ovr") != "ovo":
            values = np.asarray(model.decision_function(X))
            values = np.column_stack([-values, values]) if values.ndim == 1 else values
        return cls(where, y, predicted, classes, values, probabilities)

    @property
    def has_every_class(self) -> bool:
        """Whether there is a row of each class."""
        return self.classes is not None and len(np.unique(self.y)) == len(self.classes)

    @property
    def margins(self) -> FloatArray | None:
        """How far the true class is ahead of the others, None if that is not known."""
        if self.classes is None or self.values is None:
            return None
        codes, rows = np.searchsorted(self.classes, self.y), np.arange(len(self.y))
        others = self.values.copy()
        others[rows, codes] = -np.inf
        return self.values[rows, codes] - others.max(axis=1)

    def confusion(self) -> list[list[int]]:
        """Return how many rows of each class (rows) were said to be of each class (columns)."""
        return confusion_matrix(self.y, self.predicted, labels=self.classes).tolist()
