"""The documentation shows commands that work, and the outputs that they print."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "refresh_outputs.py"


@pytest.fixture(scope="module")
def outputs():
    spec = importlib.util.spec_from_file_location("refresh_outputs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.large
@pytest.mark.parametrize(
    ("page", "n_commands", "n_outputs"), [("docs/command_line.md", 10, 10), ("README.md", 3, 0)]
)
def test_commands_print_what_the_documentation_shows(outputs, page, n_commands, n_outputs):
    found = list(outputs.results(ROOT / page, outputs.PAGES[page]))
    assert len(found) >= n_commands
    assert sum(bool(shown.output) for shown, _, _ in found) >= n_outputs
    for shown, code, actual in found:
        assert code == 0, (shown.command, actual)
        if shown.output:
            message = f"{shown.command!r} prints\n{actual}\nrun python docs/refresh_outputs.py"
            assert outputs.matches(shown.output, actual), message


def test_every_page_with_commands_is_checked(outputs):
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")]
    with_commands = {page for page in pages if outputs.BLOCK.search(page.read_text("utf-8"))}
    assert with_commands <= {ROOT / page for page in outputs.PAGES}


@pytest.mark.parametrize(
    ("shown", "actual"),
    [
        ("accuracy 0.66", "accuracy 0.6635"),
        ("wrote model.skops\n5.0 seconds", "wrote model.skops\n12.3 seconds\n"),
        ("first\n...\nlast 2", "first\nsecond\nthird\nlast 2"),
        ("a   b\n ───\n", "a b\n ─────────\n"),
    ],
)
def test_times_spacing_further_digits_and_ellipses_are_ignored(outputs, shown, actual):
    assert outputs.matches(shown, actual)


@pytest.mark.parametrize(
    ("shown", "actual"),
    [
        ("test: roc_auc 0.7323", "test: ROC AUC 0.7323 (0.70 to 0.76)"),
        ("accuracy 0.6635", "accuracy 0.6652"),
        ("2,000 rows", "2,001 rows"),
        ("first\nlast", "first\nsecond\nlast"),
        ("first\n...\nlast", "first\nsecond"),
    ],
)
def test_other_words_numbers_and_lines_are_found(outputs, shown, actual):
    assert not outputs.matches(shown, actual)


def test_a_stale_output_is_rewritten_and_a_matching_one_is_kept(outputs, tmp_path, monkeypatch):
    printed = {"kernsemble one": (0, "the new one 0.123456789 \n"), "kernsemble two": (0, "2 kept")}
    monkeypatch.setattr(outputs, "run", printed.__getitem__)
    page = tmp_path / "page.md"
    page.write_text(
        "Text\n\n```console\n$ kernsemble one\nthe old one\n$ kernsemble two\n...kept\n```\n",
        encoding="utf-8",
    )
    assert outputs.refreshed(page, "y") == (
        "Text\n\n```console\n$ kernsemble one\nthe new one 0.1235\n$ kernsemble two\n...kept\n```\n"
    )


def test_a_command_that_fails_is_an_error(outputs, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ kernsemble fit no.csv --target y\n```\n", encoding="utf-8")
    with pytest.raises(ValueError, match="failed"):
        outputs.refreshed(page, "y")
