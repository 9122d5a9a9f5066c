"""Adapters that give views one interface to the fitted models of the library."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kernsemble._memory import Budget
from kernsemble._typing import ArrayLike, FloatArray, Rows
from kernsemble._validation import class_codes
from kernsemble.boosting.voting_ensemble import VotingEnsemble, decisions
from kernsemble.inspection.decomposition import Decomposition
from kernsemble.inspection.expansion_decomposition import SupportVectors, decompose_expansion
from kernsemble.inspection.local_decomposition import (
    decompose_local,
    in_double_precision,
    learned_scalings_of,
)
from kernsemble.inspection.table_decomposition import combined_tables, decompose_tables
from kernsemble.inspection.vote_decomposition import decompose_votes
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import LearnedScaling
from kernsemble.svm import MultiplicativeSVC, SVMPath
from kernsemble.svm.backends.local.machines import LocalMachines
from kernsemble.svm.backends.prepared_matrix import SupportVectorMachines
from kernsemble.svm.backends.tables.backend import TableMachines
from kernsemble.svm.backends.tables.blocks import FittedTables
from kernsemble.svm.estimator import KernelMachine
from kernsemble.svm.multiclass import OneVersusOne
from kernsemble.svm.vote.machines import VoteMachines, VoteMember


def column_categories(model: Any) -> tuple[tuple[Any, ...] | None, ...]:
    """Return the categories of each encoded column of a fitted model, None for numbers."""
    table = getattr(model, "mixed_table_", None)
    return (None,) * model.n_features_in_ if table is None else table.categories


def column_dates(model: Any) -> tuple[int, ...]:
    """Return the columns of dates of a fitted model, which are encoded as days since 1970."""
    table = getattr(model, "mixed_table_", None)
    return () if table is None else table.dates


@dataclass(frozen=True, eq=False)
class FittedModel(ABC):
    """A fitted model: one machine, or several on the same rows."""

    fitted: Any

    @property
    @abstractmethod
    def labels(self) -> list[str]:
        """Label of each machine: the classes that it separates, or "prediction"."""

    @property
    @abstractmethod
    def one_for(self) -> str:
        """Target of each machine, such as "each pair of classes"."""

    @abstractmethod
    def decompose(self, machine: int) -> Decomposition:
        """Return a machine as a sum of functions of columns."""

    @abstractmethod
    def values(self, X: ArrayLike) -> FloatArray:
        """Return the decision value of every machine (columns) at every row."""

    @abstractmethod
    def margins(self, X: ArrayLike, y: ArrayLike, machine: int) -> FloatArray:
        """Return the margins of the rows whose class is one of the machine's."""

    @abstractmethod
    def norm(self, decomposition: Decomposition) -> tuple[float, str]:
        """Return the norm that margins are divided by, and its symbol."""

    @property
    @abstractmethod
    def importance_method(self) -> str:
        """Quantity that feature importances of an additive machine are shares of."""

    @property
    @abstractmethod
    def training_rows(self) -> tuple[Rows | None, str]:
        """Training rows that the model stores, and their description."""

    @property
    def n_kernel_values(self) -> int:
        """Number of kernel values that a decision value takes."""
        return 0

    @property
    def learned_scalings(self) -> list[tuple[float, LearnedScaling]]:
        """Scalings with a learned measure over features, and the share of the model on each."""
        return []

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded columns; x0, x1, … if they have none. Equal names are numbered."""
        given = [f"x{d}" for d in range(self.fitted.n_features_in_)]
        given = getattr(self.fitted, "feature_names_in_", given)
        table = getattr(self.fitted, "mixed_table_", None)
        names: list[str] = []
        for each in given if table is None else table.encoded_names(given):
            name, n = str(each), 1
            while name in names:
                n += 1
                name = f"{each} ({n})"
            names.append(name)
        return names

    def machine_index(self, machine: int | str | None) -> int:
        """Return the index of a machine given by index or by label; None for the only one."""
        labels = self.labels
        if machine is None and len(labels) == 1:
            return 0
        if isinstance(machine, str) and machine in labels:
            return labels.index(machine)
        if isinstance(machine, (int, np.integer)) and 0 <= machine < len(labels):
            return int(machine)
        raise ValueError(
            f"machine = {machine!r}: there are {len(labels)} machines, one for {self.one_for}; "
            f"use an index or one of {labels}, or use EnsembleView.each(model)"
        )

    def feature_index(self, feature: Any) -> int:
        """Return the index of a feature given by name or by index."""
        names = self.feature_names
        if isinstance(feature, str) and feature in names:
            return names.index(feature)
        if isinstance(feature, (int, np.integer)) and 0 <= feature < len(names):
            return int(feature)
        raise ValueError(f"feature {feature!r}: use an index below {len(names)} or one of {names}")

    def encode(self, X: ArrayLike) -> FloatArray:
        """Return rows as the machines see them: numbers, codes of categories, NaN if missing."""
        return self.dense(self.fitted._read_again(X))

    def dense(self, rows: Rows) -> FloatArray:
        """Return rows as a dense array, within the memory budget of the model."""
        if sparse.issparse(rows):
            Budget.from_megabytes(getattr(self.fitted, "cache_size", None)).check(
                8.0 * rows.shape[0] * rows.shape[1],
                "rows are sparse, and the dense array that a view needs takes",
                "pass fewer rows",
            )
            rows = rows.toarray()
        return np.asarray(rows, dtype=np.float64)


class KernelMachineModel(FittedModel):
    """A kernel machine, or several on the same rows."""

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

    def values(self, X: ArrayLike) -> FloatArray:
        return self.fitted._values(X)

    def margins(self, X: ArrayLike, y: ArrayLike, machine: int) -> FloatArray:
        if is_regressor(self.fitted):
            raise ValueError(
                f"{type(self.fitted).__name__} is a regressor: only classifiers have margins"
            )
        values, codes = self.values(X)[:, machine], class_codes(y, self.fitted.classes_)
        check_consistent_length(values, codes)
        signs = self.fitted.reduction_.signs(codes, machine)
        return (signs * values)[signs != 0.0]

    def norm(self, decomposition: Decomposition) -> tuple[float, str]:
        return float(np.sqrt(max(decomposition.squared_norm, 0.0))), "‖w‖"

    @property
    def importance_method(self) -> str:
        return "share of the squared weights of all hypotheses, exact"


class SupportVectorModel(KernelMachineModel):
    """A support vector machine, given by its support vectors or by its tables."""

    @property
    def kernel(self) -> Kernel:
        """The bound kernel."""
        kernel: Kernel = self.fitted.kernel_
        return kernel

    @property
    def n_kernel_values(self) -> int:
        return 0 if hasattr(self.fitted, "tables_") else self.fitted.support_vectors_.shape[0]

    @property
    def learned_scalings(self) -> list[tuple[float, LearnedScaling]]:
        scaling = getattr(self.fitted, "scaling_", None)
        return [(1.0, scaling)] if isinstance(scaling, LearnedScaling) else []

    def support_vectors(self, machine: int) -> SupportVectors | None:
        """Return the support vectors of a machine; None if it was fitted on tables."""
        model = self.fitted
        if hasattr(model, "tables_"):
            return None
        beta = self._coefficients(machine)
        used = np.flatnonzero(beta)
        rows = self.dense(model.support_vectors_[used])
        scaled = getattr(getattr(model, "machines_", None), "coordinates", None)
        return SupportVectors(
            model.scaling_,
            rows,
            beta[used],
            column_categories(model),
            None if scaled is None else scaled[used],
        )

    def _coefficients(self, machine: int) -> FloatArray:
        """Return the coefficients of a machine on all support vectors."""
        coefficients: FloatArray = self.fitted.dual_coef_[machine]
        return coefficients

    def _bias(self, machine: int) -> float:
        return float(getattr(self.fitted, "intercept_", np.zeros(machine + 1))[machine])

    @property
    def _tables(self) -> FittedTables:
        """The tables of all machines."""
        tables: FittedTables = self.fitted.tables_
        return tables

    def decompose(self, machine: int) -> Decomposition:
        support = self.support_vectors(machine)
        if support is None:
            return decompose_tables(self._tables, machine, column_categories(self.fitted))
        return decompose_expansion(self.kernel, self._bias(machine), support)

    @property
    def training_rows(self) -> tuple[Rows | None, str]:
        if isinstance(self.fitted, SVMPath):
            return self.fitted.X_fit_, "the distinct training rows"
        if hasattr(self.fitted, "tables_"):
            return None, "the training rows, at their levels"
        return self.fitted.support_vectors_, "the support vectors"


class LocalModel(KernelMachineModel):
    """Machines on leaves of the rows; they have no common norm, and store no rows."""

    @property
    def n_kernel_values(self) -> int:
        machines: LocalMachines = self.fitted.machines_
        return machines.n_kernel_values

    @property
    def learned_scalings(self) -> list[tuple[float, LearnedScaling]]:
        return learned_scalings_of(self.fitted.machines_, 1.0)

    def decompose(self, machine: int) -> Decomposition:
        return decompose_local(self.fitted.machines_, machine, 1.0, "machines on leaves")

    def values(self, X: ArrayLike) -> FloatArray:
        rows = self.fitted._read_again(X)
        return in_double_precision(self.fitted.machines_).values(rows, self.fitted._budget)

    @property
    def training_rows(self) -> tuple[Rows | None, str]:
        return None, "nothing"


class VoteModel(KernelMachineModel):
    r"""A vote :math:`F(x) = \sum_m w_m f_m(x) + b` of kernel machines, the sum of its members."""

    @property
    def machines(self) -> VoteMachines:
        """The members, and the rows that they share."""
        machines: VoteMachines = self.fitted.machines_
        return machines

    @property
    def labels(self) -> list[str]:
        if is_regressor(self.fitted) or len(self.fitted.classes_) == 2:
            return super().labels
        return [str(name) for name in self.fitted.classes_.tolist()]

    @property
    def n_kernel_values(self) -> int:
        members = self.machines.members
        n_expansions = sum(each.shares_rows for each in members)
        local = [each.machines for each in members if isinstance(each.machines, LocalMachines)]
        n_local = sum(each.n_kernel_values for each in local)
        return n_expansions * self.machines.rows.shape[0] + n_local

    @property
    def learned_scalings(self) -> list[tuple[float, LearnedScaling]]:
        found = []
        for each in self.machines.members:
            if isinstance(each.machines, LocalMachines):
                found += learned_scalings_of(each.machines, each.share)
            elif isinstance(each.scaling, LearnedScaling):
                found.append((each.share, each.scaling))
        return found

    @cached_property
    def _rows(self) -> FloatArray:
        return self.dense(self.machines.rows)

    def decompose(self, machine: int) -> Decomposition:
        constant = Decomposition(float(self.machines.intercept[machine]), [], [])
        members = [self.decompose_member(each, machine) for each in self.machines.members]
        return Decomposition.joined([constant, *members])

    def decompose_member(self, member: VoteMember, machine: int) -> Decomposition:
        """Return the weighted machine of a member, without the intercept of the vote."""
        machines, categories = self.machines.machines_of(member), column_categories(self.fitted)
        if isinstance(machines, TableMachines):
            weights = np.zeros((1, len(machines.tables.intercept)))
            weights[0, machine] = member.weight
            return decompose_tables(combined_tables(machines.tables, weights), 0, categories)
        if isinstance(machines, LocalMachines):
            return decompose_local(machines, machine, member.weight, member.name)
        assert isinstance(machines, SupportVectorMachines)
        beta = member.weight * machines.coefficients[machine]
        rows, scaled = self._rows, machines.coordinates
        if not beta.all():
            used = np.flatnonzero(beta)
            rows, beta = rows[used], beta[used]
            scaled = None if scaled is None else scaled[used]
        support = SupportVectors(machines.scaling, rows, beta, categories, scaled)
        found = decompose_expansion(machines.kernel, 0.0, support)
        named = [replace(each, name=f"{member.name}: {each.name}") for each in found.interactions]
        return found._replace(interactions=named)

    def values(self, X: ArrayLike) -> FloatArray:
        """Return the values in double precision, so that contributions add up to them."""
        rows, budget = self.fitted._read_again(X), self.fitted._budget
        total = np.repeat(self.machines.intercept[np.newaxis], rows.shape[0], axis=0)
        for each in self.machines.members:
            machines = self.machines.machines_of(each)
            if isinstance(machines, LocalMachines):
                machines = in_double_precision(machines)
            values = machines.values(rows, budget)
            if isinstance(machines, SupportVectorMachines):
                values = values - machines.intercept
            total += each.weight * values
        return total

    @property
    def training_rows(self) -> tuple[Rows | None, str]:
        is_sample = any(isinstance(each.machines, LocalMachines) for each in self.machines.members)
        return self.machines.rows, f"{'a sample of ' if is_sample else ''}the training rows"


class VotingModel(FittedModel):
    """A boosted ensemble: a weighted vote of finitely many hypotheses."""

    @property
    def labels(self) -> list[str]:
        names = self.fitted.classes_.tolist()
        return [f"{names[1]} vs {names[0]}"] if len(names) == 2 else [f"{c}" for c in names]

    @property
    def one_for(self) -> str:
        return "both classes" if len(self.labels) == 1 else "the votes for each class"

    def decompose(self, machine: int) -> Decomposition:
        model = self.fitted
        weights, n_classes = np.asarray(model.estimator_weights_), len(model.classes_)
        return decompose_votes(model.voters_, weights, n_classes, machine, model.n_features_in_)

    def values(self, X: ArrayLike) -> FloatArray:
        return decisions(self.fitted._votes(X)).reshape(-1, len(self.labels))

    def margins(self, X: ArrayLike, y: ArrayLike, machine: int) -> FloatArray:  # noqa: ARG002
        return self.fitted.margins(X, y) * self._total

    @property
    def _total(self) -> float:
        return float(np.abs(self.fitted.estimator_weights_).sum())

    def norm(self, decomposition: Decomposition) -> tuple[float, str]:  # noqa: ARG002
        return self._total, "Σ|w|"

    @property
    def importance_method(self) -> str:
        return "share of the absolute weights of all hypotheses, exact"

    @property
    def training_rows(self) -> tuple[Rows | None, str]:
        return None, "nothing"


def as_fitted_model(model: Any) -> FittedModel:
    """Return the adapter of a fitted model of the library; an adapter is returned as it is."""
    if isinstance(model, FittedModel):
        return model
    if isinstance(model, VotingEnsemble):
        check_is_fitted(model, "voters_")
        return VotingModel(model)
    if isinstance(model, (KernelMachine, SVMPath, MultiplicativeSVC)):
        check_is_fitted(model, ["machines_", "support_"], all_or_any=any)
        machines = getattr(model, "machines_", None)
        if isinstance(machines, VoteMachines):
            return VoteModel(model)
        return (LocalModel if isinstance(machines, LocalMachines) else SupportVectorModel)(model)
    raise TypeError(
        f"model = {model!r}: pass a fitted model of kernsemble.svm or kernsemble.boosting; for a "
        "pipeline, pass its last step and rows transformed by the steps before it"
    )
