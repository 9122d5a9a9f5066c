"""Errors and warnings of this library; each message ends with a remedy."""

import sys
import warnings
from pathlib import Path
from typing import Any, Self


class ArgumentError(ValueError):
    """Error for an argument with an invalid value.

    Attributes
    ----------
    argument : str
        Name of the argument.
    value : object
        Invalid value.
    remedy : str
        Accepted values, or another remedy.

    Examples
    --------
    >>> from kernsemble.exceptions import ArgumentError
    >>> ArgumentError("C", -1.0, "use a positive number or np.inf")
    ArgumentError('C', -1.0, 'use a positive number or np.inf')
    >>> print(_)
    C = -1.0: use a positive number or np.inf
    """

    def __init__(self, argument: str, value: Any, remedy: str) -> None:
        super().__init__(argument, value, remedy)  # the arguments that pickle and copy pass again
        self.argument, self.value, self.remedy = argument, value, remedy

    def __str__(self) -> str:
        return f"{self.argument} = {self.value!r}: {self.remedy}"


class UnboundKernelError(ValueError):
    """Error for a kernel that is evaluated before it is bound to data."""

    @classmethod
    def of(cls, kernel: object) -> Self:
        """Return the error for a kernel that was not bound."""
        return cls(
            f"{kernel} has constants that come from data: bind it first, "
            "bound = kernel.bind(X_train), then bound(X) or bound(X, Y)"
        )


class ConditionalKernelError(ValueError):
    """Error for a conditionally definite kernel where a definite one is needed."""

    @classmethod
    def of(cls, kernel: object, purpose: str) -> Self:
        """Return the error for a kernel and the purpose it was used for."""
        return cls(
            f"{kernel} is only conditionally positive definite: it is valid only for "
            f"coefficients that sum to zero, which {purpose} does not guarantee; "
            "use the kernel with its constant instead, kernel.full"
        )


class NotNeutralError(ValueError):
    """Error for an AND (Theorem 16) of hypotheses whose votes do not cancel."""

    @classmethod
    def of(cls, operand: object) -> Self:
        """Return the error for one side of an AND."""
        return cls(
            "AND needs hypotheses that vote ±1 and cancel at every point, which is not "
            f"guaranteed for {operand}: use Stump(), MiddleStump(), Perceptron(), Category(), "
            "Constant() or combinations of them; '*' (XOR) accepts any definite kernel"
        )


class GramTooLargeError(MemoryError):
    """Error for a kernel matrix that does not fit in memory."""


class RowsOnDemandWarning(UserWarning):
    """Warning that a kernel matrix exceeds the memory allowed: rows are computed on demand."""


class UnknownDatasetError(ArgumentError):
    """Error for a name that is not in the catalogue of data sets."""


class DatasetNotFoundError(FileNotFoundError):
    """Error for a data set of the catalogue that none of its sources has."""


class DatasetMismatchError(ValueError):
    """Error for a copy of a data set that differs from the catalogue."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called this library, directly or through scikit-learn."""
    import sklearn  # imported here, since the command line shows its help without it

    libraries = tuple(str(Path(each).parent) for each in (__file__, str(sklearn.__file__)))
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(libraries):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
