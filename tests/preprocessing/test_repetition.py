"""Equal rows share what is random, so that weights of learned scalings are repetitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.preprocessing.supervised import TargetScaling

KINDS = [
    ("learned", "l1"),
    ("learned-range", "l2"),
    ("learned-directions", "l2"),
    ("effects", "l1"),
    ("learned-effects", "l1"),
]


@pytest.mark.large
@pytest.mark.parametrize(("kind", "norm"), KINDS)
def test_weights_are_repetitions(kind, norm):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    targets = np.where(X[:, :1] + X[:, 1:2] ** 2 + 0.3 * rng.normal(size=(150, 1)) > 0, 1.0, -1.0)
    counts, plain = rng.integers(0, 4, 150), np.zeros(5, dtype=bool)
    repeated = rng.permutation(np.repeat(np.arange(150), counts))
    found = TargetScaling.from_rows(kind, X, counts.astype(float), plain, targets, norm).fit()
    ones = np.ones(len(repeated))
    same = TargetScaling.from_rows(kind, X[repeated], ones, plain, targets[repeated], norm).fit()
    assert_allclose(found.scaling.transform(X), same.scaling.transform(X), atol=1e-5)
    assert_allclose(found.coordinates[repeated], same.coordinates, atol=1e-5)
    assert same.coordinates.std() > 0.05
