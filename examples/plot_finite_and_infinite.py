"""
Finite and infinite ensembles of stumps
=======================================

AdaBoost and LPBoost select finitely many decision stumps; a support vector machine with the stump
kernel uses all of them. Figure 5.1 of the thesis shows the difference in two dimensions: two normal
distributions, whose best boundary is the line :math:`x_1 + x_2 = 0`. All three models are fitted to
the same rows with the same kind of hypothesis. ``kernsemble reproduce lin-2005-thesis figure5.1``
plots it with the settings of the thesis.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernsemble.boosting import (
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    LPBoostClassifier,
    LPBoostClassifierCV,
)
from kernsemble.datasets import make_twonorm
from kernsemble.experiments.pictures.machines import draw_plane
from kernsemble.svm import InfiniteEnsembleClassifierCV

X, y = make_twonorm(300, n_features=2, random_state=0)
X_test, y_test = make_twonorm(4_000, n_features=2, random_state=1)

ensembles = {
    "every stump": InfiniteEnsembleClassifierCV("stump", calibration=None).fit(X, y),
    "AdaBoost": AdaBoostClassifierCV(ns_estimators=range(10, 501, 10)).fit(X, y),
    "LPBoost": LPBoostClassifierCV().fit(X, y),
}
for name in ("AdaBoost", "LPBoost"):
    print(f"{name} has {ensembles[name].n_voters_} distinct stumps")

# %%
# Decision boundaries
# -------------------
# A vote of stumps is a sum of one function per coordinate. With all stumps both functions are
# continuous and nearly linear; with few stumps they are step functions, and so is the boundary. The
# dotted line is the best possible boundary.

figure, panels = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
for panel, (name, model) in zip(panels, ensembles.items(), strict=True):
    draw_plane(model, X, y, panel)
    panel.set_title(f"{name}: {100 * (1 - model.score(X_test, y_test)):.1f} % error")
plt.show()

# %%
# Margins
# -------
# The margin of a row is the share of the vote for its class minus that for the other class.
# Hard-margin LPBoost maximises the smallest margin, AdaBoost approaches it with more rounds, and
# both do so at the cost of the average margin.

X, y = make_twonorm(300, random_state=0)
figure, panel = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, model in {
    "AdaBoost, 100 rounds": AdaBoostClassifier(n_estimators=100),
    "AdaBoost, 2000 rounds": AdaBoostClassifier(n_estimators=2000),
    "LPBoost, hard margin": LPBoostClassifier(C=np.inf),
}.items():
    margins = np.sort(model.fit(X, y).margins_)
    panel.plot(margins, np.linspace(0.0, 1.0, len(margins)), label=name)
panel.axvline(0.0, color="black", linewidth=0.8)
panel.set(xlabel="margin", ylabel="share of rows with at most this margin")
panel.legend()
plt.show()
