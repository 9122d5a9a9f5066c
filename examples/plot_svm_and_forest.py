r"""
A kernel with a width, a forest, and a kernel without
=====================================================

Zhu (2008, Figure 3) counts the mistakes of a support vector machine with the kernel
:math:`e^{-h\|u - v\|^2}`, over its penalty and h, and of a random forest, over the number m of
features a split looks at and the number B of trees, on 3,065 messages of the spam data: "choosing
the right h for SVM is much more critical than choosing the right m", and "in order to be
competitive, it is necessary to use a different kernel function". So here is a third panel: the
machine of all stumps, which has no h.

The spam data are read from the folder that ``KERNSEMBLE_DATA`` names; without it the picture is
drawn for generated data.
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
# Two panels of the paper
# -----------------------
# A line for every h, and one for every m. Features are left as they are, as in the paper.


def mistakes(model):
    """Count them on the test rows."""
    return int((model.predict(X_test) != y_test).sum())


Cs, widths = np.logspace(-1, 3, 5), np.logspace(-6, 1, 4)
with_width = {
    h: [
        mistakes(InfiniteEnsembleClassifier(Gaussian(h), C=C, scaling=None).fit(X_train, y_train))
        for C in Cs
    ]
    for h in widths
}

sizes, features = [10, 30, 100, 200], [1, 2, 7, 20, X.shape[1]]
forests = {}
for m in features:
    forest = RandomForestClassifier(max_features=m, warm_start=True, random_state=0, n_jobs=2)
    forests[m] = [mistakes(forest.set_params(n_estimators=B).fit(X_train, y_train)) for B in sizes]

# %%
# One without a width
# -------------------
# All stumps, on the scale of ranks: long tails, such as counts of words have, do not matter there.

stumps = {
    scaling: [
        mistakes(InfiniteEnsembleClassifier(Stump(), C=C, scaling=scaling).fit(X_train, y_train))
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
    axes[2].semilogx(2.0 ** np.arange(-9, 4, 2), counts, "o-", label=f"scale of {scaling}")
for ax, title, label in zip(
    axes,
    ["SVM with a width", "random forest", "SVM of all stumps"],
    ["C", "trees", "C"],
    strict=True,
):
    ax.set(title=title, xlabel=label)
    ax.legend()
axes[0].set_ylabel(f"mistakes among {len(y_test)} rows of {name}")
plt.show()

# %%
# The numbers of the picture:

print(f"SVM, best and worst h and C: {np.min(list(with_width.values()))}", end=", ")
print(np.max(list(with_width.values())))
print(f"random forest: {np.min(list(forests.values()))}, {np.max(list(forests.values()))}")
print(f"all stumps: {np.min(list(stumps.values()))}, {np.max(list(stumps.values()))}")
