r"""
Convergence of sampled ensembles to the kernel
==============================================

A kernel of this library is an integral over a set of hypotheses,

.. math:: K(x, x') = \int r(a)^2\, h_a(x)\, h_a(x')\, da,

with a closed form. Draw n hypotheses at random: the mean product of their votes, times their
measure, converges to the kernel, with an error that falls like :math:`1/\sqrt n`. Methods of
random features are on the left of this plot; a support vector machine with the closed form
corresponds to the limit on the right.
"""

import matplotlib.pyplot as plt
import numpy as np

from kernsemble.kernels import Perceptron, Stump, StumpRegion

rng = np.random.default_rng(0)
X = rng.uniform(-1.0, 1.0, size=(20, 3))

# %%
# Five sets of hypotheses
# -----------------------
# Two simple sets, the XOR and the AND of their members, and boxes of up to three stumps. Every
# bound kernel has the attribute `hypotheses`, the set it embodies; a sample of them is a finite
# ensemble with its own kernel.

kernels = {
    "stump": Stump().bind(X),
    "perceptron": Perceptron().bind(X),
    "XOR: stump * perceptron": (Stump() * Perceptron()).bind(X),
    "AND: stump & perceptron": (Stump() & Perceptron()).bind(X),
    "region of three stumps": StumpRegion(level=3).bind(X),
}
for name, kernel in kernels.items():
    sampled = kernel.hypotheses.sample(1_000, rng)
    print(f"{name:24}  K = {kernel(X)[0, 1]:7.3f}, sampled {sampled.kernel(X)[0, 1]:7.3f}")

# %%
# Error by number of hypotheses
# -----------------------------
# The error is the Frobenius norm of the difference, relative to that of the kernel matrix,
# averaged over ten samples of each size. How much the members of a set disagree shifts its line
# up or down, but does not change the slope.


def mean_error(kernel, n_hypotheses, n_repeats=10):
    """Return the mean relative error of the kernel of random samples."""
    K = kernel(X)
    errors = [
        np.linalg.norm(kernel.hypotheses.sample(n_hypotheses, rng).kernel(X) - K)
        for _ in range(n_repeats)
    ]
    return np.mean(errors) / np.linalg.norm(K)


sizes = np.geomspace(10, 10_000, 7).astype(int)
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for (name, kernel), marker in zip(kernels.items(), "osD^v", strict=True):
    axes.loglog(sizes, [mean_error(kernel, n) for n in sizes], marker=marker, label=name)
axes.loglog(sizes, 2.0 / np.sqrt(sizes), "k--", label=r"slope of $1/\sqrt{n}$")
axes.set(xlabel="number n of sampled hypotheses", ylabel="relative error of the kernel matrix")
axes.grid(alpha=0.3)
axes.legend(frameon=False)
plt.show()
