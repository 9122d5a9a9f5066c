"""Base class of the estimators that select kernel, scaling and C by cross-validation."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar, get_args

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer

from kernsemble._arguments import check_count, check_positive
from kernsemble._folds import FoldRows, as_grid
from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray
from kernsemble.exceptions import ArgumentError
from kernsemble.kernels import Kernel, Mixed, Stump
from kernsemble.kernels.registry import AUTO
from kernsemble.preprocessing import ScalingKind
from kernsemble.preprocessing.supervised import accepts_categories
from kernsemble.solvers.losses import LOSSES, Squared, default_loss
from kernsemble.svm.backends import BACKENDS, cheapest_backend
from kernsemble.svm.backends.base import (
    Backend,
    Candidate,
    SolverSettings,
    TrainingRows,
    Workload,
)
from kernsemble.svm.estimator import KernelMachine, as_list
from kernsemble.svm.model_selection.cross_validation import CrossValidation, warn_unless_converged
from kernsemble.svm.model_selection.grid import PenaltyGrid, Selection, Variant, search_grid
from kernsemble.svm.model_selection.race import (
    FAMILIES,
    MANY_MACHINES,
    MAX_ROWS,
    MAX_SEARCH_ROWS,
    MULTIPLES,
    N_LAST,
    Race,
    race_candidates,
    sample_rows,
)
from kernsemble.svm.model_selection.search_summary import SearchSummary, listed, scales
from kernsemble.svm.vote.effort import MAX_FINALISTS, TRIAL_ROWS, Effort
from kernsemble.svm.vote.machines import VoteMachines
from kernsemble.svm.vote.portfolio import WIDTHS, entrants, needs_effects
from kernsemble.svm.vote.problem import VoteProblem
from kernsemble.svm.vote.trials import Clock, Trials, VoteBackends
from kernsemble.svm.vote.voting import MAX_RACE_ROWS, Vote, Voting

EXACT, LOCAL, TABLES, DEVICE = "exact", "local", "additive", "cuda"  # backends of a vote
MATRICES_OF_A_VOTE = 2.5  # number of matrices between all rows in memory


class SelectsSettings(KernelMachine):
    """A kernel machine that selects kernel, scaling and C by cross-validation."""

    Cs: Sequence[float] | None
    cv: Any
    scoring: Any
    max_members: int
    time_budget: float | None
    _votes: bool  # whether the machines of this fit vote
    default_grid: ClassVar[Sequence[float]]
    _max_exact_rows: ClassVar[int] = MAX_ROWS  # of a vote on matrices of all rows
    _max_trial_rows: ClassVar[int] = TRIAL_ROWS  # of finalists of a vote on leaves
    _max_device_rows: ClassVar[int] = 100_000  # of a vote on a device,
    _min_device_rows: ClassVar[int] = MAX_RACE_ROWS + 1  # whose race is on the processor

    @property
    def _merges_equal_rows(self) -> bool:
        return False  # the folds are of the rows as given

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel.lower() == "auto"

    def _requested_kernels(self) -> list[str | Kernel]:
        """Return the kernels to select from; stumps for "auto" if kernels cannot race."""
        return ["stump"] if self._is_automatic else super()._requested_kernels()

    def _requested_scalings(self) -> list[ScalingKind | None] | None:
        """Return the scalings to select from, None for the default."""
        return None if self.scaling == "auto" else as_list(self.scaling)

    def _scalings(self) -> list[Any]:
        return self._requested_scalings() or ["range"]

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("kernel", "scaling"):
            if len(as_list(getattr(self, name))) == 0:
                raise ArgumentError(name, getattr(self, name), "use at least one")
        names = [each.lower() for each in as_list(self.kernel) if isinstance(each, str)]
        if AUTO in names and not self._is_automatic:
            raise ArgumentError("kernel", self.kernel, "use 'auto' alone, not in a list")

    @property
    def _allows_missing(self) -> bool:
        """Whether missing values can be treated: "auto" has kernels for them in every case."""
        return self._is_automatic or super()._allows_missing

    def _choose_backend(self, rows: TrainingRows) -> Backend:
        """Return the backend; for kernels that race, the cheapest one that supports them all."""
        self._votes = self._is_automatic and self._can_vote(rows)
        if not self._is_automatic:
            return super()._choose_backend(rows)
        if self._votes:
            self.solver_, self.loss_ = self._solver_of_vote(rows), Squared.name
            return BACKENDS[self.solver_]
        obstacle = self._obstacle_to_race(rows)
        able = [each for each in self._backends() if each.supports_any_kernel == (not obstacle)]
        workload = self._workload(rows)
        if not obstacle and workload.has_missing:
            workload = replace(workload, kernels=[Mixed(Stump())])
        backend = cheapest_backend(workload, able)
        self.solver_, self.loss_ = backend.name, self._loss_for(backend.name)
        return backend

    def _can_vote(self, rows: TrainingRows) -> bool:
        """Return whether machines of the squared loss vote, in place of a race for one kernel.

        They do on matrices of all rows, and on leaves of more rows that are dense; categories and
        missing values need effects on leaves.
        """
        if self.loss not in {"auto", Squared.name}:
            return False
        solver = self._solver_of_vote(rows)
        if solver == LOCAL:
            given = self._requested_scalings()
            has_effects = given is None or any(map(accepts_categories, given))
            if sparse.issparse(rows.X) or (needs_effects(rows) and not has_effects):
                return False
        return self.solver in {"auto", solver}

    def _solver_of_vote(self, rows: TrainingRows) -> str:
        """Return the solver of the kernels of a vote: on leaves if there are too many rows."""
        if self._votes_on_device(rows):
            return DEVICE
        is_local = self.solver == LOCAL or rows.n_rows > self._exact_rows
        return LOCAL if is_local else EXACT

    def _votes_on_device(self, rows: TrainingRows) -> bool:
        """Return whether the kernels of a vote are solved on a device, for columns of numbers."""
        few = self._min_device_rows <= rows.n_rows <= self._max_device_rows
        if not few or self.solver not in {"auto", DEVICE}:
            return False
        if sparse.issparse(rows.X) or needs_effects(rows):
            return False
        workload = Workload(rows, [kernel() for kernel in WIDTHS], Squared)
        return self.solver == DEVICE or bool(np.isfinite(BACKENDS[DEVICE].cost(workload)))

    @property
    def _exact_rows(self) -> float:
        """The number of rows up to which the kernels of a vote are solved on matrices of all."""
        matrices = self._budget.n_bytes / (MATRICES_OF_A_VOTE * 8.0)
        return min(float(self._max_exact_rows), float(np.sqrt(matrices)))

    def _vote_backends(self, n_rows: int) -> VoteBackends:
        """Return the backends of the vote on this many rows."""
        exact_rows = self._exact_rows
        exact_rows = min(exact_rows, n_rows - 1) if self.solver_ == LOCAL else n_rows
        device = BACKENDS[DEVICE] if self.solver_ == DEVICE else None
        above = self._min_device_rows - 1
        kept = BACKENDS[EXACT], BACKENDS[LOCAL], BACKENDS[TABLES]
        return VoteBackends(*kept, exact_rows, device, above)

    def _backends(self) -> list[Backend]:
        """Return the backends that `solver` allows."""
        return list(BACKENDS.values()) if self.solver == "auto" else [BACKENDS[self.solver]]

    def _races(self, backend: Backend) -> bool:
        """Return whether kernels race: for "auto", on a backend that supports them all."""
        return self._is_automatic and backend.supports_any_kernel

    def _obstacle_to_race(self, rows: TrainingRows) -> str:
        """Return why kernels do not race, and what to do; empty if they do.

        By default they do not on more than `MAX_ROWS` rows, unless stumps need a kernel matrix too.
        """
        able = [each for each in self._backends() if each.supports_any_kernel]
        if self._wants_pairs or not able:
            pairs = "they do not support pairs of columns: fit without pairs"
            solver = f"the {self.solver} solver does not support them: use the exact solver"
            return pairs if self._wants_pairs else solver
        loss = LOSSES[self._loss_for("auto")]
        if not any(each.supports(loss) for each in able):
            name, bounded = (each.replace("_", " ") for each in (loss.name, self._bounded_loss))
            return f"the exact solver does not support the {name} loss: use the {bounded} loss"
        workload, n = self._workload(rows), rows.n_rows
        others = [each for each in self._backends() if not each.supports_any_kernel]
        if not any(np.isfinite(each.cost(workload)) for each in others):
            return ""
        if n > MAX_ROWS:
            return (
                f"their cost grows with the square of the rows, and {n:,} rows are more than the "
                f"{MAX_ROWS:,} that are compared by default: use the exact solver, or fewer rows"
            )
        budget = self._budget
        if all(each.max_rows(rows.X, budget) < n for each in able):
            size, most = n * budget.row_bytes(rows.X) / 2**20, budget.n_bytes / 2**20
            return (
                f"the kernel matrix of {n:,} rows takes {size:,.3g} MB, and cache_size allows "
                f"{most:,.3g}: use fewer rows, or raise cache_size"
            )
        return ""

    @property
    def _bounded_loss(self) -> str:
        return default_loss(self._task, is_bounded=True)

    @abstractmethod
    def _strata(self, y: Any) -> IntArray:
        """Return the code of the stratum of each row, for samples of a race."""

    def _validation(
        self,
        rows: TrainingRows,
        y: Any,
        splits: list[FoldRows],
        scorer: Callable[..., float],
        predictions: Callable[[FloatArray], BaseEstimator],
        settings: SolverSettings,
    ) -> CrossValidation:
        """Return the cross-validation by `scoring`, or by `scorer` if that is None."""
        scorer = scorer if self.scoring is None else get_scorer(self.scoring)
        return CrossValidation(rows, y, splits, scorer, predictions, settings)

    def _penalty_grid(self, multiples: Sequence[float] | None) -> PenaltyGrid:
        """Return the grid `Cs`; by default multiples of C="scale", or the papers' grid.

        With pairs the weights of all functions are learned, and C="scale" is enough.
        """
        if self.Cs is None and self._wants_pairs:
            return PenaltyGrid((1.0,), is_relative=True)
        if self.Cs is None and multiples is not None:
            return PenaltyGrid(tuple(multiples), is_relative=True)
        requested = self.default_grid if self.Cs is None else self.Cs
        return PenaltyGrid(tuple(as_grid("Cs", requested, check_positive)))

    def _select(
        self, validation: CrossValidation, backend: Backend, variants: list[Variant], task: Task
    ) -> Selection:
        """Select the settings by cross-validation, and store the scores."""
        select = self._race if self._races(backend) else self._search
        selection = select(validation, backend, variants, task)
        self.cv_results_ = selection.results
        self.best_index_ = selection.index
        self.best_params_ = selection.params
        self.best_score_ = selection.score
        warn_unless_converged(selection.statuses, validation.settings)
        self.C_ = selection.params["C"] * selection.problems[0].penalty_unit
        return selection

    @property
    def _fitted_kernels(self) -> list[Kernel]:
        if not isinstance(self.machines_, VoteMachines):
            return super()._fitted_kernels
        return [each.kernel for each in self.machines_.members if each.shares_rows]

    def _vote(
        self,
        validation: CrossValidation,
        problem: VoteProblem,
        is_classifier: bool,
        fit: Task,
    ) -> Vote:
        """Find the members of the vote and their weights, and store the machines and scores."""
        check_count("max_members", self.max_members)
        if self.time_budget is not None:
            check_positive("time_budget", self.time_budget)
        clock, rows = Clock(self.time_budget), validation.rows
        grid = None if self.Cs is None else self._penalty_grid(None)
        additive = None if sparse.issparse(rows.X) else self._columns.kernel("stump")
        backends, n_folds = self._vote_backends(rows.n_rows), len(validation.splits)
        effort = Effort.for_rows(rows.n_rows, n_folds, backends.exact_rows, self._max_trial_rows)
        scalings = self._requested_scalings()
        candidates = entrants(rows, additive, scalings, grid, is_classifier, effort)
        trials = Trials(validation, problem, backends, clock)
        voting = Voting(trials, self._strata(validation.y), self.max_members, effort)
        rng = np.random.default_rng(validation.settings.draw_seed())
        n_parts = len(candidates) + 2 * MAX_FINALISTS
        with fit.part("selection", 0, n_parts) as task, fit.part("refit", 1, MAX_FINALISTS) as last:
            vote = voting.run(candidates, rng, task, last)
        self.search_summary_ = vote.summary
        self.cv_results_, self.race_results_ = vote.results, vote.race_results
        self.best_index_ = len(vote.results["params"]) - 1
        self.best_params_ = vote.results["params"][self.best_index_]
        self.best_score_ = float(vote.results["mean_test_score"][self.best_index_])
        self.machines_, self.intercept_ = vote.machines, vote.machines.intercept
        self.n_iter_ = 1
        for name, value in vote.machines.attributes().items():
            setattr(self, name, value)
        return vote

    def _refit(self, selection: Selection, settings: SolverSettings, task: Task) -> None:
        """Fit the machines of the selected settings on all rows."""
        with task.part("refit", 1, settings.n_parts(len(selection.problems))) as part:
            self._fit_machines(selection.prepare(), selection.problems, settings, None, part)

    def _search(
        self, validation: CrossValidation, backend: Backend, variants: list[Variant], task: Task
    ) -> Selection:
        """Search the grid of kernels, scalings and C."""
        kernels = self._requested_kernels()
        default = list(get_args(ScalingKind)) if self._is_automatic else ["range"]
        scalings = self._requested_scalings() or default
        pairs = list(product(kernels, scalings))
        self.search_summary_ = self._summary_of_grid(validation.rows, kernels, len(scalings))
        n_machines = sum(len(variant.problems) for variant in variants)
        with task.part("selection", 0, len(pairs) * n_machines) as part:
            return search_grid(
                validation,
                backend.open(validation.rows, validation.settings),
                [Candidate(self._kernel_on_columns(*pair), pair[1]) for pair in pairs],
                [{"kernel": kernel, "scaling": scaling} for kernel, scaling in pairs],
                variants,
                [self._penalty_grid(backend.penalty_multiples)] * len(pairs),
                self.scoring,
                part,
            )

    def _summary_of_grid(
        self, rows: TrainingRows, kernels: Sequence[str | Kernel], n_scales: int
    ) -> SearchSummary:
        if not self._is_automatic:
            return SearchSummary.of_grid(kernels, n_scales)
        names = "stumps and categories" if rows.is_category.any() else "stumps"
        return SearchSummary(
            f"{names} {scales(n_scales)}",
            listed([*FAMILIES.values()][:-1]),
            self._obstacle_to_race(rows),
        )

    @staticmethod
    def _summary_of_race(
        candidates: Sequence[Candidate], n_machines: int, n_rows: int, n_all: int
    ) -> SearchSummary:
        n_scales = len({each.scaling for each in candidates})
        where = "all rows" if n_rows == n_all else f"a sample of {n_rows:,} rows"
        tried = (
            f"{len(candidates)} settings: {listed([*FAMILIES.values()])} {scales(n_scales)}, the "
            f"best {min(N_LAST, len(candidates))} of them on {where}"
        )
        if n_machines <= MANY_MACHINES:
            return SearchSummary(tried)
        return SearchSummary(
            tried,
            "some widths and scales of these",
            f"each setting needs {n_machines} machines for the classes: give the kernels and "
            "scales to compare, to compare more of them",
        )

    def _race(
        self, validation: CrossValidation, backend: Backend, variants: list[Variant], task: Task
    ) -> Selection:
        """Run a race, then search the grids of C near the finalists' best.

        Rows are sampled if the kernel matrix of all rows does not fit into memory, or is too slow.
        """
        all_rows, all_variants, settings = validation.rows, variants, validation.settings
        rng = np.random.default_rng(settings.draw_seed())
        most = min(backend.max_rows(all_rows.X, settings.budget), MAX_SEARCH_ROWS)
        sample = None
        if all_rows.n_rows > most:
            strata = self._strata(validation.y)
            sample = sample_rows(int(most), strata, all_rows.weight, validation.splits, rng)
            validation = validation.among(sample.rows, sample.splits, settings.tol)
            variants = [each.among(sample.rows) for each in variants]
        n_machines = len(variants[0].problems)
        candidates = race_candidates(validation.rows, self._requested_scalings(), n_machines)
        self.search_summary_ = self._summary_of_race(
            candidates, n_machines, validation.rows.n_rows, all_rows.n_rows
        )
        grid = self._penalty_grid(MULTIPLES)
        n_finals = min(N_LAST, len(candidates)) * sum(len(each.problems) for each in variants)
        with task.part("selection", 0, 1 + n_finals) as part:
            race = Race(validation, backend, variants[0].problems, grid)
            finalists = race.finalists(candidates, self._strata(validation.y), rng, part)
            self.race_results_ = race.results
            final = [each.candidate for each in finalists]
            selection = search_grid(
                validation,
                backend.open(validation.rows, settings),
                final,
                [{"kernel": each.kernel, "scaling": each.scaling} for each in final],
                variants,
                [grid.narrowed(each.places) for each in finalists],
                self.scoring,
                part,
            ).after(race.statuses)
        if sample is None:
            return selection
        workspace = backend.open(all_rows, settings)
        return selection.on_all_rows(sample.rows, workspace, all_variants, variants)
