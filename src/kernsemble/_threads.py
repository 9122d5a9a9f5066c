"""Threads for compiled code, which releases the GIL."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Lock
from typing import TypeVar

import joblib
from threadpoolctl import ThreadpoolController

FEWEST_TASKS = 4  # worth starting threads for, of short tasks

Task = TypeVar("Task")
Result = TypeVar("Result")


def n_threads() -> int:
    """Return how many threads to use: the usable cores, or what joblib's workers are left with."""
    return max(int(os.environ.get("NUMBA_NUM_THREADS") or joblib.cpu_count()), 1)


def run(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    on_error: Callable[[], None] | None = None,
    fewest: int = FEWEST_TASKS,
) -> list[Result]:
    """Return ``work(task)`` for every task, done by several threads if there are a few.

    After an error or an interrupt `on_error` is called, and tasks at work are waited for.
    """
    if len(tasks) < fewest or n_threads() == 1:
        return [work(task) for task in tasks]
    with SINGLE_THREADED_BLAS:
        pool = ThreadPoolExecutor(n_threads())
        try:
            return list(pool.map(work, tasks))
        except BaseException:
            if on_error is not None:
                on_error()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


class _SingleThreadedBlas:
    """Keeps BLAS to one thread while at least one caller has threads of its own.

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
