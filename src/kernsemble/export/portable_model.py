"""Additive models read from JSON: predictions without the estimator, and without Numba."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernsemble._calibration_curves import Isotonic, Sigmoid
from kernsemble._typing import FloatArray
from kernsemble._validation import checked_rows, column_names
from kernsemble._value_object import short_repr
from kernsemble.export.machine_terms import MachineTerms
from kernsemble.inspection.additive_model import AdditiveModel, CurveData
from kernsemble.svm.calibration import Calibration, MultinomialLink
from kernsemble.svm.columns import MixedTable
from kernsemble.svm.multiclass import OneVersusOne, OneVersusRest, Reduction


@dataclass(frozen=True, eq=False)
class PortableModel:
    """An additive model given as plain data.

    Attributes
    ----------
    plain : AdditiveModel
        The data, as in the JSON document.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernsemble.export import from_json, to_json
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = InfiniteEnsembleClassifier(calibration="sigmoid").fit(X[::3], y[::3])
    >>> portable = from_json(to_json(model))
    >>> bool(abs(portable.predict_proba(X) - model.predict_proba(X)).max() < 1e-12)
    True
    """

    plain: AdditiveModel

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def classes_(self) -> Any:
        """The classes; None for a regression."""
        classes = self.plain["classes"]
        return None if classes is None else np.array(classes)

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded columns."""
        return [each["name"] for each in self.plain["columns"]]

    @cached_property
    def _terms(self) -> MachineTerms:
        return MachineTerms.of_additive(self.plain)

    @cached_property
    def _table(self) -> MixedTable:
        """The encoding of raw columns."""
        columns = self.plain["columns"]
        names = self.feature_names
        known = [each.get("categories") for each in columns]
        return MixedTable(
            tuple(None if each is None else tuple(each) for each in known),
            tuple(d for d, each in enumerate(columns) if each.get("is_date", False)),
            tuple(
                (names.index(each["part_of"]), each["part"])  # type: ignore[misc]
                for each in columns
                if "part_of" in each
            ),
        )

    @property
    def raw_names(self) -> list[str]:
        """Names of the columns of a table to predict."""
        return [each["name"] for each in self.plain["columns"] if "part_of" not in each]

    def encode(self, X: Any) -> FloatArray:
        """Return rows as numbers: categories as codes, dates as days, NaN if missing.

        A table has the columns of the model, in any order; an array has them in theirs.
        """
        names = self.raw_names
        if column_names(X) is None:
            rows: FloatArray = checked_rows(X, dtype=np.float64, ensure_all_finite="allow-nan")
            if rows.ndim != 2 or rows.shape[1] != len(names):
                raise ValueError(f"X has shape {rows.shape}: pass {len(names)} columns, {names}")
            return rows
        absent = [name for name in names if name not in X.columns]
        if absent:
            raise ValueError(f"X lacks the column {absent[0]!r}: add it, empty if it is missing")
        return self._table.transform(X[names])

    def contributions(self, X: Any) -> FloatArray:
        """Return the contribution of every column, of shape (n, n_columns, n_machines).

        Half of the function of a pair of columns counts for either.
        """
        rows = self.encode(X)
        self._refuse_missing(rows)
        each = zip(self._terms.functions, rows.T, strict=True)
        found = np.stack([table.values(column) for table, column in each], axis=1)
        pairs = self._terms.pairs
        return found if pairs is None else found + pairs.halves(rows.shape[1]) @ pairs.values(rows)

    def _refuse_missing(self, rows: FloatArray) -> None:
        """Raise an error if a value is missing that the machines do not support."""
        functions = self.plain["machines"][0]["functions"]
        is_refused = np.array([each["missing"] is None for each in functions])
        found = np.flatnonzero(is_refused & np.isnan(rows).any(axis=0))
        if len(found):
            raise ValueError(
                f"column {self.feature_names[found[0]]!r} of X has missing values, which the model "
                "does not support: replace them, or fit one that does"
            )

    def values(self, X: Any) -> FloatArray:
        """Return the value of every machine (columns) at rows."""
        return self.contributions(X).sum(axis=1) + self._terms.intercept

    @property
    def _reduction(self) -> Reduction:
        n_classes = len(self.plain["classes"] or ())
        is_pairs = self.plain["combination"] != "one per class"
        return OneVersusOne(n_classes) if is_pairs else OneVersusRest(n_classes)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision value of each row; with several classes, one per class."""
        if self.classes_ is None:
            raise ValueError("the model predicts numbers: use predict")
        return self._reduction.decisions(self.values(X))

    def predict(self, X: Any) -> Any:
        """Return the predicted class, or number, of each row."""
        values = self.values(X)
        return (
            values[:, 0]
            if self.classes_ is None
            else self.classes_[self._reduction.winners(values)]
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class (columns)."""
        if self.plain["link"] is None:
            raise ValueError("the model has no probabilities: export one that is calibrated")
        if self.plain["link"] == "softmax":
            return MultinomialLink(self._reduction).probabilities(self.values(X))
        curves = _curves([each["curve"] for each in self.plain["machines"]])
        return Calibration(self._reduction, curves).probabilities(self.values(X))


def _curves(given: Sequence[CurveData | None]) -> tuple[Sigmoid | Isotonic, ...]:
    found: list[Sigmoid | Isotonic] = []
    for curve in given:
        assert curve is not None  # as the link is "curves"
        if curve["kind"] == "isotonic":
            found.append(Isotonic(np.array(curve["knots"]), np.array(curve["levels"])))
        else:
            found.append(Sigmoid(curve["slope"], curve["offset"]))
    return tuple(found)
