"""Figures of Lin and Li, of the thesis and of Tsang and Kwok: what is drawn is what was told."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.datasets import load
from kernsemble.experiments.cells import Cell, Record
from kernsemble.experiments.methods import values_of
from kernsemble.experiments.methods.nu_comparison import NUS, as_nu_comparison, nu_comparison
from kernsemble.experiments.pictures import PICTURES
from kernsemble.experiments.pictures.machines import PUBLISHED_SECONDS
from kernsemble.experiments.problems import Problem, draw, n_draws
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
    """Axes have labels and titles, letters are high enough, and pyplot knows nothing of it."""
    import matplotlib.pyplot as plt

    assert not plt.get_fignums()
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        heights = [label.get_size() for label in (ax.xaxis.label, ax.yaxis.label, ax.title)]
        pixels_a_point = 390.0 / (72.0 * figure.get_figwidth())
        assert min(heights) * pixels_a_point >= 9.0


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


def test_rivals_are_drawn_as_they_were_told():
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


def test_rivals_whose_seconds_were_not_kept_are_drawn_by_their_errors():
    kept = {name: value for name, value in VALUES.items() if not name.startswith("fit")}
    figure = PICTURES["nu comparisons"]([Record(Cell("a9a", "nu comparison", 0), kept)])
    assert_readable(figure)
    assert_allclose(figure.axes[0].lines[0].get_ydata(), [10.0, 20.0])


def test_a_comparison_is_told_whole():
    problem = draw("threenorm", 0)
    small = Problem(problem.X[:60], problem.y[:60], problem.X_test[:200], problem.y_test[:200])
    told = nu_comparison(small, 0)
    again = as_nu_comparison(told)
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
    assert values_of("nu comparison", small, 0).keys() == told.keys()


@pytest.mark.large
def test_machines_ended_early_have_so_many_steps():
    problem = draw("ringnorm-n", 0)
    machine = MultiplicativeSVC(max_iter=42)
    with pytest.warns(match="max_iter = 42"):
        machine.fit(problem.X, problem.y)
    with pytest.warns(match="max_iter = 42"):
        told = values_of("partially trained, 42 steps", problem, 0)
    assert machine.n_iter_ == 42
    error = 1.0 - machine.score(problem.X_test, problem.y_test)
    assert told["error"] == pytest.approx(100.0 * error)


@pytest.mark.large
def test_orders_of_rows_are_orders_of_the_same_problem():
    problem = draw("threenorm", 0)
    told = values_of("partially trained, other orders", problem, 0)
    alone = values_of("partially trained", problem, 0)["last"]
    assert told["least"] <= told["last"] <= told["largest"]
    assert abs(told["last"] - alone) < 5.0


@pytest.mark.large
def test_other_folds_choose_among_the_same_machines():
    problem = draw("twonorm", 0)
    told = values_of("SVM-Stump, other folds", problem, 0)
    assert told["least"] <= told["error"] <= told["largest"]
    assert abs(told["error"] - values_of("SVM-Stump", problem, 0)["error"]) < 2.0


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
