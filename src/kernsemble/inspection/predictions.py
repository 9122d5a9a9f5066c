"""Predictions of a model on rows with known targets."""

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import confusion_matrix

from kernsemble._typing import Array, FloatArray
from kernsemble._validation import class_codes
from kernsemble._value_object import short_repr

Where: TypeAlias = Literal["test rows", "out-of-fold rows", "training rows"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of a model on rows with known targets.

    Attributes
    ----------
    where : {"test rows", "out-of-fold rows", "training rows"}
        Kind of rows. Out-of-fold rows are training rows, each predicted by machines that were
        fitted without it.
    y, predicted : arrays of shape (n,)
        True and predicted targets.
    classes : array or None
        Classes of the model, None for a regressor.
    values : array of shape (n, n_classes) or None
        Decision values, larger for more likely classes; None if there are none per class.
    probabilities : array of shape (n, n_classes) or None
        Probabilities, None if the model does not support `predict_proba`.
    """

    where: Where
    y: Array
    predicted: Array
    classes: Array | None = None
    values: FloatArray | None = None
    probabilities: FloatArray | None = None

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Array, where: Where) -> Self:
        """Return the predictions of a fitted model."""
        predicted = model.predict(X)
        if not is_classifier(model):
            y = np.asarray(y, dtype=np.float64)
            return cls(where, y, np.asarray(predicted, dtype=np.float64))
        classes = model.classes_
        class_codes(y, classes, f"y of the {where}")
        probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
        values = probabilities if len(classes) > 2 else None
        if values is None and getattr(model, "decision_function_shape", "ovr") != "ovo":
            values = _by_class(np.asarray(model.decision_function(X)))
        return cls(where, y, predicted, classes, values, probabilities)

    @classmethod
    def from_out_of_fold(cls, model: Any, y: Array) -> Self:
        """Return the out-of-fold predictions of a model that was selected by cross-validation.

        `y` are the targets that the model was fitted to.
        """
        found = model.out_of_fold_
        where: Where = "out-of-fold rows"
        y = np.asarray(y)[found.rows]
        if not is_classifier(model):
            return cls(where, y.astype(np.float64), found.predicted)
        classes, probabilities = model.classes_, found.probabilities
        values = probabilities if len(classes) > 2 else None
        values = _by_class(found.values) if values is None else values
        return cls(where, y, found.predicted, classes, values, probabilities)

    def always_guessing(self, y: Array) -> "Predictions":
        """Return the same guess for every row: the largest class of the targets `y`, or their mean.

        `y` are the training targets. The probabilities are the shares of the classes.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsemble.inspection.predictions import Predictions
        >>> y = np.array(["no", "no", "yes"])
        >>> found = Predictions("test rows", y, y, classes=np.array(["no", "yes"]))
        >>> found.always_guessing(y).predicted.tolist()
        ['no', 'no', 'no']
        """
        n = len(self.y)
        if self.classes is None:
            return Predictions(self.where, self.y, np.full(n, np.mean(y, dtype=np.float64)))
        codes = class_codes(y, self.classes, "y")
        shares = np.bincount(codes, minlength=len(self.classes)) / len(codes)
        guess = self.classes[np.full(n, shares.argmax())]
        P = np.tile(shares, (n, 1))
        has_probabilities = self.probabilities is not None
        return Predictions(
            self.where, self.y, guess, self.classes, P, P if has_probabilities else None
        )

    @property
    def has_every_class(self) -> bool:
        """Whether every class has a row."""
        return self.classes is not None and len(np.unique(self.y)) == len(self.classes)

    @property
    def margins(self) -> FloatArray | None:
        """Decision value of the true class minus the largest other one; None without values."""
        if self.classes is None or self.values is None:
            return None
        codes, rows = np.searchsorted(self.classes, self.y), np.arange(len(self.y))
        others = self.values.copy()
        others[rows, codes] = -np.inf
        return self.values[rows, codes] - others.max(axis=1)

    def confusion(self) -> list[list[int]]:
        """Return the confusion matrix: true classes in rows, predicted classes in columns."""
        return confusion_matrix(self.y, self.predicted, labels=self.classes).tolist()


def _by_class(values: FloatArray) -> FloatArray:
    """Return decision values with a column per class."""
    return np.column_stack([-values, values]) if values.ndim == 1 else values
