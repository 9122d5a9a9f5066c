"""From the values of machines to predicted classes and probabilities, as ONNX operators."""

from itertools import combinations

import numpy as np

from kernsemble.export.machine_terms import ModelHead
from kernsemble.export.onnx.graph import Tensor, joined
from kernsemble.export.onnx.look_up import look_up
from kernsemble.export.piecewise_tables import PiecewiseTable
from kernsemble.inspection.additive_model import CurveData
from kernsemble.svm.calibration import EPS, LEAD
from kernsemble.svm.multiclass import SMALLEST_SHARE


def decisions(head: ModelHead, values: Tensor) -> Tensor:
    """Return the decision value of every class; one number for two classes."""
    if head.combination != "one per pair":
        return values
    for_class = _pair_signs(len(head.classes))
    is_won = (values > 0.0).as_double()
    votes = is_won @ np.maximum(for_class, 0.0) + is_won.subtracted_from(1.0) @ np.maximum(
        -for_class, 0.0
    )
    confidence = values @ for_class
    return votes + confidence / (confidence.to("Abs") * 2.0 + 3.0)


def predicted_codes(decided: Tensor, n_decisions: int) -> Tensor:
    """Return the code of the predicted class at every row."""
    if n_decisions == 1:
        return (decided > 0.0).as_integer().shaped(-1)
    return decided.to("ArgMax", axis=1, keepdims=0)


def probabilities(head: ModelHead, values: Tensor, codes: Tensor) -> Tensor:
    """Return the probability of every class (columns), largest for the predicted one."""
    if head.link == "softmax":
        return values.to("Softmax", axis=1)
    shares = _curves(head.curves, values).clipped(EPS, 1.0 - EPS)
    return _with_largest(_combined(head, shares), codes, len(head.classes))


def _curves(curves: list[CurveData | None], values: Tensor) -> Tensor:
    """Return the probability of the positive side of each machine (columns)."""
    columns = []
    for k, curve in enumerate(curves):
        assert curve is not None
        column = values.between(k, k + 1, 1)
        if curve["kind"] == "isotonic":
            levels = np.array(curve["levels"])[:, np.newaxis]
            table = PiecewiseTable.through(np.array(curve["knots"]), levels, np.array([np.nan]))
            columns.append(look_up(column, [table]).shaped(-1, 1))
        else:
            columns.append((column * curve["slope"] + curve["offset"]).to("Sigmoid"))
    return joined(columns, 1)


def _combined(head: ModelHead, shares: Tensor) -> Tensor:
    if head.combination == "one machine":
        return joined([shares.subtracted_from(1.0), shares], 1)
    if head.combination == "one per class":
        return shares / shares.sum(1, keep=True)
    return _coupled(shares, len(head.classes))


def _pair_signs(n_classes: int) -> np.ndarray:
    """Return +1 for the positive and -1 for the negative class (columns) of each pair."""
    signs = np.zeros((n_classes * (n_classes - 1) // 2, n_classes))
    for k, (positive, negative) in enumerate(combinations(range(n_classes), 2)):
        signs[k, [positive, negative]] = 1.0, -1.0
    return signs


def _coupled(shares: Tensor, n_classes: int) -> Tensor:
    r"""Return the probabilities of classes that agree best with those of pairs.

    They are proportional to z with :math:`(Q + 1 1^\top) z = 1`, since the solution p of
    :math:`Q p = \lambda 1, 1^\top p = 1` of `kernsemble.svm.multiclass` fulfils
    :math:`(Q + 1 1^\top) p = (1 + \lambda) 1`. This matrix is positive definite, so elimination
    needs no pivots.
    """
    n = n_classes
    place = np.zeros((n, n), dtype=np.int64)
    for k, (i, j) in enumerate(combinations(range(n), 2)):
        place[i, j], place[j, i] = 2 * k, 2 * k + 1
    shares = shares.clipped(SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
    both = joined([shares.wider(2), shares.subtracted_from(1.0).wider(2)], 2)
    sides = both.shaped(-1, n * (n - 1))
    against = sides.at(place.ravel(), axis=1).shaped(-1, n, n) * (1.0 - np.eye(n))
    squares = (against * against).sum(1, keep=True)  # (n, 1, classes), of each column
    transposed = against.to("Transpose", perm=[0, 2, 1])
    system = squares * np.eye(n) - against * transposed + np.ones((n, n))
    rows = joined([system, squares.to("Transpose", perm=[0, 2, 1]) * 0.0 + 1.0], 2)
    found = _solved(rows, n)
    positive = found.to("Max", 0.0)
    share = (positive / positive.sum(1, keep=True)).to("Max", EPS)
    return share / share.sum(1, keep=True)


def _solved(rows: Tensor, n: int) -> Tensor:
    """Solve positive definite systems, the right side in the last column, by elimination."""
    for k in range(n):
        mine = rows.between(k, k + 1, 1)
        mine = mine / mine.between(k, k + 1, 2)
        column = rows.between(k, k + 1, 2)
        others = np.ones((n, 1))
        others[k] = 0.0
        own = 1.0 - others
        rows = (rows - column * mine) * others + mine * own
    return rows.between(n, n + 1, 2).shaped(-1, n)


def _with_largest(found: Tensor, codes: Tensor, n_classes: int) -> Tensor:
    """Return the nearest probabilities of which that of the predicted class is the largest."""
    is_mine = codes.wider(1).to("Equal", np.arange(n_classes))
    mine = is_mine.where(found, 0.0).sum(1, keep=True)
    others = is_mine.where(-1.0, found)
    ranked, _ = found.graph.add_all("TopK", 2, others, np.array([n_classes - 1]), axis=1)
    averages = (mine + ranked.to("CumSum", 1)) / np.arange(2.0, n_classes + 1.0)
    level = averages.max(1, keep=True).to("Max", mine)
    pooled = is_mine.where(level * (1.0 + LEAD), found.to("Min", level))
    contradicted = mine < ranked.between(0, 1, 1) * (1.0 + LEAD)
    return contradicted.where(pooled, found)
