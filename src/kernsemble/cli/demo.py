"""``kernsemble demo``: what the library does, on embedded data."""

from kernsemble.cli.console import say
from kernsemble.cli.parts import part

PAGE = "demo-report.html"


def demo() -> None:
    """Compare kernels with forests and boosting on embedded data, and write demo-report.html."""
    part("report.demo", "demo", "the demonstration", "pip install 'kernsemble[demo]'")(PAGE, say)
