"""Fitted models of the library, as views ask them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.boosting.voting_ensemble import VotingEnsemble, decisions
from kernsemble.inspection.expansions import Expansion, pieces_of_expansion
from kernsemble.inspection.pieces import Pieces
from kernsemble.inspection.tables import pieces_of_tables
from kernsemble.inspection.votes import pieces_of_votes
from kernsemble.kernels import Kernel
from kernsemble.svm import MultiplicativeSVC, SVMPath
from kernsemble.svm.machine import Machine
from kernsemble.svm.memory import Budget
from kernsemble.svm.multiclass import OneVersusOne


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """A fitted model: one machine, or several on the same rows."""

    fitted: Any

    @property
    @abstractmethod
    def labels(self) -> list[str]:
        """What each machine decides."""

    @property
    @abstractmethod
    def one_for(self) -> str:
        """What there is a machine for."""

    @abstractmethod
    def pieces(self, machine: int) -> Pieces:
        """Return what a machine is the sum of."""

    @abstractmethod
    def values(self, X: ArrayLike) -> FloatArray:
        """Return the value of every machine (columns) at every row."""

    @abstractmethod
    def margins(self, X: ArrayLike, y: ArrayLike, machine: int) -> FloatArray:
        """Return the margins of the rows that a machine tells apart."""

    @abstractmethod
    def norm(self, pieces: Pieces) -> tuple[float, str]:
        """Return the norm that margins are divided by, and its name."""

    @property
    @abstractmethod
    def importance(self) -> str:
        """What the sizes of the pieces of a machine are shares of."""

    @property
    @abstractmethod
    def training_rows(self) -> tuple[Rows | None, str]:
        """What the model keeps of its training rows, and what that is."""

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns, x0, x1, … where they have none; equal ones are numbered."""
        default = [f"x{d}" for d in range(self.fitted.n_features_in_)]
        names: list[str] = []
        for each in getattr(self.fitted, "feature_names_in_", default):
            name, n = str(each), 1
            while name in names:
                n += 1
                name = f"{each} ({n})"
            names.append(name)
        return names

    def place_of(self, feature: str | int) -> int:
        """Return the place of a feature that is given by name or by place."""
        names = self.feature_names
        if isinstance(feature, str) and feature in names:
            return names.index(feature)
        if not isinstance(feature, str) and 0 <= feature < len(names):
            return int(feature)
        raise ValueError(f"feature {feature!r}: give a place below {len(names)} or one of {names}")

    def read(self, X: ArrayLike) -> FloatArray:
        """Return rows as machines see them: numbers, places of categories, NaN where missing."""
        return self.dense(self.fitted._read_again(X))

    def dense(self, rows: Rows) -> FloatArray:
        """Return rows as an array, if it is within the memory that the model may take."""
        if sparse.issparse(rows):
            Budget.of(getattr(self.fitted, "cache_size", None)).demand(
                8.0 * rows.shape[0] * rows.shape[1],
                "rows are sparse, and as the array that a view reads they take",
                "give fewer rows",
            )
            rows = rows.toarray()
        return np.asarray(rows, dtype=np.float64)


class SupportVectorModel(Model):
    """A support vector machine, by its expansion or by its tables."""

    @property
    def labels(self) -> list[str]:
        if is_regressor(self.fitted):
            return ["prediction"]
        names, reduction = self.fitted.classes_.tolist(), self.fitted.reduction_
        if isinstance(reduction, OneVersusOne):
            return [f"{names[first]} vs {names[second]}" for first, second in reduction.pairs]
        return [f"{name} vs rest" for name in names]

    @property
    def one_for(self) -> str:
        if is_regressor(self.fitted):
            return "the prediction"
        is_pairs = isinstance(self.fitted.reduction_, OneVersusOne)
        return "each pair of classes" if is_pairs else "each class"

    @property
    def kernel(self) -> Kernel:
        """The bound kernel."""
        kernel: Kernel = self.fitted.kernel_
        return kernel

    def expansion(self, machine: int) -> Expansion | None:
        """Return the expansion of a machine; None if it was fitted on tables."""
        model = self.fitted
        if hasattr(model, "tables_"):
            return None
        beta = model.dual_coef_[machine]
        used = np.flatnonzero(beta)
        support = self.dense(model.support_vectors_[used])
        return Expansion(model.scaling_, support, beta[used], self._categories)

    @property
    def _categories(self) -> tuple[tuple[Any, ...] | None, ...]:
        table = getattr(self.fitted, "mixed_table_", None)
        return (None,) * self.fitted.n_features_in_ if table is None else table.categories

    def pieces(self, machine: int) -> Pieces:
        expansion = self.expansion(machine)
        if expansion is None:
            return pieces_of_tables(self.fitted.tables_, machine, self._categories)
        bias = getattr(self.fitted, "intercept_", np.zeros(machine + 1))[machine]
        return pieces_of_expansion(self.kernel, float(bias), expansion)

    def values(self, X: ArrayLike) -> FloatArray:
        return self.fitted._values(X)

    def margins(self, X: ArrayLike, y: ArrayLike, machine: int) -> FloatArray:
        if is_regressor(self.fitted):
            raise ValueError(f"{type(self.fitted).__name__} tells numbers, which have no margins")
        signs = self.fitted.reduction_.signs(self._codes(y), machine)
        return (signs * self.values(X)[:, machine])[signs != 0.0]

    def _codes(self, y: ArrayLike) -> IntArray:
        classes, labels = self.fitted.classes_, np.asarray(y)
        unknown = np.setdiff1d(labels, classes)
        if len(unknown) > 0:
            raise ValueError(
                f"y holds {unknown.tolist()[0]!r}, and the model knows only the classes "
                f"{classes.tolist()}"
            )
        return np.searchsorted(classes, labels)

    def norm(self, pieces: Pieces) -> tuple[float, str]:
        return float(np.sqrt(max(pieces.squared_norm, 0.0))), "‖w‖"

    @property
    def importance(self) -> str:
        return "share of ‖w‖²"

    @property
    def training_rows(self) -> tuple[Rows | None, str]:
        if isinstance(self.fitted, SVMPath):
            return self.fitted.X_fit_, "the distinct training rows"
        if hasattr(self.fitted, "tables_"):
            return None, "the training rows, at their levels"
        return self.fitted.support_vectors_, "the support vectors"


class VotingModel(Model):
    """A boosted ensemble: finitely many hypotheses that vote."""

    @property
    def labels(self) -> list[str]:
        names = self.fitted.classes_.tolist()
        return [f"{names[1]} vs {names[0]}"] if len(names) == 2 else [f"{c}" for c in names]

    @property
    def one_for(self) -> str:
        return "both classes" if len(self.labels) == 1 else "the votes for each class"

    def pieces(self, machine: int) -> Pieces:
        model = self.fitted
        weights, n_classes = np.asarray(model.estimator_weights_), len(model.classes_)
        return pieces_of_votes(model.voters_, weights, n_classes, machine, model.n_features_in_)

    def values(self, X: ArrayLike) -> FloatArray:
        return decisions(self.fitted._votes(X)).reshape(-1, len(self.labels))

    def margins(self, X: ArrayLike, y: ArrayLike, machine: int) -> FloatArray:  # noqa: ARG002
        return self.fitted.margins(X, y) * self._total

    @property
    def _total(self) -> float:
        return float(np.abs(self.fitted.estimator_weights_).sum())

    def norm(self, pieces: Pieces) -> tuple[float, str]:  # noqa: ARG002
        return self._total, "Σ|w|"

    @property
    def importance(self) -> str:
        return "share of Σ|w|"

    @property
    def training_rows(self) -> tuple[Rows | None, str]:
        return None, "nothing"


def as_model(model: Any) -> Model:
    """Return a fitted model of the library as views ask it."""
    if isinstance(model, VotingEnsemble):
        check_is_fitted(model, "voters_")
        return VotingModel(model)
    if isinstance(model, (Machine, MultiplicativeSVC)):
        check_is_fitted(model, ["support_", "tables_"], all_or_any=any)
        return SupportVectorModel(model)
    raise TypeError(
        f"model = {model!r}: give a fitted model of kernsemble.svm or kernsemble.boosting; of a "
        "pipeline, its last step, with rows as the steps before make them"
    )
