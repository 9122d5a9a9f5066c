"""Numbers as people write them: decimal commas, thousands separators, percentages, currencies.

A column of text is read as numbers if every entry is one in the same format. Whether "1,234" is a
thousand or one and a fraction is decided by the column itself where it can be (1,5 or 1,234.5),
else by the other columns of the file.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TIME_OF_DAY", "YES_NO", "Decimal", "NumberFormat", "TruthValues", "times_as_hours"]

Decimal: TypeAlias = Literal[".", ","]

UNITS = {  # name of a unit by its symbol, as messages show it
    "%": "percent (12 % is 12)",
    "R$": "reals",
    "US$": "US dollars",
    "$": "dollars",
    "€": "euros",
    "£": "pounds",
    "¥": "yen",
    "₹": "rupees",
    "₩": "won",
    "zł": "zlotys",
    "kr": "kroner",
    "USD": "US dollars",
    "EUR": "euros",
    "GBP": "pounds",
    "CHF": "Swiss francs",
    "JPY": "yen",
    "CNY": "yuan",
    "INR": "rupees",
    "SEK": "kronor",
    "NOK": "kroner",
    "DKK": "kroner",
    "PLN": "zlotys",
    "CAD": "Canadian dollars",
    "AUD": "Australian dollars",
}
GROUPS: dict[str, tuple[str, ...]] = {".": (",", " ", "'"), ",": (".", " ", "'")}
SPACES = "[\u00a0\u202f\u2009\u2007]"
TIME_OF_DAY = "%H:%M"
YES_NO = "yes/no"


def _pattern(decimal: str) -> str:
    """Return the regular expression of a number, with or without thousands separators."""
    grouped = "|".join(rf"[1-9]\d{{0,2}}(?:{re.escape(each)}\d{{3}})+" for each in GROUPS[decimal])
    point = re.escape(decimal)
    fraction = rf"(?:{point}\d*)?(?:[eE][+-]?\d+)?"
    return rf"^[+-]?(?:(?:{grouped}|\d+){fraction}|{point}\d+(?:[eE][+-]?\d+)?)$"


PATTERNS = {decimal: _pattern(decimal) for decimal in GROUPS}


@dataclass(frozen=True)
class NumberFormat:
    """Numbers with a decimal sign, any thousands separator, and maybe a unit."""

    decimal: Decimal = "."
    unit: str = ""

    @classmethod
    def from_layout(cls, layout: str) -> Self:
        """Return the format of a layout, its decimal sign and its unit; "" for plain numbers."""
        return cls("," if layout.startswith(",") else ".", layout[1:])

    @property
    def layout(self) -> str:
        """Short text that identifies the format."""
        return self.decimal + self.unit

    def parse(self, text: "pl.Series") -> "pl.Series":
        """Return the numbers of a column of text, null where it has none."""
        import polars as pl

        bare = text.str.strip_chars().str.replace_all(SPACES, " ").str.replace_all("−", "-")
        if self.unit:
            unit = re.escape(self.unit)
            bare = bare.str.replace(rf"^([+-]?) ?{unit} ?|^(\() ?{unit} ?", "$1$2")
            bare = bare.str.replace(rf" ?{unit}(\)?)$", "$1")
        bare = bare.str.replace(r"^\(([^()+-]*)\)$", "-$1")  # accountants' negative numbers
        is_number = bare.str.contains(PATTERNS[self.decimal])
        for group in GROUPS[self.decimal]:
            bare = bare.str.replace_all(group, "", literal=True)
        if self.decimal == ",":
            bare = bare.str.replace(",", ".", literal=True)
        numbers = bare.cast(pl.Float64, strict=False)
        return pl.select(pl.when(is_number).then(numbers)).to_series().alias(text.name)

    def has_alternative(self, text: "pl.Series") -> bool:
        """Return whether the other decimal sign reads every entry as well, as other numbers."""
        other = NumberFormat("," if self.decimal == "." else ".", self.unit)
        return other.reads(text) and not other.parse(text).equals(self.parse(text))

    def reads(self, entries: "pl.Series") -> bool:
        """Return whether every entry is a number in this format."""
        return self.parse(entries).null_count() == entries.null_count()


def unit_of(entries: "pl.Series") -> str:
    """Return the unit that the first entry has, "" for none."""
    first = entries.drop_nulls()[0].strip().strip("()+-− ")
    return next((unit for unit in UNITS if first.startswith(unit) or first.endswith(unit)), "")


def possible_formats(entries: "pl.Series") -> list[NumberFormat]:
    """Return the formats, with a decimal point or comma, that read every entry."""
    unit = unit_of(entries)
    both = (NumberFormat(".", unit), NumberFormat(",", unit))
    return [each for each in both if each.reads(entries)]


def usual_decimal(possible: Iterable[list[NumberFormat]], separator: str) -> Decimal:
    """Return the decimal sign of columns that leave it open, given the formats of all columns."""
    decided = {formats[0].decimal for formats in possible if len(formats) == 1}
    if len(decided) == 1:
        return decided.pop()
    return "," if separator == ";" and not decided else "."


class TruthValues:
    """Words for true and false, in any case."""

    TRUE_FALSE = ("true", "false")
    PAIRS = (TRUE_FALSE, ("yes", "no"), ("t", "f"), ("y", "n"))

    @classmethod
    def pair_of(cls, entries: "pl.Series") -> tuple[str, str] | None:
        """Return the pair of words that all entries belong to, both of which occur."""
        words = set(entries.drop_nulls().str.strip_chars().str.to_lowercase().to_list())
        return next((pair for pair in cls.PAIRS if words == set(pair)), None)

    @classmethod
    def parse(cls, text: "pl.Series") -> "pl.Series":
        """Return 1 for true and 0 for false, null for anything else."""
        import polars as pl

        values = {word: float(1 - k) for pair in cls.PAIRS for k, word in enumerate(pair)}
        lower = text.str.strip_chars().str.to_lowercase()
        return lower.replace_strict(values, default=None, return_dtype=pl.Float64)


def times_as_hours(text: "pl.Series") -> "pl.Series":
    """Return times of day such as 14:30 or 14:30:15 as hours, null for anything else."""
    import polars as pl

    parts = text.str.strip_chars().str.extract_groups(r"^(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?$")
    fields = parts.struct.unnest().cast(pl.Float64)
    hours, minutes, seconds = (fields.to_series(k) for k in range(3))
    total = hours + minutes / 60.0 + seconds.fill_null(0.0) / 3600.0
    is_time = (hours < 24.0) & (minutes < 60.0) & (seconds.fill_null(0.0) < 60.0)
    return pl.select(pl.when(is_time).then(total)).to_series().alias(text.name)
