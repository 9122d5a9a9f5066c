"""What is demanded of numbers and words; the messages name the argument and the remedy."""

import math
from numbers import Integral, Real
from typing import Any


def check_count(argument: str, value: Any, minimum: int = 1) -> None:
    """Demand a whole number that is not below ``minimum``."""
    if not isinstance(value, Integral) or value < minimum:
        raise ValueError(f"{argument} = {value!r}: give a whole number of at least {minimum}")


def check_positive(argument: str, value: Any) -> None:
    """Demand a positive, finite number."""
    if not (_is_real(value) and 0.0 < value < math.inf):
        raise ValueError(f"{argument} = {value!r}: give a positive, finite number")


def check_penalty(argument: str, value: Any, word: str | None = None) -> None:
    """Demand a positive number, infinity among them; `word` may stand for one."""
    if not (_is_real(value) and value > 0.0):
        others = "or np.inf" if word is None else f"np.inf or {word!r}"
        comma = " " if word is None else ", "
        raise ValueError(f"{argument} = {value!r}: give a positive number{comma}{others}")


def check_not_negative(argument: str, value: Any) -> None:
    """Demand a finite number that is not negative."""
    if not (_is_real(value) and 0.0 <= value < math.inf):
        raise ValueError(f"{argument} = {value!r}: give a finite number, 0 or above")


def check_share(argument: str, value: Any) -> None:
    """Demand a share: a number between 0 and 1."""
    if not (_is_real(value) and 0.0 <= value <= 1.0):
        raise ValueError(f"{argument} = {value!r}: give a share between 0 and 1")


def check_choice(argument: str, value: str, choices: tuple[str, ...]) -> None:
    """Demand one of the given words."""
    if value not in choices:
        raise ValueError(f"{argument} = {value!r}: give one of {', '.join(map(repr, choices))}")


def _is_real(value: object) -> bool:
    return isinstance(value, Real)
