"""The local backend: exact machines on the leaves of partitions of the rows."""

from kernsemble.svm.backends.local.backend import LocalBackend, LocalWorkspace

__all__ = ["LocalBackend", "LocalWorkspace"]
