"""One app of all commands, and how they end.

Exit codes: 0 when done, 1 when a command failed, 2 for arguments that cannot be meant, 130 after
an interrupt.
"""

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
    heard_warnings,
    one_line,
)
from kernsemble.cli.demo import demo
from kernsemble.cli.explain import explain
from kernsemble.cli.fit import fit
from kernsemble.cli.predict import predict
from kernsemble.cli.rare import rare
from kernsemble.cli.reproduce import reproduce
from kernsemble.cli.select import select

__all__ = ["app"]

FAILURE, USAGE, INTERRUPTED = 1, 2, 130
KNOWN = (CommandError, ValueError, OSError, MemoryError, ImportError)


class Commands(TyperGroup):
    """The commands, whose errors are told in one line; with --debug, anywhere, in full."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that was typed, and leave with its exit code."""
        typed = list(sys.argv[1:] if args is None else args)
        is_debugged = "--debug" in typed
        typed = [each for each in typed if each != "--debug"] or ["--help"]
        try:
            with heard_warnings():
                code = super().main(
                    typed, prog_name, complete_var, False, windows_expand_args, **extra
                )
            if code == INTERRUPTED:
                raise KeyboardInterrupt
        except BaseException as error:
            code = _told(error, is_debugged)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _told(error: BaseException, is_debugged: bool) -> int:
    """Say what went wrong, and return the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILURE
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        _complain("interrupted: nothing was written")
        return INTERRUPTED
    if hasattr(error, "format_message"):  # of Click: how the command was typed
        _complain(f"{error.format_message()} (kernsemble --help tells more)")
        return USAGE
    if is_debugged:
        traceback.print_exception(error)
    if isinstance(error, BrokenPipeError):  # who read the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    if isinstance(error, KNOWN):
        _complain(error if str(error) else type(error).__name__)
        if isinstance(error, InterruptedCommandError):
            return INTERRUPTED
    else:
        _complain(
            f"{type(error).__name__}: {error}; this should not happen: run it again with --debug "
            "and tell the developers"
        )
    return FAILURE


def _complain(message: object) -> None:
    print(f"kernsemble: error: {one_line(message)}", file=sys.stderr)


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Kernels that are ensembles, from the command line.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.",
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
        typer.Option("--version", callback=_show_version, is_eager=True, help="Tell the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of errors; anywhere in the line.")
    ] = False,
) -> None:
    """Kernels that are ensembles, from the command line."""


for command in (fit, predict, explain, select, rare, demo, reproduce):
    app.command()(command)
