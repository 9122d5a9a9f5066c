"""The base class of kernels."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from kernsemble._typing import ArrayLike, FloatArray, Rows
from kernsemble._validation import (
    Column,
    as_columns,
    as_features,
    check_column_names,
    column_names,
    present_rows,
)
from kernsemble._value_object import Value
from kernsemble.exceptions import ConditionalKernelError
from kernsemble.hypotheses import HypothesisSet
from kernsemble.kernels.gram import Embedded, fill_gram, finite_values

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel


class Kernel(Value, ABC):
    r"""A symmetric function of two rows that embodies an ensemble of hypotheses.

    Kernels are values: immutable, compared by content. `bind` returns the kernel with the
    constants that come from data; the bound kernel is a function of rows. Kernels combine:
    ``k1 + k2`` contains the hypotheses of both (Theorem 13), ``k1 * k2`` their XOR
    (Theorem 14), ``k1 & k2`` their AND and OR (Theorem 16), ``c * k`` weights them, and
    ``k.on(columns)`` restricts them to some columns.

    To write a kernel, implement `_embed`, which prepares rows, `_tile`, which computes the
    matrix between a few prepared rows, and `_diagonal`.

    Attributes
    ----------
    supports_missing : bool
        Whether a missing value (NaN) has hypotheses of its own, as in `Stump`, `MiddleStump`
        and `Category`.
    accepts_missing : bool
        Whether the kernel itself compares rows with missing values, as `Mixed` does.
    """

    supports_missing: ClassVar[bool] = False
    accepts_missing: ClassVar[bool] = False

    # -- a kernel and data

    @abstractmethod
    def bind(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Return this kernel with its constants taken from the rows of `X`.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            The sample.
        sample_weight : array-like of shape (n,), optional
            Sample weights: a row of weight 3 counts as three copies of it, one of weight 0 as
            absent. Without weights every row counts once.

        Returns
        -------
        Kernel
            The bound kernel; this one does not change.

        Examples
        --------
        >>> from kernsemble.kernels import Laplacian
        >>> X = [[0.0], [1.0], [4.0]]
        >>> Laplacian().bind(X, sample_weight=[2, 1, 0])([[0.0], [1.0]])
        array([[1.  , 0.22],
               [0.22, 1.  ]])
        >>> Laplacian().bind([[0.0], [0.0], [1.0]])([[0.0], [1.0]])
        array([[1.  , 0.22],
               [0.22, 1.  ]])
        """

    @property
    @abstractmethod
    def n_features(self) -> int | None:
        """Number of columns of the data that the kernel is bound to, None if unbound."""

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, out: FloatArray | None = None
    ) -> Any:
        """Return the kernel matrix between all rows of `X` and all rows of `Y`.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Rows.
        Y : the same, of shape (m, n_features), optional
            Other rows; without them those of `X` are compared with each other.
        out : array of shape (n, m), optional
            Array for the result.

        Returns
        -------
        array of shape (n, m), or a number for two single points (1-D arrays)
        """
        if Y is not None and _is_point(X) and _is_point(Y):
            return self._at(np.asarray(X), np.asarray(Y))
        A = self._embedded(X, "X")
        B = None if Y is None or Y is X else self._embedded(Y, "Y")
        return fill_gram(self._tile, A, B, out)

    def diagonal(self, X: ArrayLike) -> FloatArray:
        """Return K(x, x) for every row of `X`, in time linear in the rows."""
        return finite_values(self._diagonal, self._embedded(X, "X"))

    def _embedded(self, X: ArrayLike, name: str) -> Embedded:
        """Return embedded rows; sums that overflow make values that are refused."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._embed(X, name)

    def _at(self, x: FloatArray, y: FloatArray) -> float:
        if self.is_conditional:
            raise ConditionalKernelError.of(self, "a single pair of points")
        a, b = self._embed(x[np.newaxis], "X"), self._embed(y[np.newaxis], "Y")
        return float(self._tile(a, b)[0, 0])

    @abstractmethod
    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        """Return the checked rows of `X`, prepared for `_tile`."""

    @abstractmethod
    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        """Return the matrix between a few embedded rows as a new array."""

    @abstractmethod
    def _diagonal(self, A: Embedded) -> FloatArray:
        """Return the values of embedded rows with themselves."""

    # -- hypotheses

    @property
    def hypotheses(self) -> HypothesisSet | None:
        """The hypotheses whose votes have this inner product, None if none are known."""
        return None

    @property
    def delta(self) -> float:
        r"""The constant :math:`\Delta = K(x, x)`: the total measure of hypotheses that vote ±1."""
        if self.hypotheses is None or not self.is_neutral:
            raise AttributeError(f"{self} has no delta: no hypotheses are known that vote ±1")
        return self.hypotheses.total_measure

    @property
    def is_neutral(self) -> bool:
        """Whether the hypotheses vote ±1 and cancel at every point (Definition 15)."""
        return False

    @property
    def is_conditional(self) -> bool:
        """Whether the kernel is definite only between coefficients that sum to zero."""
        return False

    @property
    def simplified(self) -> "Kernel":
        r"""The kernel without its constant :math:`\Delta`.

        It gives the same SVM (Theorems 4 and 10), and is conditionally definite only.
        """
        raise AttributeError(f"{self} has no simplified form: use the kernel itself")

    @property
    def full(self) -> "Kernel":
        """The kernel with its constants: undoes `simplified`."""
        return self

    def require_definite(self, purpose: str) -> Self:
        """Return the kernel itself, or raise when it is only conditionally definite."""
        if self.is_conditional:
            raise ConditionalKernelError.of(self, purpose)
        return self

    @property
    def logic(self) -> "Kernel":
        r"""The kernel :math:`\tfrac14 (K + \Delta)` of the rules (1 + h)/2, which vote 0 or 1.

        Products of logic kernels are conjunctions of rules (Lin's thesis). It needs
        hypotheses that vote ±1 and cancel.
        """
        return _algebra().Logic.from_kernel(self)

    # -- the algebra

    __array_ufunc__ = None  # so that NumPy's numbers times a kernel call __rmul__

    def __add__(self, other: object) -> "Kernel":
        if not isinstance(other, Kernel):
            return NotImplemented
        return _algebra().Sum.from_kernels(self, other)

    def __radd__(self, other: object) -> "Kernel":
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum(kernels)

    def __mul__(self, other: object) -> "Kernel":
        if isinstance(other, Kernel):
            return _algebra().Product.from_kernels(self, other)
        if not isinstance(other, Real):
            return NotImplemented
        return _algebra().Scaled.from_kernel(other, self)

    __rmul__ = __mul__

    def __and__(self, other: object) -> "Kernel":
        if not isinstance(other, Kernel):
            return NotImplemented
        return _algebra().And.from_kernels(self, other)

    def on(self, columns: Column | Sequence[Column]) -> "Kernel":
        """Return the kernel of some columns, given by index, mask or, in DataFrames, name."""
        return _algebra().OnColumns(self, as_columns(columns))

    def as_gaussian_process_kernel(self) -> "GaussianProcessKernel":
        """Return the bound kernel as a covariance for scikit-learn's Gaussian processes."""
        from kernsemble.kernels.gaussian_process import (
            Covariance,  # imported here, since scikit-learn's module is slow to import
        )

        return Covariance(self)

    # -- representation

    @property
    def _expression(self) -> str:
        given = [
            f"{each.name}={_text(getattr(self, each.name))}"
            for each in sorted(fields(self), key=lambda each: each.kw_only is True)
            if each.repr and _text(getattr(self, each.name)) != _text(each.default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __repr__(self) -> str:
        return self._expression if self.n_features is None else f"{self._operand}.bind(X)"

    @property
    def _operand(self) -> str:
        """The expression within a larger one."""
        return self._expression


def _is_point(X: Any) -> bool:
    """Return whether X is a single row: an array with one axis, or a sequence of numbers."""
    if isinstance(X, (list, tuple)):
        return all(np.isscalar(each) for each in X)
    return getattr(X, "ndim", 2) == 1


def _algebra() -> Any:
    from kernsemble.kernels import algebra  # imported here, since the modules depend on each other

    return algebra


def _text(value: object) -> str:
    return value._expression if isinstance(value, Kernel) else repr(value)


@dataclass(frozen=True, eq=False, repr=False)
class PointKernel(Kernel):
    """A kernel with its own formula, not made of other kernels."""

    n_features: int | None = field(default=None, kw_only=True, repr=False)
    feature_names: tuple[Any, ...] | None = field(default=None, kw_only=True, repr=False)

    def bind(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        rows = self._read(X)
        present = present_rows(rows, sample_weight)
        with np.errstate(all="ignore"):  # an infinite constant makes values that are refused
            bound = self._with_constants(*present)
        return replace(bound, n_features=rows.shape[1], feature_names=column_names(X))

    def _read(self, X: ArrayLike, n_features: int | None = None, name: str = "X") -> Rows:
        """Return checked rows, of numbers by default."""
        return as_features(X, n_features, name)

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:  # noqa: ARG002
        """Return the kernel with its constants from a sample; it has none by default.

        `weight` contains the weights of the rows of `X`, all positive.
        """
        return self

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        check_column_names(X, self.feature_names, name)
        return self._read(X, self.n_features, name)
