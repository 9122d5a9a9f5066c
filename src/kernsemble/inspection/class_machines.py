r"""One machine per class: linear combinations of the machines of pairs of classes.

With :math:`f_{kj}`, positive for class k, the machine of a pair, class k has the machine

.. math:: F_k(x) = \tfrac1{K-1} \textstyle\sum_{j \ne k} f_{kj}(x) ,

a combination of the same support vectors or tables, so it can be explained like any machine.
"""

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from kernsemble._typing import ArrayLike, FloatArray
from kernsemble._validation import class_codes
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.feature_importance import Importances
from kernsemble.inspection.fitted_models import FittedModel, SupportVectorModel, as_fitted_model
from kernsemble.inspection.table_decomposition import combined_tables
from kernsemble.svm.backends.tables.blocks import FittedTables
from kernsemble.svm.multiclass import OneVersusOne

EVALUATIONS = 300_000  # approximate number of evaluations to compute importances
KERNEL_VALUES = 3e8  # approximate number of kernel values for them
MAX_BACKGROUND = 40  # maximum number of background rows, and of rows averaged over


class ClassModel(SupportVectorModel):
    """A multiclass model with one machine per class."""

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each fitted machine (columns) in the machine of each class (rows)."""
        reduction = self.fitted.reduction_
        if not isinstance(reduction, OneVersusOne):
            return np.eye(reduction.n_classes)
        weights = np.zeros((reduction.n_classes, reduction.n_machines))
        for machine, (positive, negative) in enumerate(reduction.pairs):
            weights[positive, machine] = 1.0 / (reduction.n_classes - 1)
            weights[negative, machine] = -1.0 / (reduction.n_classes - 1)
        return weights

    @property
    def labels(self) -> list[str]:
        return [str(name) for name in self.fitted.classes_.tolist()]

    @property
    def one_for(self) -> str:
        return "each class"

    def _coefficients(self, machine: int) -> FloatArray:
        return self.weights[machine] @ self.fitted.dual_coef_

    def _bias(self, machine: int) -> float:
        return float(self.weights[machine] @ self.fitted.intercept_)

    @cached_property
    def _tables(self) -> FittedTables:
        return combined_tables(self.fitted.tables_, self.weights)

    def values(self, X: ArrayLike) -> FloatArray:
        return super().values(X) @ self.weights.T

    def margins(self, X: ArrayLike, y: ArrayLike, machine: int) -> FloatArray:
        values, codes = self.values(X)[:, machine], class_codes(y, self.fitted.classes_)
        check_consistent_length(values, codes)
        return np.where(codes == machine, values, -values)


def by_class(model: Any) -> FittedModel:
    """Return a fitted model with one machine per class; two classes, or numbers, have one machine.

    A vote has one machine per class in any case.

    Pass the result to `EnsembleView.from_estimator` or `EnsembleView.each`.
    """
    fitted = as_fitted_model(model)
    if isinstance(fitted, SupportVectorModel) and len(fitted.labels) > 1:
        return ClassModel(model)
    return fitted


def feature_importances(
    model: Any, X: ArrayLike | None = None, max_machines: int | None = None
) -> dict[str, Importances]:
    """Return the feature importances of a model, for each class if there are several.

    They are exact for additive models. For others they are averages over a random sample of the
    rows that the model stores, always the same one, with standard errors; so reports and the
    command line show the same numbers.

    Parameters
    ----------
    model : fitted estimator
        Model of `kernsemble.svm` or `kernsemble.boosting`.
    X : array-like or DataFrame of shape (n, n_features), optional
        Background rows for models with interactions that store no rows: boosted trees.
    max_machines : int, optional
        Maximum number of classes.

    Returns
    -------
    dict of str to Importances
        Importances by class, or by the label of the only machine.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernsemble.inspection import feature_importances
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = feature_importances(InfiniteEnsembleClassifier().fit(X, y))
    >>> list(found)
    ['0', '1', '2']
    >>> found["0"].to_frame().head(2).round(3)
                       share
    petal length (cm)   0.46
    petal width (cm)    0.40
    """
    fitted = by_class(model)
    labels = fitted.labels[:max_machines]
    n = n_background(model.n_features_in_, len(labels), fitted.n_kernel_values)
    found = {}
    for machine, label in enumerate(labels):
        view = EnsembleView.from_estimator(fitted, None, machine)
        if view.background is None and not view.is_additive:
            view = EnsembleView.from_estimator(fitted, X, machine)
        found[label] = view.importances(n, n_rows=n, n_permutations=2 * n)
    return found


def n_background(n_columns: int, n_machines: int, n_kernel_values: int = 0) -> int:
    """Return the number of background rows for interactions that takes seconds.

    `n_kernel_values` is the number of them that a decision value takes.
    """
    n_evaluations = min(EVALUATIONS, KERNEL_VALUES / max(n_kernel_values, 1))
    affordable = np.sqrt(n_evaluations / (2.0 * n_columns * n_machines))
    return int(np.clip(affordable, 4, MAX_BACKGROUND))
