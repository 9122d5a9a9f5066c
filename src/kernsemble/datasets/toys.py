"""Small artificial problems from the papers, each an illustration of one property.

``random_state`` is passed to :func:`numpy.random.default_rng`: a seed, a generator, or None
for fresh entropy.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np

from kernsemble._arguments import as_generator, check_choice, check_count, check_not_negative
from kernsemble._typing import FloatArray, IntArray
from kernsemble.exceptions import ArgumentError


def make_xor(
    n_samples: int = 4,
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    r"""Draw the corners of a square, labelled by exclusive or.

    .. math:: x = c + \sigma\varepsilon, \qquad c \in \{-1, +1\}^2, \qquad
              y = -c_1 c_2, \qquad \varepsilon \sim N(0, I)

    Four samples without noise are the four corners themselves: every decision stump errs
    on two of them, so no vote of stumps separates them [1]_.

    Parameters
    ----------
    n_samples : int, default=4
        Number of examples. The corners take turns, so their numbers of examples differ by at
        most one.
    noise : float, default=0.0
        Standard deviation :math:`\sigma`.
    random_state : int, numpy.random.Generator or None, default=None
        Random seed or generator.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Examples.
    y : ndarray of shape (n_samples,)
        Labels: +1 where the signs of the corner's coordinates differ, else -1.

    References
    ----------
    .. [1] H.-T. Lin and L. Li, Support vector machinery for infinite ensemble learning,
       Journal of Machine Learning Research 9, 2008, Figure 1.

    Examples
    --------
    >>> from kernsemble.datasets import make_xor
    >>> X, y = make_xor()
    >>> X
    array([[-1., -1.],
           [-1.,  1.],
           [ 1., -1.],
           [ 1.,  1.]])
    >>> y
    array([-1,  1,  1, -1])
    """
    check_count("n_samples", n_samples)
    check_not_negative("noise", noise)
    rng = as_generator(random_state)
    corner = np.arange(n_samples) % 4
    signs = 2 * np.column_stack([corner // 2, corner % 2]) - 1
    X = signs + noise * rng.standard_normal((n_samples, 2))
    return X, -signs[:, 0] * signs[:, 1]


def make_spheres(
    n_samples: int = 200,
    n_features: int = 2,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, FloatArray]:
    r"""Draw a Gaussian cloud, whose level sets are spheres, and the radii of its points.

    .. math:: x \sim N(0, I), \qquad y = \|x\|_2

    All directions have equal variance, so there is no principal component; the only
    pattern is the radius, and the leading eigenvector of a Gaussian Gram matrix orders
    the examples by it [1]_.

    Parameters
    ----------
    n_samples : int, default=200
        Number of examples.
    n_features : int, default=2
        Dimension of the cloud.
    random_state : int, numpy.random.Generator or None, default=None
        Random seed or generator.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Examples.
    y : ndarray of shape (n_samples,)
        Radii.

    References
    ----------
    .. [1] M. Zhu, Kernels and ensembles: perspectives on statistical learning, The
       American Statistician 62, 2008, Figure 2.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.datasets import make_spheres
    >>> X, radius = make_spheres(200, random_state=0)
    >>> squared_distances = np.sum((X[:, np.newaxis] - X) ** 2, axis=2)
    >>> leading = np.linalg.eigh(np.exp(-squared_distances))[1][:, -1]
    >>> ranks = np.argsort(np.argsort([np.abs(leading), radius]))
    >>> float(np.corrcoef(ranks)[0, 1])
    -0.975
    """
    check_count("n_samples", n_samples)
    check_count("n_features", n_features)
    X = as_generator(random_state).standard_normal((n_samples, n_features))
    return X, np.linalg.norm(X, axis=1)


def make_rotated_gaussians(
    n_samples: int = 300,
    n_features: int = 100,
    sigma: Literal["variance", "deviation"] = "variance",
    long_axis: Literal["along", "across"] = "along",
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    r"""Draw from two rotated Gaussians in a plane, hidden among features of pure noise.

    .. math:: (x_1, x_2) \mid y \sim N(y\,(0.03, 0.03),\; \Delta \Sigma \Delta^{-1}), \qquad
              x_3, \dots, x_D \sim N(0, 0.05^2)

    with :math:`\Sigma = \mathrm{diag}(0.1, 0.01)` and :math:`\Delta` the rotation by 45°.
    Labels are :math:`\pm 1` with probability one half. As printed [1]_, the long axis of
    the ellipses lies along the difference of the means, and the classes overlap almost
    completely. The Bayes errors of the four readings:

    ===========  =======  ========
    sigma        along    across
    ===========  =======  ========
    variance     44.7 %   33.6 %
    deviation    33.6 %   0.0011 %
    ===========  =======  ========

    Parameters
    ----------
    n_samples : int, default=300
        Number of examples.
    n_features : int, default=100
        Dimension :math:`D`, at least 2.
    sigma : {"variance", "deviation"}, default="variance"
        Meaning of the diagonal of :math:`\Sigma`.
    long_axis : {"along", "across"}, default="along"
        Whether the long axis lies along the difference of the means, as printed, or across
        it, which is :math:`\Delta^{-1} \Sigma \Delta` and the only reading in which (with
        deviations) a line separates the classes.
    noise : float, default=0.0
        Standard deviation of noise added to the first two features; 0.03 in the noisy test
        sets of [1]_. The same ``random_state`` draws the same examples for every `noise`.
    random_state : int, numpy.random.Generator or None, default=None
        Random seed or generator.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Examples.
    y : ndarray of shape (n_samples,)
        Labels, -1 or +1.

    References
    ----------
    .. [1] K. Crammer, J. Keshet and Y. Singer, Kernel design using boosting, Advances in
       Neural Information Processing Systems 15, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.datasets import make_rotated_gaussians
    >>> X, y = make_rotated_gaussians(100_000, n_features=2, random_state=0)
    >>> np.cov(X[y == 1].T).round(3)
    array([[0.055, 0.045],
           [0.045, 0.055]])
    """
    check_count("n_samples", n_samples)
    check_count("n_features", n_features, minimum=2)
    check_choice("sigma", sigma, ("variance", "deviation"))
    check_choice("long_axis", long_axis, ("along", "across"))
    check_not_negative("noise", noise)
    rng = as_generator(random_state)
    y = 2 * rng.integers(2, size=n_samples) - 1
    X = 0.05 * rng.standard_normal((n_samples, n_features))
    Sigma = np.array([0.1, 0.01])
    deviations = np.sqrt(Sigma) if sigma == "variance" else Sigma
    Delta = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    axes = Delta if long_axis == "along" else Delta.T
    ellipses = deviations * rng.standard_normal((n_samples, 2)) @ axes.T
    X[:, :2] = 0.03 * y[:, np.newaxis] + ellipses + noise * rng.standard_normal((n_samples, 2))
    return X, y


def make_sparse_sum(
    n_samples: int = 50,
    n_features: int = 10,
    informative: Sequence[int] = (1, 4, 7),
    noise: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, FloatArray]:
    r"""Draw a sum of a few of many independent predictors.

    .. math:: y = \sum_{j \in S} x_j + \sigma\varepsilon, \qquad
              x_1, \dots, x_D, \varepsilon \sim N(0, 1)

    By default :math:`y = x_2 + x_5 + x_8 + \varepsilon` with ten predictors and fifty
    examples: of the 1024 subsets, the one with the least AIC tends to contain the true three
    and some more [1]_.

    Parameters
    ----------
    n_samples : int, default=50
        Number of examples.
    n_features : int, default=10
        Number :math:`D` of predictors.
    informative : sequence of int, default=(1, 4, 7)
        Columns :math:`S` of the true predictors, counted from 0.
    noise : float, default=1.0
        Standard deviation :math:`\sigma`.
    random_state : int, numpy.random.Generator or None, default=None
        Random seed or generator.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Predictors.
    y : ndarray of shape (n_samples,)
        Response.

    References
    ----------
    .. [1] M. Zhu, Kernels and ensembles: perspectives on statistical learning, The
       American Statistician 62, 2008, Section 4.3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.datasets import make_sparse_sum
    >>> X, y = make_sparse_sum(noise=0.0, random_state=0)
    >>> bool(np.allclose(y, X[:, 1] + X[:, 4] + X[:, 7]))
    True
    """
    check_count("n_samples", n_samples)
    check_count("n_features", n_features)
    check_not_negative("noise", noise)
    given: Any = informative
    columns: list[Any] = list(given) if np.iterable(given) else [None]
    are_whole = all(isinstance(each, Integral) for each in columns)
    is_some = are_whole and set(columns) <= set(range(n_features))
    if not (is_some and len(set(columns)) == len(columns)):
        remedy = f"use distinct columns between 0 and {n_features - 1}"
        raise ArgumentError("informative", informative, remedy)
    rng = as_generator(random_state)
    X = rng.standard_normal((n_samples, n_features))
    return X, X[:, columns].sum(axis=1) + noise * rng.standard_normal(n_samples)
