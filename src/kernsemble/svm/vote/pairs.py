"""The additive machine with pairs of columns, whose pairs and weights are learned once.

They are learned on the rows of the last trials without the held-out ones, and used for all fits of
the machine: in the trial, in cross-fitting, and on all rows.
"""

from dataclasses import replace

import numpy as np

from kernsemble.preprocessing import ScalingKind
from kernsemble.svm.backends.tables.backend import PreparedTables
from kernsemble.svm.backends.tables.priors import has_room_for_pairs
from kernsemble.svm.model_selection.grid import PenaltyGrid
from kernsemble.svm.vote.portfolio import MANY_CLASSES, MAX_LEARNED_COLUMNS, Entrant
from kernsemble.svm.vote.trials import Finalist, Trials

SCALING: ScalingKind = "distinct"  # pairs are learned with; the weights fit it to the rows
FACTORS = (0.5, 1.0, 2.0)  # values of C, in units of the one that weights are learned at


def can_have_pairs(trials: Trials) -> bool:
    """Return whether pairs can be learned: of some columns, for few values, within memory."""
    n_rows, n_columns = trials.validation.rows.X.shape
    n_values = trials.problem.targets.shape[1]
    return (
        n_columns <= MAX_LEARNED_COLUMNS
        and n_values <= MANY_CLASSES
        and has_room_for_pairs(n_rows, n_columns, trials.validation.settings.budget)
    )


def with_pairs(trials: Trials, additive: Finalist) -> Entrant:
    """Return the additive machine with pairs and weights learned without the held-out rows."""
    present = np.ones(trials.validation.rows.n_rows)
    present[trials.validation.splits[0].held_out] = 0.0
    problems = [replace(each, loss=each.loss.times(present)) for each in trials.problem.additive]
    candidate = replace(additive.entrant.candidate, scaling=SCALING)
    prepared = trials.workspace(is_additive=True).prepare(candidate)
    assert isinstance(prepared, PreparedTables)
    C = prepared.inverse_mean_distance()
    settings = replace(trials.settings(is_additive=True), n_pairs="auto")
    prior = prepared.learn_prior(problems, C, settings)
    return Entrant(
        "stumps and pairs" if len(prior.pairs) else "stumps, weighted",
        replace(candidate, prior=prior),
        PenaltyGrid(tuple(factor * C for factor in FACTORS)),
        is_additive=True,
    )
