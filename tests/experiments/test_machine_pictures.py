"""Figures of Lin and Li, of the thesis and of Tsang and Kwok show the recorded values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.datasets import load
from kernsemble.experiments.methods import run_method
from kernsemble.experiments.methods.nu_comparison import NUS, as_nu_comparison, nu_comparison
from kernsemble.experiments.paper_data import TrainTestData, draw, n_draws
from kernsemble.experiments.pictures import PICTURES
from kernsemble.experiments.pictures.machines import PUBLISHED_SECONDS
from kernsemble.experiments.records import Cell, Record
from kernsemble.inspection import NuComparison
from kernsemble.svm import MultiplicativeSVC

pytest.importorskip("matplotlib")
VALUES = {
    f"{quantity}, {machine}": scale * number
    for machine, number in {"ensemble": 1.0, "nu-SVM@0.1": 2.0, "nu-SVM@0.4": 4.0}.items()
    for quantity, scale in {"error": 5.0, "fit": 1.0, "support vectors": 10.0}.items()
}
RECORDS = [Record(Cell(data, "nu comparison", 0), VALUES) for data in ("a1a", "a9a")]


def assert_readable(figure):
    """Check that axes have labels, letters are large enough, and pyplot has no figure."""
    import matplotlib.pyplot as plt

    assert not plt.get_fignums()
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        heights = [label.get_size() for label in (ax.xaxis.label, ax.yaxis.label, ax.title)]
        pixels_per_point = 390.0 / (72.0 * figure.get_figwidth())
        assert min(heights) * pixels_per_point >= 9.0


def share_along_axes(boundary):
    """Return the share of a contour's length that is horizontal or vertical."""
    steps = np.concatenate(
        [
            np.diff(line, axis=0)
            for path in boundary.get_paths()
            for line in path.to_polygons(closed_only=False)
        ]
    )
    lengths = np.linalg.norm(steps, axis=1)
    is_along = np.abs(steps).min(axis=1) < 1e-2 * lengths
    return lengths[is_along].sum() / lengths.sum()


@pytest.mark.large
@pytest.mark.parametrize(
    ("picture", "titles"),
    [
        ("boundaries of four", ["SVM-Stump", "SVM-Mid", "AdaBoost-Stump", "LPBoost-Stump"]),
        ("boundaries of two", ["SVM-Stump", "AdaBoost-Stump T=100"]),
    ],
)
def test_votes_of_few_stumps_have_boundaries_along_the_axes(picture, titles):
    figure = PICTURES[picture]([])
    assert_readable(figure)
    assert [ax.get_title() for ax in figure.axes] == titles
    for ax in figure.axes:
        (best,) = ax.lines
        assert (best.get_xy1(), best.get_slope()) == ((0.0, 0.0), -1.0)
        boundary = next(each for each in ax.collections if list(each.levels) == [0.0])
        is_sparse = "Boost" in ax.get_title()
        assert (share_along_axes(boundary) > 0.7) == is_sparse


@pytest.mark.large
def test_curves_are_of_the_sets_and_rates_of_the_paper():
    for name in ("ida_breast_cancer", "ida_waveform"):
        available(name)
    figure = PICTURES["training curves"]([])
    assert_readable(figure)
    assert [ax.get_title() for ax in figure.axes] == ["cancer", "waveform"]
    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["adaptive", "η = 0.005", "η = 0.01", "η = 0.02", "η = 0.04"]


def available(name):
    """Skip where there is no data folder."""
    try:
        load(name)
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_rivals_are_drawn_from_their_records():
    figure = PICTURES["nu comparisons"](RECORDS)
    assert_readable(figure)
    errors, seconds, _, seconds_of_adult = figure.axes
    assert errors.get_title().startswith("adult1")
    assert_allclose(errors.lines[0].get_xydata(), [[0.1, 10.0], [0.4, 20.0]])
    assert_allclose(errors.lines[1].get_ydata(), 5.0)
    assert_allclose(seconds.lines[0].get_xydata(), [[0.1, 2.0], [0.4, 4.0]])
    assert len(seconds.lines) == 2
    published = [line.get_ydata()[0] for line in seconds_of_adult.lines[2:]]
    assert published == list(PUBLISHED_SECONDS.values())
    names = [text.get_text() for text in figure.legends[0].texts]
    assert names[:3] == ["ν-SVM", "ensemble", "ν-SVM, published: 348.9 s"]


def test_rivals_without_seconds_are_drawn_by_their_errors():
    kept = {name: value for name, value in VALUES.items() if not name.startswith("fit")}
    figure = PICTURES["nu comparisons"]([Record(Cell("a9a", "nu comparison", 0), kept)])
    assert_readable(figure)
    assert_allclose(figure.axes[0].lines[0].get_ydata(), [10.0, 20.0])


def test_a_comparison_survives_its_record():
    data = draw("threenorm", 0)
    small = TrainTestData(data.X[:60], data.y[:60], data.X_test[:200], data.y_test[:200])
    values = nu_comparison(small, 0)
    again = as_nu_comparison(values)
    assert sorted(again.rivals) == list(NUS)
    machine = MultiplicativeSVC(rank=60, random_state=0)
    expected = NuComparison.from_data(*small[:4], machine=machine, nus=NUS)
    for ours, theirs in zip(
        (again.ensemble, *again.rivals.values()),
        (expected.ensemble, *expected.rivals.values()),
        strict=True,
    ):
        assert ours.error == pytest.approx(theirs.error)
        assert ours.n_support == theirs.n_support
    assert run_method("nu comparison", small, 0).keys() == values.keys()


@pytest.mark.large
def test_machines_stopped_early_have_that_number_of_steps():
    data = draw("ringnorm-n", 0)
    machine = MultiplicativeSVC(max_iter=42)
    with pytest.warns(match="max_iter = 42"):
        machine.fit(data.X, data.y)
    with pytest.warns(match="max_iter = 42"):
        values = run_method("partially trained, 42 steps", data, 0)
    assert machine.n_iter_ == 42
    error = 1.0 - machine.score(data.X_test, data.y_test)
    assert values["error"] == pytest.approx(100.0 * error)


@pytest.mark.large
def test_orders_of_rows_are_orders_of_the_same_data():
    data = draw("threenorm", 0)
    values = run_method("partially trained, other orders", data, 0)
    alone = run_method("partially trained", data, 0)["last"]
    assert values["least"] <= values["last"] <= values["largest"]
    assert abs(values["last"] - alone) < 5.0


@pytest.mark.large
def test_other_folds_select_among_the_same_machines():
    data = draw("twonorm", 0)
    values = run_method("SVM-Stump, other folds", data, 0)
    assert values["least"] <= values["error"] <= values["largest"]
    assert abs(values["error"] - run_method("SVM-Stump", data, 0)["error"]) < 2.0


def test_redrawn_splits_are_as_large_as_the_given_ones_and_of_the_same_rows():
    available("ida_breast_cancer")
    given, redrawn = (draw(f"ida_breast_cancer{suffix}", 0) for suffix in ("", " redrawn"))
    assert [len(part) for part in redrawn] == [len(part) for part in given]
    rows, rows_redrawn = (
        np.column_stack([np.concatenate([p.X, p.X_test]), np.append(p.y, p.y_test)])
        for p in (given, redrawn)
    )
    assert_allclose(rows[np.lexsort(rows.T)], rows_redrawn[np.lexsort(rows_redrawn.T)])
    assert not np.array_equal(given.X, redrawn.X)
    assert n_draws("ida_breast_cancer redrawn") is None
    assert_allclose(
        draw("ida_breast_cancer redrawn", 99).y, draw("ida_breast_cancer redrawn", 99).y
    )
