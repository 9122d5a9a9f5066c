"""Losses: values, derivatives, conjugates and links agree; every registered loss is tested."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.solvers.losses import (
    LOSSES,
    EpsilonInsensitive,
    Hinge,
    Kinked,
    Smooth,
    Smoothed,
    default_loss,
    losses_for,
)

N = 400


def draws(seed=0):
    rng = np.random.default_rng(seed)
    signs, numbers = rng.choice([-1.0, 1.0], N), rng.normal(size=N)
    return rng, signs, numbers, rng.uniform(0.5, 2.0, N), rng.normal(scale=2.0, size=N)


def made(name, seed=0):
    """A registered loss on random targets, and random decision values."""
    _, signs, numbers, C, f = draws(seed)
    y = signs if LOSSES[name].task == "classification" else numbers
    return LOSSES[name].from_targets(y, C, 0.3 if LOSSES[name].has_epsilon else 0.0), f


def smooth_losses():
    """The smooth losses, and kinked ones rounded around several centres."""
    rng, signs, numbers, C, _ = draws()
    hinge, tube = Hinge.from_targets(signs, C), EpsilonInsensitive.from_targets(numbers, C, 0.3)
    registered = [made(name)[0] for name in LOSSES if issubclass(LOSSES[name], Smooth)]
    return [
        *registered,
        Smoothed(hinge, 0.7, np.zeros(N)),
        Smoothed(hinge, 0.7, rng.uniform(hinge.lower, hinge.upper)),
        Smoothed(tube, 0.7, rng.uniform(tube.lower, tube.upper)),
    ]


def evaluated(loss, f):
    beta, curvature = np.empty(len(f)), np.empty(len(f))
    return loss.evaluate(f, beta, curvature), beta, curvature


@pytest.mark.parametrize("loss", smooth_losses(), ids=lambda loss: type(loss).__name__)
def test_coefficients_and_curvatures_are_derivatives(loss):
    rng, *_, f = draws(1)
    step, direction = 1e-6, rng.normal(size=N)
    above, beta_above, _ = evaluated(loss, f + step * direction)
    below, beta_below, _ = evaluated(loss, f - step * direction)
    _, beta, curvature = evaluated(loss, f)
    assert (above - below) / (2.0 * step) == pytest.approx(-beta @ direction, rel=1e-5)
    assert curvature.min() >= 0.0
    assert_allclose((beta_below - beta_above) / (2.0 * step), curvature * direction, atol=1e-4)


@pytest.mark.parametrize("name", LOSSES)
def test_the_derivative_is_that_of_the_value(name):
    loss, f = made(name)
    step, direction = 1e-6, np.random.default_rng(2).normal(size=N)
    slope = (loss.value(f + step * direction) - loss.value(f - step * direction)) / (2.0 * step)
    assert slope == pytest.approx(loss.derivative(f) @ direction, rel=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_value_and_conjugate_satisfy_fenchel_young(name):
    loss, f = made(name)
    beta = -loss.derivative(f)
    assert loss.value(f) + loss.conjugate(beta) == pytest.approx(-beta @ f, rel=1e-9, abs=1e-9)
    other = f + np.random.default_rng(3).normal(size=N)
    assert loss.value(other) + loss.conjugate(beta) > -beta @ other


@pytest.mark.parametrize("name", LOSSES)
def test_strengths_are_factors(name):
    loss, f = made(name)
    assert loss.times(3.0).value(f) == pytest.approx(3.0 * loss.value(f))
    assert_allclose(loss.times(np.zeros(N)).strengths, 0.0)
    assert loss.mean_strength == pytest.approx(loss.strengths.mean())


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_of_some_rows_is_their_part(name):
    loss, f = made(name)
    some, others = np.arange(0, N, 2), np.arange(1, N, 2)
    parts = loss.among(some).value(f[some]) + loss.among(others).value(f[others])
    assert parts == pytest.approx(loss.value(f))


@pytest.mark.parametrize("name", losses_for("classification"))
def test_a_link_minimises_the_expected_loss(name):
    """At probability p of the positive class the best decision value f has inverse_link(f) = p."""
    if not LOSSES[name].has_probabilities:
        with pytest.raises(NotImplementedError, match="calibrate"):
            LOSSES[name].inverse_link(np.zeros(1))
        return
    grid = np.linspace(-6.0, 6.0, 12_001)
    for p in (0.05, 0.3, 0.5, 0.9):
        loss = LOSSES[name].from_targets(np.array([1.0, -1.0]), np.array([p, 1.0 - p]))
        best = grid[np.argmin([loss.value(np.full(2, f)) for f in grid])]
        assert LOSSES[name].inverse_link(best) == pytest.approx(p, abs=1e-3)


@pytest.mark.parametrize("name", ["hinge", "epsilon_insensitive"])
def test_a_rounded_loss_is_the_kinked_one_up_to_its_width(name):
    kinked, f = made(name)
    C = kinked.strengths
    if name == "hinge":
        expected = (C * np.maximum(0.0, 1.0 - kinked.p * f)).sum()
    else:
        expected = (C * np.maximum(0.0, np.abs(kinked.p - f) - 0.3)).sum()
    assert kinked.value(f) == pytest.approx(expected)
    for width in (1e-1, 1e-3, 1e-5):
        value, beta, _ = evaluated(Smoothed(kinked, width, np.zeros(N)), f)
        assert 0.0 <= kinked.value(f) - value <= 0.5 * width * C.sum() + 1e-9
    assert_allclose(-kinked.conjugate(beta) - beta @ f, kinked.value(f), atol=1e-3)


def test_a_named_class_is_registered_and_nothing_else():
    assert all(loss.name == name for name, loss in LOSSES.items())
    assert Kinked not in LOSSES.values()
    assert set(losses_for("classification")) | set(losses_for("regression")) == set(LOSSES)
    for task in ("classification", "regression"):
        assert LOSSES[default_loss(task, is_bounded=True)].is_bounded
        assert not LOSSES[default_loss(task, is_bounded=False)].is_bounded
