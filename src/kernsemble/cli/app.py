"""The command-line app: all commands, error messages and exit codes.

Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
"""

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kernsemble.cli.console import (
    CommandError,
    InterruptedCommandError,
    WrongUsageError,
    one_line,
    warnings_as_notes,
)
from kernsemble.cli.demo import demo
from kernsemble.cli.explain import explain
from kernsemble.cli.export import export
from kernsemble.cli.fit import fit
from kernsemble.cli.invocation import Invocation
from kernsemble.cli.predict import predict
from kernsemble.cli.rare import rare
from kernsemble.cli.reproduce import reproduce
from kernsemble.cli.select import select
from kernsemble.cli.serve import serve
from kernsemble.cli.wording import in_options
from kernsemble.exceptions import GramTooLargeError

__all__ = ["app"]

FAILURE, USAGE, INTERRUPTED = 1, 2, 130
DISK_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free space, or write elsewhere"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "check the permissions"),
}
EXPECTED_ERRORS = (CommandError, ValueError, OSError, MemoryError, ImportError)


class Commands(TyperGroup):
    """All commands; errors are one line, or a traceback with --debug anywhere in the line."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit with its code."""
        words = list(sys.argv[1:] if args is None else args)
        is_debugged = "--debug" in words
        words = [each for each in words if each != "--debug"] or ["--help"]
        extra["obj"] = Invocation.from_words(words, extra.get("obj"))
        try:
            with warnings_as_notes(in_options):
                code = super().main(
                    words, prog_name, complete_var, False, windows_expand_args, **extra
                )
            if code == INTERRUPTED:
                raise KeyboardInterrupt
        except BaseException as error:
            command = next((each for each in words if each in self.commands), "")
            code = _report_error(error, is_debugged, f"kernsemble {command}".strip())
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _report_error(error: BaseException, is_debugged: bool, command: str) -> int:
    """Write the error message, and return the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILURE
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        _write_error("interrupted: nothing was written")
        return INTERRUPTED
    if isinstance(error, WrongUsageError) or hasattr(error, "format_message"):
        message = error.format_message() if hasattr(error, "format_message") else error
        _write_error(f"{message} (see {command} --help)")
        return USAGE
    if is_debugged:
        traceback.print_exception(error)
    if isinstance(error, BrokenPipeError):  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    if isinstance(error, EXPECTED_ERRORS):
        _write_error(_message(error))
        if isinstance(error, InterruptedCommandError):
            return INTERRUPTED
    else:
        _write_error(
            f"{type(error).__name__}: {error}; this is a bug: run the command again with --debug "
            "and send us the traceback"
        )
    return FAILURE


def _message(error: BaseException) -> str:
    """Return the message of an expected error, with a remedy if the system raised it."""
    if isinstance(error, CommandError):
        return str(error)
    if isinstance(error, MemoryError) and not isinstance(error, GramTooLargeError):
        reason = f" ({error})" if str(error) else ""
        return f"there is not enough memory{reason}: use fewer rows, or free memory"
    if isinstance(error, OSError) and error.strerror and error.errno in DISK_REMEDIES:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}: {DISK_REMEDIES[error.errno]}"
    return in_options(error) if str(error) else type(error).__name__


def _write_error(message: object) -> None:
    print(f"kernsemble: error: {one_line(message)}", file=sys.stderr)


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Kernel machines that are infinite ensembles, from the command line.",
    epilog="Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import kernsemble

        print(f"kernsemble {kernsemble.__version__}")
        raise typer.Exit


@app.callback()
def _settings(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of errors; allowed anywhere.")
    ] = False,
) -> None:
    """Kernel machines that are infinite ensembles, from the command line."""


for command in (fit, predict, explain, export, serve, select, rare, demo, reproduce):
    app.command()(command)
