"""
Kernel PCA: the radius is a component
=====================================

A spherical Gaussian distribution has the same variance in every direction, so ordinary principal
components are uninformative. With a Gaussian kernel one of the leading components orders the points
by their radius, as in Figure 2 of Zhu (2008). Kernel PCA is scikit-learn's, the kernel is from this
library.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA, KernelPCA

from kernsemble.datasets import make_spheres
from kernsemble.kernels import Gaussian

X, radius = make_spheres(200, random_state=0)

# %%
# Which component is the radius?
# ------------------------------
# The paper uses the kernel :math:`\exp(-\|u - v\|^2)` and the leading eigenvector of the uncentred
# kernel matrix. KernelPCA centres the matrix, as PCA centres columns: then two components along the
# plane come first, and the radius is the third.

K = Gaussian(gamma=1.0).bind(X)(X)
centred = KernelPCA(3, kernel="precomputed").fit_transform(K)
components = {
    "PCA, first": PCA(1).fit_transform(X).ravel(),
    "uncentred kernel matrix, first": np.linalg.eigh(K)[1][:, -1],
    "KernelPCA, first": centred[:, 0],
    "KernelPCA, third": centred[:, 2],
}
for name, values in components.items():
    print(f"{name:30} rank correlation with the radius {abs(spearmanr(values, radius)[0]):.2f}")

# %%
# Points of equal colour lie on lines or on circles.

figure, panels = plt.subplots(2, 4, figsize=(13, 6), layout="constrained")
for (above, below), (name, values) in zip(panels.T, components.items(), strict=True):
    above.scatter(*X.T, c=values, s=14, cmap="viridis")
    above.set(aspect="equal", title=name)
    below.scatter(radius, np.sign(np.corrcoef(values, radius)[0, 1]) * values, s=8)
    below.set(xlabel="radius", ylabel="component")
plt.show()
