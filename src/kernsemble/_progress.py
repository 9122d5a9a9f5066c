"""Progress of a fit, reported through scikit-learn's callbacks where it has them."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks as _managed
except ImportError:  # before scikit-learn 1.9
    CallbackSupportMixin, _managed = type("CallbackSupportMixin", (), {}), None

__all__ = ["CallbackSupportMixin", "Task", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """Return a `fit` that closes its callbacks, also after an error."""
    return method if _managed is None else _managed(method)


class Task:
    """A part of a fit; callbacks are notified when it begins and ends."""

    def __init__(self, estimator: Any, context: Any, at_end: dict[str, Any]) -> None:
        self._estimator, self._context, self._at_end = estimator, context, at_end

    @classmethod
    def of_fit(cls, estimator: Any, n_parts: int, X: Any, y: Any, sample_weight: Any) -> Self:
        """Return the task of a whole fit, which has `n_parts` parts."""
        begin = getattr(estimator, "_init_callback_context", None)
        context = begin and begin(max_subtasks=n_parts, sequential_subtasks=False)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        at_end = {"X": X, "y": y, "metadata": metadata, "reconstruction_attributes": {}}
        return cls(estimator, context, at_end)

    def part(self, name: str, place: int, n_parts: int | None = 0) -> "Task":
        """Return one of the parts; they may run in any order and in any thread.

        `n_parts` is the number of its own parts, None if unknown.
        """
        context = self._context and self._context.subcontext(
            task_name=name, task_id=place, max_subtasks=n_parts, sequential_subtasks=False
        )
        return Task(self._estimator, context, {})

    def note(self, name: str, place: int) -> None:
        """Report that one of the parts is done."""
        if self._context is not None:
            with self.part(name, place):
                pass

    def __enter__(self) -> Self:
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=self._estimator)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._context is not None and kind is None:
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._at_end)
