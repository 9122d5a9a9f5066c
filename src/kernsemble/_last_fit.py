"""What a failed fit leaves: the estimator as it was, fitted before or not at all."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Fit = TypeVar("Fit", bound=Callable[..., Any])


def restoring_last_fit(fit: Fit) -> Fit:
    """Return a method `fit` that restores all attributes when it raises an error.

    An interrupt is no error: estimators store what they have reached.
    """

    @wraps(fit)
    def restoring(self: Any, *args: Any, **kwargs: Any) -> Any:
        last = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except Exception:
            vars(self).clear()
            vars(self).update(last)
            raise

    return restoring  # type: ignore[return-value]
