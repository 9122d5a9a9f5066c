"""Components of a round cloud, compared with its radius (Zhu 2008, Figure 2)."""

from functools import partial

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA, KernelPCA

from kernsemble._typing import FloatArray
from kernsemble.experiments.methods.measures import Method, Values
from kernsemble.experiments.paper_data import TrainTestData
from kernsemble.kernels import Gaussian

N_COMPONENTS = 3


def leading_components(X: FloatArray) -> dict[str, FloatArray]:
    """Return the leading components by name, of shape (n, 2) or (n, 3).

    "kernel matrix" are eigenvectors of exp(-|u - v|²) without centring, "KernelPCA" those of the
    centred matrix, "PCA" the principal components.
    """
    K = Gaussian(1.0).bind(X)(X)
    return {
        "PCA": PCA(2).fit_transform(X),
        "kernel matrix": np.linalg.eigh(K)[1][:, : -N_COMPONENTS - 1 : -1],
        "KernelPCA": KernelPCA(N_COMPONENTS, kernel="precomputed").fit_transform(K),
    }


def _disorder(name: str, data: TrainTestData, _: int) -> Values:
    """Return 100 (1 - |rank correlation|) of each component with the radii."""
    components = leading_components(data.X)[name]
    return {
        f"component {place}": 100.0 * (1.0 - abs(spearmanr(each, data.y)[0]))
        for place, each in enumerate(components.T, start=1)
    }


METHODS: dict[str, Method] = {
    name: partial(_disorder, name) for name in ("PCA", "kernel matrix", "KernelPCA")
}
