"""Calls of a function in a new process, which is killed after a time limit."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import psutil

CONTEXT = get_context("forkserver")
MOST_PATIENCE = 10  # times the limit, on a computer that is busy with other work


class CellTimeoutError(Exception):
    """Error for a call that took longer than its limit."""


def call_within(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function that is called in a new process.

    The process is killed, with all that it started, when both its elapsed time and its
    processor time have reached the limit, so that other work on the computer is not counted;
    a `CellTimeoutError` is raised. An exception of the function is a `RuntimeError` here.
    """
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_send, args=(sender, seconds, function, arguments))
    process.start()
    sender.close()
    try:
        _wait(receiver, process.pid, seconds)
        succeeded, result = receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"the process ended with exit code {process.exitcode}") from None
    finally:
        _kill(process)
    if not succeeded:
        raise RuntimeError(result)
    return result


def _wait(receiver: Connection, pid: int | None, seconds: float) -> None:
    """Wait for a result, or raise an error when the time is up."""
    start = time.perf_counter()
    while not receiver.poll(min(1.0, seconds)):
        elapsed = time.perf_counter() - start
        is_late = elapsed >= seconds and _processor_seconds(pid) >= seconds
        if is_late or elapsed >= MOST_PATIENCE * seconds:
            raise CellTimeoutError(f"stopped after {seconds:g} s")


def _processor_seconds(pid: int | None) -> float:
    """Return the processor time of a process and of those that it started."""
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                total += times.user + times.system
    return total


def _send(
    sender: Connection, seconds: float, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    """Call a function in this process, the first of a new group, and send its result."""
    os.setsid()
    signal.alarm(int(MOST_PATIENCE * seconds) + 10)  # if the parent was killed
    try:
        result = True, function(*arguments)
    except Exception as error:
        result = False, f"{type(error).__name__}: {error}"
    sender.send(result)


def _kill(process: Any) -> None:
    """Kill a process and its group, in case something is still running."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()
