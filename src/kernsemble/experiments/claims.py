"""Claims of a paper about its tables, as statements that can be checked."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from kernsemble.experiments.verdicts import Mean


class ClaimResult(NamedTuple):
    """The number of rows in which a claim was checked, and the rows in which it fails."""

    n_rows: int
    failing: tuple[str, ...]

    @property
    def holds(self) -> bool | None:
        """Whether it holds in every row; None if there was no row to check."""
        return not self.failing if self.n_rows else None


@dataclass(frozen=True)
class Claim:
    """The claim that one column of a table is smaller than others, by a factor, in some rows.

    Attributes
    ----------
    text : str
        The claim in words.
    table, smaller : str
        The table, and its column that is claimed to be smaller.
    larger : tuple of str
        The columns it is compared with, each in every row.
    rows : tuple of str
        The data sets that the claim is about.
    times : float
        The factor: `times` × smaller ≤ larger.
    """

    text: str
    table: str
    smaller: str
    larger: tuple[str, ...]
    rows: tuple[str, ...]
    times: float = 1.0

    @classmethod
    def from_settings(cls, settings: dict[str, Any], rows: Iterable[str]) -> Self:
        """Read a claim of a configuration; `rows` are those of its table, the default."""
        return cls(
            settings["text"],
            settings["table"],
            settings["smaller"],
            tuple(settings["larger"]),
            tuple(settings.get("rows", rows)),
            settings.get("times", 1.0),
        )

    def check(self, means: dict[tuple[str, str], Mean]) -> ClaimResult:
        """Compare the means, given by row and column, in rows where all are known."""
        columns = (self.smaller, *self.larger)
        known = [row for row in self.rows if all((row, column) in means for column in columns)]
        failing = [
            row
            for row in known
            if any(
                self.times * means[row, self.smaller].mean > means[row, column].mean
                for column in self.larger
            )
        ]
        return ClaimResult(len(known), tuple(failing))
