r"""A fitted model as terms that can be exported.

.. math:: f_k(x) = b_k + \sum_d g_{kd}(x_d) + \sum_j \beta_{kj} K(x_j, x)
                   + \sum_p h_{kp}(\theta_p^\top u(x))

for each machine k: functions of one column (and of pairs of columns), kernel expansions, and
functions along directions. An additive model has only the first kinds, which
`kernsemble.inspection.additive_model` describes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import is_classifier

from kernsemble._typing import FloatArray, IntArray
from kernsemble.export.pair_terms import PairTerms
from kernsemble.export.piecewise_tables import PiecewiseTable
from kernsemble.export.refusals import NotExportableError
from kernsemble.export.voter_terms import PlaneVotes, TreeVotes, voter_terms
from kernsemble.inspection import EnsembleView
from kernsemble.inspection.additive_model import (
    AdditiveModel,
    ColumnData,
    Combination,
    CurveData,
    Link,
    additive_model,
    column_data,
    combination_of,
    function_data,
    probability_link,
)
from kernsemble.inspection.fitted_models import (
    FittedModel,
    SupportVectorModel,
    VoteModel,
    VotingModel,
    as_fitted_model,
    column_categories,
)
from kernsemble.inspection.shape_functions import Shape
from kernsemble.inspection.table_decomposition import (
    combined_tables,
    decompose_tables,
    direction_tables,
)
from kernsemble.kernels import Kernel
from kernsemble.kernels.slice_parts import seen_columns
from kernsemble.preprocessing import AnyScaling
from kernsemble.svm.backends.local.machines import LocalMachines
from kernsemble.svm.backends.prepared_matrix import SupportVectorMachines
from kernsemble.svm.backends.tables.backend import TableMachines
from kernsemble.svm.backends.tables.blocks import FittedTables
from kernsemble.svm.backends.tables.cells import CellTables
from kernsemble.svm.backends.tables.slices import ShapeTables


class KernelExpansion(NamedTuple):
    """Machines on common support vectors, given as the kernel sees them."""

    kernel: Kernel
    scaling: AnyScaling
    known: FloatArray
    coefficients: FloatArray  # (n_machines, n_support)


class DirectionTables(NamedTuple):
    """Functions of projections: directions through a centre, on some columns of scaled rows."""

    scaling: AnyScaling
    columns: Any
    centre: FloatArray
    directions: FloatArray
    tables: tuple[PiecewiseTable, ...]


@dataclass(frozen=True, eq=False)
class MachineTerms:
    """The terms of all machines of a model.

    Attributes
    ----------
    intercept : array of shape (n_machines,)
        The constants.
    functions : tuple of PiecewiseTable
        The functions of every encoded column; empty if there are none.
    pairs : PairTerms or None
        The functions of pairs of columns.
    expansions, directions : tuples
        The terms of several columns.
    trees, planes : votes or None
        Those of boosted trees and perceptrons.
    """

    intercept: FloatArray
    functions: tuple[PiecewiseTable, ...] = ()
    pairs: PairTerms | None = None
    expansions: tuple[KernelExpansion, ...] = ()
    directions: tuple[DirectionTables, ...] = ()
    trees: TreeVotes | None = None
    planes: PlaneVotes | None = None

    @classmethod
    def of_additive(cls, plain: AdditiveModel) -> Self:
        """Return the terms of an additive model."""
        machines = plain["machines"]
        return cls(
            np.array([each["intercept"] for each in machines]),
            tuple(
                PiecewiseTable.from_functions(
                    [each["functions"][d] for each in machines], column.get("categories")
                )
                for d, column in enumerate(plain["columns"])
            ),
            PairTerms.of_additive(plain),
        )

    @property
    def is_additive(self) -> bool:
        """Whether there are only functions of one column, and of pairs."""
        several = self.expansions, self.directions, self.trees, self.planes
        return not any(several)


class ModelHead(NamedTuple):
    """What follows the values of machines: the decisions, and the probabilities of classes."""

    is_classifier: bool
    classes: Any
    combination: Combination
    link: Link | None
    curves: list[CurveData | None]

    @classmethod
    def of_model(cls, fitted: Any, n_machines: int) -> Self:
        """Return the head of a fitted model."""
        has_classes = is_classifier(fitted)
        link, curves = probability_link(fitted, n_machines)
        return cls(
            has_classes,
            fitted.classes_ if has_classes else None,
            combination_of(fitted, n_machines),
            link,
            curves,
        )


def exportable(model: Any) -> FittedModel:
    """Return the adapter of a fitted model; raise an error that names what cannot be exported."""
    machines = getattr(model, "machines_", None)
    if isinstance(machines, LocalMachines):
        raise NotExportableError(
            "solver = 'local': its machines on the leaves of partitions have as many kernel "
            "expansions as leaves, too many for a graph; fit with solver='additive', or a sample "
            "of the rows with solver='exact'"
        )
    for member in getattr(machines, "members", ()):
        if isinstance(member.machines, LocalMachines):
            raise NotExportableError(
                f"the member {member.name!r} of the vote has machines on the leaves of partitions, "
                "too many kernel expansions for a graph: fit a sample of the rows"
            )
    try:
        return as_fitted_model(model)
    except TypeError as error:
        raise NotExportableError(
            f"{type(model).__name__} cannot be exported: use a model of kernsemble.svm, "
            "AdaBoostClassifier or LPBoostClassifier, or LagoClassifier for ONNX; for a pipeline, "
            "skl2onnx.to_onnx after register_converters()"
        ) from error


def encoded_columns(fitted: FittedModel) -> list[ColumnData]:
    """Return the encoded columns of a model."""
    view = EnsembleView.from_estimator(fitted, machine=0)
    return [column_data(view, d) for d in range(len(view.feature_names))]


def plain_additive_model(model: Any) -> AdditiveModel:
    """Return an additive model as plain data; raise an error that names what is not additive."""
    fitted = exportable(model)
    views = list(EnsembleView.each(fitted).values())
    for view in views:
        if not view.is_additive:
            raise NotExportableError(
                f"the machine {view.label!r} is no sum over columns because of "
                f"{', '.join(view.interactions)}: export to ONNX, or use a kernel of stumps and "
                "categories"
            )
    return additive_model(views)


def machine_terms(model: Any) -> MachineTerms:
    """Return the terms of a fitted model; raise an error that names what cannot be exported."""
    fitted = exportable(model)
    first = EnsembleView.from_estimator(fitted, machine=0)
    if first.is_additive:
        return MachineTerms.of_additive(plain_additive_model(fitted))
    if isinstance(fitted, VotingModel):
        trees, planes = voter_terms(fitted.fitted)
        return MachineTerms(np.zeros(len(fitted.labels)), trees=trees, planes=planes)
    if isinstance(fitted, VoteModel):
        return _vote_terms(fitted)
    assert isinstance(fitted, SupportVectorModel)
    if hasattr(fitted.fitted, "tables_"):
        return _table_terms(fitted.fitted.tables_, fitted)
    n_machines = len(fitted.labels)
    machines = getattr(fitted.fitted, "machines_", None)
    support, scaling = fitted.fitted.support_vectors_, fitted.fitted.scaling_
    scaled = getattr(machines, "coordinates", None)
    known = scaling.transform(fitted.dense(support)) if scaled is None else fitted.dense(scaled)
    expansion = KernelExpansion(
        fitted.kernel,
        scaling,
        known.astype(np.float64),
        np.array([fitted._coefficients(k) for k in range(n_machines)]),
    )
    return MachineTerms(
        np.array([fitted._bias(k) for k in range(n_machines)]), expansions=(expansion,)
    )


def _vote_terms(fitted: VoteModel) -> MachineTerms:
    """Return the weighted terms of all members."""
    parts = [MachineTerms(np.array(fitted.machines.intercept))]
    for member in fitted.machines.members:
        machines = fitted.machines.machines_of(member)
        if isinstance(machines, TableMachines):
            weights = member.weight * np.eye(len(fitted.labels))
            parts.append(_table_terms(combined_tables(machines.tables, weights), fitted))
        else:
            assert isinstance(machines, SupportVectorMachines)  # `exportable` refuses others
            known = fitted.dense(machines.scaled_support)
            beta = member.weight * machines.coefficients
            expansion = KernelExpansion(machines.kernel, machines.scaling, known, beta)
            nothing = np.zeros(len(fitted.labels))
            parts.append(MachineTerms(nothing, expansions=(expansion,)))
    return reduce(_joined, parts)


def _joined(left: MachineTerms, right: MachineTerms) -> MachineTerms:
    if left.functions and right.functions:
        pairs = zip(left.functions, right.functions, strict=True)
        functions = tuple(_total(*each) for each in pairs)
    else:
        functions = left.functions or right.functions
    return MachineTerms(
        left.intercept + right.intercept,
        functions,
        expansions=left.expansions + right.expansions,
        directions=left.directions + right.directions,
    )


def _total(left: PiecewiseTable, right: PiecewiseTable) -> PiecewiseTable:
    """Return the sum of the functions of a column."""
    cuts = np.unique(np.concatenate([left.cuts, right.cuts]))
    ends = np.append(cuts, np.inf)
    origin = np.concatenate([cuts[:1], cuts]) if len(cuts) else np.zeros(1)
    parts = [_lines_from(each, np.searchsorted(each.cuts, ends), origin) for each in (left, right)]
    start, slope = (np.sum(each, axis=0) for each in zip(*parts, strict=True))
    return PiecewiseTable(cuts, origin, start, slope, left.missing + right.missing)


def _lines_from(
    table: PiecewiseTable, place: IntArray, origin: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the values at origins, and the slopes, of the lines at places."""
    along = (origin - table.origin[place])[:, np.newaxis]
    return table.start[place] + table.slope[place] * along, table.slope[place]


def _table_terms(tables: FittedTables, fitted: FittedModel) -> MachineTerms:
    for block in tables.blocks:
        if isinstance(block, CellTables):
            raise NotExportableError(
                f"{block.grids.embedding!r} in {block.grids.n_grids} random grids cannot be "
                "exported, since cells are found by hashes of 64 bits: fit with solver='exact'"
            )
        if not isinstance(block, ShapeTables):
            raise NotExportableError(
                f"{type(block).__name__} beside kernels of several columns cannot be exported: fit "
                "one or the other"
            )
    categories = column_categories(fitted.fitted)
    machines = range(len(tables.intercept))
    found = [decompose_tables(tables, k, categories) for k in machines]
    n_columns = len(categories)
    shapes = [
        [Shape.total([Shape(missing=0.0), *_shapes(each.additive, d)]) for each in found]
        for d in range(n_columns)
    ]
    return MachineTerms(
        np.array([each.intercept for each in found]),
        tuple(
            PiecewiseTable.from_functions([function_data(each, known) for each in column], known)
            for column, known in zip(shapes, categories, strict=True)
        ),
        directions=tuple(_directions(tables)),
    )


def _shapes(terms: Sequence[Any], column: int) -> list[Shape]:
    return [each.shape for each in terms if each.column == column]


def _directions(tables: FittedTables) -> Iterator[DirectionTables]:
    for part, some in direction_tables(tables):
        each = zip(some.levels, some.heights, strict=True)
        yield DirectionTables(
            some.views.scaling,
            seen_columns(part.kernel),
            part.simple.hypotheses.centre,
            part.directions,
            tuple(PiecewiseTable.of_levels(levels, heights) for levels, heights in each),
        )
