"""Support vector machines that were fitted on a device, and predict anywhere."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from kernsemble._memory import Budget
from kernsemble._typing import FloatArray, Rows
from kernsemble.devices import Device, DeviceNotFoundError, NotOnDeviceError, device
from kernsemble.svm.backends.prepared_matrix import SupportVectorMachines


@dataclass(frozen=True, eq=False, repr=False)
class DeviceMachines(SupportVectorMachines):
    """Machines whose arrays are in the memory of the process, so that they can be saved.

    They predict on the device where there is one, and by the compiled kernels elsewhere.

    Attributes
    ----------
    device_name : str
        Name of the device.
    precision : str
        "float32" or "float64", of kernels on the device.
    relative_residual : array of shape (n_machines,) or None
        Norm of the residual of each linear system, relative to that of its target, if they were
        solved by conjugate gradients.
    """

    device_name: str = "cuda"
    precision: Literal["float32", "float64"] = "float32"
    relative_residual: FloatArray | None = None

    def values(self, X: Rows, budget: Budget) -> FloatArray:
        found = find_device(self.device_name)
        if found is None:
            return super().values(X, budget)
        return self.expansions_on(found, X) + self.intercept

    def expansions_on(self, found: Device, X: Rows) -> FloatArray:
        """Return the machines at rows that are not scaled, without their biases."""
        if len(self.support) == 0:
            return np.zeros((X.shape[0], len(self.coefficients)))
        on_device = found.kernel(self.kernel, self.precision)
        rows = on_device.prepare(self.scaling.transform(X))
        known = on_device.prepare(self.scaled_support)
        beta = found.to_device(np.ascontiguousarray(self.coefficients.T), self.precision)
        return found.to_host(on_device.product(rows, known, beta)).astype(np.float64)

    def attributes(self) -> dict[str, Any]:
        known = super().attributes()
        if self.relative_residual is not None:
            known["relative_residual_"] = self.relative_residual
        return known


def find_device(name: str) -> Device | None:
    """Return a device, None if this machine has none of this name."""
    if name == "cuda" and find_spec("cupy") is None:
        return None
    try:
        return device(name)
    except DeviceNotFoundError:
        return None


def has_kernel(found: Device, kernel: Any) -> bool:
    """Return whether a device computes a bound kernel."""
    try:
        found.kernel(kernel)
    except NotOnDeviceError:
        return False
    return True
