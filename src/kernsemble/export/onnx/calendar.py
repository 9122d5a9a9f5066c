"""Parts of the calendar of dates, given as days since 1970-01-01."""

from kernsemble.export.onnx.graph import Tensor

MICROSECONDS = 8.64e10  # of a day
HOUR = 3.6e9
DAYS_BEFORE_1970 = 719_468.0  # since the start of March of year 0
DAYS_OF_ERA, DAYS_OF_CENTURY, DAYS_OF_FOUR_YEARS, DAYS_OF_YEAR = 146_097.0, 36_524.0, 1_460.0, 365.0
DAYS_OF_FIVE_MONTHS = 153.0  # from March or August on


def date_part(days: Tensor, part: str) -> Tensor:
    """Return the month (1 to 12), weekday (1 for Monday to 7) or hour (0 to 23)."""
    times = (days * MICROSECONDS).to("Round")
    day = _quotient(times, MICROSECONDS)
    if part == "hour":
        return _quotient(times - day * MICROSECONDS, HOUR)
    if part == "weekday":
        since_monday = day + 3.0
        return since_monday - _quotient(since_monday, 7.0) * 7.0 + 1.0
    return _month(day)


def _month(day: Tensor) -> Tensor:
    """Return the month, by years that start in March and eras of 400 years."""
    since = day + DAYS_BEFORE_1970
    of_era = since - _quotient(since, DAYS_OF_ERA) * DAYS_OF_ERA
    leap_days = _quotient(of_era, DAYS_OF_FOUR_YEARS) - _quotient(of_era, DAYS_OF_CENTURY)
    last_day = _quotient(of_era, DAYS_OF_ERA - 1.0)
    year = _quotient(of_era - leap_days - last_day, DAYS_OF_YEAR)
    before = year * DAYS_OF_YEAR + _quotient(year, 4.0) - _quotient(year, 100.0)
    month = _quotient((of_era - before) * 5.0 + 2.0, DAYS_OF_FIVE_MONTHS)  # from March, 0
    return month + 3.0 - (month > 9.0).where(12.0, 0.0)


def _quotient(numbers: Tensor, divisor: float) -> Tensor:
    return (numbers / divisor).to("Floor")
