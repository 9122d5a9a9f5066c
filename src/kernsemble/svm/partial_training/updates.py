"""Machines trained one after another by multiplicative updates."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.multiplicative import (
    MultiplicativeSolution,
    PartialMachine,
    UpdateStatus,
    solve_multiplicative,
)
from kernsemble.svm.partial_training.products import KernelProducts

Hypothesis: TypeAlias = Literal["ensemble", "last", "first"]

ABSENT = "no row of its classes has a positive weight, so the machine is zero"


class Trained(NamedTuple):
    """A trained machine."""

    signed: FloatArray  # α y, for every row
    objective: float
    margin: float
    bounds: tuple[float, float]  # of the optimum
    n_iter: int
    history: dict[str, Any]
    status: UpdateStatus | None
    ending: str

    @classmethod
    def from_solution(
        cls, solution: MultiplicativeSolution, machine: PartialMachine, signed: FloatArray
    ) -> Self:
        """Return one of the machines of a solution."""
        return cls(
            signed,
            machine.objective,
            machine.margin,
            (solution.lower, solution.upper),
            solution.n_iter,
            asdict(solution.history),
            solution.status,
            solution.status.value,
        )

    @classmethod
    def absent(cls, n: int) -> Self:
        """Return the machine without rows."""
        return cls(np.zeros(n), 0.0, 0.0, (0.0, 0.0), 0, {}, None, ABSENT)

    def ended(self, status: UpdateStatus) -> Self:
        """Return the machine with another reason for its end."""
        return self._replace(status=status, ending=status.value)


@dataclass(frozen=True)
class Updates:
    """The machine to return, and the stopping criterion."""

    hypothesis: Hypothesis
    tol: float
    max_iter: int | None

    def train(
        self, products: KernelProducts, sides: Sequence[FloatArray], weight: FloatArray, task: Task
    ) -> list[Trained]:
        """Return a machine for each vector of signs, which are 0 for absent rows.

        An interrupt ends the current machine where it is, and later ones at their first iterate.
        """
        found: list[Trained] = []
        is_interrupted = False
        for place, signs in enumerate(sides):
            rows = np.flatnonzero(signs)
            if len(rows) == 0:
                found.append(Trained.absent(len(signs)))
                continue
            with task.part("machine", place, None) as part:
                trained = self._train_one(products, rows, signs, weight, part, is_interrupted)
            is_interrupted = trained.status is UpdateStatus.INTERRUPTED
            found.append(trained)
        return found

    def _train_one(
        self,
        products: KernelProducts,
        rows: IntArray,
        signs: FloatArray,
        weight: FloatArray,
        part: Task,
        is_interrupted: bool,
    ) -> Trained:
        is_first = is_interrupted or self.hypothesis == "first"
        solution = solve_multiplicative(
            products.among(rows),
            signs[rows],
            start=weight[rows],
            tol=self.tol,
            max_iter=0 if is_first else self.max_iter,
            on_step=lambda _: part.note("step"),
        )
        if solution.status is UpdateStatus.INDEFINITE:
            raise ValueError(f"kernel = {products.kernel}: {solution.status.value}")
        machine: PartialMachine = getattr(solution, self.hypothesis)
        signed = np.zeros(len(signs))
        signed[rows] = signs[rows] * machine.alpha
        trained = Trained.from_solution(solution, machine, signed)
        if is_interrupted:
            return trained.ended(UpdateStatus.INTERRUPTED)
        return trained.ended(UpdateStatus.STEPS_TAKEN) if is_first else trained
