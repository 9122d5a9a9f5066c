"""The cross-validation of one setting."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernsemble._model_selection import comparable_means
from kernsemble._progress import Task
from kernsemble._typing import FloatArray
from kernsemble.svm.comparison import Comparison
from kernsemble.svm.cross_validation import CrossValidation
from kernsemble.svm.problem import Problem
from kernsemble.svm.tabulation import Tabulation


@dataclass(frozen=True, eq=False)
class Trial:
    """The scores of a setting at every one of `Cs` (rows) on every fold (columns).

    `values` holds what the machines (columns) said of the tested rows at the best C.
    """

    Cs: Sequence[float]
    scores: FloatArray
    values: FloatArray


def try_out(
    validation: CrossValidation,
    comparison: Comparison | Tabulation,
    problems: list[Problem],
    task: Task,
    numbers: Iterator[int],
) -> Trial:
    """Cross-validate the machines of a setting, each a part of the task."""
    machines = []
    for problem in problems:
        with task.part("machine", next(numbers), validation.n_problems) as part:
            machines.append(validation.solve(comparison, problem, part))
    values = [np.stack(fold, axis=2) for fold in zip(*machines, strict=True)]
    scores = validation.scores(values)
    best = np.argmax(comparable_means(scores))
    return Trial(validation.Cs, scores, np.concatenate([fold[best] for fold in values]))
