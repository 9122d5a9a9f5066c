"""Displays show the importances and subsets of the selector."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from kernsemble.datasets import make_sparse_sum
from kernsemble.selection import (
    ImportanceOrderDisplay,
    ParallelEvolutionSelector,
    UniversesDisplay,
)

mpl.use("Agg")
X, y = make_sparse_sum(random_state=3)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    mpl.pyplot.close("all")


@pytest.fixture
def selector():
    return ParallelEvolutionSelector(random_state=0, n_universes=8).fit(X, y)


def test_the_order_plot_falls(selector):
    display = ImportanceOrderDisplay.from_estimator(selector, n_columns=6)
    places = display.ax_.collections[1].get_offsets()
    assert np.all(np.diff(places[:, 1]) <= 0.0)
    assert len(places) == 6
    assert display.ax_.lines[0].get_xdata()[0] == selector.support_.sum() - 0.5


def test_bubbles_are_the_subsets(selector):
    display = UniversesDisplay.from_estimator(selector)
    universes, columns = np.asarray(display.ax_.collections[0].get_offsets()).T.astype(int)
    drawn = np.zeros_like(selector.subsets_)
    drawn[universes - 1, columns] = True
    np.testing.assert_array_equal(drawn, selector.subsets_)


def test_names_are_those_of_the_frame():
    names = [f"column {letter}" for letter in "abcdefghij"]
    frame = pd.DataFrame(X, columns=names)
    selector = ParallelEvolutionSelector(random_state=0).fit(frame, y)
    _, ax = mpl.pyplot.subplots()
    display = ImportanceOrderDisplay.from_estimator(selector, ax=ax)
    assert display.figure_ is ax.figure
    assert {label.get_text() for label in ax.get_xticklabels()} == set(names)
