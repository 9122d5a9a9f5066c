"""The command line: ``kernsemble`` or ``python -m kernsemble``."""

import atexit
import gc
import signal
import sys
import time

START = time.perf_counter()


def _terminate(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one would interrupt the removal
    raise SystemExit(128 + number)  # unwinds the stack, which removes unfinished files


def main() -> None:
    """Run the command line."""
    atexit.register(gc.freeze)  # a last search for cycles would take most of a second
    try:
        signal.signal(signal.SIGTERM, _terminate)
        from kernsemble.cli.app import app
        from kernsemble.cli.stopwatch import Stopwatch

        app(prog_name="kernsemble", obj=Stopwatch(START))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        sys.exit(
            f"kernsemble: error: the command line needs {error.name}, which is not installed: "
            "pip install 'kernsemble[cli]'"
        )
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
