"""The local backend: exact machines on the leaves of partitions of the rows."""

from kernsemble.svm.backends.local.backend import LocalBackend

__all__ = ["LocalBackend"]
