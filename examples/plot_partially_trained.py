r"""
An SVM without tuning parameters
================================

`MultiplicativeSVC` trains a hard-margin support vector machine by multiplicative updates and
averages every intermediate machine (Tsang and Kwok 2007). This example shows the two figures of
that paper on artificial data: the speed of the updates, and a comparison with tuned machines.
"""

import matplotlib.pyplot as plt

from kernsemble.datasets import make_threenorm
from kernsemble.inspection import (
    NuComparison,
    NuComparisonDisplay,
    TrainingCurves,
    TrainingCurvesDisplay,
)

X, y = make_threenorm(400, random_state=0)
X_test, y_test = make_threenorm(3000, random_state=1)

# %%
# Adaptive rates
# --------------
# A small fixed rate is slow. A larger one is faster at first and then raises the objective, at the
# dotted line. The adaptive rate follows from the required decrease of the objective.

display = TrainingCurvesDisplay(TrainingCurves.from_data(X, y, rates=[0.005, 0.02, 0.08]))
display.plot()
plt.show()

# %%
# Comparison with tuned machines
# ------------------------------
# The :math:`\nu`-SVM is accurate if :math:`\nu` is tuned, which takes one fit per candidate and
# fold. The ensemble takes one fit.

comparison = NuComparison.from_data(X, y, X_test, y_test, nus=[0.05, 0.1, 0.2, 0.3, 0.4, 0.5])
NuComparisonDisplay(comparison).plot()
plt.show()
