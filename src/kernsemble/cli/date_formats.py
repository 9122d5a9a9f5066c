"""Dates and times in text: ISO, dd.mm.yyyy, mm/dd/yyyy and dd/mm/yyyy, names of months."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DateFormat", "find_date_format", "parse_dates"]

# Regular expressions of dates, and the formats that they may have, the more usual one first; the
# names of months may be short.
DATES = {
    r"\d{4}-\d{1,2}-\d{1,2}": ("%Y-%m-%d",),
    r"\d{4}/\d{1,2}/\d{1,2}": ("%Y/%m/%d",),
    r"\d{4}\.\d{1,2}\.\d{1,2}": ("%Y.%m.%d",),
    r"\d{1,2}\.\d{1,2}\.\d{4}": ("%d.%m.%Y",),
    r"\d{1,2}\.\d{1,2}\.\d{2}": ("%d.%m.%y",),
    r"\d{1,2}/\d{1,2}/\d{4}": ("%m/%d/%Y", "%d/%m/%Y"),
    r"\d{1,2}/\d{1,2}/\d{2}": ("%m/%d/%y", "%d/%m/%y"),
    r"\d{1,2}-\d{1,2}-\d{4}": ("%d-%m-%Y", "%m-%d-%Y"),
    r"\d{1,2} [A-Za-z]{3,9} \d{4}": ("%d %B %Y",),
    r"\d{1,2}-[A-Za-z]{3,9}-\d{4}": ("%d-%B-%Y",),
    r"[A-Za-z]{3,9} \d{1,2}, \d{4}": ("%B %d, %Y",),
}
TIMES = ("%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp][Mm])?"
ZONE = r" ?(?:Z|UTC|[+-]\d{2}:?\d{2})"


class DateFormat(NamedTuple):
    """The format of the dates of a column, and another one that reads them as well."""

    layout: str
    alternative: str | None = None

    @property
    def words(self) -> str:
        """The format as people write it."""
        return _words(self.layout)


def _words(layout: str) -> str:
    names = {"%Y": "yyyy", "%y": "yy", "%m": "mm", "%d": "dd", "%B": "month"}
    for code, name in names.items():
        layout = layout.replace(code, name)
    return layout


def parse_dates(text: "pl.Series", layout: str) -> "pl.Series":
    """Return the dates of a column, with their times; null where an entry has another format.

    Times are those of the clock: a time zone is ignored.
    """
    bare = text.str.strip_chars()
    bare = bare.str.replace(rf"^(.{{6,}}?\d)[T ]+({TIME}){ZONE}$", "$1 $2")
    bare = bare.str.replace(rf"^(.{{6,}}?\d)T({TIME})$", "$1 $2")
    dates = bare.str.to_datetime(layout, strict=False, time_unit="us", exact=True)
    for time in TIMES:
        if dates.null_count() == text.null_count():
            break
        found = bare.str.to_datetime(f"{layout} {time}", strict=False, time_unit="us")
        dates = dates.fill_null(found)
    return dates.alias(text.name)


def find_date_format(entries: "pl.Series", day_first: bool | None = None) -> DateFormat | None:
    """Return the format in which every entry is a date, None if there is none.

    Of two formats that read all entries, the one with the day first if `day_first`.
    """
    known = entries.drop_nulls().str.strip_chars()
    for pattern, layouts in DATES.items():
        if not known.str.contains(rf"^{pattern}(?:[T ]+{TIME}(?:{ZONE})?)?$").all():
            continue
        found = [each for each in layouts if parse_dates(known, each).null_count() == 0]
        if len(found) > 1 and day_first is not None:
            found.sort(key=lambda each: each.startswith("%d") != day_first)
        if found:
            return DateFormat(found[0], found[1] if len(found) > 1 else None)
    return None
