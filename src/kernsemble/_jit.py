"""Compilation with Numba: the decorators of all compiled functions.

Numba costs half a second to import, so it is imported when the first compiled function
is called, never before. Compiled code is cached on disk, releases the GIL, follows
NumPy's rules for division by zero and keeps the order of floating-point operations, except in
functions marked by `jit_sums`, whose sums may be reordered.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
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
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": self.fastmath}
        try:
            compiled: Any = _numba().njit(cache=True, **options)(self.function)
        except RuntimeError:  # no folder of a cache is writable
            _warn_of_no_cache()
            return _numba().njit(**options)(self.function)
        if hasattr(compiled, "_cache"):
            compiled._cache = ForgivingCache(compiled._cache)
        return compiled


class ForgivingCache:
    """Numba's cache of a function, without its errors: what cannot be read is compiled again."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return compiled code, or None if there is none, or if a file is damaged."""
        try:
            return self._cache.load_overload(signature, target)
        except Exception:  # the type depends on the damage
            with suppress(Exception):
                self._cache.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Store compiled code, unless the disk is full or read-only."""
        with suppress(Exception):
            self._cache.save_overload(signature, data)


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
def _warn_of_no_cache() -> None:
    warnings.warn(
        "compiled code cannot be kept, so every process compiles it again: set NUMBA_CACHE_DIR to "
        "a folder that can be written",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def _numba() -> Any:
    """Import Numba, and register `Compiled` so that compiled code can call it."""
    import numba
    from numba.extending import typeof_impl

    @typeof_impl.register(Compiled)
    def _as_its_dispatcher(value: Compiled[..., Any], context: Any) -> Any:
        return typeof_impl(value.dispatcher, context)

    return numba
