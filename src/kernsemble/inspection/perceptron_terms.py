"""The perceptrons of a kernel that is a sum."""

import numpy as np
from numpy.typing import ArrayLike

from kernsemble.inspection.expansions import Expansion, columns_seen, unwrapped
from kernsemble.inspection.perceptron_density import PerceptronDensity
from kernsemble.kernels import Kernel, Perceptron
from kernsemble.kernels.algebra import terms
from kernsemble.kernels.ensemble import Simplified


def density_along(direction: ArrayLike, kernel: Kernel, expansion: Expansion) -> PerceptronDensity:
    """Return the density of the only perceptrons of a kernel along a direction."""
    found = []
    for term in terms(kernel):
        factor, simple = unwrapped(term)
        simple = simple.full if isinstance(simple, Simplified) else simple
        if isinstance(simple, Perceptron):
            found.append((factor, simple.hypotheses, columns_seen(term)))
    if len(found) != 1:
        raise ValueError(
            f"kernel = {kernel} is the sum of {len(found)} kernels of perceptrons: the density is "
            "told of one, Perceptron()"
        )
    factor, perceptrons, columns = found[0]
    rows = np.asarray(expansion.scaling.transform(expansion.support))
    return PerceptronDensity.along(direction, perceptrons, columns, rows, expansion.beta, factor)
