r"""
Sensitivity to parameters: SVM and random forest
================================================

Zhu (2008, Figure 3) counts the errors of a support vector machine with the kernel :math:`e^{-h\|u
- v\|^2}` for several penalties and h, and of a random forest for several numbers m of features per
split and B of trees, on 3,065 messages of the spam data: "choosing the right h for SVM is much
more critical than choosing the right m", and "in order to be competitive, it is necessary to use a
different kernel function". The third panel is the SVM with the stump kernel, which has no h.

The spam data are read from the folder given by the environment variable ``KERNSEMBLE_DATA``;
without it the example uses generated data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from kernsemble.datasets import load, make_threenorm
from kernsemble.exceptions import DatasetNotFoundError
from kernsemble.kernels import Gaussian, Stump
from kernsemble.svm import InfiniteEnsembleClassifier

try:
    spam = load("spam")
    X, y, name = spam.X, spam.y, "spam"
except DatasetNotFoundError:
    X, y = make_threenorm(1500, random_state=0)
    name = "threenorm"
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=1 / 3, random_state=0)

# %%
# Panels of the paper
# -------------------
# One line per h, and one per m. Features are not scaled, as in the paper.


def n_errors(model):
    """Return the number of errors on the test rows."""
    return int((model.predict(X_test) != y_test).sum())


Cs, widths = np.logspace(-1, 3, 5), np.logspace(-6, 1, 4)
with_width = {
    h: [
        n_errors(InfiniteEnsembleClassifier(Gaussian(h), C=C, scaling=None).fit(X_train, y_train))
        for C in Cs
    ]
    for h in widths
}

sizes, features = [10, 30, 100, 200], [1, 2, 7, 20, X.shape[1]]
forests = {}
for m in features:
    forest = RandomForestClassifier(max_features=m, warm_start=True, random_state=0, n_jobs=2)
    forests[m] = [n_errors(forest.set_params(n_estimators=B).fit(X_train, y_train)) for B in sizes]

# %%
# A kernel without a width
# ------------------------
# The stump kernel on ranges and on ranks, where the long tails of word counts do not matter.

stumps = {
    scaling: [
        n_errors(InfiniteEnsembleClassifier(Stump(), C=C, scaling=scaling).fit(X_train, y_train))
        for C in 2.0 ** np.arange(-9, 4, 2)
    ]
    for scaling in ("range", "rank")
}

figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained", sharey=True)
for h, counts in with_width.items():
    axes[0].semilogx(Cs, counts, "o-", label=f"h = {h:.0e}")
for m, counts in forests.items():
    axes[1].plot(sizes, counts, "o-", label=f"m = {m}")
for scaling, counts in stumps.items():
    axes[2].semilogx(2.0 ** np.arange(-9, 4, 2), counts, "o-", label=f"scaling: {scaling}")
for ax, title, label in zip(
    axes,
    ["SVM, Gaussian kernel", "random forest", "SVM, stump kernel"],
    ["C", "trees", "C"],
    strict=True,
):
    ax.set(title=title, xlabel=label)
    ax.legend()
axes[0].set_ylabel(f"errors on {len(y_test)} test rows of {name}")
plt.show()

# %%
# Fewest and most errors of each model:

print(f"SVM, Gaussian kernel: {np.min(list(with_width.values()))}", end=", ")
print(np.max(list(with_width.values())))
print(f"random forest: {np.min(list(forests.values()))}, {np.max(list(forests.values()))}")
print(f"SVM, stump kernel: {np.min(list(stumps.values()))}, {np.max(list(stumps.values()))}")
