"""The choice of penalties, kernels and scalings by cross-validation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, product
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import get_scorer
from sklearn.utils import check_random_state

from kernsemble._arguments import check_positive
from kernsemble._model_selection import (
    Split,
    as_grid,
    check_means,
    comparable_means,
    cross_validation_results,
)
from kernsemble._progress import Task
from kernsemble._typing import FloatArray, Rows
from kernsemble.svm.additive_machine import NO_RACE
from kernsemble.svm.automatic import Contest, Grid
from kernsemble.svm.comparison import Comparison, compare, compare_all
from kernsemble.svm.cross_validation import CrossValidation
from kernsemble.svm.losses import penalty_unit
from kernsemble.svm.machine import Machine
from kernsemble.svm.memory import Budget
from kernsemble.svm.problem import Problem
from kernsemble.svm.racing import contestants
from kernsemble.svm.tabulation import Sample, Tabulation
from kernsemble.svm.trial import Trial, try_out

MULTIPLES_ON_TABLES = tuple(4.0**power for power in range(-2, 9))  # of C = "scale"


@dataclass(frozen=True, eq=False)
class Variant:
    """Settings besides kernel, scaling and C, and the problems of the machines under them."""

    settings: dict[str, Any]
    problems: list[Problem]


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and what its machines said of the tested rows of all folds."""

    settings: dict[str, Any]
    problems: list[Problem]
    comparison: Comparison | Tabulation
    values: FloatArray


class Selection(Machine):
    """A machine that chooses its settings, on one matrix for each kernel and scaling."""

    Cs: Sequence[float] | None
    cv: Any
    scoring: Any
    random_state: Any
    warm_start = False
    usual_grid: ClassVar[Sequence[float]]

    def _validation(
        self,
        X: Rows,
        y: Any,
        counts: FloatArray,
        splits: list[Split],
        scorer: Callable[..., float],
        foresee: Callable[[FloatArray], BaseEstimator],
    ) -> CrossValidation:
        """Return the cross-validation that is asked for, by `scorer` if by no other."""
        scorer = scorer if self.scoring is None else get_scorer(self.scoring)
        Cs = as_grid("Cs", self.usual_grid if self.Cs is None else self.Cs, check_positive)
        return CrossValidation(
            X, y, counts, splits, Cs, scorer, foresee, self.tol, self.max_iter, self.loss
        )

    def _fit_best(self, validation: CrossValidation, variants: list[Variant], task: Task) -> Choice:
        """Choose, and fit the machines of the choice on all rows."""
        choose = self._race if self._is_automatic else self._compare
        n_machines = sum(len(variant.problems) for variant in variants)
        n_parts = 1 + n_machines if self._is_automatic else self._n_settings() * n_machines
        with task.part("selection", 0, n_parts) as part:
            choice = choose(validation, variants, part)
        validation.tell_how_they_ended()
        self.C_ = choice.settings["C"] * penalty_unit(self.loss, choice.problems[0])
        with task.part("refit", 1, len(choice.problems)) as part:
            self._fit_machines(validation.X, choice.comparison, choice.problems, part)
        return choice

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "auto"

    def _scalings(self) -> list[Any] | None:
        """Return the scalings that are asked for, None for those that suit."""
        asked: Any = self.scaling
        return None if asked == "auto" else as_list("scaling", asked)

    def _n_settings(self) -> int:
        return len(as_list("kernel", self.kernel)) * len(self._scalings() or ["range"])

    def _compare(self, validation: CrossValidation, variants: list[Variant], task: Task) -> Choice:
        """Try every setting, keep the scores, and return the best.

        Of equally good ones that is the smallest C, then the setting that was named first.
        """
        self.__dict__.pop("race_results_", None)  # of an earlier fit
        X, counts = validation.X, validation.counts
        kernels, scalings = as_list("kernel", self.kernel), self._scalings() or ["range"]
        self.solver_ = self._choose_solver(X)
        sample = self._sample(X, counts) if self.solver_ == "additive" else None
        numbers, trials = count(), {}
        for place, comparison in self._comparisons(X, counts, sample, kernels, scalings):
            Cs = self._strengths(validation, comparison)
            for number, variant in enumerate(variants):
                trials[(*place, number)] = try_out(
                    replace(validation, Cs=Cs), comparison, variant.problems, task, numbers
                )
        named = sorted(trials)  # in the order of the lists
        settings = [
            {"kernel": kernels[i], "scaling": scalings[j], **variants[k].settings}
            for i, j, k in named
        ]
        winner = named[self._rank(settings, [trials[each] for each in named])]
        if winner[:2] != place:
            asked = [kernels[winner[0]]], [scalings[winner[1]]]
            ((_, comparison),) = self._comparisons(X, counts, sample, *asked)
        problems = variants[winner[2]].problems
        return Choice(self.best_params_, problems, comparison, trials[winner].values)

    def _comparisons(
        self,
        X: Rows,
        counts: FloatArray,
        sample: Sample | None,
        kernels: list[Any],
        scalings: list[Any],
    ) -> Iterator[tuple[tuple[int, int], Comparison | Tabulation]]:
        """Yield every kernel with every scaling, behind their places in the lists."""
        fitting = [self._columns.kernel(kernel) for kernel in kernels]
        if sample is None:
            budget, is_category = Budget.of(self.cache_size), self._columns.is_category
            yield from compare_all(X, counts, fitting, scalings, budget, is_category)
            return
        for (i, kernel), (j, kind) in product(enumerate(fitting), enumerate(scalings)):
            yield (i, j), Tabulation.of(sample, kernel, kind)

    def _race(self, validation: CrossValidation, variants: list[Variant], task: Task) -> Choice:
        """Let kernels and scalings race, then try the winner with all rows and folds."""
        self.solver_ = self._choose_solver(validation.X)
        if self.solver_ == "additive" or self.mixed_table_ is not None:
            raise ValueError(NO_RACE)
        X, counts = validation.X, validation.counts
        grid = Grid() if self.Cs is None else Grid(tuple(validation.Cs), is_relative=False)
        contest = Contest(validation, variants[0].problems, grid, Budget.of(self.cache_size))
        seed = check_random_state(self.random_state).randint(2**31)
        winner = contest.winner(
            contestants(X, counts, self._scalings()),
            np.unique(validation.y, return_inverse=True)[1] if is_classifier(self) else None,
            np.random.default_rng(seed),
            task,
        )
        self.race_results_ = contest.results
        kernel, scaling = winner.candidate.kernel, winner.candidate.scaling
        comparison = compare(X, counts, kernel, scaling, contest.budget)
        final = replace(validation, Cs=grid.at(winner.places, comparison, counts))
        numbers = count(1)
        trials = [
            try_out(final, comparison, variant.problems, task, numbers) for variant in variants
        ]
        settings = [{"kernel": kernel, "scaling": scaling, **each.settings} for each in variants]
        best = self._rank(settings, trials)
        return Choice(self.best_params_, variants[best].problems, comparison, trials[best].values)

    def _strengths(
        self, validation: CrossValidation, comparison: Comparison | Tabulation
    ) -> Sequence[float]:
        """Return the values of C to try: with tables, by default multiples of C="scale"."""
        if self.Cs is not None or isinstance(comparison, Comparison):
            return validation.Cs
        grid = Grid(MULTIPLES_ON_TABLES)
        return grid.at(range(len(grid.values)), comparison, validation.counts)

    def _rank(self, settings: list[dict[str, Any]], trials: list[Trial]) -> int:
        """Keep the scores of all trials, and return the place of the best."""
        scores = np.array([trial.scores for trial in trials])
        means = comparable_means(scores)
        check_means(means, self.scoring)
        at, best = np.unravel_index(np.argmax(means.T), means.T.shape)
        params = [
            {**each, "C": C} for each, trial in zip(settings, trials, strict=True) for C in trial.Cs
        ]
        self.cv_results_ = cross_validation_results(params, scores.reshape(len(params), -1))
        self.best_index_ = int(best * scores.shape[1] + at)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(means[best, at])
        return int(best)


def as_list(name: str, choices: Any) -> list[Any]:
    """Return the choices of a setting, of one as well as of several."""
    if not isinstance(choices, (list, tuple)):
        return [choices]
    if len(choices) == 0:
        raise ValueError(f"{name} = {choices!r}: give at least one")
    return list(choices)
