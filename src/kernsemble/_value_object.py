"""Objects that are values: immutable, compared by content, arrays included."""

from collections.abc import Hashable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from _typeshed import DataclassInstance as _Dataclass
else:
    _Dataclass = object


class Value(_Dataclass):
    """Base class of frozen dataclasses that contain arrays.

    Arrays become read-only and NumPy's numbers Python's. Two values are equal when their
    types are and every field is, arrays compared element by element with their dtype;
    equal values have equal hashes. A clone of a value, in the sense of scikit-learn, is the
    value itself.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _frozen(getattr(self, field.name)))

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # no caches

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # unpickled arrays are writable

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


def _frozen(item: Any) -> Any:
    if isinstance(item, np.ndarray):
        view = item.view()
        view.flags.writeable = False
        return view
    if isinstance(item, tuple):
        return tuple(map(_frozen, item))
    return item.item() if isinstance(item, np.generic) else item


def _hashable(item: Any) -> Hashable:
    if isinstance(item, np.ndarray):
        return item.shape, item.dtype.str, _array_content(item)
    if isinstance(item, tuple):
        return tuple(map(_hashable, item))
    if sparse.issparse(item):
        rows = item.tocsr().sorted_indices()
        return item.shape, *map(_hashable, (rows.indptr, rows.indices, rows.data))
    assert isinstance(item, Hashable)
    return item


def _array_content(array: np.ndarray) -> Hashable:
    if array.dtype.hasobject:
        return tuple(array.tolist())
    return (array + 0.0 if array.dtype.kind == "f" else array).tobytes()  # -0.0 equals 0.0
