"""The parameter ``n_jobs`` of estimators: the number of threads of their methods."""

from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import Any, TypeVar

from kernsemble._threads import BLAS_THREADS, all_threads, at_most
from kernsemble.exceptions import ArgumentError

Method = TypeVar("Method", bound=Callable[..., Any])


def requested_threads(n_jobs: Any) -> int | None:
    """Return the number of threads for `n_jobs`, None for no limit.

    As in joblib, −1 is all threads and −k all but k − 1, at least 1.
    """
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, Integral) or not int(n_jobs):
        remedy = "use a positive whole number, -1 for all cores, or None"
        raise ArgumentError("n_jobs", n_jobs, remedy)
    n = int(n_jobs)
    return n if n > 0 else max(all_threads() + 1 + n, 1)


def within_n_jobs(method: Method) -> Method:
    """Return a method that uses at most ``self.n_jobs`` threads, and one of BLAS.

    BLAS divides a product among its threads in parts whose rounding errors depend on their number;
    our threads share parts that do not.
    """

    @wraps(method)
    def limited(self: Any, *args: Any, **kwargs: Any) -> Any:
        n = requested_threads(getattr(self, "n_jobs", None))  # None in older files
        with at_most(n), BLAS_THREADS.at_most(1):
            return method(self, *args, **kwargs)

    return limited  # type: ignore[return-value]
