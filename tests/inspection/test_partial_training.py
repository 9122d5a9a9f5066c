"""Figures 1 and 2 of Tsang and Kwok (2007): the numbers and their plots."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import NuSVC

from kernsemble.datasets import make_threenorm
from kernsemble.inspection import (
    NuComparison,
    NuComparisonDisplay,
    TrainingCurves,
    TrainingCurvesDisplay,
)
from kernsemble.svm import MultiplicativeSVC

X, y = make_threenorm(60, random_state=0)


def test_curves_start_at_the_parzen_window_and_end_at_the_last_machine():
    curves = TrainingCurves.from_data(X, y, rates=[0.01], n_steps=5)
    first, last = (
        MultiplicativeSVC(hypothesis=which).fit(X, y).objective_[0] for which in ("first", "last")
    )
    assert_allclose(curves.adaptive[[0, -1]], [first, last])
    assert (np.diff(curves.adaptive) <= 0.0).all()
    assert len(curves.fixed[0.01]) == 6
    assert curves.fixed[0.01][0] == curves.adaptive[0]


def test_fixed_rates_multiply_gradients_of_coefficients_that_sum_to_the_number_of_rows():
    curve = TrainingCurves.from_data(X, y, rates=[0.02], n_steps=1).fixed[0.02]
    K, signs = MultiplicativeSVC().fit(X, y).kernel_(X), np.where(y == y.max(), 1.0, -1.0)
    alpha = np.ones(len(y))
    alpha *= np.exp(-0.02 * signs * (K @ (signs * alpha)))
    alpha /= alpha.sum()
    assert_allclose(curve[1], (signs * alpha) @ K @ (signs * alpha))


def test_a_rate_overshoots_where_the_objective_first_rises():
    curves = TrainingCurves(np.ones(2), {1.0: np.array([3.0, 2.0, 2.5, 1.0]), 0.1: np.ones(3)})
    assert curves.overshot_at(1.0) == 2
    assert curves.overshot_at(0.1) is None


def test_curves_are_drawn_as_they_are():
    pytest.importorskip("matplotlib").use("Agg")
    display = TrainingCurvesDisplay.from_data(X, y, rates=[0.01, 1.0], n_steps=20)
    for line, curve in zip(
        display.lines_, [display.curves.adaptive, *display.curves.fixed.values()], strict=True
    ):
        assert_allclose(line.get_ydata(), curve)
    n_overshot = sum(display.curves.overshot_at(rate) is not None for rate in (0.01, 1.0))
    assert len(display.ax_.lines) == 3 + n_overshot
    assert n_overshot == 1


def test_curves_are_of_two_classes():
    with pytest.raises(ValueError, match="y has 3 classes"):
        TrainingCurves.from_data(X, np.arange(60) % 3)


@pytest.fixture(scope="module")
def comparison():
    train, test = make_threenorm(100, random_state=0), make_threenorm(300, random_state=1)
    return NuComparison.from_data(*train, *test, nus=[0.1, 0.4]), train, test


def test_rivals_have_the_kernel_of_the_ensemble(comparison):
    found, train, test = comparison
    machine = MultiplicativeSVC().fit(*train)
    rival = NuSVC(nu=0.4, gamma=machine.kernel_.rate).fit(*train)
    assert found.ensemble.error == pytest.approx(1.0 - machine.score(*test))
    assert found.rivals[0.4].error == pytest.approx(1.0 - rival.score(*test))
    assert found.rivals[0.4].n_support == len(rival.support_)
    assert found.best_nu in (0.1, 0.4)
    assert found.rivals[found.best_nu].error == min(each.error for each in found.rivals.values())


def test_other_kernels_are_refused(comparison):
    _, train, test = comparison
    for settings in ({"kernel": "stump"}, {"scaling": "range"}):
        with pytest.raises(ValueError, match="NuSVC needs a Gaussian kernel"):
            NuComparison.from_data(*train, *test, machine=MultiplicativeSVC(**settings), nus=[])


def test_the_display_plots_the_comparison(comparison):
    pytest.importorskip("matplotlib").use("Agg")
    found = comparison[0]
    display = NuComparisonDisplay(found).plot()
    rivals, ensemble = display.axes_[0].lines
    assert_allclose(rivals.get_xdata(), [0.1, 0.4])
    assert_allclose(rivals.get_ydata(), [100.0 * found.rivals[nu].error for nu in (0.1, 0.4)])
    assert_allclose(ensemble.get_ydata(), 100.0 * found.ensemble.error)
