"""From the values of machines to predicted classes and probabilities, as stages of a query.

The values of the machines are the columns v0, v1, …; these functions add the code of the predicted
class as ``code``, and the probabilities as q0, q1, ….
"""

from itertools import combinations

import numpy as np

from kernsemble.export.piecewise_tables import PiecewiseTable
from kernsemble.export.sql.dialects import number
from kernsemble.export.sql.functions import piecewise
from kernsemble.export.sql.stages import Stages, selected
from kernsemble.inspection.additive_model import AdditiveModel, CurveData
from kernsemble.svm.calibration import EPS, LEAD
from kernsemble.svm.multiclass import SMALLEST_SHARE

LARGEST_EXPONENT = 700.0  # whose exponential is finite


def add_codes(stages: Stages, plain: AdditiveModel) -> None:
    """Add the code of the predicted class."""
    n_classes = len(plain["classes"] or ())
    if plain["combination"] == "one machine":
        stages.add({"code": "CASE WHEN v0 IS NULL THEN NULL WHEN v0 > 0e0 THEN 1 ELSE 0 END"})
        return
    decisions = [f"v{k}" for k in range(n_classes)]
    if plain["combination"] == "one per pair":
        _add_votes(stages, n_classes)
        decisions = [f"d{k}" for k in range(n_classes)]
    firsts = [
        f"WHEN {' AND '.join(f'{mine} >= {other}' for other in decisions[k + 1 :])} THEN {k}"
        for k, mine in enumerate(decisions[:-1])
    ]
    cases = " ".join(firsts)
    stages.add({"code": f"CASE WHEN v0 IS NULL THEN NULL {cases} ELSE {n_classes - 1} END"})


def _add_votes(stages: Stages, n_classes: int) -> None:
    """Add the votes of all pairs as d0, d1, …, with less than ½ for the confidence."""
    votes: list[list[str]] = [[] for _ in range(n_classes)]
    confidence: list[list[str]] = [[] for _ in range(n_classes)]
    for machine, (i, j) in enumerate(combinations(range(n_classes), 2)):
        votes[i].append(f"CASE WHEN v{machine} > 0e0 THEN 1e0 ELSE 0e0 END")
        votes[j].append(f"CASE WHEN v{machine} > 0e0 THEN 0e0 ELSE 1e0 END")
        confidence[i].append(f"v{machine}")
        confidence[j].append(f"-v{machine}")
    stages.add({f"s{k}": " + ".join(each) for k, each in enumerate(confidence)})
    stages.add(
        {
            f"d{k}": f"{' + '.join(each)} + s{k} / (2e0 * abs(s{k}) + 3e0)"
            for k, each in enumerate(votes)
        }
    )


def add_probabilities(stages: Stages, plain: AdditiveModel) -> None:
    """Add the probability of every class."""
    n_classes = len(plain["classes"] or ())
    if plain["link"] == "softmax":
        largest = stages.largest([f"v{k}" for k in range(n_classes)])
        stages.add({f"e{k}": f"exp(v{k} - {largest})" for k in range(n_classes)})
        total = " + ".join(f"e{k}" for k in range(n_classes))
        stages.add({f"q{k}": f"e{k} / ({total})" for k in range(n_classes)})
        return
    curves = [each["curve"] for each in plain["machines"]]
    lowest, highest = number(EPS), number(1.0 - EPS)
    shares = {
        f"r{k}": _clipped(stages, _curve(stages, curve, f"v{k}"), lowest, highest)
        for k, curve in enumerate(curves)
        if curve is not None
    }
    stages.add(shares)
    if plain["combination"] == "one machine":
        stages.add({"p0": "1e0 - r0", "p1": "r0"})
    elif plain["combination"] == "one per class":
        total = " + ".join(shares)
        stages.add({f"p{k}": f"{each} / ({total})" for k, each in enumerate(shares)})
    else:
        _add_coupled(stages, n_classes)
    _add_with_largest(stages, n_classes)


def _clipped(stages: Stages, expression: str, lowest: str, highest: str) -> str:
    return stages.smallest([stages.largest([expression, lowest]), highest])


def _curve(stages: Stages, curve: CurveData, value: str) -> str:
    if curve["kind"] == "isotonic":
        levels = np.array(curve["levels"])[:, np.newaxis]
        table = PiecewiseTable.through(np.array(curve["knots"]), levels, np.array([np.nan]))
        return piecewise(table, 0, value)
    exponent = f"-({number(curve['slope'])} * {value} + ({number(curve['offset'])}))"
    bounded = stages.smallest([exponent, number(LARGEST_EXPONENT)])
    return f"1e0 / (1e0 + exp({bounded}))"


def _add_coupled(stages: Stages, n: int) -> None:
    """Add the probabilities of classes that agree best with those of pairs.

    The equations are those of `kernsemble.export.onnx.heads`: positive definite, so that
    elimination needs no pivots.
    """
    lowest, highest = number(SMALLEST_SHARE), number(1.0 - SMALLEST_SHARE)
    against = {}
    for machine, (i, j) in enumerate(combinations(range(n), 2)):
        share = _clipped(stages, f"r{machine}", lowest, highest)
        against[f"w{i}_{j}"], against[f"w{j}_{i}"] = share, f"1e0 - {share}"
    stages.add(against)
    system = {}
    for i in range(n):
        for j in range(n):
            squares = " + ".join(f"w{k}_{i} * w{k}_{i}" for k in range(n) if k != i)
            entry = squares if i == j else f"-(w{i}_{j} * w{j}_{i})"
            system[f"a0_{i}_{j}"] = f"1e0 + {entry}"
        system[f"a0_{i}_{n}"] = "1e0"
    stages.add(system)
    for k in range(n):
        stages.add(
            {
                f"a{k + 1}_{i}_{j}": f"a{k}_{i}_{j} / a{k}_{k}_{k}"
                if i == k
                else f"a{k}_{i}_{j} - a{k}_{i}_{k} * a{k}_{k}_{j} / a{k}_{k}_{k}"
                for i in range(n)
                for j in range(k + 1, n + 1)
            }
        )
    zero, smallest = "0e0", number(EPS)
    stages.add({f"z{i}": stages.largest([f"a{n}_{i}_{n}", zero]) for i in range(n)})
    total = " + ".join(f"z{i}" for i in range(n))
    stages.add({f"y{i}": stages.largest([f"z{i} / ({total})", smallest]) for i in range(n)})
    total = " + ".join(f"y{i}" for i in range(n))
    stages.add({f"p{i}": f"y{i} / ({total})" for i in range(n)})


def _add_with_largest(stages: Stages, n: int) -> None:
    """Add the nearest probabilities of which that of the predicted class is the largest.

    The predicted class shares the mean with the classes that are as likely as one of the others;
    the largest of these means is the level.
    """
    places = range(n)
    stages.add({"mine": selected("code", [f"p{k}" for k in places])})
    means = {}
    for j in places:
        above = [f"CASE WHEN code <> {k} AND p{k} >= p{j} THEN p{k} ELSE 0e0 END" for k in places]
        count = [f"CASE WHEN code <> {k} AND p{k} >= p{j} THEN 1e0 ELSE 0e0 END" for k in places]
        mean = f"(mine + {' + '.join(above)}) / (1e0 + {' + '.join(count)})"
        means[f"l{j}"] = f"CASE WHEN code = {j} THEN mine ELSE {mean} END"
    others = [f"CASE WHEN code = {k} THEN 0e0 ELSE p{k} END" for k in places]
    stages.add({**means, "next": stages.largest(others)})
    stages.add({"level": stages.largest([*means, "mine"])})
    lead = number(1.0 + LEAD)
    stages.add(
        {
            f"q{k}": f"CASE WHEN mine < {lead} * next THEN "
            f"CASE WHEN code = {k} THEN {lead} * level ELSE "
            f"{stages.smallest([f'p{k}', 'level'])} END ELSE p{k} END"
            for k in places
        }
    )
