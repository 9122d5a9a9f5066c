"""Losses of the additive solvers: forces and curvatures are their derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.solvers.additive import Kinked, Logistic, Squared, SquaredHinge
from kernsemble.solvers.additive.losses import Smoothed

rng = np.random.default_rng(0)
N = 400
Y, C, F = rng.choice([-1.0, 1.0], N), rng.uniform(0.5, 2.0, N), rng.normal(scale=2.0, size=N)
HINGE, TUBE = Kinked.hinge(Y, C), Kinked.tube(rng.normal(size=N), C, 0.3)
SMOOTH = [
    Logistic(Y, C),
    SquaredHinge(Y, C),
    Squared(Y, C),
    Smoothed(HINGE, 0.7, np.zeros(N)),
    Smoothed(HINGE, 0.7, rng.uniform(HINGE.lower, HINGE.upper)),
    Smoothed(TUBE, 0.7, rng.uniform(TUBE.lower, TUBE.upper)),
]


def evaluated(loss, f):
    beta, curvature = np.empty(len(f)), np.empty(len(f))
    return loss.evaluate(f, beta, curvature), beta, curvature


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: type(loss).__name__)
def test_forces_and_curvatures_are_derivatives(loss):
    step, direction = 1e-6, rng.normal(size=N)
    above, beta_above, _ = evaluated(loss, F + step * direction)
    below, beta_below, _ = evaluated(loss, F - step * direction)
    _, beta, curvature = evaluated(loss, F)
    assert (above - below) / (2.0 * step) == pytest.approx(-beta @ direction, rel=1e-5)
    assert curvature.min() >= 0.0
    assert_allclose((beta_below - beta_above) / (2.0 * step), curvature * direction, atol=1e-4)


@pytest.mark.parametrize("kinked", [HINGE, TUBE], ids=["hinge", "tube"])
def test_a_rounded_loss_is_the_kinked_one_up_to_its_width(kinked):
    r = kinked.p - F
    if kinked is HINGE:
        expected = (C * np.maximum(0.0, 1.0 - Y * F)).sum()
    else:
        expected = (C * np.maximum(0.0, np.abs(r) - 0.3)).sum()
    assert kinked.total(F) == pytest.approx(expected)
    for width in (1e-1, 1e-3, 1e-5):
        value, beta, _ = evaluated(Smoothed(kinked, width, np.zeros(N)), F)
        assert 0.0 <= kinked.total(F) - value <= 0.5 * width * C.sum() + 1e-9
    assert_allclose(kinked.pull(beta) - beta @ F, kinked.total(F), atol=1e-3)


@pytest.mark.parametrize("loss", [*SMOOTH[:3], HINGE, TUBE], ids=lambda loss: type(loss).__name__)
def test_strengths_are_factors(loss):
    if isinstance(loss, Kinked):
        assert loss.times(3.0).total(F) == pytest.approx(3.0 * loss.total(F))
    else:
        assert evaluated(loss.times(3.0), F)[0] == pytest.approx(3.0 * evaluated(loss, F)[0])
    assert_allclose(loss.times(np.zeros(N)).C, 0.0)
