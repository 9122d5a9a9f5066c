"""The members of a vote as a table: kernel, scaling, C, weight, share and score."""

from typing import Any, NamedTuple

import numpy as np

from kernsemble._folds import fold_scores
from kernsemble._model_cards import VOTE, measure_of
from kernsemble.inspection.scores import Score, fold_score

__all__ = ["MemberRow", "vote_in_words", "vote_members"]


class MemberRow(NamedTuple):
    """A member of a vote.

    Attributes
    ----------
    name : str
        Description, such as "trees on ranks".
    kernel : str
        The kernel.
    scaling : str
        The scaling.
    C : float
        The value of C.
    weight : float
        Weight of its values in the vote.
    share : float
        Share of the vote.
    score : Score
        Its cross-validated score alone.
    """

    name: str
    kernel: str
    scaling: str
    C: float
    weight: float
    share: float
    score: Score


def vote_members(model: Any, metric: str | None = None) -> list[MemberRow]:
    """Return the members of a vote, the largest share first; none of another model.

    Parameters
    ----------
    model : fitted estimator
        Model that was selected by cross-validation.
    metric : str, optional
        Name of the score.

    Examples
    --------
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.inspection.vote_members import vote_members
    >>> from kernsemble.svm import InfiniteEnsembleClassifierCV
    >>> X, y = make_threenorm(100, random_state=0)
    >>> found = vote_members(InfiniteEnsembleClassifierCV(cv=3, random_state=0).fit(X, y))
    >>> round(sum(each.share for each in found), 6)
    1.0
    """
    members = getattr(model, "members_", ())
    if not members:
        return []
    folds, params = fold_scores(model.cv_results_), model.cv_results_["params"]
    most = 1.0 if metric is not None or getattr(model, "scoring", None) is None else np.inf
    free, found = list(range(len(params))), []
    for each in members:
        place = next(k for k in free if params[k]["weight"] == each.weight)  # in the same order
        free.remove(place)
        score = fold_score(metric or measure_of(model), folds[place], most)
        kernel, scaling = str(params[place]["kernel"]), str(params[place]["scaling"])
        found.append(MemberRow(each.name, kernel, scaling, each.C, each.weight, each.share, score))
    return sorted(found, key=lambda each: -each.share)


def vote_in_words(model: Any) -> str:
    """Return the members of a vote with their shares as text, "" for another model.

    Members of one name are added.
    """
    shares: dict[str, float] = {}
    for each in getattr(model, "members_", ()):
        shares[each.name] = shares.get(each.name, 0.0) + each.share
    if not shares:
        return ""
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    names = ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in ordered)
    n = len(model.members_)
    return f"{VOTE} of {n} machine{'s' if n > 1 else ''}: {names}"
