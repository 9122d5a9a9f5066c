"""What is released: pinned dependencies with hashes, a bill of materials, wheel and sdist."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"

pytest.importorskip("hatchling")


def load_hook():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins_of(path):
    """Return the lines of a lock file that name a package, without their hashes."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.removesuffix(" \\") for line in lines if line and line[0] not in " #"]


def names_of(requirements):
    return {re.match(r"[\w.-]+", each)[0].lower() for each in requirements}


# -- the lock file


def test_every_package_is_pinned_with_hashes():
    packages = re.split(r"\n(?=[a-z])", LOCK.read_text(encoding="utf-8"))
    for package in packages:
        first, *rest = package.splitlines()
        assert re.match(r"[a-z0-9._-]+==[\w.+]+( ; .*)? \\$", first), first
        hashes = [line for line in rest if "--hash" in line]
        assert hashes, first
        assert all(re.match(r"    --hash=sha256:[0-9a-f]{64}( \\)?$", each) for each in hashes)


def test_the_lock_files_name_no_host():
    for path in (LOCK, ROOT / "constraints.txt"):
        assert not re.search(r"://|--\w*index|--find-links", path.read_text(encoding="utf-8"))


def test_the_lock_has_the_versions_that_are_tested_and_all_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    del extras["cuda"]  # not for every system, so not in the extra "all" either
    pins = pins_of(LOCK)
    assert set(pins) <= set(pins_of(ROOT / "constraints.txt"))
    for needed in (project["dependencies"], *extras.values()):
        assert names_of(needed) - {project["name"]} <= names_of(pins)


# -- the bill of materials

EXAMPLE = """\
cupy==2.0 \\
    --hash=sha256:00
    # via ours (pyproject.toml)
llvmlite==0.4 ; python_full_version < '3.12' \\
    --hash=sha256:00 \\
    --hash=sha256:01
    # via numba
llvmlite==0.5 ; python_full_version >= '3.12' \\
    --hash=sha256:02
    # via numba
numba==0.6 \\
    --hash=sha256:03
    # via
    #   ours (pyproject.toml)
    #   pytest
pluggy==1.0 \\
    --hash=sha256:04
    # via pytest
pytest==9.0 \\
    --hash=sha256:05
    # via ours (pyproject.toml:dev)
"""


def test_the_bill_has_required_and_optional_packages_but_no_tools():
    bill = load_hook().bill_of_materials("ours", "1.0", ["numba >= 0.5"], EXAMPLE)
    scopes = {each["bom-ref"]: each["scope"] for each in bill["components"]}
    assert scopes == {
        "pkg:pypi/cupy@2.0": "optional",
        "pkg:pypi/llvmlite@0.4": "required",
        "pkg:pypi/llvmlite@0.5": "required",
        "pkg:pypi/numba@0.6": "required",
    }
    needs = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert needs["pkg:pypi/ours@1.0"] == ["pkg:pypi/cupy@2.0", "pkg:pypi/numba@0.6"]
    assert needs["pkg:pypi/numba@0.6"] == ["pkg:pypi/llvmlite@0.4", "pkg:pypi/llvmlite@0.5"]
    assert needs["pkg:pypi/cupy@2.0"] == []
    (marker,) = bill["components"][1]["properties"]
    assert marker["value"] == "python_full_version < '3.12'"


# -- wheel and sdist

PAPERS = sorted(path.parent.name for path in (ROOT / "experiments").glob("*/config.toml"))
PROGRAM = """
import kernsemble, sys
from kernsemble.experiments.folders import papers
from kernsemble.export import javascript_reader
from kernsemble.svm import InfiniteEnsembleClassifier

assert kernsemble.__file__.startswith(sys.argv[1]), kernsemble.__file__
assert "evaluate" in javascript_reader()
X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
print(*InfiniteEnsembleClassifier(solver="exact").fit(X, y).predict(X), *papers())
"""


def run(*command, **settings):
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, **settings
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    run("-m", "hatchling", "build", "--target", "sdist", "--directory", folder, cwd=ROOT)
    (path,) = folder.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """Return the wheel that pip builds from the sdist alone."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = ("-m", "pip", "--disable-pip-version-check", "wheel", "--quiet")
    offline = ("--no-build-isolation", "--no-deps", "--no-index")
    run(*pip, *offline, "--wheel-dir", folder, sdist, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


def test_the_sdist_has_the_sources_and_the_lock_but_nothing_built(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    kept = ("LICENSE", "SECURITY.md", "requirements.lock", "hatch_build.py", "tests/cases.py")
    assert names >= {*kept, "src/kernsemble/devices/pairs.cu"}
    assert not [each for each in names if re.search(r"\.venv/|__pycache__|\.nb[ci]$|\.pyc$", each)]


def test_the_wheel_has_sources_papers_and_bill(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (bill,) = [name for name in names if ".dist-info/sboms/" in name]
        content = json.loads(archive.read(bill))
    package = ROOT / "src" / "kernsemble"
    sources = [path for path in package.rglob("*") if path.is_file()]
    sources = [path for path in sources if path.suffix not in (".pyc", ".nbc", ".nbi")]
    assert {path.suffix for path in sources} >= {".cu", ".js", ".html", ".json"}
    assert {path.relative_to(package.parent).as_posix() for path in sources} <= names
    assert {f"kernsemble/experiments/papers/{each}/config.toml" for each in PAPERS} <= names
    assert bill.endswith("/kernsemble.cdx.json")
    assert not [each for each in names if each.startswith("tests")]
    scopes = {each["name"]: each["scope"] for each in content["components"]}
    assert (scopes["llvmlite"], scopes["skops"]) == ("required", "optional")
    assert {"pytest", "ruff", "sphinx"}.isdisjoint(scopes)
    references = [each["bom-ref"] for each in content["components"]]
    assert len(references) == len(set(references)) == len(content["dependencies"]) - 1


def test_two_builds_are_the_same(sdist, wheel, tmp_path):
    run("-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path, cwd=ROOT)
    (again,) = tmp_path.glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()


@pytest.mark.slow
def test_the_installed_wheel_fits_and_has_the_papers(wheel, tmp_path):
    target = tmp_path / "site"
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile")
    run(*pip, "--no-deps", "--no-index", "--target", target, wheel)
    environment = os.environ | {"PYTHONPATH": str(target), "NUMBA_DISABLE_JIT": "1"}
    found = run("-c", PROGRAM, target, cwd=tmp_path, env=environment).split()
    assert found == ["0", "0", "1", "1", *PAPERS]
