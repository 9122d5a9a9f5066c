r"""Breiman's three artificial problems, whose Bayes errors are known.

Labels are drawn first and are :math:`\pm 1` with probability one half; given its label,
an example is Gaussian. ``random_state`` is passed to :func:`numpy.random.default_rng`: a
seed, a generator, or None for fresh entropy.
"""

import numpy as np

from kernsemble._arguments import as_generator, check_count, check_share
from kernsemble._typing import FloatArray, IntArray


def make_twonorm(
    n_samples: int = 300,
    n_features: int = 20,
    flip: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    r"""Draw from two unit Gaussians with opposite means.

    .. math:: x \mid y \sim N(y\,(a, \dots, a), I), \qquad a = 2 / \sqrt{D}

    The Bayes rule is :math:`\mathrm{sign}(\sum_d x_d)`; it errs with probability
    :math:`\Phi(-2) \approx 2.3\,\%` for every number of features :math:`D`.

    Parameters
    ----------
    n_samples : int, default=300
        Number of examples.
    n_features : int, default=20
        Dimension :math:`D`.
    flip : float, default=0.0
        Share of examples with a wrong label: exactly ``round(flip * n_samples)``
        of them, as in "mislabeling noise on 10% of the training examples" [2]_. The same
        ``random_state`` draws the same ``X`` for every ``flip``.
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
    .. [1] L. Breiman, Prediction games and arcing algorithms, Neural Computation 11, 1999.
    .. [2] H.-T. Lin and L. Li, Support vector machinery for infinite ensemble learning,
       Journal of Machine Learning Research 9, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.datasets import make_twonorm
    >>> X, y = make_twonorm(100_000, random_state=0)
    >>> float(np.mean(np.sign(X.sum(axis=1)) != y))
    0.023
    """
    _check(n_samples, n_features, flip)
    rng = as_generator(random_state)
    y = _random_signs(n_samples, rng)
    mean = np.full(n_features, 2.0 / np.sqrt(n_features))
    X = y[:, np.newaxis] * mean + rng.standard_normal((n_samples, n_features))
    return X, _mislabelled(y, flip, rng)


def make_threenorm(
    n_samples: int = 300,
    n_features: int = 20,
    flip: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    r"""Draw from an equal mixture of two unit Gaussians against a third.

    .. math:: x \mid +1 \sim \tfrac12 N(m, I) + \tfrac12 N(-m, I), \qquad
              x \mid -1 \sim N(m', I)

    with :math:`m = (a, a, a, \dots)`, :math:`m' = (a, -a, a, \dots)` and
    :math:`a = 2 / \sqrt{D}`. For even :math:`D` the Bayes rule prefers +1 where
    :math:`\log\cosh(m \cdot x) > m' \cdot x`; it errs with probability 10.5 %.

    Parameters
    ----------
    n_samples : int, default=300
        Number of examples.
    n_features : int, default=20
        Dimension :math:`D`.
    flip : float, default=0.0
        Share of examples with a wrong label, as in :func:`make_twonorm`.
    random_state : int, numpy.random.Generator or None, default=None
        Random seed or generator.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Examples.
    y : ndarray of shape (n_samples,)
        Labels, -1 or +1.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.datasets import make_threenorm
    >>> X, y = make_threenorm(100_000, random_state=0)
    >>> a = 2 / np.sqrt(20)
    >>> alternating = a * np.resize([1, -1], 20)
    >>> bayes = np.sign(np.log(np.cosh(a * X.sum(axis=1))) - X @ alternating)
    >>> float(np.mean(bayes != y))
    0.105
    """
    _check(n_samples, n_features, flip)
    rng = as_generator(random_state)
    y = _random_signs(n_samples, rng)
    a = 2.0 / np.sqrt(n_features)
    side = _random_signs(n_samples, rng)[:, np.newaxis]
    alternating = np.resize([1.0, -1.0], n_features)
    mean = a * np.where(y[:, np.newaxis] == 1, side, alternating)
    X = mean + rng.standard_normal((n_samples, n_features))
    return X, _mislabelled(y, flip, rng)


def make_ringnorm(
    n_samples: int = 300,
    n_features: int = 20,
    flip: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    r"""Draw from a wide Gaussian around a narrow one.

    .. math:: x \mid +1 \sim N(0, 4I), \qquad x \mid -1 \sim N(m, I),
              \qquad m = (a, \dots, a),\; a = 1 / \sqrt{D}

    The Bayes rule prefers +1 outside a sphere, where
    :math:`\tfrac12\|x - m\|^2 - \tfrac18\|x\|^2 > D \log 2`; with 20 features it errs
    with probability 1.5 %.

    Parameters
    ----------
    n_samples : int, default=300
        Number of examples.
    n_features : int, default=20
        Dimension :math:`D`.
    flip : float, default=0.0
        Share of examples with a wrong label, as in :func:`make_twonorm`.
    random_state : int, numpy.random.Generator or None, default=None
        Random seed or generator.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Examples.
    y : ndarray of shape (n_samples,)
        Labels, -1 or +1.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.datasets import make_ringnorm
    >>> X, y = make_ringnorm(100_000, random_state=0)
    >>> m = 1 / np.sqrt(20)
    >>> excess = np.sum((X - m) ** 2 / 2 - X**2 / 8, axis=1) - 20 * np.log(2)
    >>> float(np.mean(np.sign(excess) != y))
    0.015
    """
    _check(n_samples, n_features, flip)
    rng = as_generator(random_state)
    y = _random_signs(n_samples, rng)
    wide = y[:, np.newaxis] == 1
    mean = np.where(wide, 0.0, 1.0 / np.sqrt(n_features))
    X = mean + np.where(wide, 2.0, 1.0) * rng.standard_normal((n_samples, n_features))
    return X, _mislabelled(y, flip, rng)


def _check(n_samples: int, n_features: int, flip: float) -> None:
    check_count("n_samples", n_samples)
    check_count("n_features", n_features)
    check_share("flip", flip)


def _random_signs(size: int, rng: np.random.Generator) -> IntArray:
    return 2 * rng.integers(2, size=size) - 1


def _mislabelled(y: IntArray, share: float, rng: np.random.Generator) -> IntArray:
    wrong = rng.choice(len(y), size=round(share * len(y)), replace=False)
    y[wrong] = -y[wrong]
    return y
