"""The command-line app: help, error messages, exit codes and lazy imports."""

import signal
import subprocess
import sys
import warnings

import pytest

from kernsemble import __main__ as script
from kernsemble.cli import app as commands

report_demo = pytest.importorskip("kernsemble.report.demo")


@pytest.mark.parametrize("words", [(), ("--help",), ("fit", "--help"), ("predict", "--help")])
def test_help(run, words):
    result = run(*words)
    assert result.exit_code == 0
    assert "Usage: " in result.stdout


def test_unknown_commands_are_usage_errors(refused):
    assert "No such command 'fti'" in refused("fti", code=2)
    assert "TABLE" in refused("fit", code=2)


@pytest.mark.parametrize("words", [("fit", "--colour"), ("predict", "m.skops"), ("explain",)])
def test_usage_errors_name_the_help_of_their_command(refused, words):
    assert refused(*words, code=2).endswith(f"(see kernsemble {words[0]} --help)")
    assert refused("--colour", code=2).endswith("(see kernsemble --help)")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("C = 0:\n use more"), 1, "error: C = 0: use more"),
        (MemoryError(), 1, "error: there is not enough memory: use fewer rows"),
        (ZeroDivisionError("x"), 1, "ZeroDivisionError: x; this is a bug"),
        (KeyboardInterrupt(), 130, "error: interrupted: nothing was written"),
        (SystemExit(3), 3, ""),
    ],
    ids=lambda case: type(case).__name__,
)
def test_every_error_is_one_line(run, monkeypatch, error, code, line):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(report_demo, "demo", fail)
    result = run("demo")
    assert result.exit_code == code
    assert line in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") <= 1
    if line and code == 1:
        assert "Traceback" in run("demo", "--debug").stderr


def test_warnings_are_notes(run, monkeypatch):
    def warn(*_, **__):
        for _ in range(2):
            warnings.warn("mind\nthe gap", stacklevel=1)

    monkeypatch.setattr(report_demo, "demo", warn)
    assert run("demo").stderr == "kernsemble: note: mind the gap\n"


def test_the_demo_needs_the_report(refused, monkeypatch):
    monkeypatch.delattr(report_demo, "demo")
    assert "kernsemble[demo]" in refused("demo")


def test_commands_are_listed_without_numeric_libraries():
    heavy = "{'numba', 'sklearn', 'scipy', 'polars', 'numpy'}"
    code = (
        "import sys, kernsemble.cli.app\n"
        f"sys.exit(' '.join(sorted({heavy} & set(sys.modules))) or None)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_exit_codes_are_documented(run):
    codes = commands.FAILURE, commands.USAGE, commands.INTERRUPTED
    assert (
        "0 success, {} failure, {} wrong usage, {} interrupted".format(*codes)
        in run("--help").stdout
    )


@pytest.fixture
def typed(monkeypatch):
    """Return a function that runs the console script and returns its exit code."""

    def run_script(*words):
        monkeypatch.setattr(sys, "argv", ["kernsemble", *words])
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        with pytest.raises(SystemExit) as ended:
            script.main()
        return ended.value.code

    return run_script


def test_the_console_script(typed, capsys, monkeypatch):
    assert typed("--version") == 0
    assert capsys.readouterr().out.startswith("kernsemble 0.")
    with pytest.raises(SystemExit, match="143"):
        script._terminate(signal.SIGTERM, None)

    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "app", interrupt)
    assert typed() == 130


def test_the_console_script_ends_without_a_search_for_cycles(typed, monkeypatch):
    """The time after the last line of output is not part of the time that commands print."""
    registered = []
    monkeypatch.setattr(script.atexit, "register", registered.append)
    assert typed("--version") == 0
    assert registered == [script.gc.freeze]


def test_the_console_script_without_its_extra(typed, monkeypatch):
    monkeypatch.delitem(sys.modules, "kernsemble.cli.app")
    monkeypatch.setitem(sys.modules, "typer", None)
    assert "pip install 'kernsemble[cli]'" in typed("--version")
    monkeypatch.setitem(sys.modules, "kernsemble.cli.app", None)
    with pytest.raises(ModuleNotFoundError):
        script.main()
