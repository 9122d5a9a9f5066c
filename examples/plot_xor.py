"""
Exclusive or: a limit of stumps
===============================

Label the corners of a square so that neighbours differ. A decision stump depends on one
coordinate, so it is no better than guessing; and a vote of stumps, a sum of functions of one
coordinate each, cannot separate the classes. This is a limit of the hypotheses, not of their
number: even *all* stumps together fail.

The problem needs hypotheses that depend on both coordinates. This example uses three infinite
sets of them; the only difference between the panels is the kernel of scikit-learn's SVC.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from kernsemble.datasets import make_xor
from kernsemble.kernels import Laplacian, Perceptron, Stump, StumpRegion

X, y = make_xor(200, noise=0.35, random_state=0)
X_test, y_test = make_xor(4_000, noise=0.35, random_state=1)

# %%
# Four ensembles
# --------------
# Each kernel is the inner product of the votes of its hypotheses: all stumps; the boxes bounded
# by two stumps; all perceptrons, whose boundaries are lines of any direction; and the leaves of
# decision trees of every depth, which the Laplacian kernel embodies. A kernel is bound to the
# training rows, which sets its constants, and is then a function that SVC accepts.

ensembles = {
    "every stump": Stump(),
    "boxes of two stumps": StumpRegion(level=2),
    "every perceptron": Perceptron(),
    "leaves of every tree": Laplacian(gamma=0.5),
}
models = {name: SVC(kernel=kernel.bind(X), C=10.0).fit(X, y) for name, kernel in ensembles.items()}
for name, model in models.items():
    print(f"{name:21}  test error {100 * (1 - model.score(X_test, y_test)):5.1f} %")

# %%
# Decision boundaries
# -------------------
# The colour is the decision function, the line is its zero level. The vote of all stumps is a
# sum of one function of each coordinate; the other three have interactions.

axis = np.linspace(-2.3, 2.3, 121)
horizontal, vertical = np.meshgrid(axis, axis)
grid = np.column_stack([horizontal.ravel(), vertical.ravel()])

figure, panels = plt.subplots(2, 2, figsize=(8, 8), layout="constrained")
for panel, (name, model) in zip(panels.flat, models.items(), strict=True):
    decision = model.decision_function(grid).reshape(horizontal.shape)
    top = np.abs(decision).max()
    panel.contourf(
        horizontal, vertical, decision, np.linspace(-top, top, 22), cmap="RdBu", alpha=0.65
    )
    panel.contour(horizontal, vertical, decision, [0.0], colors="black", linewidths=1.5)
    for label, colour in ((-1, "#b2182b"), (1, "#2166ac")):
        panel.scatter(*X[y == label].T, s=16, c=colour, edgecolors="white", linewidths=0.5)
    panel.set(aspect="equal", xticks=[-1, 1], yticks=[-1, 1])
    panel.set_title(f"{name}: {100 * (1 - model.score(X_test, y_test)):.1f} % error")
plt.show()

# %%
# No value of C would help the stumps. On the four corners without noise ``K @ y`` is zero, so
# whatever the coefficients :math:`\beta` and the bias b of :math:`f = K\beta + b` are,
# :math:`\sum_i y_i f(x_i) = y^\top K \beta + b \sum_i y_i = 0`, and not all of the
# :math:`y_i f(x_i)` can be positive.

corners, labels = make_xor()
print(Stump().bind(corners)(corners) @ labels)
