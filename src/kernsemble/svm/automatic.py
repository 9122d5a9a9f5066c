"""The race of kernels and scalings on rows: every round by cross-validation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.preprocessing import FeatureScaling
from kernsemble.svm.comparison import Comparison, compare_all
from kernsemble.svm.cross_validation import CrossValidation
from kernsemble.svm.memory import Budget
from kernsemble.svm.problem import Problem
from kernsemble.svm.racing import MULTIPLES, Candidate, Entry, Round, plan_rounds, race
from kernsemble.svm.tabulation import Tabulation
from kernsemble.svm.trial import try_out

LOOSENESS = 10.0  # of the tolerance while candidates race


@dataclass(frozen=True)
class Grid:
    """Values of C, or by default multiples of 1 over the mean distance of rows."""

    values: tuple[float, ...] = MULTIPLES
    is_relative: bool = True

    def at(
        self, places: Sequence[int], comparison: Comparison | Tabulation, counts: FloatArray
    ) -> list[float]:
        """Return the values at some places, for rows that were compared and count so often."""
        unit = comparison.inverse_mean_distance(counts) if self.is_relative else 1.0
        return [unit * self.values[place] for place in places]


@dataclass(frozen=True, eq=False)
class Contest:
    """Rows and problems on which candidates race; `results` tells how they fared."""

    validation: CrossValidation
    problems: list[Problem]
    grid: Grid
    budget: Budget
    results: dict[str, list[Any]] = field(default_factory=dict)

    def winner(
        self,
        candidates: Sequence[Candidate],
        strata: IntArray | None,
        rng: np.random.Generator,
        task: Task,
    ) -> Entry:
        """Return the candidate that is left, with the places of the grid near its best C.

        Samples hold rows of all `strata` in proportion, which are the classes if there are any.
        """
        counts, splits = self.validation.counts, self.validation.splits
        strata = np.zeros(len(counts), dtype=np.intp) if strata is None else strata
        rounds = plan_rounds(len(candidates), strata, counts, splits, rng)
        n_trials = len(candidates) + sum(each.n_stay for each in rounds[:-1])
        kinds = dict.fromkeys(candidate.scaling for candidate in candidates)
        X = self.validation.X
        scaled = {kind: FeatureScaling.from_rows(X, kind, counts).transform(X) for kind in kinds}
        with task.part("race", 0, n_trials * len(self.problems)) as part:
            numbers = iter(range(n_trials * len(self.problems)))

            def score(entries: Sequence[Entry], each: Round) -> list[FloatArray]:
                return self._scores(entries, each, scaled, part, numbers)

            (winner,) = race(candidates, rounds, len(self.grid.values), score)
        return winner

    def _scores(
        self,
        entries: Sequence[Entry],
        each: Round,
        scaled: dict[Any, Rows],
        task: Task,
        numbers: Iterator[int],
    ) -> list[FloatArray]:
        """Return the scores of every entry at its values of C (rows) on every fold (columns)."""
        rows, found = each.rows, {}
        counts = self.validation.counts[rows]
        among = replace(
            self.validation,
            X=self.validation.X[rows],
            y=self.validation.y[rows],
            counts=counts,
            splits=each.splits,
            tol=LOOSENESS * self.validation.tol,
        )
        problems = [problem.among(rows) for problem in self.problems]
        for kind, X in scaled.items():
            mine = [k for k, entry in enumerate(entries) if entry.candidate.scaling == kind]
            kernels = [entries[k].candidate.kernel for k in mine]
            for (place, _), comparison in compare_all(
                X[rows], counts, kernels, [None], self.budget
            ):
                entry = entries[mine[place]]
                Cs = self.grid.at(entry.places, comparison, counts)
                trial = try_out(replace(among, Cs=Cs), comparison, problems, task, numbers)
                found[mine[place]] = trial.scores
                self._note(entry.candidate, len(rows), Cs, trial.scores)
        return [found[k] for k in range(len(entries))]

    def _note(self, candidate: Candidate, n_rows: int, Cs: list[float], scores: FloatArray) -> None:
        means = scores.mean(axis=1)
        best = int(np.argmax(np.where(np.isnan(means), -np.inf, means)))
        told = {
            "n_rows": n_rows,
            "kernel": candidate.kernel,
            "scaling": candidate.scaling,
            "C": Cs[best],
            "mean_test_score": float(means[best]),
        }
        for name, value in told.items():
            self.results.setdefault(name, []).append(value)
