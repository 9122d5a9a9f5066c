"""What a paper says of its tables, as statements that hold or do not."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from kernsemble.experiments.verdicts import Mean


class Found(NamedTuple):
    """Where a claim was looked at, and where it fails."""

    n_rows: int
    failing: tuple[str, ...]

    @property
    def holds(self) -> bool | None:
        """Whether it holds everywhere; None if there was nothing to look at."""
        return not self.failing if self.n_rows else None


@dataclass(frozen=True)
class Claim:
    """That one column of a table is smaller than others, by a factor, in some rows.

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
    def of(cls, settings: dict[str, Any], rows: Iterable[str]) -> Self:
        """Return the claim of a configuration; without rows it is about all of the table's."""
        return cls(
            settings["text"],
            settings["table"],
            settings["smaller"],
            tuple(settings["larger"]),
            tuple(settings.get("rows", rows)),
            settings.get("times", 1.0),
        )

    def look(self, means: dict[tuple[str, str], Mean]) -> Found:
        """Compare the means, by row and column, of rows where all are known."""
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
        return Found(len(known), tuple(failing))
