"""scikit-learn's callbacks are called for every round and every fold, and can interrupt."""

import pytest
from cases import Recorder
from numpy.testing import assert_array_equal
from sklearn.base import clone

from kernsemble.boosting import (
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    LPBoostClassifier,
    LPBoostClassifierCV,
)
from kernsemble.datasets import make_twonorm

pytest.importorskip("sklearn.callback")
X, y = make_twonorm(60, n_features=3, random_state=0)


class Interrupting(Recorder):
    """Interrupts at the end of the third round."""

    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        if self.ended["round"] == 3:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("machine", "folds"),
    [
        (AdaBoostClassifier(n_estimators=8), {}),
        (LPBoostClassifier(C=0.1), {}),
        (AdaBoostClassifierCV(ns_estimators=(3, 6), cv=3), {"selection": 1, "fold": 3, "refit": 1}),
        (LPBoostClassifierCV(Cs=(0.1, 0.2), cv=3), {"selection": 1, "fold": 3, "refit": 1}),
    ],
    ids=lambda case: type(case).__name__,
)
def test_callbacks_are_called_for_every_part(machine, folds):
    recorder = Recorder()
    fitted = clone(machine).set_callbacks(recorder).fit(X, y)
    n_rounds = getattr(fitted, "n_iter_", len(fitted.estimators_))
    assert recorder.begun == recorder.ended == {"fit": 1, "round": n_rounds, **folds}
    assert recorder.n_setups == 0
    assert_array_equal(fitted.decision_function(X), clone(machine).fit(X, y).decision_function(X))


@pytest.mark.parametrize("machine", [AdaBoostClassifier(), LPBoostClassifier(C=0.1)])
def test_a_callback_can_interrupt_and_the_rounds_done_are_kept(machine):
    recorder = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        machine.set_callbacks(recorder).fit(X, y)
    assert recorder.n_setups == 0
    assert len(machine.estimators_) >= 2
    assert machine.score(X, y) > 0.6
