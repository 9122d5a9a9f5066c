"""Several machines solved side by side, and how they end."""

from collections.abc import Callable
from threading import Event
from typing import Protocol, TypeVar

from kernsemble._progress import Task
from kernsemble._threads import run
from kernsemble.solvers import Status
from kernsemble.solvers.interrupts import Watch


class _Found(Protocol):
    @property
    def status(self) -> Status:
        """How the run ended."""


Found = TypeVar("Found", bound=_Found)


def solve_each(
    solve: Callable[[int, Watch], Found], n_machines: int, task: Task, in_turn: bool
) -> tuple[list[Found], bool]:
    """Return what ``solve(machine, watch)`` finds for each, and whether it was interrupted.

    An interrupt ends all machines where they are: `watch` then raises it, which solvers answer
    with what they had reached. Machines share the threads unless they are to be solved in turn.
    """
    found: dict[int, Found] = {}
    stop = Event()

    def watch(n_iter: int, violation: float) -> None:  # noqa: ARG001
        if stop.is_set():
            raise KeyboardInterrupt

    def settle(machine: int) -> None:
        found[machine] = solve(machine, watch)
        if found[machine].status is Status.INTERRUPTED:
            stop.set()

    def work(machine: int) -> None:
        with task.part("machine", machine):
            settle(machine)

    machines = range(n_machines)
    try:
        if in_turn:
            for machine in machines:
                work(machine)
        else:
            run(work, machines, on_error=stop.set, fewest=2)
    except KeyboardInterrupt:
        stop.set()
        for machine in machines:
            if machine not in found:
                settle(machine)
    return [found[machine] for machine in machines], stop.is_set()
