"""Rows on a device, and the machines that are fitted there.

==================================  ==========================================================
squared loss, few rows              a Cholesky factor of the matrix, per value of C and fold
squared loss, more rows             conjugate gradients, on the matrix or on its products: every
                                    C, fold and class together
hinge and epsilon-insensitive loss  working sets of some thousand rows on the processor, blocks
                                    and products of the matrix on the device
==================================  ==========================================================
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.devices import Device, DeviceKernel, DeviceRows
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import AnyScaling
from kernsemble.solvers import Fold, Solution, Status
from kernsemble.solvers.cholesky import LinearAlgebra
from kernsemble.solvers.folds import uninterrupted
from kernsemble.solvers.kernel_matrix import Products
from kernsemble.solvers.ridge_by_products import (
    RidgeSolution,
    System,
    centred_factor,
    solve_by_products,
)
from kernsemble.svm.backends.base import Solved, SolverSettings, TrainingRows
from kernsemble.svm.backends.device.machines import DeviceMachines
from kernsemble.svm.backends.least_squares import Group, groups_of, solutions_of
from kernsemble.svm.backends.prepared_matrix import PreparedMatrix, are_squared
from kernsemble.svm.problem import Problem

MATRICES_OF_A_FACTOR = 2.2  # number of matrices in memory with a factor: K, its factor, blocks
MOST_PRODUCTS = 1_000  # maximum number of products of conjugate gradients
SHARE_OF_RANK = 4  # number of rows per pivot of the preconditioner, at least


@dataclass(frozen=True)
class DeviceTuning:
    """Measured constants, which change the time but not the solution.

    Attributes
    ----------
    factor_work : float
        Number of multiplications up to which systems are solved by factors.
    rank : int
        Number of pivots of a preconditioner.
    share : float
        Share of the memory that a preconditioner may take.
    share_of_matrix : float
        Share of the rest that a kernel matrix may take; a larger one is computed in every product.
    columns : int
        Number of right-hand sides that are solved for together.
    """

    factor_work: float = 4e14
    rank: int = 2_000
    share: float = 0.3
    share_of_matrix: float = 0.6
    columns: int = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedOnDevice(PreparedMatrix):
    """A scaling and a kernel bound to the rows, and the rows on a device.

    Attributes
    ----------
    device, on_device, known
        The device, its kernel, and the rows there.
    memory : float
        Bytes of the device that matrices and factors may take together.
    tuning : DeviceTuning
        What determines the method.
    """

    device: Device
    on_device: DeviceKernel
    known: DeviceRows
    memory: float
    tuning: DeviceTuning = field(default_factory=DeviceTuning)

    @classmethod
    def from_rows(
        cls,
        device: Device,
        scaling: AnyScaling,
        kernel: Kernel,
        rows: TrainingRows,
        coordinates: Rows,
        *,
        spare: float,
        memory: float,
        tuning: DeviceTuning,
        is_learned: bool = False,
    ) -> "PreparedOnDevice":
        """Return rows on the device, given where they are on the scale of the kernel."""
        on_device = device.kernel(kernel, coordinates.dtype)
        known = on_device.prepare(coordinates)
        xp, dtype = device.xp, on_device.dtype

        def compute(i: IntArray, j: IntArray) -> FloatArray:
            others = None if i is j else known[j]
            return device.to_host(on_device.gram(known[i], others))

        def add_up(some: IntArray, weight: FloatArray) -> FloatArray:
            total = on_device.product(known, known[some], xp.asarray(weight, dtype=dtype))
            return device.to_host(total)

        diagonal = device.to_host(on_device.diagonal(known)).astype(np.float64)
        return cls(
            scaling,
            kernel,
            rows,
            Products(compute, add_up, diagonal),
            spare,
            coordinates if is_learned else None,
            device=device,
            on_device=on_device,
            known=known,
            memory=memory,
            tuning=tuning,
        )

    @property
    def algebra(self) -> LinearAlgebra:
        return self.device

    def _whole(self) -> Any:
        return self.on_device.gram(self.known)

    def expansions(self, X: Rows, beta: FloatArray) -> FloatArray:
        columns = self.device.to_device(np.ascontiguousarray(beta), self.on_device.dtype)
        rows = self.on_device.prepare(X)
        return self.device.to_host(self.on_device.product(rows, self.known, columns))

    def _machines(self, beta: FloatArray, intercept: FloatArray) -> DeviceMachines:
        plain = super()._machines(beta, intercept)
        names = plain.__dataclass_fields__
        return DeviceMachines(
            **{name: getattr(plain, name) for name in names},
            device_name=self.device.name,
            precision="float32" if self.on_device.dtype == np.float32 else "float64",
        )

    def _has_factors(self, n_factors: int) -> bool:
        """Return whether systems are solved by n factors of a matrix between all rows."""
        n = float(len(self.known))
        n_bytes = MATRICES_OF_A_FACTOR * n * n * self.on_device.dtype.itemsize
        return n_bytes <= self.memory and n_factors * n**3 / 3.0 <= self.tuning.factor_work

    def _solve_least_squares(
        self, problems: Sequence[Problem], C: float, settings: SolverSettings, task: Task
    ) -> Solved:
        groups = list(groups_of(problems))
        if self._has_factors(len(groups)):
            return super()._solve_least_squares(problems, C, settings, task)
        systems = [self._system(group, C) for group in groups]
        found = self._solve_systems(systems, settings)
        return self._solved_by_products(problems, groups, C, found, task)

    def _solved_by_products(
        self,
        problems: Sequence[Problem],
        groups: Sequence[Group],
        C: float,
        found: RidgeSolution,
        task: Task,
    ) -> Solved:
        """Return the machines of coefficients, with the evidence for them."""
        beta, bias, values = map(self.device.to_host, (found.beta, found.bias, found.values))
        solutions: dict[int, tuple[IntArray, Solution]] = {}
        residual, first = np.empty(len(problems)), 0
        for group in groups:
            mine, rows = slice(first, first + len(group.places)), group.rows
            arrays = beta[rows, mine], bias[mine], values[rows, mine]
            solutions |= solutions_of(group, problems, C * group.strengths, *arrays)
            residual[group.places] = found.residual[mine]
            first = mine.stop
        ended = {
            place: (rows, replace(each, n_iter=found.n_iter, status=found.status))
            for place, (rows, each) in solutions.items()
        }
        solved = self._with_evidence([ended[place] for place in range(len(problems))], task)
        assert isinstance(solved.machines, DeviceMachines)
        return solved._replace(
            machines=replace(solved.machines, relative_residual=residual),
            is_interrupted=found.status is Status.INTERRUPTED,
            shortfall=f"relative residual {residual.max():.2g}",
        )

    def _least_squares_folds(
        self,
        problems: Sequence[Problem],
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
    ) -> list[list[Fold]]:
        groups = list(groups_of(problems))
        if self._has_factors(3 * len(groups) * len(Cs)):  # an inverse takes as much as two
            return super()._least_squares_folds(problems, Cs, held_out, settings)
        found: dict[tuple[int, int], list[FloatArray]] = {}
        n_iter, statuses = 1, set()
        for group in groups:
            parts = [self._system(group, 1.0, rows) for rows in held_out]
            systems = [part._replace(C=C) for part in parts for C in Cs]
            solution = uninterrupted(self._solve_systems(systems, settings))
            n_iter = max(n_iter, solution.n_iter)
            statuses.add(solution.status)
            places = [
                (place, fold) for fold in range(len(held_out)) for _ in Cs for place in group.places
            ]
            for column, (place, fold) in enumerate(places):
                rows = self.device.to_device(held_out[fold])
                values = solution.values[rows, column] + solution.bias[column]
                found.setdefault((place, fold), []).append(self.device.to_host(values))
        status = next((each for each in statuses if each is not Status.CONVERGED), Status.CONVERGED)
        steps, ended = np.full(len(Cs), n_iter), (status,) * len(Cs)
        return [
            [Fold(np.array(found[place, fold]), steps, ended) for fold in range(len(held_out))]
            for place in range(len(problems))
        ]

    def solve_with_fold(
        self, problems: Sequence[Problem], C: float, held_out: IntArray, task: Task
    ) -> tuple[Solved, list[Fold]] | None:
        if not are_squared(problems) or not self._has_factors(1):
            return None
        return super().solve_with_fold(problems, C, held_out, task)

    def _system(self, group: Group, C: float, held_out: IntArray | None = None) -> System:
        """Return the equations of a group of problems, without some rows."""
        n = len(self.known)
        strengths, targets = np.zeros(n), np.zeros((n, len(group.places)))
        strengths[group.rows], targets[group.rows] = group.strengths, group.targets
        if held_out is not None:
            strengths[held_out] = 0.0
        return System(self.device.to_device(strengths), C, self.device.to_device(targets))

    def _solve_systems(self, systems: Sequence[System], settings: SolverSettings) -> RidgeSolution:
        """Solve systems by conjugate gradients, as many columns at a time as the tuning says."""
        dtype, n = self.on_device.dtype, len(self.known)
        rank = int(self.tuning.share * self.memory / (n * dtype.itemsize))
        G = centred_factor(
            lambda rows: self.on_device.gram(self.known[rows], self.known),
            self.on_device.diagonal(self.known),
            max(min(rank, self.tuning.rank, n // SHARE_OF_RANK), 1),
            np.random.default_rng(0),
            dtype=dtype,
            xp=self.device.xp,
        )
        left = self.memory - G.nbytes
        product = self._product(n * n * dtype.itemsize <= self.tuning.share_of_matrix * left)
        most = MOST_PRODUCTS if settings.max_iter is None else settings.max_iter
        found: list[RidgeSolution] = []
        for some in _portions(systems, self.tuning.columns):
            is_interrupted = bool(found) and found[-1].status is Status.INTERRUPTED
            found.append(
                solve_by_products(
                    product,
                    G,
                    some,
                    tol=settings.tol,
                    max_products=0 if is_interrupted else most,
                    xp=self.device.xp,
                )
            )
        return RidgeSolution.together(found, self.device.xp)

    def _product(self, is_in_memory: bool) -> Callable[[Any], Any]:
        """Return the function that multiplies columns by the kernel matrix."""
        if is_in_memory:
            K = self._whole()
            return lambda V: K @ V
        return lambda V: self.on_device.product(self.known, None, V)


def _portions(systems: Sequence[System], most: int) -> Iterator[list[System]]:
    """Yield systems with at most so many columns together, or one with more."""
    portion, n = list[System](), 0
    for each in systems:
        if portion and n + each.targets.shape[1] > most:
            yield portion
            portion, n = [], 0
        portion.append(each)
        n += each.targets.shape[1]
    yield portion
