"""Threads for compiled code, which releases the GIL."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, cached_property
from threading import Lock, local
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController, threadpool_limits

FEWEST_TASKS = 4  # minimum number of short tasks for which threads are started

Task = TypeVar("Task")
Result = TypeVar("Result")


def n_threads() -> int:
    """Return the number of threads: 1 in a worker thread, else NUMBA_NUM_THREADS or all cores."""
    if _is_worker.here:
        return 1
    return max(int(os.environ.get("NUMBA_NUM_THREADS") or _n_cores()), 1)


@cache
def _n_cores() -> int:
    return int(joblib.cpu_count())


def run(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    on_error: Callable[[], None] | None = None,
    fewest: int = FEWEST_TASKS,
) -> list[Result]:
    """Return ``work(task)`` for every task, in several threads from `fewest` tasks on.

    Work within such a thread starts no threads of its own. After an error or an interrupt
    `on_error` is called, no further task is started, and running ones are waited for.
    """
    n = n_threads()
    if len(tasks) < fewest or n == 1:
        return [work(task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    places = iter(range(len(tasks)))

    def work_on() -> None:
        for place in places:
            results[place] = work(tasks[place])

    with SINGLE_THREADED_BLAS:
        futures = [_POOL.get(n).submit(work_on) for _ in range(min(n, len(tasks)))]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:
            for _ in places:  # so that no further task is started
                pass
            if on_error is not None:
                on_error()
            raise
        finally:
            wait(futures)
    return results


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit this library, BLAS and OpenMP to one thread within the context."""
    before, _is_worker.here = _is_worker.here, True
    try:
        with threadpool_limits(1):
            yield
    finally:
        _is_worker.here = before


def blocks(n: int, height: int) -> list[slice]:
    """Return blocks of at most `height` of `n` rows, independent of the number of threads."""
    return [slice(first, min(first + height, n)) for first in range(0, n, height)]


class _IsWorker(local):
    here = False


class _Pool:
    """Threads that are reused; a forked process starts its own."""

    _threads: ThreadPoolExecutor | None

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock, self._threads, self._size = Lock(), None, 0

    def get(self, size: int) -> ThreadPoolExecutor:
        """Return a pool of `size` threads."""
        with self._lock:
            if self._threads is None or self._size != size:
                self._threads = ThreadPoolExecutor(size, initializer=_become_worker)
                self._size = size
            return self._threads


def _become_worker() -> None:
    _is_worker.here = True


class _SingleThreadedBlas:
    """Context manager that limits BLAS to one thread while any caller runs threads of its own.

    The limit belongs to the process: the first to enter sets it, the last to leave lifts it.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0

    @cached_property
    def _libraries(self) -> ThreadpoolController:
        return ThreadpoolController()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = self._libraries.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


SINGLE_THREADED_BLAS = _SingleThreadedBlas()
_is_worker, _POOL = _IsWorker(), _Pool()
