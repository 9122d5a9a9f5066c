"""Papers are found in a clone and in an installed package, and their data are looked for."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kernsemble.experiments import folders
from kernsemble.experiments.folders import Presence, papers
from kernsemble.experiments.paper import compute
from kernsemble.experiments.results import OF_THE_MACHINE, read_results

ROOT = Path(__file__).parents[2]
GENERATED = ("twonorm", "threenorm", "ringnorm")
N_CHECKED = 3


def test_the_papers_of_the_clone_are_found():
    known = papers()
    assert {"lin-li-2008", "lin-2005-thesis", "tsang-kwok-2007"} <= known.keys()
    assert all(paper.folder == ROOT / "experiments" / name for name, paper in known.items())


def test_installed_papers_come_first(place, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "PLACES", (place, ROOT / "experiments"))
    assert list(papers()) == ["other-2026", "small-2026"]
    monkeypatch.setattr(folders, "PLACES", (tmp_path / "none",))
    with pytest.raises(FileNotFoundError, match="install the package again"):
        papers()


def test_a_wheel_holds_the_papers(tmp_path):
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


def test_rows_without_data_are_left_out_and_told(place):
    paper = papers()["small-2026"]
    presence = Presence.of(paper)
    assert list(presence.missing) == ["absent"]
    assert "put it there" in presence.missing["absent"]
    assert presence.paper.tables["table1"].rows == ("twonorm", "ringnorm")
    assert {cell.data for cell in presence.paper.cells()} == {"twonorm", "ringnorm"}
    assert Presence.of(paper, "quick").missing == {}  # it does not ask for it
    assert Presence.of(paper, parts=["figure1"]).missing == {}
    assert presence.paper.figures == paper.figures


def committed():
    return [paper for paper in papers().values() if (paper.folder / "results.jsonl").exists()]


@pytest.mark.large
@pytest.mark.parametrize("paper", committed(), ids=lambda paper: paper.name)
def test_committed_results_are_computed_again(paper):
    """A few cells of artificial data, the first draws of methods that are quick."""
    known = read_results(paper.folder / "results.jsonl").records
    cells = [cell for cell in known if cell.data.startswith(GENERATED) and cell.seed < N_CHECKED]
    quick = [cell for cell in cells if cell.method.startswith(("SVM-", "partially"))]
    if not quick:
        pytest.skip("its data are not artificial")
    for cell in quick[:: max(1, len(quick) // N_CHECKED)][:N_CHECKED]:
        told = {k: v for k, v in compute(cell).items() if k not in OF_THE_MACHINE}
        assert told == pytest.approx(known[cell].values, rel=1e-5)
