"""Devices that compute kernel matrices and their products: a GPU, or the processor for tests."""

from kernsemble._arguments import check_choice
from kernsemble.devices.base import (
    Device,
    DeviceKernel,
    DeviceNotFoundError,
    DeviceRows,
    NotOnDeviceError,
)
from kernsemble.devices.cuda import CudaDevice
from kernsemble.devices.host import HostDevice

__all__ = [
    "Device",
    "DeviceKernel",
    "DeviceNotFoundError",
    "DeviceRows",
    "HostDevice",
    "NotOnDeviceError",
    "device",
]

DEVICES: dict[str, type[Device]] = {"cuda": CudaDevice, "host": HostDevice}


def device(name: str = "cuda") -> Device:
    """Return a device by its name; CuPy is imported only when "cuda" is asked for.

    Parameters
    ----------
    name : {"cuda", "host"}, default="cuda"
        "cuda" is the current GPU of NVIDIA, through CuPy; "host" the processor, through NumPy.

    Raises
    ------
    DeviceNotFoundError
        If this machine has no such device, or CuPy is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.devices import device
    >>> from kernsemble.kernels import Laplacian
    >>> host = device("host")
    >>> laplacian = host.kernel(Laplacian(0.5).bind([[0.0]]), "float64")
    >>> rows = laplacian.prepare([[0.0], [1.0], [2.0]])
    >>> laplacian.product(rows, None, np.ones(3)).round(2)
    array([1.97, 2.21, 1.97])
    """
    check_choice("name", name, tuple(DEVICES))
    return DEVICES[name]()
