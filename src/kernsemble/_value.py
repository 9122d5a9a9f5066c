"""Objects that are values: immutable, compared by content, arrays included."""

from collections.abc import Hashable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from _typeshed import DataclassInstance as _Dataclass
else:
    _Dataclass = object


class Value(_Dataclass):
    """Base of the frozen dataclasses that hold arrays.

    Two values are equal when their types are and every field is, arrays compared
    element by element with their dtype; equal values have equal hashes. A clone of a
    value, in the sense of scikit-learn, is the value itself.
    """

    def _content(self) -> tuple[Hashable, ...]:
        return tuple(_hashable(getattr(self, field.name)) for field in fields(self))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Value)
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), self._content()))

    def __sklearn_clone__(self) -> Self:
        return self


def _hashable(item: Any) -> Hashable:
    if isinstance(item, np.ndarray):
        content = tuple(item.tolist()) if item.dtype.hasobject else item.tobytes()
        return item.shape, item.dtype.str, content
    if isinstance(item, (tuple, list)):
        return tuple(map(_hashable, item))
    assert isinstance(item, Hashable)
    return item
