"""What is told while a fit goes on, through the callbacks of scikit-learn where it has them."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks as _managed
except ImportError:  # before scikit-learn 1.9
    CallbackSupportMixin, _managed = type("CallbackSupportMixin", (), {}), None

__all__ = ["CallbackSupportMixin", "Task", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """Return a `fit` that ends the callbacks it began, however it ends."""
    return method if _managed is None else _managed(method)


class Task:
    """A part of a fit, within which callbacks know that it is at work."""

    def __init__(self, estimator: Any, context: Any, told: dict[str, Any]) -> None:
        self._estimator, self._context, self._told = estimator, context, told

    @classmethod
    def of_fit(cls, estimator: Any, n_parts: int, X: Any, y: Any, sample_weight: Any) -> Self:
        """Return the whole of a fit, which has so many parts."""
        begin = getattr(estimator, "_init_callback_context", None)
        context = begin and begin(max_subtasks=n_parts, sequential_subtasks=False)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        told = {"X": X, "y": y, "metadata": metadata, "reconstruction_attributes": {}}
        return cls(estimator, context, told)

    def part(self, name: str, place: int, n_parts: int | None = 0) -> "Task":
        """Return one of the parts, which may be done in any order and by any thread.

        It has so many parts of its own, None if that is not known.
        """
        context = self._context and self._context.subcontext(
            task_name=name, task_id=place, max_subtasks=n_parts, sequential_subtasks=False
        )
        return Task(self._estimator, context, {})

    def note(self, name: str, place: int) -> None:
        """Tell that one of the parts is done."""
        if self._context is not None:
            with self.part(name, place):
                pass

    def __enter__(self) -> Self:
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=self._estimator)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._context is not None and kind is None:
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._told)
