r"""
A machine with nothing to tune
==============================

`MultiplicativeSVC` trains a hard-margin support vector machine by multiplicative updates, and
lets all machines on the way vote (Tsang and Kwok 2007). Here are the two figures of that paper,
on artificial data: how fast the updates are, and what is gained by not choosing a parameter.
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
# Rates that adapt
# ----------------
# A small fixed rate is slow. A larger one is quicker at first, and then raises the objective,
# where the dotted line is. The adaptive rate is told by how much the objective is to fall.

display = TrainingCurvesDisplay(TrainingCurves.from_data(X, y, rates=[0.005, 0.02, 0.08]))
display.plot()
plt.show()

# %%
# No parameter
# ------------
# The :math:`\nu`-SVM is good if :math:`\nu` is chosen well, and choosing it takes a fit for every
# candidate and fold. The ensemble is one fit.

comparison = NuComparison.from_data(X, y, X_test, y_test, nus=[0.05, 0.1, 0.2, 0.3, 0.4, 0.5])
NuComparisonDisplay(comparison).plot()
plt.show()
