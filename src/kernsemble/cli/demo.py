"""``kernsemble demo``: what the library does, on embedded data."""

import runpy
from pathlib import Path

import kernsemble
from kernsemble.cli.console import CommandError

SCRIPT = Path(kernsemble.__file__).parents[2] / "examples" / "demo.py"


def demo() -> None:
    """Fit kernels to embedded data, compare them, and write demo-report.html."""
    if not SCRIPT.is_file():
        raise CommandError(
            f"there is no {SCRIPT}: the demo is in the sources; clone the repository and run "
            "make demo there"
        )
    runpy.run_path(str(SCRIPT), run_name="__main__")
