"""Scalings of rows as ONNX operators."""

from functools import singledispatch
from typing import Any

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.export.onnx.graph import Tensor
from kernsemble.export.onnx.look_up import looked_up_columns
from kernsemble.export.piecewise_tables import PiecewiseTable
from kernsemble.export.refusals import NotExportableError
from kernsemble.hypotheses import MiddleStumpSet, StumpSet
from kernsemble.preprocessing import FeatureScaling, LearnedScaling
from kernsemble.preprocessing.effects import EffectScaling

UNSUPPORTED = np.array([np.nan])  # missing numbers stay missing


@singledispatch
def scaled(scaling: Any, rows: Tensor) -> Tensor:  # noqa: ARG001
    """Return rows on a scale."""
    raise NotExportableError(f"scaling = {scaling!r} has no ONNX operators: use scaling='range'")


@scaled.register
def _scaled_features(scaling: FeatureScaling, rows: Tensor) -> Tensor:
    if scaling.stumps is not None:
        return positions(scaling.stumps, rows)
    if scaling.half_range is None:
        return rows
    half = scaling.half_range
    factor = np.divide(1.0, half, where=half > 0.0, out=np.zeros_like(half))
    moved = rows if scaling.centre is None else rows - scaling.centre
    return moved * factor


@scaled.register
def _scaled_effects(scaling: EffectScaling, rows: Tensor) -> Tensor:
    each = zip(scaling.levels, scaling.heights, strict=True)
    tables = [PiecewiseTable.of_levels(levels, heights) for levels, heights in each]
    return looked_up_columns(rows, tables) * scaling.unit


@scaled.register
def _scaled_learned(scaling: LearnedScaling, rows: Tensor) -> Tensor:
    base, weights = scaled(scaling.base, rows), scaling.unit * scaling.weights
    return base * weights if weights.ndim == 1 else base @ weights


def positions(stumps: StumpSet | MiddleStumpSet, rows: Tensor) -> Tensor:
    """Return the measure of the thresholds between zero and each number."""
    return looked_up_columns(rows, [_position(stumps, d) for d in range(stumps.n_features)])


def _position(stumps: StumpSet | MiddleStumpSet, column: int) -> PiecewiseTable:
    origin: FloatArray = stumps._measure_below(column, np.zeros(1))
    if isinstance(stumps, StumpSet):
        measures = stumps.measures[column][:, np.newaxis] - origin
        return PiecewiseTable.through(stumps.knots[column], measures, UNSUPPORTED)
    table = PiecewiseTable.counting(stumps.thresholds[column])
    return table._replace(start=table.start - origin)
