"""The effort of a vote: numbers of rows, folds, finalists and values of C, by the training rows.

Up to `exact_rows` rows kernels are solved on matrices of all rows, whose cost grows with the cube
of the rows, and beyond on leaves, whose cost grows with the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._typing import FloatArray

MAX_FINALISTS = 8
MAX_LONG_FINALISTS = 6  # the same from three thousand rows on, for time
LAST_FACTORS = (1.0, 3.0)  # values of C of a finalist with all rows, in units of its best one:
LONG_FACTORS = (2.0,)  # larger ones are often better; from three thousand rows on one, for time
LOCAL_FACTORS = (0.25, 1.0, 4.0)  # the same on leaves, where values of C share the kernel
MOST_WORK = 5.0 * 2_400.0**3  # cube of the training rows of a fold, summed over all folds
LONG_ROWS = 3_000  # number of rows from which fewer finalists and values of C are tried
TRIAL_ROWS = 60_000  # number of rows above which finalists are tried on a sample of them
TRIAL_PARTITIONS = 2  # number of partitions of a finalist
PARTITIONS = 6  # number of partitions of all members that have leaves
MAX_PARTITIONS = 4  # maximum number of partitions of a member
LARGE_LEAVES = 60_000  # number of rows up to which leaves are larger, for accuracy,
MAX_FACTOR = 3.0  # by this factor at most


@dataclass(frozen=True)
class Effort:
    """The effort of a vote.

    Attributes
    ----------
    is_local : bool
        Whether kernels are solved on leaves of the rows.
    n_trial_rows : int
        Number of rows on which finalists are tried.
    n_folds : int
        Number of folds on which they are tried.
    n_finalists : int
        Maximum number of finalists.
    factors : tuple of float
        Values of C that finalists try, in units of the best one in the race.
    leaf_factor : float
        Number of rows of leaves, in units of that of the backend.
    """

    is_local: bool
    n_trial_rows: int
    n_folds: int
    n_finalists: int
    factors: tuple[float, ...]
    leaf_factor: float = 1.0

    @classmethod
    def for_rows(
        cls,
        n_rows: int,
        n_folds: int,
        exact_rows: float,
        trial_rows: int = TRIAL_ROWS,
    ) -> Self:
        """Return the effort for a number of rows."""
        if n_rows > exact_rows:
            factor = float(np.clip(LARGE_LEAVES / n_rows, 1.0, MAX_FACTOR))
            n = min(n_rows, trial_rows)
            return cls(True, n, 1, MAX_FINALISTS, LOCAL_FACTORS, factor)
        work = (n_rows * (1.0 - 1.0 / max(n_folds, 2))) ** 3
        n_used = int(np.clip(MOST_WORK / work, 1, n_folds))
        if n_rows > LONG_ROWS:
            return cls(False, n_rows, n_used, MAX_LONG_FINALISTS, LONG_FACTORS)
        return cls(False, n_rows, n_used, MAX_FINALISTS, LAST_FACTORS)


def n_partitions(
    shares: Sequence[float] | FloatArray, total: int = PARTITIONS, most: int = MAX_PARTITIONS
) -> list[int]:
    """Return the number of partitions of each member, in proportion to its share of the vote."""
    sizes = np.asarray(shares, dtype=np.float64)
    found = np.rint(total * sizes / (float(sizes.sum()) or 1.0)).astype(int)
    return np.clip(found, 1, most).tolist()
