"""Radii of zero, and lists of neighbours that exceed the memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.detection import LagoClassifier, neighbours
from kernsemble.detection.neighbours import positive_widths


def test_a_radius_of_zero_is_replaced_by_the_smallest_positive_one():
    X = np.array([[0.0, 1.0, 5.0], [4.0, 3.0, 5.0]])
    widths = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    expected = [[2.0, 1.0, np.inf], [2.0, 1.0, np.inf], [3.0, 1.0, np.inf]]
    assert_allclose(positive_widths(widths, X, np.ones(2)), expected)
    spread = positive_widths(np.zeros((3, 1)), X, np.array([1.0, 1.0]))
    assert_allclose(spread, np.full((3, 1), np.sqrt(5.0)))
    absent = positive_widths(np.zeros((3, 1)), X, np.array([1.0, 0.0]))
    assert np.isinf(absent).all()


def test_lists_that_exceed_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(neighbours, "physical_memory", lambda: 1e4)
    X, y = np.ones((400, 2)), np.arange(400) < 10
    with pytest.raises(MemoryError, match="shape='spherical'"):
        LagoClassifier("elliptical").fit(X, y)
