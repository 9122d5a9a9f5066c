"""LAGO as ONNX operators: kernels around rare rows, thresholds and probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernsemble._calibration_curves import Sigmoid
from kernsemble.detection import LagoClassifier
from kernsemble.detection.local_kernels import LocalKernels
from kernsemble.detection.probabilities import SMALLEST
from kernsemble.export.onnx.graph import Tensor, in_tiles, joined
from kernsemble.export.onnx.kernels import l2_distances
from kernsemble.export.onnx.scalings import scaled
from kernsemble.export.onnx.terms import ENTRIES_OF_A_TILE
from kernsemble.export.refusals import NotExportableError
from kernsemble.solvers.kernel_sums import farthest


def scores(model: LagoClassifier, rows: Tensor, max_entries: int = ENTRIES_OF_A_TILE) -> Tensor:
    """Return the score of every rare class (columns) at rows."""
    for kernels in model.kernels_:
        if kernels.shape == "spherical" and kernels.metric != "euclidean":
            raise NotExportableError(
                f"metric = {kernels.metric!r}: only LAGO with metric='euclidean' can be exported"
            )
    width = model.n_features_in_
    most = max(len(each.centres) for each in model.kernels_)
    height = max(max_entries // (most * width), 1)
    pairs = list(zip(model.kernels_, model.alpha_.tolist(), strict=True))

    def body(tile: Tensor) -> Tensor:
        on_scale = scaled(model.scaling_, tile)
        return joined([_sums(each, alpha, on_scale) for each, alpha in pairs], 1)

    return in_tiles(rows, width, height, body)


def _sums(kernels: LocalKernels, alpha: float, rows: Tensor) -> Tensor:
    """Return the mean of the kernels, or its logarithm if they are Gaussian, of shape (n, 1)."""
    used = kernels.weight > 0.0
    weight = kernels.weight[used][:, np.newaxis]
    squares = _squares(kernels, used, rows).to("Min", farthest(np.float64))
    if kernels.profile == "gaussian":
        exponents = squares * (-0.5 / alpha**2)
        largest = exponents.max(1, keep=True)
        return ((exponents - largest).to("Exp") @ weight).to("Log") + largest
    distances = squares.to("Sqrt") / alpha
    if kernels.profile == "uniform":
        heights = (distances > 1.0).where(0.0, 1.0)
    else:
        heights = distances.subtracted_from(1.0).to("Max", 0.0)
    return heights @ weight


def _squares(kernels: LocalKernels, used: Any, rows: Tensor) -> Tensor:
    centres, widths = kernels.centres[used].astype(np.float64), kernels.widths[used]
    if kernels.shape == "elliptical":
        apart = (rows.wider(1) - centres[np.newaxis]) * (1.0 / widths)[np.newaxis]
        return (apart * apart).sum(2)
    distances = l2_distances(rows, centres) / widths[:, 0]
    return distances * distances


def decisions(model: LagoClassifier, found: Tensor) -> Tensor:
    """Return the score minus the threshold of every class, as `decision_function` does."""
    excess = found - model.threshold_
    if len(model.classes_) == 2:
        return excess if model._rare_codes[0] == 1 else -excess
    n_classes = len(model.classes_)
    place = np.zeros((len(model._rare_codes), n_classes))
    place[np.arange(len(place)), model._rare_codes] = 1.0
    fixed = np.full(n_classes, -1.0)
    fixed[model._background] = 0.0
    fixed[model._rare_codes] = 0.0
    return excess @ place + fixed


def probabilities(model: LagoClassifier, found: Tensor) -> Tensor:
    """Return the probability of every class, as `kernsemble.detection.probabilities` does."""
    against = _curves(model.calibration_, found).clipped(SMALLEST, 1.0 - SMALLEST)
    odds = against / against.subtracted_from(1.0)
    background = (odds.sum(1, keep=True) + 1.0).to("Reciprocal")
    rest = model._totals.astype(np.float64)
    rest[model._rare_codes] = 0.0
    place = np.zeros((len(model._rare_codes), len(rest)))
    place[np.arange(len(place)), model._rare_codes] = 1.0
    return background * (odds @ place + rest / rest.sum())


def _curves(curves: Sequence[Any], found: Tensor) -> Tensor:
    assert all(isinstance(each, Sigmoid) for each in curves)
    slopes, offsets = (np.array([getattr(c, name) for c in curves]) for name in ("slope", "offset"))
    return (found * slopes + offsets).to("Sigmoid")
