r"""Corrections of the additive machine: kernels that are fitted to what it leaves.

With the values F of the additive machine, log-odds for two classes, :math:`p = \sigma(F)` and the
class y, 0 or 1, a correction g is fitted to

.. math:: z = \frac{y - p}{p (1 - p)} \quad\text{with weights}\quad p (1 - p) ,

the quadratic model of the log-loss at F, so F + g is a step of Newton's method for the logistic
loss. For numbers it is fitted to the residuals y − F. The values of training rows are cross-fitted,
from additive machines without their part of the rows, as those of new rows will be.
"""

from dataclasses import replace

import numpy as np

from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray
from kernsemble.preprocessing.effects import N_PARTS
from kernsemble.svm.model_selection.grid import PenaltyGrid
from kernsemble.svm.vote.portfolio import Entrant
from kernsemble.svm.vote.trials import Finalist, Trials

N_CORRECTED = 2  # maximum number of kernels that are tried again as corrections
FACTORS = (0.03125, 0.125, 0.5, 2.0)  # values of C, in units of that of the kernel alone


def corrections(found: list[Finalist], most: int = N_CORRECTED) -> list[Entrant]:
    """Return the best kernels of different scalings as corrections of the additive machine."""
    kernels = sorted((each for each in found if not each.entrant.is_additive), key=_error)
    best: dict[object, Finalist] = {}
    for each in kernels:
        best.setdefault(each.entrant.candidate.scaling, each)
    return [
        replace(
            each.entrant.near(each.multiple, FACTORS),
            name=f"{each.entrant.name}, correcting stumps",
            is_correction=True,
        )
        for each in list(best.values())[:most]
    ]


def has_additive(found: list[Finalist]) -> bool:
    """Return whether there is an additive machine."""
    return any(each.entrant.is_additive for each in found)


def best_additive(found: list[Finalist]) -> Finalist:
    """Return the additive machine with the smallest error."""
    return min((each for each in found if each.entrant.is_additive), key=_error)


def with_base(trials: Trials, additive: Finalist, held_out: FloatArray | None = None) -> Trials:
    """Return trials that know the values of an additive machine at their rows.

    Parameters
    ----------
    trials : Trials
        Rows and folds; the values do not depend on the targets of the rows of a single fold.
    additive : Finalist
        The additive machine.
    held_out : array of shape (n_tested, n_values), optional
        Its left-out values at the tested rows; without them there is no fold.
    """
    rows, entrant = trials.validation.rows, additive.entrant
    tested = trials.validation.tested if held_out is not None else np.empty(0, np.intp)
    fold = trials.validation.splits[0].held_out if held_out is not None else tested
    parts = _parts(rows.n_rows) if rows.parts is None else rows.parts
    places = [np.setdiff1d(np.flatnonzero(parts == k), fold) for k in np.unique(parts)]
    places = [each for each in places if len(each)]
    left_out = [np.union1d(each, fold) for each in places]
    prepared = trials.workspace(is_additive=True).prepare(entrant.candidate)
    C = PenaltyGrid((additive.multiple,), entrant.grid.is_relative).at(prepared)
    problems, settings = trials.problem.additive, trials.settings(is_additive=True)
    found = prepared.solve_all_folds(problems, C, left_out, settings, Task.silent())
    base = np.zeros((rows.n_rows, len(problems)))
    for k, folds in enumerate(found):
        for mine, some, each in zip(places, left_out, folds, strict=True):
            base[mine, k] = each.decisions[0][np.searchsorted(some, mine)]
    if held_out is not None:
        base[tested] = held_out
    return replace(trials, base=base)


def _parts(n: int) -> IntArray:
    """Return random parts of rows."""
    found = np.empty(n, dtype=np.intp)
    found[np.random.default_rng(0).permutation(n)] = np.arange(n) % N_PARTS
    return found


def _error(finalist: Finalist) -> float:
    return finalist.error
