"""Compilation with Numba: the decorators of all compiled functions.

Numba costs half a second to import, so it is imported when the first compiled function
is called, never before. Compiled code is cached on disk, releases the GIL, follows
NumPy's rules for division by zero and keeps the order of floating-point operations, except in
functions marked by `jit_sums`, whose sums may be reordered.
"""

from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Compiled(Generic[Arguments, Result]):
    """A function on arrays that Numba compiles when it is first called.

    Compiled functions may call each other when they live in the same module (Numba's
    cache does not notice a change in a function imported from elsewhere).
    """

    def __init__(self, function: Callable[Arguments, Result], in_any_order: bool = False) -> None:
        update_wrapper(self, function)
        self.function = function
        self.fastmath = {"reassoc", "contract", "nsz"} if in_any_order else False

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return self.dispatcher(*args, **kwargs)

    @cached_property
    def dispatcher(self) -> Callable[Arguments, Result]:
        """The function as Numba compiled it, or the function itself if Numba is disabled."""
        compiled: Callable[Arguments, Result] = _numba().njit(
            cache=True, nogil=True, error_model="numpy", fastmath=self.fastmath
        )(self.function)
        return compiled


def jit(function: Callable[Arguments, Result]) -> Compiled[Arguments, Result]:
    """Mark a function as compiled code."""
    return Compiled(function)


def jit_sums(function: Callable[Arguments, Result]) -> Compiled[Arguments, Result]:
    """Mark a function as compiled code whose sums may be reordered and vectorised."""
    return Compiled(function, in_any_order=True)


@jit
def _none() -> None:
    return None


def cache_folder() -> str | None:
    """Return the folder of compiled code of this package, None if Numba is disabled."""
    statistics = getattr(_none.dispatcher, "stats", None)
    return None if statistics is None else statistics.cache_path


@cache
def _numba() -> Any:
    """Import Numba, and register `Compiled` so that compiled code can call it."""
    import numba
    from numba.extending import typeof_impl

    @typeof_impl.register(Compiled)
    def _as_its_dispatcher(value: Compiled[..., Any], context: Any) -> Any:
        return typeof_impl(value.dispatcher, context)

    return numba
