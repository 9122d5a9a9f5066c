"""Objects that are values: immutable, compared by content, arrays included; short reprs."""

from collections.abc import Hashable, Mapping, Sized
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from _typeshed import DataclassInstance as _Dataclass
else:
    _Dataclass = object


MAX_LENGTH = 190  # maximum number of characters of a repr
MAX_FIELD = 60  # maximum number of characters of a field


def short_repr(item: Any) -> str:
    """Return the repr of a dataclass or named tuple, with the shapes of arrays in place of them.

    Examples
    --------
    >>> from kernsemble.hypotheses import StumpSet
    >>> StumpSet.spanning([[0.0, 1.0], [2.0, 3.0]])
    StumpSet(knots=<2 items>, measures=<2 items>)
    """
    names = [each.name for each in fields(item)] if is_dataclass(item) else item._fields
    shown = [f"{name}={_short(getattr(item, name))}" for name in names if not name.startswith("_")]
    text = f"{type(item).__name__}({', '.join(shown)})"
    while len(text) > MAX_LENGTH and shown:
        shown.pop()
        text = f"{type(item).__name__}({', '.join([*shown, '...'])})"
    return text


def _short(item: Any) -> str:
    """Return the repr of a field, or a description if that is long."""
    if isinstance(item, np.ndarray) or sparse.issparse(item):
        return f"<array of shape {item.shape}>"
    if isinstance(item, str):
        return repr(item if len(item) < MAX_FIELD else f"{item[: MAX_FIELD - 3]}...")
    if isinstance(item, (tuple, list, Mapping, set)) and not hasattr(item, "_fields"):
        n = len(item)
        is_small = n <= 3 and all(isinstance(each, (str, int, float)) for each in item)
        is_small &= not isinstance(item, Mapping) and len(repr(item)) <= MAX_FIELD
        return repr(item) if is_small else f"<{n} {'item' if n == 1 else 'items'}>"
    if isinstance(item, Sized) and hasattr(item, "shape"):
        return f"<{type(item).__name__} of shape {item.shape}>"
    text = repr(item)
    return text if len(text) <= MAX_FIELD else f"<{type(item).__name__}>"


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

    def __repr__(self) -> str:
        return short_repr(self)

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
