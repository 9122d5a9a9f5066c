"""The pages of the theory name tests that exist, and there is a page for all that is listed."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::([\w:]+)`")


def references(text):
    """The paths and the names of tests in a text."""
    return REFERENCE.findall(text)


def missing(found, root=ROOT):
    """Those of the references whose file or function does not exist."""
    return [f"{path}::{name}" for path, name in found if name not in functions_of(root / path)]


def functions_of(path):
    if not path.is_file():
        return set()
    return set(names_in(ast.parse(path.read_text(encoding="utf-8"))))


def names_in(tree):
    """The functions of a module, and those of its classes behind the name of the class."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield from (f"{node.name}::{name}" for name in names_in(node))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_of_the_theory_names_tests_that_exist(page):
    text = page.read_text(encoding="utf-8")
    found = references(text)
    assert found
    assert len(found) == text.count(".py::")  # no reference is written in another way
    assert missing(found) == []


def test_every_page_of_the_theory_is_listed_twice():
    index = (ROOT / "docs" / "theory" / "index.md").read_text(encoding="utf-8")
    pages = {page.stem for page in PAGES} - {"index"}
    assert set(re.findall(r"{doc}`(\w+)`", index)) == pages
    toctree = index.split("{toctree}")[1]
    assert set(re.findall(r"^(\w+)$", toctree, re.MULTILINE)) == pages


def test_a_test_that_does_not_exist_is_found_missing(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("def test_here():\n    pass\n", encoding="utf-8")
    text = "`tests/test_it.py::test_here`, `tests/test_it.py::test_gone` `tests/no.py::test_here`"
    assert missing(references(text), tmp_path) == [
        "tests/test_it.py::test_gone",
        "tests/no.py::test_here",
    ]
