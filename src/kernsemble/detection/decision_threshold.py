"""The decision threshold of LAGO, tuned on the scores of held-out rows."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from kernsemble._arguments import check_count, check_share, is_name
from kernsemble._typing import BoolArray, FloatArray
from kernsemble.detection.ranking import TiedScores

RULES = ("recall", "precision", "top")


def check_threshold(threshold: Any) -> None:
    """Raise an error unless `threshold` is one of the rules, or a score."""
    is_score = isinstance(threshold, Real) and math.isfinite(threshold)
    if is_score or is_name(threshold, "f1"):
        return
    if not (isinstance(threshold, tuple) and len(threshold) == 2 and threshold[0] in RULES):
        raise ValueError(
            f"threshold = {threshold!r}: use 'f1', ('recall', precision), ('precision', recall), "
            "('top', n) or a score"
        )
    rule, number = threshold
    if rule != "top":
        check_share(f"threshold[1] of {rule!r}", number)
    elif isinstance(number, Integral):
        check_count("threshold[1] of 'top'", number)
    else:
        check_share("threshold[1] of 'top'", number)


def tune_threshold(
    threshold: Any, is_rare: BoolArray, scores: FloatArray, weight: FloatArray
) -> float:
    """Return the best threshold by a rule, halfway between two distinct scores.

    It is the highest of equally good ones. If none reaches the required precision or recall, it
    is the one that comes closest.
    """
    groups = TiedScores.from_rows(is_rare, scores, weight)
    hits, selected = np.cumsum(groups.rare), np.cumsum(groups.total)
    precision, recall = hits / selected, hits / hits[-1]
    if threshold == "f1":
        best = int(np.argmax(2.0 * hits / (selected + hits[-1])))
    elif threshold[0] == "recall":
        best = _best_subject_to(recall, precision, threshold[1])
    elif threshold[0] == "precision":
        best = _best_subject_to(precision, recall, threshold[1])
    else:
        n = threshold[1] if isinstance(threshold[1], Integral) else threshold[1] * selected[-1]
        best = int(np.argmin(abs(selected - n)))
    return _below(groups.scores, best)


def _best_subject_to(objective: FloatArray, constrained: FloatArray, minimum: float) -> int:
    """Return the index of the largest objective whose constrained value is at least `minimum`."""
    is_feasible = constrained >= min(minimum, constrained.max())
    return int(np.argmax(np.where(is_feasible, objective, -1.0)))


def _below(scores: FloatArray, place: int) -> float:
    """Return a number between one of the descending scores and the next."""
    above = scores[place]
    if place + 1 < len(scores):
        return float(above - 0.5 * (above - scores[place + 1]))
    return float(above - 1.0)
