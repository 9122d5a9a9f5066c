r"""The backend of a GPU: exact machines, for kernels that the device computes.

It solves the problems of the exact backend, with the same result within `tol`: at 10⁵ rows in
seconds, and at 10⁶ by products with the kernel, whose matrix fits into no memory. Fitted machines
are in the memory of the process; they are saved, loaded and used on machines without a GPU.

Additive machines and machines on leaves stay on the processor: tables are passes over codes of
one byte each, and leaves are many small matrices, so that neither has enough arithmetic per byte
for a device to save more than the copies take.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from kernsemble._memory import Budget
from kernsemble._typing import Rows
from kernsemble.devices import Device, device
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import AnyScaling, FeatureScaling
from kernsemble.preprocessing.supervised import TargetScaling
from kernsemble.solvers.losses import Kinked, Loss, Squared
from kernsemble.svm.backends.base import Backend, SolverSettings, TrainingRows, Workload
from kernsemble.svm.backends.cross_fitted import CrossFittedMatrix
from kernsemble.svm.backends.device.machines import find_device, has_kernel
from kernsemble.svm.backends.device.prepared import DeviceTuning, PreparedOnDevice
from kernsemble.svm.backends.matrix import MatrixWorkspace, Memory
from kernsemble.svm.backends.prepared_matrix import PreparedMatrix

ROWS_OF_TEST = 50  # number of rows that kernels are bound to, to find out whether a device has them


@dataclass(frozen=True, eq=False)
class CrossFittedOnDevice(CrossFittedMatrix):
    """Rows on a scale that is learned from their targets, on a device."""

    workspace: "DeviceWorkspace | None" = None

    def _prepared(
        self, scaling: AnyScaling, kernel: Kernel, rows: TrainingRows, coordinates: Rows
    ) -> PreparedMatrix:
        assert self.workspace is not None
        return self.workspace.on_device(scaling, kernel, rows, coordinates, is_learned=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class DeviceWorkspace(MatrixWorkspace):
    """Training rows that are prepared on a device.

    Attributes
    ----------
    device : Device
        The device.
    memory : float
        Bytes of the device that matrices and factors may take together.
    tuning : DeviceTuning
        What determines the method.
    """

    device: Device
    memory: float
    tuning: DeviceTuning

    def _cross_fitted(self, learner: TargetScaling, kernel: Kernel) -> CrossFittedMatrix:
        return CrossFittedOnDevice(learner, self.rows, kernel, self.budget, self.dtype, self)

    def _matrices(
        self,
        family: list[tuple[int, Kernel]],
        scaling: FeatureScaling,
        scaled: Rows,
        memory: Memory,  # noqa: ARG002
    ) -> Iterator[tuple[int, PreparedMatrix]]:
        for place, unbound in family:
            kernel = unbound.bind(scaled, self.rows.weight)
            yield place, self.on_device(scaling, kernel, self.rows, scaled)

    def on_device(
        self,
        scaling: AnyScaling,
        kernel: Kernel,
        rows: TrainingRows,
        coordinates: Rows,
        is_learned: bool = False,
    ) -> PreparedOnDevice:
        """Return rows on the device, given where they are on the scale of the kernel."""
        return PreparedOnDevice.from_rows(
            self.device,
            scaling,
            kernel,
            rows,
            coordinates,
            spare=self.budget.n_bytes,
            memory=self.memory,
            tuning=self.tuning,
            is_learned=is_learned,
        )


@dataclass(frozen=True)
class CudaBackend(Backend):
    """Backend on a device; exact for every kernel that the device computes.

    Attributes
    ----------
    device_name : str
        Name of the device, another one for tests.
    rows_worth : int
        Number of rows from which ``solver="auto"`` takes the device.
    speed : float
        Number of kernel values that the device computes in the time of one of the processor.
    memory_share : float
        Share of the free memory of the device that is taken unless `cache_size` is given.
    tuning : DeviceTuning
        What determines the method.
    """

    name = "cuda"
    device_name: str = "cuda"
    rows_worth: int = 10_000
    speed: float = 100.0
    memory_share: float = 0.9
    tuning: DeviceTuning = field(default_factory=DeviceTuning)

    def supports(self, loss: type[Loss]) -> bool:
        return issubclass(loss, (Kinked, Squared))

    def cost(self, workload: Workload) -> float:
        rows = workload.rows
        if rows.n_rows < self.rows_worth or sparse.issparse(rows.X) or workload.is_mixed:
            return np.inf
        found = find_device(self.device_name)
        if found is None:
            return np.inf
        some = rows.among(np.arange(min(rows.n_rows, ROWS_OF_TEST)))
        bound = [each.bind(some.X, some.weight) for each in workload.kernels]
        if not all(has_kernel(found, each) for each in bound):
            return np.inf
        return float(rows.n_rows) ** 2 / self.speed

    def open(self, rows: TrainingRows, settings: SolverSettings) -> DeviceWorkspace:
        if sparse.issparse(rows.X):
            raise ValueError(
                f"X is sparse, which solver = {self.name!r} does not support: pass a dense array, "
                "or use solver='exact'"
            )
        found = device(self.device_name)
        memory = self._memory(found, settings.budget)
        return DeviceWorkspace(
            rows,
            settings.budget,
            settings.dtype,
            device=found,
            memory=memory,
            tuning=self.tuning,
        )

    def _memory(self, found: Device, budget: Budget) -> float:
        """Return the bytes of the device that a fit may take."""
        free = float(found.free_memory())
        return self.memory_share * free if budget.is_default else min(budget.n_bytes, free)
