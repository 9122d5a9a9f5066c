"""Infinite ensembles fitted on a Dask cluster."""

import inspect
import re
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import clone

from kernsemble._conditional_methods import available_if
from kernsemble._jobs import within_n_jobs
from kernsemble._progress import with_callbacks
from kernsemble.dask.collections import is_collection, mapped, partitions
from kernsemble.dask.workers import DaskSource
from kernsemble.solvers.additive.row_blocks import Traffic
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)
from kernsemble.svm.classifier import _check_probabilities
from kernsemble.svm.streams.fitting import fit_to_blocks
from kernsemble.svm.streams.selection import select_on_blocks

Estimator = TypeVar("Estimator", bound=type)

ROWS = """
Rows stay on the workers of a Dask cluster, which send sums. Rows, targets and weights are Dask
DataFrames, Series or arrays with the same partitions. The kernel must be one on columns, such as
stumps and categories, and the solver the additive one; or ``solver="local"`` fits machines on
leaves of the rows with any kernel, after the rows were exchanged once. Quantiles of columns with
more than `max_levels` distinct values are those of 50,000 rows drawn at random.{folds}
"""
FOLDS = """

Folds are random, `cv` is the number of them, and `scoring` the name of a score: accuracy,
neg_log_loss or roc_auc; r2, neg_mean_squared_error or neg_mean_absolute_error."""
CLIENT = """client : distributed.Client or None, default=None
    Client of the cluster; by default the current one.
"""
ATTRIBUTES = """client_ : distributed.Client
    The client that is used.
traffic_ : Traffic
    Rounds of messages between client and workers in the last fit, and their bytes.
"""
SECTION = re.compile(r"^(Parameters|Attributes|Notes|Examples)\n-+\n", re.MULTILINE)


def on_dask(cls: Estimator) -> Estimator:
    """Give a class the constructor of its local one plus ``client=None``, and its documentation."""
    local = cls._local  # type: ignore[attr-defined]
    signature = inspect.signature(local.__init__)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)

    def __init__(self: Any, *args: Any, client: Any = None, **settings: Any) -> None:  # noqa: N807
        local.__init__(self, *args, **settings)
        self.client = client

    __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), client]
    )
    cls.__init__ = __init__  # type: ignore[misc]
    folds = FOLDS if hasattr(local, "default_grid") else ""
    _, *parts = SECTION.split(inspect.cleandoc(local.__doc__ or ""))
    of_local = {name: text.rstrip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
    cls.__doc__ = "\n".join(
        [
            inspect.cleandoc(cls.__doc__ or ""),
            ROWS.format(folds=folds),
            f"Parameters\n----------\n{of_local['Parameters']}\n{CLIENT}",
            f"Attributes\n----------\n{of_local['Attributes']}\n{ATTRIBUTES}",
            f"See Also\n--------\nkernsemble.svm.{local.__name__}\n",
        ]
    )
    return cls


class OnDask:
    """Mixin of estimators whose rows are the partitions of Dask collections."""

    _local: ClassVar[type]
    client: Any
    traffic_: Traffic

    @property
    def client_(self) -> Any:
        """The client that is used: `client`, or the current one."""
        if self.client is not None:
            return self.client
        try:
            from distributed import default_client
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "kernsemble.dask needs Dask, which is not installed: pip install 'kernsemble[dask]'"
            ) from error
        return default_client()  # type: ignore[no-untyped-call]

    @with_callbacks
    @within_n_jobs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ensemble on the cluster.

        Parameters
        ----------
        X : Dask DataFrame or array of shape (n, n_features)
            Training rows.
        y : Dask Series or array of shape (n,)
            Classes or numbers.
        sample_weight : Dask Series or array of shape (n,), optional
            Weights; a weight of 2 is the same as two equal rows, 0 as no row.

        Returns
        -------
        self
        """
        estimator: Any = self
        estimator._check_settings()
        source = DaskSource(self.client_, partitions(X, y, sample_weight))
        with estimator._replace_last_fit() as last:
            if hasattr(self, "default_grid"):
                select_on_blocks(estimator, source)
            else:
                fit_to_blocks(estimator, source, last)
        self.traffic_ = source.traffic
        return self

    def to_local(self) -> Any:
        """Return the estimator of one machine, with the fitted attributes."""
        names = [name for name in self.get_params(deep=False) if name != "client"]  # type: ignore[attr-defined]
        local = self._local(**{name: getattr(self, name) for name in names})
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        fitted.pop("traffic_", None)
        vars(local).update(fitted)
        return local

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, or R² for numbers, as the local estimator does."""
        if is_collection(X):
            predicted = np.asarray(self.predict(X))  # type: ignore[attr-defined]
            others = (each if each is None else np.asarray(each) for each in (y, sample_weight))
            return _score(self, predicted, *others)
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]

    def __sklearn_clone__(self) -> Any:
        local = clone(self._local(**_without_client(self)))
        made: Any = type(self)
        return made(**local.get_params(deep=False), client=self.client)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the client, which is a connection of this process."""
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def _mapped(self, name: str, X: Any, n_columns: int | None, dtype: Any) -> Any:
        """Return what a method returns, as a Dask array for Dask collections."""
        if not is_collection(X):
            return getattr(super(), name)(X)
        return mapped(getattr(self.to_local(), name), X, n_columns, dtype)


def _without_client(estimator: Any) -> dict[str, Any]:
    params = estimator.get_params(deep=False)
    return {name: value for name, value in params.items() if name != "client"}


def _score(estimator: Any, predicted: Any, y: Any, sample_weight: Any) -> float:
    from sklearn.metrics import accuracy_score, r2_score

    metric: Callable[..., Any] = r2_score
    if estimator._task == "classification":
        metric = accuracy_score
    return float(metric(y, predicted, sample_weight=sample_weight))


class ClassifierOnDask(OnDask):
    """Mixin of classifiers."""

    classes_: Any
    _values_shape: Any

    def predict(self, X: Any) -> Any:
        """Return the predicted class of each row, as a Dask array for Dask collections."""
        return self._mapped("predict", X, None, getattr(self, "classes_", np.empty(0)).dtype)

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of each row, as a Dask array for Dask collections."""
        n = len(getattr(self, "classes_", ()))
        if getattr(self, "decision_function_shape", "ovr") == "ovo":
            n = n * (n - 1) // 2
        return self._mapped(
            "decision_function", X, None if len(self.classes_) == 2 else n, np.float64
        )

    @available_if(_check_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, as a Dask array for Dask collections."""
        return self._mapped("predict_proba", X, len(getattr(self, "classes_", ())), np.float64)


class RegressorOnDask(OnDask):
    """Mixin of regressors."""

    def predict(self, X: Any) -> Any:
        """Return the predicted number of each row, as a Dask array for Dask collections."""
        return self._mapped("predict", X, None, np.float64)


@on_dask
class DaskInfiniteEnsembleClassifier(ClassifierOnDask, InfiniteEnsembleClassifier):  # type: ignore[misc]
    """An infinite ensemble classifier."""

    _local = InfiniteEnsembleClassifier


@on_dask
class DaskInfiniteEnsembleRegressor(RegressorOnDask, InfiniteEnsembleRegressor):  # type: ignore[misc]
    """An infinite ensemble regressor."""

    _local = InfiniteEnsembleRegressor


@on_dask
class DaskInfiniteEnsembleClassifierCV(ClassifierOnDask, InfiniteEnsembleClassifierCV):  # type: ignore[misc]
    """An infinite ensemble classifier whose settings are selected by cross-validation."""

    _local = InfiniteEnsembleClassifierCV


@on_dask
class DaskInfiniteEnsembleRegressorCV(RegressorOnDask, InfiniteEnsembleRegressorCV):  # type: ignore[misc]
    """An infinite ensemble regressor whose settings are selected by cross-validation."""

    _local = InfiniteEnsembleRegressorCV
