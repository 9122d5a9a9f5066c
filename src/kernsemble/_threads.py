"""Threads for compiled code, which releases the GIL."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from threading import Event, Lock, local
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController, threadpool_limits

BETWEEN_SIGNALS = 0.1  # seconds of a wait after which signals are noticed
FEWEST_TASKS = 4  # minimum number of short tasks for which threads are started

Task = TypeVar("Task")
Result = TypeVar("Result")


def n_threads() -> int:
    """Return the number of threads: 1 in a worker thread, else the limit or all threads."""
    if _is_worker.here:
        return 1
    limit = _LIMIT.get()
    return all_threads() if limit is None else limit


def all_threads() -> int:
    """Return the number of threads without a limit: NUMBA_NUM_THREADS, or all cores."""
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
    `on_error` is called, no further task is started, and running ones are waited for: they end at
    the next task of a run of their own, where KeyboardInterrupt is raised.
    """
    n = n_threads()
    if len(tasks) < fewest or n == 1:
        return [_unless_stopped(work, task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    places, stop = iter(range(len(tasks))), Event()

    def work_on() -> None:
        _is_worker.stop = stop
        for place in places:
            results[place] = work(tasks[place])

    with BLAS_THREADS.at_most(1):
        futures: list[Future[None]] = []
        try:
            n_used = min(n, len(tasks))
            futures.extend(_POOL.get(n).submit(work_on) for _ in range(n_used))
            for future in ended(futures, FIRST_EXCEPTION):
                future.result()
        except BaseException:
            for _ in places:  # so that no further task is started
                pass
            stop.set()
            if on_error is not None:
                on_error()
            raise
        finally:
            wait(futures)
    return results


def _unless_stopped(work: Callable[[Task], Result], task: Task) -> Result:
    """Return ``work(task)``, unless the run that this thread works for was stopped."""
    if _is_worker.stop is not None and _is_worker.stop.is_set():
        raise KeyboardInterrupt
    return work(task)


def ended(futures: Sequence[Future[Any]], when: str = ALL_COMPLETED) -> set[Future[Any]]:
    """Wait for futures, so that an interrupt is noticed; return those that have ended.

    Packages such as polars handle signals in a way that makes a wait without an end go on.
    """
    while True:
        done, pending = wait(futures, BETWEEN_SIGNALS, when)
        if not pending or (
            when == FIRST_EXCEPTION and any(each.exception() is not None for each in done)
        ):
            return done


@contextmanager
def at_most(n: int | None) -> Iterator[None]:
    """Limit this library, in this thread, and BLAS to `n` threads within the context.

    A limit around this one remains in force. None sets no limit.
    """
    if n is None:
        yield
        return
    before = _LIMIT.get()
    token = _LIMIT.set(n if before is None else min(n, before))
    try:
        with BLAS_THREADS.at_most(n):
            yield
    finally:
        _LIMIT.reset(token)


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
    stop: Event | None = None  # set when the run is stopped that a worker works for


class _Pools:
    """Threads that are reused, a pool per size; a forked process starts its own."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock, self._pools = Lock(), dict[int, ThreadPoolExecutor]()

    def get(self, size: int) -> ThreadPoolExecutor:
        """Return a pool of `size` threads."""
        with self._lock:
            if size not in self._pools:
                self._pools[size] = ThreadPoolExecutor(size, initializer=_become_worker)
            return self._pools[size]


def _become_worker() -> None:
    _is_worker.here = True


class _BlasThreads:
    """Limits of the number of BLAS threads, which belongs to the process.

    The smallest limit of all callers holds; the last to leave restores the number from before.
    """

    def __init__(self) -> None:
        self._lock, self._limits, self._sizes = Lock(), list[int](), list[int]()
        self._limit: int | None = None  # in force

    @cached_property
    def _libraries(self) -> list[Any]:
        return list(ThreadpoolController().select(user_api="blas").lib_controllers)

    @contextmanager
    def at_most(self, n: int) -> Iterator[None]:
        """Limit BLAS to `n` threads within the context; never raise their number."""
        with self._lock:
            if not self._limits:
                self._sizes = [library.num_threads for library in self._libraries]
            self._limits.append(n)
            self._set()
        try:
            yield
        finally:
            with self._lock:
                self._limits.remove(n)
                self._set()

    def _set(self) -> None:
        limit = min(self._limits, default=None)
        if limit == self._limit:
            return
        self._limit = limit
        for library, size in zip(self._libraries, self._sizes, strict=True):
            # since threadpoolctl 3.7, OpenBLAS ignores all threads but the one that controls it
            release = getattr(library, "clear_controlling_thread", lambda **_: None)
            release(force=True)
            library.set_num_threads(min([size, *self._limits]))
            release(force=True)


BLAS_THREADS = _BlasThreads()
_is_worker, _POOL = _IsWorker(), _Pools()
_LIMIT: ContextVar[int | None] = ContextVar("limit of threads", default=None)
