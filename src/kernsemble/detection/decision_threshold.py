"""The score above which a row is called rare, chosen on scores of held-out rows."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from kernsemble._arguments import check_count, check_share
from kernsemble._typing import BoolArray, FloatArray
from kernsemble.detection.ranking import Groups

WORDS = ("recall", "precision", "top")


def check_threshold(threshold: Any) -> None:
    """Demand a rule that is known, or a score."""
    if threshold == "f1" or (isinstance(threshold, Real) and math.isfinite(threshold)):
        return
    if not (isinstance(threshold, tuple) and len(threshold) == 2 and threshold[0] in WORDS):
        raise ValueError(
            f"threshold = {threshold!r}: give 'f1', ('recall', precision), ('precision', recall), "
            "('top', n) or a score"
        )
    word, number = threshold
    if word != "top":
        check_share(f"threshold[1] of {word!r}", number)
    elif isinstance(number, Integral):
        check_count("threshold[1] of 'top'", number)
    else:
        check_share("threshold[1] of 'top'", number)


def choose_threshold(
    threshold: Any, is_rare: BoolArray, scores: FloatArray, weight: FloatArray
) -> float:
    """Return the score between two groups of tied rows at which the rule is met best.

    Of equally good ones it is the highest. Where no score meets a demand, it is the one that
    comes nearest to it.
    """
    groups = Groups.of(is_rare, scores, weight)
    hits, selected = np.cumsum(groups.rare), np.cumsum(groups.total)
    precision, recall = hits / selected, hits / hits[-1]
    if threshold == "f1":
        best = int(np.argmax(2.0 * hits / (selected + hits[-1])))
    elif threshold[0] == "recall":
        best = _best_meeting(recall, precision, threshold[1])
    elif threshold[0] == "precision":
        best = _best_meeting(precision, recall, threshold[1])
    else:
        n = threshold[1] if isinstance(threshold[1], Integral) else threshold[1] * selected[-1]
        best = int(np.argmin(abs(selected - n)))
    return _below(groups.scores, best)


def _best_meeting(wanted: FloatArray, demanded: FloatArray, least: float) -> int:
    """Return where one number is largest while the other is not below what is demanded."""
    meets = demanded >= min(least, demanded.max())
    return int(np.argmax(np.where(meets, wanted, -1.0)))


def _below(scores: FloatArray, place: int) -> float:
    """Return a number below one of the falling scores, and above the next."""
    above = scores[place]
    if place + 1 < len(scores):
        return float(above - 0.5 * (above - scores[place + 1]))
    return float(above - 1.0)
