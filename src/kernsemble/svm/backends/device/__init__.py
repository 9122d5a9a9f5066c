"""The backend of a device: exact machines on a GPU, without a kernel matrix if it does not fit."""

from kernsemble.svm.backends.device.backend import CudaBackend

__all__ = ["CudaBackend"]
