"""Scores of held-out rows as sums over blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from kernsemble._typing import FloatArray
from kernsemble.exceptions import ArgumentError
from kernsemble.solvers.additive import Tables
from kernsemble.solvers.additive.row_blocks import RowBlock
from kernsemble.svm.calibration import Calibration
from kernsemble.svm.multiclass import Reduction
from kernsemble.svm.problem import TargetScale
from kernsemble.svm.streams.encoding import Coder

BINS = 20_000  # bins of the decision values for the AUROC, which is exact up to ties in a bin
CLASSIFIER_SCORES = ("accuracy", "neg_log_loss", "roc_auc")
REGRESSOR_SCORES = ("r2", "neg_mean_squared_error", "neg_mean_absolute_error")


class Fitted(NamedTuple):
    """The tables and the bias of each machine, for targets in the unit of a scale."""

    g: FloatArray  # (n_machines, n_levels)
    bias: FloatArray
    scale: TargetScale


@dataclass(frozen=True, eq=False)
class HeldOutScorer:
    """A score of the rows of a fold, as sums over blocks and a function of these.

    Attributes
    ----------
    name : str
        The name of the score, as in scikit-learn.
    reduction, link
        The classes of the machines, and their probabilities if the loss has them.
    """

    name: str
    reduction: Reduction | None = None
    link: Calibration | None = None

    @classmethod
    def by_name(
        cls, scoring: Any, reduction: Reduction | None, link: Calibration | None
    ) -> "HeldOutScorer":
        """Return the scorer for a `scoring`; by default the accuracy, or R² for numbers."""
        names = REGRESSOR_SCORES if reduction is None else CLASSIFIER_SCORES
        name = names[0] if scoring is None else scoring
        if name not in names:
            raise ArgumentError(
                "scoring", scoring, f"rows in blocks need one of {', '.join(names)}"
            )
        if name == "neg_log_loss" and link is None:
            raise ArgumentError("scoring", scoring, "probabilities need loss='logistic'")
        if name == "roc_auc" and reduction is not None and reduction.n_classes > 2:
            raise ArgumentError("scoring", scoring, "of several classes, use 'neg_log_loss'")
        return cls(name, reduction, link)

    def sums(self, y: Any, values: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the sums of weighted rows that the score is a function of."""
        if self.reduction is None:
            return _sums_of_numbers(y, values[:, 0], weight)
        if self.name == "roc_auc":
            bins = np.minimum((expit(values[:, 0]) * BINS).astype(np.intp), BINS - 1)
            places = bins + BINS * y.astype(np.intp)
            return np.asarray(np.bincount(places, weight, minlength=2 * BINS), dtype=np.float64)
        if self.name == "neg_log_loss":
            assert self.link is not None
            shares = self.link.probabilities(values)[np.arange(len(y)), y]
            return np.array([weight.sum(), weight @ np.log(shares)])
        return np.array([weight.sum(), weight @ (self.reduction.winners(values) == y)])

    def score(self, sums: FloatArray) -> float:
        """Return the score, given the sums of all blocks."""
        if self.name == "roc_auc":
            negative, positive = sums.reshape(2, BINS)
            below = np.cumsum(negative) - 0.5 * negative
            return float(positive @ below / (positive.sum() * negative.sum()))
        if self.reduction is not None:
            return float(sums[1] / sums[0])
        total, y, y2, errors, absolute = sums
        if self.name == "r2":
            return float(1.0 - errors / (y2 - y**2 / total))
        return float(-(errors if self.name == "neg_mean_squared_error" else absolute) / total)


def _sums_of_numbers(y: FloatArray, predicted: FloatArray, weight: FloatArray) -> FloatArray:
    error = y - predicted
    return np.array(
        [weight.sum(), weight @ y, weight @ y**2, weight @ error**2, weight @ np.abs(error)]
    )


def held_out_sums(
    blocks: Sequence[RowBlock],
    tables: Tables,
    coder: Coder,
    fold: int,
    fits: Sequence[Fitted],
    sums: Callable[[Any, FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Return the sums of a score over the rows of a fold, for several fits (rows)."""
    total: Any = None
    for block in blocks:
        content = block.content
        rows = np.flatnonzero(content.fold == fold)
        codes = coder(block.codes)[:, rows]
        weight, y = content.weights()[rows], content.y[rows]
        found = []
        for fit in fits:
            values = np.column_stack([tables.at_rows(g, codes) for g in fit.g]) + fit.bias
            if content.y.dtype.kind == "f":  # numbers, less their mean for the accuracy of sums
                found.append(sums(y - fit.scale.centre, fit.scale.spread * values, weight))
            else:
                found.append(sums(y, values, weight))
        mine = np.array(found)
        total = mine if total is None else total + mine
    return total
