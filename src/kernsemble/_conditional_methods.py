"""Methods that an estimator has only under some settings, with the reason if it has not."""

from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


class _Conditional:
    """A method that raises the AttributeError of a check where that fails."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], None]) -> None:
        @wraps(method)
        def checked(estimator: Any, *args: Any, **kwargs: Any) -> Any:
            check(estimator)
            return method(estimator, *args, **kwargs)

        self._check, self._checked = check, checked

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is None:
            return self._checked
        self._check(estimator)
        return MethodType(self._checked, estimator)


def available_if(check: Callable[[Any], None]) -> Callable[[Method], Method]:
    """Return a decorator of methods that exist unless ``check(estimator)`` raises.

    scikit-learn's decorator of the same name replaces the message of the AttributeError by one
    without a remedy; here it is kept.
    """
    return lambda method: _Conditional(method, check)  # type: ignore[return-value]
