"""Errors and warnings of this library; each message ends with a remedy."""

from typing import Any, Self


class ArgumentError(ValueError):
    """An argument has a value that is not accepted.

    Attributes
    ----------
    argument : str
        Name of the argument.
    value : object
        Value that was given.
    remedy : str
        Values that are accepted, or what to do instead.

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
    """A kernel was evaluated before it was bound to the data that fixes its constants."""

    @classmethod
    def of(cls, kernel: object) -> Self:
        """Return the error for a kernel that was not bound."""
        return cls(
            f"{kernel} has constants that come from data: bind it first, "
            "bound = kernel.bind(X_train), then bound(X) or bound(X, Y)"
        )


class ConditionalKernelError(ValueError):
    """A conditionally definite kernel was used where a definite one is needed."""

    @classmethod
    def of(cls, kernel: object, purpose: str) -> Self:
        """Return the error for a kernel and the purpose it was used for."""
        return cls(
            f"{kernel} is only conditionally positive definite: it is valid only for "
            f"coefficients that sum to zero, which {purpose} does not guarantee; "
            "use the kernel with its constant instead, kernel.full"
        )


class NotNeutralError(ValueError):
    """Theorem 16 was applied to hypotheses whose votes do not cancel."""

    @classmethod
    def of(cls, operand: object) -> Self:
        """Return the error for one side of an AND."""
        return cls(
            "AND needs hypotheses that vote ±1 and cancel at every point, which is not "
            f"guaranteed for {operand}: use Stump(), MiddleStump(), Perceptron(), Category(), "
            "Constant() or combinations of them; '*' (XOR) accepts any definite kernel"
        )


class GramTooLargeError(MemoryError):
    """A kernel matrix would not fit in the memory of this computer."""


class RowsOnDemandWarning(UserWarning):
    """A kernel matrix is larger than the memory allowed, so its rows are computed on demand."""


class UnknownDatasetError(ArgumentError):
    """No data set of the catalogue has this name."""


class DatasetNotFoundError(FileNotFoundError):
    """A data set of the catalogue was found in none of its sources."""


class DatasetMismatchError(ValueError):
    """A copy of a data set differs from the one that the catalogue describes."""
