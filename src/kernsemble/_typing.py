"""The array types that appear in signatures.

At run time each is a name, so that signatures show ``X: ArrayLike`` in place of a page of unions.
"""

from typing import TYPE_CHECKING, Any, NewType, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]
    ArrayLike: TypeAlias = npt.ArrayLike
    BoolArray: TypeAlias = npt.NDArray[np.bool_]
    FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
    IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
else:

    def _named(name: str) -> Any:
        alias = NewType(name, object)
        alias.__module__ = "typing"  # which signatures leave out
        return alias

    Array, ArrayLike = _named("Array"), _named("ArrayLike")
    BoolArray, FloatArray, IntArray = map(_named, ("BoolArray", "FloatArray", "IntArray"))

Rows: TypeAlias = Any  # a dense array or a CSR matrix: SciPy's matrices have no types
