"""The documentation names tests, quotes code and describes settings that exist."""

import ast
import importlib.util
import inspect
import json
import re
import runpy
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import kernsemble
from kernsemble.experiments.paper import Paper
from kernsemble.solvers.losses import LOSSES

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::([\w:]+)`")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OMITTED = "# ..."


def read(*path):
    return ROOT.joinpath(*path).read_text(encoding="utf-8")


def blocks(text, language):
    """Return the contents of the fenced blocks of a language."""
    return [block for name, block in BLOCK.findall(text) if name == language]


def references(text):
    """Return the paths and the names of tests in a text."""
    return REFERENCE.findall(text)


def missing(found, root=ROOT):
    """Return the references whose file or function does not exist."""
    return [f"{path}::{name}" for path, name in found if name not in functions_of(root / path)]


def functions_of(path):
    if not path.is_file():
        return set()
    return set(names_in(ast.parse(path.read_text(encoding="utf-8"))))


def names_in(tree):
    """Yield the functions of a module, and those of its classes as ``Class::function``."""
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
    index = read("docs", "theory", "index.md")
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


LINKING = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "benchmarks").glob("*.md"),
    *(ROOT / "experiments").glob("*/*.md"),
]


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_that_exist(page):
    targets = re.findall(r"\]\((?!https?:|#|auto_examples)([^)#\s]+)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_module_is_in_the_architecture():
    page = read("ARCHITECTURE.md")
    modules = {path.name for path in (ROOT / "src").rglob("*.py")} - {"__init__.py"}
    assert sorted(name for name in modules if not re.search(rf"\b{name}\b", page)) == []
    listed = set(re.findall(r"\b\w+\.py\b", page.split("```")[1]))
    outside = {"hatch_build.py", "__init__.py"}
    assert sorted(listed - modules - outside) == []


def test_every_public_name_is_in_the_reference():
    page, listed = read("docs", "reference", "index.md"), set()
    for block in re.findall(r"```{eval-rst}\n(.*?)```", page, re.DOTALL):
        module = re.search(r"currentmodule:: (\S+)", block).group(1)
        listed |= {(module, name) for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)}
    for name in kernsemble.__all__:
        module = getattr(kernsemble, name)
        if inspect.ismodule(module):
            public = {each for each in getattr(module, "__all__", ()) if each[0] != "_"}
            found = {each for place, each in listed if place.startswith(module.__name__)}
            errors = {each for place, each in listed if place == "kernsemble.exceptions"}
            assert sorted(public - found - errors) == [], name


def test_the_reference_is_grouped_by_task():
    tasks = re.findall(r"^## (.*)$", read("docs", "reference", "index.md"), re.MULTILINE)
    assert tasks[0] == "Fit and select models"
    assert {"Explain models", "Write reports", "Find rare classes", "Select features"} <= set(tasks)


def test_the_first_minute_comes_before_the_papers():
    page = read("README.md")
    steps = [
        "pip install",
        'kernel="auto"',
        "write_report(model",
        "logistic regression  0.",
    ]
    steps += ["## When not to use it", "## In numbers", "## The papers"]
    places = [page.index(step) for step in steps]
    assert places == sorted(places)
    assert page.index("# or pandas.read_csv") < places[1]


def test_the_navigation_has_few_entries():
    toctree = read("docs", "index.md").split("{toctree}")[1]
    titles = re.findall(r"^(.+) <[\w/]+>$", toctree, re.MULTILINE)
    assert 4 <= len(titles) <= 7
    assert sum(map(len, titles)) < 70


@pytest.mark.parametrize("is_hosted", [True, False])
def test_hosted_pages_have_a_version_switch(is_hosted, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    tags = SimpleNamespace(has=lambda name: is_hosted and name == "hosted")
    settings = runpy.run_path(str(ROOT / "docs" / "conf.py"), {"tags": tags})
    options = settings["html_theme_options"]
    assert ("switcher" in options) == is_hosted
    if is_hosted:
        version = options["switcher"]["version_match"]
        listed = json.loads(read("docs", "_static", "switcher.json"))
        assert [each["url"] for each in listed if each["version"] == version] == [f"/{version}/"]
        assert "version-switcher" in options["navbar_start"]
        assert options["check_switcher"] is False  # no connection while building


@pytest.fixture(scope="module")
def mathml():
    pytest.importorskip("latex2mathml")
    path = ROOT / "docs" / "_extensions" / "mathml.py"
    spec = importlib.util.spec_from_file_location("mathml", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.mathml


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_formulas_become_mathml(page, mathml):
    text = re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8"))
    formulas = re.findall(r"\$\$(.+?)\$\$|\$([^$]+)\$", text, re.DOTALL)
    assert formulas or page.stem == "index"
    for displayed, inline in formulas:
        element = mathml(displayed or inline, "block" if displayed else "inline")
        assert element.startswith("<math ")
        assert "\\" not in element


def test_bars_of_norms_do_not_stretch(mathml):
    element = mathml(r"\lVert x - x'\rVert_1 + |x| + \|x\|", "inline")
    assert element.count('<mo stretchy="false" lspace="0" rspace="0">') == 6


def absent_lines(quotation, root=ROOT):
    """Return the lines of a quotation that its file does not contain, in their order."""
    name, *quoted = quotation.strip("\n").splitlines()
    lines = iter(root.joinpath(name.removeprefix("# ")).read_text(encoding="utf-8").splitlines())
    return [
        line
        for line in quoted
        if line.strip() not in ("", OMITTED) and not any(line == each for each in lines)
    ]


QUOTATIONS = blocks(read("STYLE.md"), "python")


@pytest.mark.parametrize("quotation", QUOTATIONS, ids=lambda text: text.partition("\n")[0])
def test_the_code_quoted_in_style_exists(quotation):
    assert absent_lines(quotation) == []


def test_style_quotes_a_kernel_a_solver_and_a_test():
    files = [quotation.partition("\n")[0] for quotation in QUOTATIONS]
    folders = ("# src/kernsemble/kernels/", "# src/kernsemble/solvers/", "# tests/")
    assert all(any(file.startswith(folder) for file in files) for folder in folders)


def test_changed_and_reordered_lines_of_a_quotation_are_found(tmp_path):
    (tmp_path / "code.py").write_text("a = 1\nb = 2\nc = 3\n", encoding="utf-8")
    assert absent_lines("# code.py\na = 1\n# ...\nc = 3\n", tmp_path) == []
    assert absent_lines("# code.py\na = 1\nb = 3\n", tmp_path) == ["b = 3"]
    assert absent_lines("# code.py\nc = 3\na = 1\n", tmp_path) == ["a = 1"]


@pytest.fixture(scope="module")
def contributed():
    """Yield the names that the examples for contributors define, run one after another."""
    examples = blocks(read("CONTRIBUTING.md"), "python")
    assert all(example.startswith(("# src/", "# tests/")) for example in examples)
    names, losses = {"__name__": "contributed"}, dict(LOSSES)
    for example in examples:
        exec(compile(example, example.partition("\n")[0], "exec"), names)
    yield names
    for name in LOSSES.keys() - losses.keys():
        LOSSES.pop(name)


CONTRIBUTED_TESTS = re.findall(r"^def (test_\w+)\(", read("CONTRIBUTING.md"), re.MULTILINE)


@pytest.mark.parametrize("name", CONTRIBUTED_TESTS)
def test_the_examples_for_contributors_work(name, contributed, request):
    test = contributed[name]
    fixtures = inspect.signature(test).parameters
    test(**{each: request.getfixturevalue(each) for each in fixtures})


def test_every_kind_of_example_is_contributed(contributed):
    names = {"Cauchy", "Huber", "CentroidClassifier", "SinglePrecisionBackend", "columns"}
    assert names <= contributed.keys()
    assert len(CONTRIBUTED_TESTS) >= 4


def keys_in(settings, within=""):
    """Yield the keys of a paper's configuration, with ``*`` for names that the paper defines."""
    named = {"tables": "tables.*", "figures": "figures.*", "profiles": "profiles.*"}
    free = ("data", "tables.*.columns", "tables.*.data", "profiles.*.runs_of")
    for key, value in settings.items():
        path = f"{within}.{key}" if within else key
        if path in free:
            yield path
        elif path in named:
            for each in value.values():
                yield from keys_in(each, named[path])
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for each in value:
                yield from keys_in(each, path)
        else:
            yield path


PAPER_PAGE = read("docs", "adding_a_paper.md")


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("experiments/*/config.toml")), ids=lambda path: path.parent.name
)
def test_every_setting_of_a_paper_is_documented(path):
    documented = set(re.findall(r"^\| `([\w.*]+)` \|", PAPER_PAGE, re.MULTILINE))
    settings = set(keys_in(tomllib.loads(path.read_text(encoding="utf-8"))))
    assert settings <= documented


def test_the_example_of_a_paper_can_be_read(tmp_path):
    (config,), (published,) = blocks(PAPER_PAGE, "toml"), blocks(PAPER_PAGE, "json")
    (tmp_path / "config.toml").write_text(config, encoding="utf-8")
    (tmp_path / "published.json").write_text(published, encoding="utf-8")
    paper = Paper.from_folder(tmp_path)
    assert list(paper.tables) == ["table1", "table1 with a hard margin"]
    assert paper.tables["table1"].published["heart"]["SVM-Stump"].mean == 16.5
    assert paper.data_name("heart") == "heart scaled"
    assert {cell.method for cell in paper.cells("quick")} == {"SVM-Stump"}
    assert json.loads(published).keys() == {"table1"}


def test_the_reference_lists_inherited_methods():
    template = read("docs", "_templates", "autosummary", "class.rst")
    assert ":inherited-members:" in template
    assert "for each in listed" in template
