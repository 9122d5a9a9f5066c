"""The errors that are this library's own; each message ends with the remedy."""

from collections.abc import Iterable


class UnboundKernelError(ValueError):
    """A kernel was evaluated before it had seen the data that fixes its constants."""

    def __init__(self, kernel: object) -> None:
        super().__init__(
            f"{kernel} has constants that come from data; bind it first: "
            "bound = kernel.bind(X_train), then bound(X) or bound(X, Y)."
        )


class ConditionalKernelError(ValueError):
    """A conditionally definite kernel was used where a definite one is needed."""

    def __init__(self, kernel: object, purpose: str) -> None:
        super().__init__(
            f"{kernel} is only conditionally positive definite: it is meaningful between "
            f"coefficients that sum to zero, which {purpose} does not promise. "
            "Use the kernel with its constant instead: kernel.full."
        )


class NotNeutralError(ValueError):
    """Theorem 16 was asked of hypotheses whose votes do not cancel."""

    def __init__(self, kernel: object) -> None:
        super().__init__(
            f"'&' needs kernels whose hypotheses are neutral (their votes cancel at every "
            f"point), and {kernel} is not known to be. Stump(), MiddleStump(), Perceptron(), "
            "Category(), Constant() and their combinations are. '*' (XOR) accepts any definite "
            "kernel."
        )


class GramTooLargeError(MemoryError):
    """A kernel matrix would not fit in the memory of this machine."""


class UnknownDatasetError(ValueError):
    """No data set of the catalogue has this name."""

    def __init__(self, name: str, close_matches: Iterable[str]) -> None:
        matches = " or ".join(map(repr, close_matches))
        advice = f"did you mean {matches}?" if matches else "list_datasets() names them all"
        super().__init__(f"name = {name!r} is in no catalogue: {advice}")


class DatasetNotFoundError(FileNotFoundError):
    """A data set of the catalogue is in none of the places where it was looked for."""


class DatasetMismatchError(ValueError):
    """A copy of a data set differs from the one the catalogue describes."""
