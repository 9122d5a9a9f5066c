"""The registered backends, and the selection of one for ``solver="auto"``."""

from collections.abc import Sequence

import numpy as np

from kernsemble._arguments import check_choice
from kernsemble.solvers.losses import LOSSES, Loss
from kernsemble.svm.backends.base import Backend, Workload
from kernsemble.svm.backends.matrix import MatrixBackend
from kernsemble.svm.backends.tables import TablesBackend

BACKENDS: dict[str, Backend] = {each.name: each for each in (MatrixBackend(), TablesBackend())}


def solver_names() -> tuple[str, ...]:
    """Return the values that estimators accept as `solver`."""
    return ("auto", *BACKENDS)


def check_solver(solver: str, loss: type[Loss]) -> None:
    """Check the name of a solver, and that it can minimise a loss."""
    check_choice("solver", solver, solver_names())
    if solver != "auto" and not BACKENDS[solver].supports(loss):
        supported = [
            name
            for name, each in LOSSES.items()
            if each.task == loss.task and BACKENDS[solver].supports(each)
        ]
        others = [each.name for each in BACKENDS.values() if each.supports(loss)]
        raise ValueError(
            f"solver = {solver!r} does not support loss = {loss.name!r}: use "
            f"loss={supported[0]!r}, or solver={others[0]!r}"
        )


def cheapest_backend(workload: Workload, backends: Sequence[Backend] | None = None) -> Backend:
    """Return the backend with the lowest estimated cost among those that support the workload."""
    able = [
        backend
        for backend in (BACKENDS.values() if backends is None else backends)
        if backend.supports(workload.loss)
        and (backend.supports_missing or not workload.has_missing)
    ]
    if not able:
        missing = " with missing values" if workload.has_missing else ""
        raise ValueError(f"loss = {workload.loss.name!r}: no solver supports it{missing}")
    return able[int(np.argmin([backend.cost(workload) for backend in able]))]
