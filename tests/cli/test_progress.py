"""Progress bars advance in proportion to the work."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from kernsemble.cli.progress import FitProgress
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV

pytest.importorskip("sklearn.callback")
X, y = load_iris(return_X_y=True)


class Bars:
    """A stand-in for rich's progress that records the bars."""

    def __init__(self):
        self.moved, self.names, self.done = [], [], set()

    def add_task(self, name, total):
        self.names.append(name)
        self.moved.append(0.0)
        return len(self.names) - 1

    def advance(self, task, amount):
        assert amount >= -1e-12
        self.moved[task] += amount

    def update(self, task, total, completed):
        self.done.add(task)


def shown(machine):
    bars = Bars()
    machine.set_callbacks(FitProgress(bars)).fit(X, y)
    return bars


def test_parts_add_up_to_a_full_bar():
    """Each C and fold of each of three machines advances the bar."""
    bars = shown(InfiniteEnsembleClassifierCV(["stump", "perceptron"], Cs=(0.1, 1.0), cv=3))
    assert bars.names == ["preparing the rows", "selecting kernel and C", "fitting to all rows"]
    np.testing.assert_allclose(bars.moved[1:], 1.0)
    assert bars.done == {0, 1, 2}


@pytest.mark.large
def test_the_bar_of_a_race_does_not_exceed_its_end():
    bars = shown(InfiniteEnsembleClassifierCV("auto", cv=3, random_state=0))
    assert 0.5 < bars.moved[1] < 1.0 + 1e-9


def test_machines_without_parts_advance_the_bar_of_the_fit():
    bars = shown(InfiniteEnsembleClassifier())
    assert bars.names == ["preparing the rows", "fitting"]
    np.testing.assert_allclose(bars.moved[1], 1.0)
