"""Checks of arguments that are numbers or names."""

import math
import sys
from numbers import Integral, Real
from typing import Any

import numpy as np

from kernsemble.exceptions import ArgumentError

LARGEST = sys.float_info.max  # whole numbers may exceed it


def check_count(argument: str, value: Any, minimum: int = 1) -> None:
    """Raise an error unless the value is a whole number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
        raise ArgumentError(argument, value, f"use a whole number of at least {minimum}")


def check_positive(argument: str, value: Any) -> None:
    """Raise an error unless the value is a positive, finite number."""
    if not (_is_real(value) and 0.0 < value <= LARGEST):
        raise ArgumentError(argument, value, "use a positive, finite number")


def check_penalty(argument: str, value: Any, word: str | None = None) -> None:
    """Raise an error unless the value is a positive number, possibly infinite.

    `word` is named in the message as another accepted value; the caller handles it.
    """
    if not (_is_real(value) and (0.0 < value <= LARGEST or value == math.inf)):
        others = " or np.inf" if word is None else f", np.inf or {word!r}"
        raise ArgumentError(argument, value, f"use a positive number{others}")


def check_not_negative(argument: str, value: Any) -> None:
    """Raise an error unless the value is a finite number, 0 or above."""
    if not (_is_real(value) and 0.0 <= value <= LARGEST):
        raise ArgumentError(argument, value, "use a finite number, 0 or above")


def check_share(argument: str, value: Any) -> None:
    """Raise an error unless the value is a number between 0 and 1."""
    if not (_is_real(value) and 0.0 <= value <= 1.0):
        raise ArgumentError(argument, value, "use a number between 0 and 1")


def check_choice(argument: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise an error unless the value is one of `choices`."""
    if not isinstance(value, str | None) or value not in choices:  # arrays compare by entry
        raise ArgumentError(argument, value, f"use one of {', '.join(map(repr, choices))}")


def is_name(value: Any, name: str) -> bool:
    """Return whether a value is a name; arrays, which compare by entry, are not."""
    return isinstance(value, str) and value == name


def check_flag(argument: str, value: Any) -> None:
    """Raise an error unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(argument, value, "use True or False")


def as_generator(random_state: Any) -> np.random.Generator:
    """Return NumPy's generator of a seed, of a generator, or of None for fresh entropy."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        remedy = "use a whole number of at least 0, a Generator or None"
        raise ArgumentError("random_state", random_state, remedy) from error


def _is_real(value: object) -> bool:
    return isinstance(value, Real)
