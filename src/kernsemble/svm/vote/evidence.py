"""The evidence for a vote: scores of finalists, results of the race, and a summary."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernsemble._counts import counted
from kernsemble._folds import cross_validation_results
from kernsemble._typing import FloatArray
from kernsemble.solvers.stacking import Stack
from kernsemble.svm.model_selection.cross_validation import CrossValidation
from kernsemble.svm.model_selection.search_summary import SearchSummary, listed
from kernsemble.svm.vote.portfolio import Entrant
from kernsemble.svm.vote.problem import VoteProblem
from kernsemble.svm.vote.trials import Finalist


def vote_results(
    validation: CrossValidation,
    problem: VoteProblem,
    finalists: Sequence[Finalist],
    weights: Sequence[float],
    values: FloatArray,
) -> dict[str, Any]:
    """Return the scores of finalists and, last, of the vote, in the form of `GridSearchCV`.

    A finalist is scored as a vote of its own, a correction with the machine that it corrects.

    Parameters
    ----------
    validation : CrossValidation
        The rows, the folds and the score.
    problem : VoteProblem
        The targets.
    finalists : sequence of Finalist
        The finalists, members or not.
    weights : sequence of float
        The weight of each in the vote.
    values : array of shape (n_tested, n_values)
        Left-out values of the vote, in the unit of the target.
    """
    tested, settings, scores = validation.tested, list[dict[str, Any]](), []
    for each, weight in zip(finalists, weights, strict=True):
        candidate, alone = each.entrant.candidate, each.corrected[np.newaxis]
        known = {"kernel": candidate.kernel, "scaling": candidate.scaling}
        settings.append({**known, "C": each.C, "weight": float(weight)})
        stack: Stack = problem.stack(alone, tested)
        scores.append(validation.scores_of(problem.scale.restore(stack.of(alone))))
    settings.append({"kernel": "vote", "scaling": None, "C": np.nan, "weight": 1.0})
    scores.append(validation.scores_of(values))
    return cross_validation_results(settings, np.array(scores))


def race_results(raced: Sequence[Finalist], n_rows: int) -> dict[str, list[Any]]:
    """Return the rows, kernel, scaling, best C and left-out error of every candidate."""
    return {
        "n_rows": [n_rows] * len(raced),
        "kernel": [each.entrant.candidate.kernel for each in raced],
        "scaling": [each.entrant.candidate.scaling for each in raced],
        "C": [each.C for each in raced],
        "left_out_error": [each.error for each in raced],
    }


def vote_summary(
    candidates: Sequence[Entrant],
    n_raced: int,
    finalists: Sequence[Finalist],
    n_members: int,
    n_used: int,
    n_folds: int,
) -> SearchSummary:
    """Return one line about candidates, finalists and members, and the folds that were used."""
    where = "all folds" if n_used == n_folds else f"{n_used} of {n_folds} folds"
    kinds = listed(list(dict.fromkeys(each.name.partition(" ")[0] for each in candidates)))
    n_corrections = sum(each.entrant.is_correction for each in finalists)
    n_priors = sum(each.entrant.candidate.prior is not None for each in finalists)
    again = ", stumps also with pairs of columns" if n_priors else ""
    again += f", {n_corrections} also on what stumps leave" if n_corrections else ""
    n_first = len(finalists) - n_priors - n_corrections
    tried = (
        f"{n_raced} settings ({kinds}), the best {n_first} of them on "
        f"{where}{again}; {counted(n_members, 'machine')} vote"
    )
    if n_raced == len(candidates):
        return SearchSummary(tried)
    n_left = len(candidates) - n_raced
    return SearchSummary(tried, counted(n_left, "setting"), "time_budget was reached: raise it")
