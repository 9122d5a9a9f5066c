"""Papers are found in a clone and in an installed package; missing data are reported."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kernsemble.exceptions import DatasetNotFoundError
from kernsemble.experiments import folders, paper_data
from kernsemble.experiments.folders import Availability, papers
from kernsemble.experiments.paper import compute
from kernsemble.experiments.results import read_results

ROOT = Path(__file__).parents[2]
N_CHECKED = 3


def test_the_papers_of_the_clone_are_found():
    known = papers()
    assert {"lin-li-2008", "lin-2005-thesis", "tsang-kwok-2007"} <= known.keys()
    assert all(paper.folder == ROOT / "experiments" / name for name, paper in known.items())


def test_the_first_folder_with_papers_is_used(place, tmp_path):
    places = (tmp_path / "none", place, ROOT / "experiments")
    assert list(papers(places)) == ["other-2026", "small-2026"]
    with pytest.raises(FileNotFoundError, match="install the package again"):
        papers([tmp_path / "none"])


def test_a_wheel_contains_the_papers(tmp_path):
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        folder = "kernsemble/experiments/papers"
        for paper in papers().values():
            for file in ("config.toml", "published.json"):
                content = (paper.folder / file).read_bytes()
                assert archive.read(f"{folder}/{paper.name}/{file}") == content
    place = Path(folders.__file__).with_name("papers").relative_to(ROOT / "src")
    assert place.as_posix() == folder  # where an installed package looks
    assert not [name for name in names if name.endswith((".png", ".md")) and folder in name]


def test_rows_without_data_are_left_out_and_reported(place):
    paper = papers()["small-2026"]
    availability = Availability.of_paper(paper)
    assert list(availability.missing) == ["absent"]
    assert "put it there" in availability.missing["absent"]
    assert availability.paper.tables["table1"].rows == ("twonorm", "ringnorm")
    assert {cell.data for cell in availability.paper.cells()} == {"twonorm", "ringnorm"}
    assert Availability.of_paper(paper, "quick").missing == {}  # the row is not in the profile
    assert Availability.of_paper(paper, parts=["figure1"]).missing == {}
    assert availability.paper.figures == paper.figures


def quick_methods(paper):
    """Return the methods of the quick profile."""
    sources = {each.method for table in paper.tables.values() for each in table.columns.values()}
    methods = paper.profiles["quick"].methods
    return sources if methods is None else sources & set(methods)


@pytest.mark.large
@pytest.mark.parametrize("paper", papers().values(), ids=lambda paper: paper.name)
def test_committed_results_are_computed_again(paper, monkeypatch):
    """Compute a few cells of artificial data and of the methods of the quick profile."""

    def unread(name):
        raise DatasetNotFoundError(name)

    monkeypatch.setattr(paper_data, "load", unread)
    known = read_results(paper.folder / "results.jsonl").records
    quick = quick_methods(paper)
    n_checked = 0
    for cell in sorted(known, key=lambda cell: (cell.seed, len(cell.method))):
        if cell.method in quick and n_checked < N_CHECKED:
            try:
                values = compute(cell)
            except DatasetNotFoundError:
                continue
            values = {name: values[name] for name in known[cell].values}
            assert values == pytest.approx(known[cell].values, rel=1e-5, abs=1e-5), cell
            n_checked += 1
    if n_checked == 0:
        pytest.skip("its data are not artificial")
