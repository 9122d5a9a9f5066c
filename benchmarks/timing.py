"""Timing for the benchmarks: alternating runs, the best of several, memory in a new process."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any


def best_times(*functions: Callable[[], Any], repeats: int = 7) -> list[float]:
    """Return the shortest time of each function in seconds, alternating, after a warm-up call."""
    for function in functions:
        function()
    times = [[_seconds(function) for function in functions] for _ in range(repeats)]
    return [min(column) for column in zip(*times, strict=True)]


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a new process, and return its result."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def peak_bytes() -> int:
    """Return the peak resident memory of this process, as Linux reports it."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
