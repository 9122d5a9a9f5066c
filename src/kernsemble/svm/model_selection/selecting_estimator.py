"""Base class of the estimators that select kernel, scaling and C by cross-validation."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, ClassVar, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer

from kernsemble._arguments import check_positive
from kernsemble._folds import FoldRows, as_grid
from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray
from kernsemble.exceptions import ArgumentError
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import ScalingKind
from kernsemble.solvers.losses import LOSSES
from kernsemble.svm.backends import BACKENDS, cheapest_backend
from kernsemble.svm.backends.base import Backend, Candidate, SolverSettings, TrainingRows
from kernsemble.svm.columns import has_missing
from kernsemble.svm.estimator import KernelMachine, as_list
from kernsemble.svm.model_selection.cross_validation import CrossValidation, warn_unless_converged
from kernsemble.svm.model_selection.grid import PenaltyGrid, Selection, Variant, search_grid
from kernsemble.svm.model_selection.race import (
    MAX_ROWS,
    MULTIPLES,
    N_LAST,
    Race,
    race_candidates,
)


class SelectsSettings(KernelMachine):
    """A kernel machine that selects kernel, scaling and C by cross-validation."""

    Cs: Sequence[float] | None
    cv: Any
    scoring: Any
    default_grid: ClassVar[Sequence[float]]

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel.lower() == "auto"

    def _requested_kernels(self) -> list[str | Kernel]:
        """Return the kernels to select from; stumps for "auto" if kernels cannot race."""
        return ["stump"] if self._is_automatic else super()._requested_kernels()

    def _requested_scalings(self) -> list[ScalingKind | None] | None:
        """Return the scalings to select from, None for the default."""
        return None if self.scaling == "auto" else as_list(self.scaling)

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("kernel", "scaling"):
            if len(as_list(getattr(self, name))) == 0:
                raise ArgumentError(name, getattr(self, name), "use at least one")

    def _choose_backend(self, rows: TrainingRows) -> Backend:
        """Return the backend; for kernels that race, the cheapest one that supports them all."""
        backend = super()._choose_backend(rows)
        if self._races(rows, backend) and not backend.supports_any_kernel:
            able = [each for each in BACKENDS.values() if each.supports_any_kernel]
            backend = cheapest_backend(self._workload(rows), able)
            self.solver_, self.loss_ = backend.name, self._loss_for(backend.name)
        return backend

    def _races(self, rows: TrainingRows, backend: Backend) -> bool:
        """Return whether kernels race: for "auto", on numbers without missing values.

        Beyond `MAX_ROWS` rows they race only if stumps need a kernel matrix as well.
        """
        if not self._is_automatic or self.mixed_table_ is not None or has_missing(rows.X):
            return False
        loss = LOSSES[self._loss_for("auto")]
        able = [each for each in BACKENDS.values() if each.supports_any_kernel]
        if self.solver == "auto" and rows.n_rows <= MAX_ROWS:
            return any(each.supports(loss) for each in able)
        return backend.supports_any_kernel

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
        """Return the grid `Cs`; by default multiples of C="scale", or the papers' grid."""
        if self.Cs is None and multiples is not None:
            return PenaltyGrid(tuple(multiples), is_relative=True)
        requested = self.default_grid if self.Cs is None else self.Cs
        return PenaltyGrid(tuple(as_grid("Cs", requested, check_positive)))

    def _select(
        self, validation: CrossValidation, backend: Backend, variants: list[Variant], task: Task
    ) -> Selection:
        """Select the settings by cross-validation, and store the scores."""
        select = self._race if self._races(validation.rows, backend) else self._search
        selection = select(validation, backend, variants, task)
        self.cv_results_ = selection.results
        self.best_index_ = selection.index
        self.best_params_ = selection.params
        self.best_score_ = selection.score
        warn_unless_converged(selection.statuses, validation.settings)
        self.C_ = selection.params["C"] * selection.problems[0].penalty_unit
        return selection

    def _refit(self, selection: Selection, settings: SolverSettings, task: Task) -> None:
        """Fit the machines of the selected settings on all rows."""
        with task.part("refit", 1, len(selection.problems)) as part:
            self._fit_machines(selection.prepared, selection.problems, settings, None, part)

    def _search(
        self, validation: CrossValidation, backend: Backend, variants: list[Variant], task: Task
    ) -> Selection:
        """Search the grid of kernels, scalings and C."""
        kernels = self._requested_kernels()
        default = list(get_args(ScalingKind)) if self._is_automatic else ["range"]
        scalings = self._requested_scalings() or default
        pairs = list(product(zip(kernels, self._unbound_kernels(), strict=True), scalings))
        n_machines = sum(len(variant.problems) for variant in variants)
        with task.part("selection", 0, len(pairs) * n_machines) as part:
            return search_grid(
                validation,
                backend.open(validation.rows, validation.settings),
                [Candidate(kernel, scaling) for (_, kernel), scaling in pairs],
                [{"kernel": label, "scaling": scaling} for (label, _), scaling in pairs],
                variants,
                [self._penalty_grid(backend.penalty_multiples)] * len(pairs),
                self.scoring,
                part,
            )

    def _race(
        self, validation: CrossValidation, backend: Backend, variants: list[Variant], task: Task
    ) -> Selection:
        """Run a race, then search the grids of C near the finalists' best, on all rows."""
        rows, grid = validation.rows, self._penalty_grid(MULTIPLES)
        candidates = race_candidates(rows.X, rows.weight, self._requested_scalings())
        n_machines = sum(len(variant.problems) for variant in variants)
        n_parts = 1 + min(N_LAST, len(candidates)) * n_machines
        with task.part("selection", 0, n_parts) as part:
            race = Race(validation, backend, variants[0].problems, grid)
            finalists = race.finalists(
                candidates,
                self._strata(validation.y),
                np.random.default_rng(validation.settings.draw_seed()),
                part,
            )
            self.race_results_ = race.results
            final = [each.candidate for each in finalists]
            selection = search_grid(
                validation,
                backend.open(rows, validation.settings),
                final,
                [{"kernel": each.kernel, "scaling": each.scaling} for each in final],
                variants,
                [grid.narrowed(each.places) for each in finalists],
                self.scoring,
                part,
            )
        return selection.after(race.statuses)
