"""``kernsemble demo``: a demonstration of the library on embedded data."""

from kernsemble.cli.console import import_optional, write_line

PAGE = "demo-report.html"


def demo() -> None:
    """Compare kernels, forests and boosting; write demo-report.html."""
    run = import_optional(
        "report.demo", "demo", "the demonstration", "pip install 'kernsemble[demo]'"
    )
    run(PAGE, write_line)
