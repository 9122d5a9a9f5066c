"""The section "What if": an additive model that the page evaluates, its inputs and sampled rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import numpy as np

from kernsemble._model_cards import kernel_text
from kernsemble._typing import FloatArray, IntArray
from kernsemble.inspection import EnsembleView, PairFunction
from kernsemble.inspection.additive_model import (
    AdditiveModel,
    FunctionData,
    additive_model,
    function_data,
)
from kernsemble.inspection.class_machines import ClassModel, by_class
from kernsemble.inspection.fitted_models import as_fitted_model, column_categories
from kernsemble.report.data_summary import category_name
from kernsemble.report.machine_summary import target_text
from kernsemble.report.readable_axis import readable_axis
from kernsemble.report.row_samples import RowSample, rows_at

MAX_ROWS = 200  # maximum number of sampled rows
MAX_INPUTS = 30  # maximum number of columns that the reader can change
MAX_PAIR_NUMBERS = 60_000  # maximum number of heights of pairs in the page
MAX_NUMBERS = 30_000  # maximum number of knots, values and heights in the page
N_STOPS = 50  # number of values along a logarithmic slider
MAX_MACHINES = 66  # maximum number of machines: pairs of twelve classes


class Input(TypedDict):
    """The input of a column.

    Range and quartiles of numbers, and whether they are whole and can be missing; names of
    categories, of which a missing one is one. The slider of a skewed column has `values` at
    `positions`, and is linear between them; that of others is linear.
    """

    names: list[str]
    quantiles: list[float]
    values: list[float]
    positions: list[float]
    is_whole: bool
    can_be_missing: bool


class SampledRow(TypedDict):
    """A row that the reader can pick."""

    number: int  # from 1
    target: str
    values: list[float | None]  # numbers, codes of categories (−1 if unseen), None if missing
    others: list[float]  # contribution of the columns without an input, for each machine


class Output(TypedDict):
    """A weighted sum of machines that contributions are shown for."""

    name: str
    weights: list[float]


class WhatIfData(TypedDict):
    """The data of the section, as the page embeds them."""

    model: AdditiveModel
    class_names: list[str]
    inputs: list[Input]
    outputs: list[Output]
    rows: list[SampledRow]


@dataclass(frozen=True, eq=False)
class WhatIf:
    """What the reader can change.

    Attributes
    ----------
    data : WhatIfData or None
        The model, its inputs and the sampled rows; None if the page cannot evaluate the model.
    reason : str
        Why it cannot, else "".
    n_others : int
        Number of columns that keep their values in the sampled row.
    """

    data: WhatIfData | None
    reason: str = ""
    n_others: int = 0


class _Machines(NamedTuple):
    """The views of all machines, and the categories of columns."""

    views: list[EnsembleView]
    known: tuple[tuple[Any, ...] | None, ...]

    def functions(self, column: int) -> Iterator[FunctionData]:
        for view in self.views:
            yield function_data(view.shapes[view.feature_names[column]], self.known[column])


def what_if(
    model: Any,
    background: RowSample,
    scored: RowSample,
    explained: IntArray,
    importances: Mapping[str, float],
    *,
    max_inputs: int = MAX_INPUTS,
    max_numbers: int = MAX_NUMBERS,
    max_pair_numbers: int = MAX_PAIR_NUMBERS,
) -> WhatIf:
    """Return what the reader of a report can change.

    Parameters
    ----------
    model : fitted estimator
        Model of the report.
    background : RowSample
        Training rows, which contributions are relative to.
    scored : RowSample
        Rows to sample from.
    explained : array of int
        Places in `scored` of rows that the sample contains.
    importances : mapping of str to float
        Importance of each column: the most important ones have inputs.
    max_inputs, max_numbers, max_pair_numbers : int
        Maximum number of inputs, of the numbers in all functions of columns, and in those of
        pairs.

    Returns
    -------
    WhatIf
    """
    labels = as_fitted_model(model).labels
    if len(labels) > MAX_MACHINES:
        return WhatIf(None, f"The model has {len(labels):,} machines, too many for a page.")
    first = EnsembleView.from_estimator(model, background.X, 0)
    if not first.is_additive:
        kernels = ", ".join(map(kernel_text, first.interactions))
        return WhatIf(
            None,
            f"The model has interactions ({kernels}): its prediction is not a "
            'sum over columns. Models of stumps are: fit one with kernel="stump" (--kernel stump '
            "at the command line).",
        )
    rest = [EnsembleView.from_estimator(model, background.X, k) for k in range(1, len(labels))]
    machines = _Machines([first, *rest], column_categories(model))
    n_heights = sum(pair.heights.size for view in machines.views for pair in _pairs(view))
    if n_heights > max_pair_numbers:
        return WhatIf(
            None,
            f"The pairs of columns have {n_heights:,} cells, too many for a page: at most "
            f"{max_pair_numbers:,}.",
        )
    columns = _columns_with_inputs(machines, importances, max_inputs, max_numbers)
    if any(0 < len(set(pair.columns) & set(columns)) < 2 for pair in _pairs(first)):
        return WhatIf(
            None,
            f"Pairs connect more columns than the {len(columns)} that a page has inputs for.",
        )
    if len(columns) == 0:
        return WhatIf(
            None,
            f"The function of a single column has more than {max_numbers:,} numbers, too many for "
            "a page.",
        )
    places = _sample(len(scored.y), explained)
    rows = first.model.encode(rows_at(scored.X, places))
    plain = additive_model(machines.views, columns)
    data: WhatIfData = {
        "model": plain,
        "class_names": [str(name) for name in plain["classes"] or ()],
        "inputs": [_input(machines, d, rows) for d in columns],
        "outputs": _outputs(model),
        "rows": _sampled_rows(machines, scored, places, rows, columns),
    }
    return WhatIf(data, n_others=len(first.feature_names) - len(columns))


def _pairs(view: EnsembleView) -> tuple[PairFunction, ...]:
    return view.decomposition.pairs


def _columns_with_inputs(
    machines: _Machines, importances: Mapping[str, float], max_inputs: int, max_numbers: int
) -> list[int]:
    """Return the most important columns whose functions have few enough numbers together.

    Columns of pairs come first, as the page cannot change one of them alone.
    """
    names = machines.views[0].feature_names
    paired = {d for pair in _pairs(machines.views[0]) for d in pair.columns}
    order = sorted(
        range(len(names)), key=lambda d: (d not in paired, -importances.get(names[d], 0.0))
    )
    kept, total = [], 0
    for d in order[:max_inputs]:
        total += sum(
            len(each)
            for function in machines.functions(d)
            for each in function.values()
            if isinstance(each, list)
        )
        if total > max_numbers:
            break
        kept.append(d)
    return kept


def _sample(n_rows: int, explained: IntArray) -> IntArray:
    """Return the explained rows, filled up with random ones, in their order."""
    drawn = np.random.default_rng(0).permutation(n_rows)
    chosen = dict.fromkeys([*explained.tolist(), *drawn.tolist()])
    return np.sort(np.array(list(chosen)[:MAX_ROWS], dtype=np.intp))


def _input(machines: _Machines, column: int, rows: FloatArray) -> Input:
    known = machines.known[column]
    if known is not None:
        names = [category_name(known, code) for code in range(len(known))]
        return {
            "names": names,
            "quantiles": [],
            "values": [],
            "positions": [],
            "is_whole": False,
            "can_be_missing": False,
        }
    background = machines.views[0].background
    assert background is not None
    entries = background[:, column]
    present = entries[~np.isnan(entries)]
    supports = all(each["missing"] is not None for each in machines.functions(column))
    occurs = len(present) < len(entries) or bool(np.isnan(rows[:, column]).any())
    quantiles = np.quantile(present, [0.0, 0.25, 0.5, 0.75, 1.0]) if len(present) else np.zeros(5)
    values, positions = _slider(present)
    return {
        "names": [],
        "quantiles": quantiles.tolist(),
        "values": values,
        "positions": positions,
        "is_whole": bool((present == np.round(present)).all()),
        "can_be_missing": supports and occurs,
    }


def _slider(present: FloatArray) -> tuple[list[float], list[float]]:
    """Return values at positions of the slider of a skewed column, else nothing."""
    axis = readable_axis(present)
    if axis.kind == "log":
        values = np.geomspace(present.min(), present.max(), N_STOPS)
        return values.tolist(), np.linspace(0.0, 1.0, N_STOPS).tolist()
    return axis.values, axis.positions


def _outputs(model: Any) -> list[Output]:
    """Return the only machine, or that of each class."""
    found = by_class(model)
    n = len(found.labels)
    weights = found.weights if isinstance(found, ClassModel) else np.eye(n)
    return [
        {"name": name, "weights": each.tolist()}
        for name, each in zip(found.labels, weights, strict=True)
    ]


def _sampled_rows(
    machines: _Machines,
    scored: RowSample,
    places: IntArray,
    rows: FloatArray,
    columns: Sequence[int],
) -> list[SampledRow]:
    others = np.setdiff1d(np.arange(rows.shape[1]), columns).tolist()
    rest = np.zeros((len(rows), len(machines.views)))
    for k, view in enumerate(machines.views):
        for d in others:
            rest[:, k] += view.shapes[view.feature_names[d]](rows[:, d])
        for pair in _pairs(view):
            if set(pair.columns) <= set(others):
                rest[:, k] += pair(rows)
    return [
        {
            "number": int(scored.indices[place]) + 1,
            "target": target_text(scored.y[place]),
            "values": [None if np.isnan(value) else value for value in values],
            "others": left_out,
        }
        for place, values, left_out in zip(
            places.tolist(), rows[:, list(columns)].tolist(), rest.tolist(), strict=True
        )
    ]
