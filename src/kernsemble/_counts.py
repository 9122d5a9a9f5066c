"""Counts, numbers and times in sentences: "1 cell is", "2 cells are", "195,900", "3 min"."""

__all__ = ["counted", "duration", "is_or_are", "readable"]


def counted(n: int, noun: str) -> str:
    """Return a count with its noun, which gets an "s" unless there is one.

    Examples
    --------
    >>> from kernsemble._counts import counted
    >>> counted(1, "cell"), counted(1_200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def is_or_are(n: int) -> str:
    """Return the verb of a count."""
    return "is" if n == 1 else "are"


def readable(number: float, digits: int = 4, sign: str = "") -> str:
    """Return a number with some significant digits; large ones have all digits before the point.

    Parameters
    ----------
    number : float
        Number.
    digits : int
        Number of significant digits.
    sign : {"", "+"}
        "+" to show the sign of positive numbers.

    Examples
    --------
    >>> from kernsemble._counts import readable
    >>> readable(195_912.3), readable(-49_310.0, sign="+"), readable(2005.0), readable(0.123456)
    ('195,912', '-49,310', '2005', '0.1235')
    """
    if 10.0**digits - 0.5 <= abs(number) < 1e15:
        return f"{number:{sign},.0f}"
    return f"{number:{sign}.{digits}g}"


def duration(seconds: float) -> str:
    """Return a time with its unit.

    Examples
    --------
    >>> from kernsemble._counts import duration
    >>> duration(5.02), duration(250.0), duration(7300.0)
    ('5.0 s', '4 min', '2 h 2 min')
    """
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 10.0 else f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
