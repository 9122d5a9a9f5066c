"""A cell of an experiment: one method on one draw of one data set, and what came of it."""

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self


class Cell(NamedTuple):
    """What is computed at a time. The seed is that of the data and of the method."""

    data: str
    method: str
    seed: int


@dataclass(frozen=True)
class Record:
    """What came of a cell: named numbers, or the reason why there are none.

    Attributes
    ----------
    cell : Cell
        Which one.
    values : dict of str to float
        What the method tells, such as "error" in per cent.
    seconds, processor : float
        How long it took, and how many seconds of processors.
    failure : str or None
        What went wrong, if anything did.
    version : str
        Of the library.
    """

    cell: Cell
    values: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    processor: float = 0.0
    failure: str | None = None
    version: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the record as what JSON can hold."""
        return {**self.cell._asdict(), **{k: v for k, v in asdict(self).items() if k != "cell"}}

    @classmethod
    def of_dict(cls, numbers: dict[str, Any]) -> Self:
        """Return the record of what `as_dict` returned."""
        rest = dict(numbers)
        return cls(Cell(*(rest.pop(name) for name in Cell._fields)), **rest)
