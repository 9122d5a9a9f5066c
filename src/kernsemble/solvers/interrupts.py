"""Watching a solver while it runs, and stopping several runs together.

Solvers call `watch(n_iter, violation)` between steps. A KeyboardInterrupt raised there ends the
run with the solution reached so far; any other exception is passed on to the caller.
"""

from collections.abc import Callable
from threading import Event
from typing import TypeAlias

Watch: TypeAlias = Callable[[int, float], None]


class StoppedError(Exception):
    """Error raised in a run when another run failed or was interrupted."""


class StopSignal:
    """A signal shared by several runs: once it is set, each ends at its next call of `watch`.

    Parameters
    ----------
    error : exception class
        Raised in the running solvers: `StoppedError` to discard their results, or
        KeyboardInterrupt to keep the solutions reached so far.
    watch : callable, optional
        Also called while the signal is not set.
    """

    def __init__(
        self, error: type[BaseException] = StoppedError, watch: Watch | None = None
    ) -> None:
        self._error, self._also, self._event = error, watch, Event()

    @property
    def is_set(self) -> bool:
        """Whether runs have been asked to stop."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask all runs to stop."""
        self._event.set()

    def watch(self, n_iter: int, violation: float) -> None:
        """Raise the error if the signal is set; pass this method to solvers as `watch`."""
        if self.is_set:
            raise self._error
        if self._also is not None:
            self._also(n_iter, violation)
