"""The errors that are this library's own; each message ends with the remedy."""

from collections.abc import Iterable
from typing import Self


class UnboundKernelError(ValueError):
    """A kernel was evaluated before it had seen the data that fixes its constants."""

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
        """Return the error for a kernel and what it was used for."""
        return cls(
            f"{kernel} is only conditionally positive definite: it is meaningful between "
            f"coefficients that sum to zero, which {purpose} does not promise; "
            "use the kernel with its constant instead, kernel.full"
        )


class NotNeutralError(ValueError):
    """Theorem 16 was asked of hypotheses whose votes do not cancel."""

    @classmethod
    def of(cls, operand: object) -> Self:
        """Return the error for one side of an AND."""
        return cls(
            f"AND needs hypotheses that vote ±1 and cancel at every point, and {operand} is not "
            "known to have them: Stump(), MiddleStump(), Perceptron(), Category(), Constant() "
            "and their combinations do; '*' (XOR) accepts any definite kernel"
        )


class GramTooLargeError(MemoryError):
    """A kernel matrix would not fit in the memory of this machine."""


class RowsOnDemandWarning(UserWarning):
    """A kernel matrix is larger than the memory allowed, so its rows are computed on demand."""


class UnknownDatasetError(ValueError):
    """No data set of the catalogue has this name."""

    @classmethod
    def of(cls, name: str, close_matches: Iterable[str]) -> Self:
        """Return the error for a name and those that are spelt alike."""
        matches = " or ".join(map(repr, close_matches))
        advice = f"did you mean {matches}?" if matches else "list_datasets() names them all"
        return cls(f"name = {name!r} is in no catalogue: {advice}")


class DatasetNotFoundError(FileNotFoundError):
    """A data set of the catalogue is in none of the places where it was looked for."""


class DatasetMismatchError(ValueError):
    """A copy of a data set differs from the one the catalogue describes."""
