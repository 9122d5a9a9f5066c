"""The registered backends, interchangeable ways to solve the problems of an estimator."""

from kernsemble.svm.backends.base import BACKENDS, cheapest_backend, check_solver, solver_names
from kernsemble.svm.backends.device import CudaBackend
from kernsemble.svm.backends.local import LocalBackend
from kernsemble.svm.backends.matrix import MatrixBackend
from kernsemble.svm.backends.tables import TablesBackend

BACKENDS.update(
    {each.name: each for each in (MatrixBackend(), TablesBackend(), LocalBackend(), CudaBackend())}
)

__all__ = ["BACKENDS", "cheapest_backend", "check_solver", "solver_names"]
