r"""Additive models as plain data, which a program in any language can evaluate.

.. math:: f_k(x) = b_k + \sum_d g_{kd}(x_d) + \sum_{(d, e)} g_{kde}(x_d, x_e)

for each machine k of a model whose machines are sums over columns, and over pairs of columns if it
was fitted with them. `AdditiveModel` is the structure, made of JSON types only and without
rounding; `export/javascript/additive_model.js`
evaluates it. A number x of a column adds

- the piecewise linear function through `knots` and `values`: it is continuous from the left and
  jumps to `above` just beyond a knot, if that is given; beyond the first and the last knot it goes
  on with the two `slopes`, by default 0; a column without knots has none;
- and, if the column has `points`, the height of the point at x, up to `tolerance`, else `other`.

A category adds its height, one that was not among the training rows `other`, and a missing value
`missing`.

A pair of columns adds the height in the cell of its levels. The `levels` of a number are the
intervals between `cuts`, of which the upper end belongs to an interval; those of categories are
listed; `missing` is the level of a missing number, or of a category that is not listed. Half of
the height counts as the contribution of either column.

The values of machines are combined into those of classes as `combination` says:

- "one machine": the prediction of a regression; or positive for the second of two classes;
- "one per class": the class of the largest value is predicted;
- "one per pair": machine (i, j) of all pairs i < j, in lexicographic order, votes for class i if
  its value is positive, else for class j.

Probabilities come from the values by the `link`, None if the model has none: "softmax" over one
machine per class; or "curves", of which each turns the value of a machine into the probability of
its positive side. Those of one machine per class are divided by their sum, those of pairs coupled
by the second method of Wu, Lin and Weng (2004). If another class than the predicted one is more
likely then, the predicted class shares the probability of those above it.
"""

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

import numpy as np
from sklearn.base import is_classifier

from kernsemble._calibration_curves import Isotonic, Sigmoid
from kernsemble._typing import FloatArray
from kernsemble.boosting import AdaBoostClassifier
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.fitted_models import column_categories
from kernsemble.inspection.pair_functions import PairSide
from kernsemble.inspection.shape_functions import Shape
from kernsemble.svm.calibration import Curve, InverseLink, MultinomialLink
from kernsemble.svm.multiclass import OneVersusOne

FORMAT = "kernsemble additive model"
VERSION = 2  # 1: without pairs of columns

Link: TypeAlias = Literal["curves", "softmax"]
Combination: TypeAlias = Literal["one machine", "one per class", "one per pair"]


class LevelsData(TypedDict):
    """The levels of a column in pairs: the intervals between cuts, or that of each category."""

    cuts: NotRequired[list[float]]
    categories: NotRequired[list[int]]
    missing: int


class ColumnData(TypedDict):
    """An encoded column.

    A column of categories lists them, None for missing. The numbers of a column of dates
    (`is_date`) are days since 1970-01-01; those of a column with `part_of` are the `part` of the
    date in that column: month (from 1), weekday (1 for Monday) or hour.
    """

    name: str
    kind: Literal["number", "category"]
    categories: NotRequired[list[Any]]
    is_date: NotRequired[bool]
    part_of: NotRequired[str]
    part: NotRequired[str]
    levels: NotRequired[LevelsData]  # if the column is one of a pair


class FunctionData(TypedDict):
    """The function of one column in one machine."""

    knots: NotRequired[list[float]]
    values: NotRequired[list[float]]
    above: NotRequired[list[float]]
    slopes: NotRequired[list[float]]
    points: NotRequired[list[float]]
    tolerance: NotRequired[float]
    heights: NotRequired[list[float]]  # of points, or of the categories of the column
    other: float
    missing: float | None  # None if the machine does not support missing values


class PairData(TypedDict):
    """The function of two columns, given by their places, in the cells of their levels."""

    columns: list[int]
    heights: list[list[float]]


class CurveData(TypedDict):
    """A calibration curve.

    "logistic" and "sigmoid" are 1 / (1 + exp(-(slope f + offset))), "isotonic" is linear between
    knots and constant beyond them.
    """

    kind: Literal["logistic", "sigmoid", "isotonic"]
    slope: NotRequired[float]
    offset: NotRequired[float]
    knots: NotRequired[list[float]]
    levels: NotRequired[list[float]]


LOGISTIC: CurveData = {"kind": "logistic", "slope": 1.0, "offset": 0.0}


class MachineData(TypedDict):
    """A machine: intercept, one function per column, those of pairs, and the curve or None."""

    label: str
    intercept: float
    functions: list[FunctionData]
    pairs: list[PairData]
    curve: CurveData | None


class AdditiveModel(TypedDict):
    """A model whose machines are sums over columns."""

    format: str
    version: int
    task: Literal["classification", "regression"]
    classes: list[Any] | None
    combination: Combination
    link: Link | None
    columns: list[ColumnData]
    machines: list[MachineData]


def additive_model(
    views: Sequence[EnsembleView], columns: Sequence[int] | None = None
) -> AdditiveModel:
    """Return a model as plain data, given the views of all its machines.

    Parameters
    ----------
    views : sequence of EnsembleView
        Views of the machines, which must be additive. The functions of columns are centred as
        theirs are.
    columns : sequence of int, optional
        Indices of the columns to keep, all by default. The functions of others are left out,
        and those of pairs with others.

    Returns
    -------
    AdditiveModel

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernsemble.inspection import EnsembleView
    >>> from kernsemble.inspection.additive_model import additive_model
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = InfiniteEnsembleClassifier(calibration="sigmoid").fit(X[::5], y[::5])
    >>> plain = additive_model(list(EnsembleView.each(model).values()))
    >>> plain["combination"], plain["link"], plain["machines"][0]["curve"]["kind"]
    ('one machine', 'curves', 'sigmoid')
    >>> json.loads(json.dumps(plain)) == plain
    True
    """
    for view in views:
        if not view.is_additive:
            raise ValueError(
                f"the machine {view.label!r} is no sum over columns because of "
                f"{', '.join(view.interactions)}: use a kernel of stumps and categories"
            )
    fitted, names = views[0].model.fitted, views[0].feature_names
    kept = list(range(len(names)) if columns is None else columns)
    known = column_categories(fitted)
    link, curves = probability_link(fitted, len(views))
    return {
        "format": FORMAT,
        "version": VERSION,
        "task": "classification" if is_classifier(fitted) else "regression",
        "classes": fitted.classes_.tolist() if is_classifier(fitted) else None,
        "combination": combination_of(fitted, len(views)),
        "link": link,
        "columns": [column_data(views[0], d) for d in kept],
        "machines": [
            {
                "label": view.label,
                "intercept": float(view.intercept),
                "functions": [function_data(view.shapes[names[d]], known[d]) for d in kept],
                "pairs": [
                    {
                        "columns": [kept.index(d) for d in pair.columns],
                        "heights": pair.heights.tolist(),
                    }
                    for pair in view.decomposition.pairs
                    if set(pair.columns) <= set(kept)
                ],
                "curve": curve,
            }
            for view, curve in zip(views, curves, strict=True)
        ],
    }


def probability_link(model: Any, n_machines: int) -> tuple[Link | None, list[CurveData | None]]:
    """Return the link of a model, and the curve of each machine."""
    none: list[CurveData | None] = [None] * n_machines
    if not hasattr(model, "predict_proba"):
        return None, none
    has_log_odds = isinstance(getattr(model, "calibration_", None), MultinomialLink)
    if isinstance(model, AdaBoostClassifier) or has_log_odds:
        return ("curves", [LOGISTIC]) if n_machines == 1 else ("softmax", none)
    return "curves", [_curve(each) for each in model.calibration_.curves]


def combination_of(model: Any, n_machines: int) -> Combination:
    """Return how the values of machines are combined into those of classes."""
    if n_machines == 1:
        return "one machine"
    is_pairs = isinstance(getattr(model, "reduction_", None), OneVersusOne)
    return "one per pair" if is_pairs else "one per class"


def column_data(view: EnsembleView, d: int) -> ColumnData:
    """Return an encoded column of a fitted model."""
    model, names = view.model.fitted, view.feature_names
    known, table = column_categories(model)[d], getattr(model, "mixed_table_", None)
    found: ColumnData = {"name": names[d], "kind": "number" if known is None else "category"}
    if known is not None:
        found["categories"] = list(known)
    sides = [side for pair in view.decomposition.pairs for side in (pair.first, pair.second)]
    mine = next((side for side in sides if side.column == d), None)
    if mine is not None:
        found["levels"] = _levels(mine)
    if table is not None and d in table.dates:
        found["is_date"] = True
    place = d - model.n_features_in_
    if table is not None and place >= 0:
        source, part = table.parts[place]
        found |= {"part_of": names[source], "part": part}
    return found


def _levels(side: PairSide) -> LevelsData:
    if side.levels is None:
        return {"cuts": _list(side.cuts), "missing": int(side.missing)}
    return {"categories": side.levels.tolist(), "missing": int(side.missing)}


def function_data(shape: Shape, known: tuple[Any, ...] | None) -> FunctionData:
    """Return a shape function as plain data; `known` are the categories of its column."""
    if known is not None:
        heights, unseen = shape(np.arange(float(len(known)))), float(shape(np.array([-1.0]))[0])
        missing = float(heights[known.index(None)]) if None in known else unseen
        return {"heights": heights.tolist(), "other": unseen, "missing": missing}
    is_missing_supported = not np.isnan(shape.missing)
    found: FunctionData = {
        "other": float(shape.other),
        "missing": float(shape.missing) if is_missing_supported else None,
    }
    if len(shape.knots) > 0:
        found |= {"knots": shape.knots.tolist(), "values": shape.left.tolist()}
        if not np.array_equal(shape.left, shape.right):
            found["above"] = shape.right.tolist()
        if any(shape.slopes):
            found["slopes"] = list(map(float, shape.slopes))
    if len(shape.atoms) > 0:
        found |= {"points": shape.atoms.tolist(), "heights": shape.heights.tolist()}
        found["tolerance"] = shape.tolerance
    return found


def _curve(curve: Curve) -> CurveData:
    if isinstance(curve, Sigmoid):
        return {"kind": "sigmoid", "slope": float(curve.slope), "offset": float(curve.offset)}
    if isinstance(curve, Isotonic):
        return {"kind": "isotonic", "knots": _list(curve.knots), "levels": _list(curve.levels)}
    assert isinstance(curve, InverseLink)
    if curve.loss != "logistic":
        raise NotImplementedError(f"the link of loss = {curve.loss!r} is no curve of this format")
    return LOGISTIC


def _list(numbers: FloatArray) -> list[float]:
    return np.asarray(numbers, dtype=np.float64).tolist()
