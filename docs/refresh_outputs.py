"""Run the commands shown in the documentation, and rewrite the outputs shown below them.

Usage: ``python docs/refresh_outputs.py``. A block of ``console`` holds commands after ``$``, each
followed by its output. ``...`` in an output stands for any text, times are ignored, and numbers are
compared to the digits shown; an output that still matches is left as it is. A command without an
output only has to succeed. ``tests/cli/test_docs.py`` checks the same.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from typer.testing import CliRunner

from kernsemble.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = {"docs/command_line.md": "left", "README.md": "y"}  # with the target of their tables
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
TIME = r"\d[\d.,]* ?(?:seconds|minutes|min|ms|s)\b"
NUMBER = r"-?\d+\.\d+"
TOKEN = re.compile(
    rf"(?P<any>\.\.\.)|(?P<time>{TIME})|(?P<number>{NUMBER})|(?P<rule>─+)|(?P<space>\s+)"
)
WITH_PROGRESS = ("fit", "predict", "select", "rare")
MOST_LINES = 40  # of an output, beyond which its first lines are shown
LONG_NUMBER = re.compile(r"-?\d+\.\d{7,}(?:e-?\d+)?")


@dataclass(frozen=True)
class Shown:
    """A command of a page, and the output shown below it, "" if none is."""

    command: str
    output: str


def shown_in(block: str) -> list[Shown]:
    """Return the commands of a console block with their outputs."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    if parts[0].strip():
        raise ValueError(f"a console block begins with {parts[0][:40]!r}: begin it with '$ '")
    pairs = (part.partition("\n") for part in parts[1:])
    return [Shown(command.strip(), output.rstrip("\n")) for command, _, output in pairs]


def matches(shown: str, actual: str) -> bool:
    """Return whether an output is as shown, up to ``...``, times, spacing and further digits."""
    numbers: list[str] = []

    def pattern(token: re.Match[str]) -> str:
        if token.lastgroup == "number":
            numbers.append(token.group())
        kinds = {"any": ".*?", "time": TIME, "number": f"({NUMBER})", "rule": "─+", "space": r"\s+"}
        return kinds[token.lastgroup or "any"]

    parts, end = [], 0
    for token in TOKEN.finditer(shown.strip()):
        parts += [re.escape(shown.strip()[end : token.start()]), pattern(token)]
        end = token.end()
    parts.append(re.escape(shown.strip()[end:]))
    found = re.fullmatch("".join(parts), actual.strip(), re.DOTALL)
    return found is not None and all(
        abs(float(seen) - float(one)) < 1.01 * 10.0 ** -len(one.partition(".")[2])
        for one, seen in zip(numbers, found.groups(), strict=True)
    )


def run(command: str) -> tuple[int, str]:
    """Run ``kernsemble ...`` or ``head -n N FILE`` here; return the exit code and the output."""
    program, *words = shlex.split(command)
    if program == "head":
        lines = Path(words[-1]).read_text(encoding="utf-8").splitlines()[: int(words[-2])]
        return 0, "\n".join(lines)
    if program != "kernsemble":
        raise ValueError(f"{command!r}: only kernsemble and head -n are run")
    quiet = ["--no-progress"] if words[0] in WITH_PROGRESS else []  # lines depend on the time
    result = CliRunner().invoke(app, [*words, *quiet])
    return result.exit_code, result.output


def results(page: Path, target: str) -> Iterator[tuple[Shown, int, str]]:
    """Run the commands of a page in a new folder; yield each, its exit code and its output."""
    text = page.read_text(encoding="utf-8")
    with TemporaryDirectory() as folder, chdir(folder):
        write_tables(target)
        for block in BLOCK.findall(text):
            for shown in shown_in(block):
                yield shown, *run(shown.command)


def refreshed(page: Path, target: str) -> str:
    """Return the text of a page in which every shown output is the actual one."""
    actual = {shown.command: (code, output) for shown, code, output in results(page, target)}

    def block(found: re.Match[str]) -> str:
        lines = []
        for shown in shown_in(found.group()):
            code, output = actual[shown.command]
            if code:
                raise ValueError(f"{page.name}: {shown.command!r} failed: {output}")
            is_kept = not shown.output or matches(shown.output, output)
            lines += [f"$ {shown.command}", shown.output if is_kept else tidied(output)]
        return "".join(f"{line}\n" for line in lines if line)

    return BLOCK.sub(block, page.read_text(encoding="utf-8"))


def tidied(output: str) -> str:
    """Return an output without trailing space, numbers and lists of lines shortened."""
    short = LONG_NUMBER.sub(lambda number: f"{float(number.group()):.4f}", output.strip("\n"))
    lines = [line.rstrip() for line in short.splitlines()]
    return "\n".join(lines if len(lines) <= MOST_LINES else [*lines[:4], "..."])


def write_tables(target: str) -> None:
    """Write the tables that the commands read into the current folder."""
    for name, n, seed in (("train", 2000, 0), ("test", 1000, 1), ("new", 500, 2)):
        customers(n, seed).rename({"left": target}).write_csv(f"{name}.csv")
    sensors().write_csv("sensors.csv")


def customers(n: int, seed: int) -> pl.DataFrame:
    """Return customers of whom some left: numbers, a category, missing values."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 80, n), np.round(rng.lognormal(3.5, 0.5, n), 1)
    town = rng.choice(["Aachen", "Brno", "Cork"], n)
    score = 0.08 * np.abs(age - 45) - 0.02 * income + (town == "Cork") + rng.logistic(size=n)
    known = [None if k % 20 == 0 else float(each) for k, each in enumerate(income)]
    left = np.where(score > 0.5, "yes", "no")
    return pl.DataFrame({"age": age, "income": known, "town": town, "left": left})


def sensors() -> pl.DataFrame:
    """Return six sensors, of which two predict a rare fault."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    fault = X[:, 0] + X[:, 2] + 0.3 * rng.normal(size=300) > 2.2
    columns = {f"s{d}": X[:, d] for d in range(6)}
    return pl.DataFrame(columns | {"fault": np.where(fault, "yes", "no")})


def main() -> None:
    """Rewrite the pages."""
    for name, target in PAGES.items():
        page = ROOT / name
        text = refreshed(page, target)
        is_same = text == page.read_text(encoding="utf-8")
        page.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}: {'unchanged' if is_same else 'rewritten'}\n")


if __name__ == "__main__":
    main()
