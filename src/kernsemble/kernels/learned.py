"""Learned kernels: finitely many features that are expansions on templates."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._threads import blocks
from kernsemble._typing import ArrayLike, FloatArray, Rows
from kernsemble._validation import as_features, check_n_features
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.distances import dot_tile, squared_norms
from kernsemble.kernels.gram import Embedded

MAX_ENTRIES = 20_000_000  # largest matrix between rows and templates that is held at a time


@dataclass(frozen=True, eq=False, repr=False)
class Boosted(Kernel):
    r"""The kernel :math:`K(x, x') = z(x)^\top z(x')` of features that are expansions on templates.

    .. math:: z_t(x) = \textstyle\sum_r C_{tr}\, \kappa(x, \tilde x_r)

    `KernelBoost` learns it, with :math:`C_{tr} = \sqrt{\alpha_t}\,\beta_{tr}`. It is positive
    semidefinite whatever the coefficients are. It is bound from the start, to the scale of the
    templates: binding it again changes nothing, and machines do not scale rows for it. A
    matrix of n by m rows takes :math:`O((n + m) R T + n m T)`, with R templates and T features,
    and R values of :math:`\kappa` per row.

    Parameters
    ----------
    kernel : Kernel
        The bound kernel :math:`\kappa`.
    templates : array of shape (R, n_features)
        The rows :math:`\tilde x_r`.
    coefficients : array of shape (T, R)
        The numbers :math:`C_{tr}`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.kernels import Gaussian
    >>> from kernsemble.kernels import Boosted
    >>> templates = np.array([[0.0], [2.0]])
    >>> kernel = Boosted(Gaussian(1.0).bind(templates), templates, np.array([[1.0, -1.0]]))
    >>> kernel.features([[0.0], [1.0], [2.0]])
    array([[ 0.98],
           [ 0.  ],
           [-0.98]])
    >>> kernel([[0.0]], [[0.0], [2.0]])
    array([[ 0.96, -0.96]])
    >>> kernel
    Boosted(Gaussian(gamma=1.0), 1 feature on 2 templates)
    """

    kernel: Kernel
    templates: FloatArray
    coefficients: FloatArray

    def __post_init__(self) -> None:
        self.kernel.require_definite("a learned kernel")
        object.__setattr__(self, "templates", np.array(as_features(self.templates)))
        object.__setattr__(self, "coefficients", np.array(self.coefficients, dtype=np.float64))
        n_templates, n_features = self.templates.shape
        check_n_features(n_features, self.kernel.n_features, "templates")
        if self.coefficients.ndim != 2 or self.coefficients.shape[1] != n_templates:
            raise ValueError(
                f"coefficients have shape {self.coefficients.shape}: pass a row for each feature, "
                f"with a number for each of the {n_templates} templates"
            )
        if not np.isfinite(self.coefficients).all():
            raise ValueError("coefficients contain NaN or infinite values: pass finite numbers")
        super().__post_init__()

    @property
    def n_features(self) -> int:
        return int(self.templates.shape[1])

    def bind(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Return the kernel itself, after checking the number of columns of `X`."""
        as_features(X, self.n_features)
        return self

    def features(self, X: ArrayLike, *, max_entries: int = MAX_ENTRIES) -> FloatArray:
        """Return the features z(x), of shape (n, T), whose inner products are the kernel.

        Rows are compared with the templates in blocks of at most `max_entries` kernel values.
        """
        return self._features(as_features(X, self.n_features), max_entries)

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        return self._features(as_features(X, self.n_features, name), MAX_ENTRIES)

    def _features(self, rows: Rows, max_entries: int) -> FloatArray:
        found = np.empty((rows.shape[0], len(self.coefficients)))
        for span in blocks(rows.shape[0], max(max_entries // len(self.templates), 1)):
            K = self.kernel(rows[span], self.templates)
            with np.errstate(over="ignore", invalid="ignore"):  # checked
                found[span] = K @ self.coefficients.T
        if not np.isfinite(found).all():
            raise ValueError("the features of X exceed the range of floats: scale the columns")
        return found

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return dot_tile(A, B)

    def _diagonal(self, A: Embedded) -> FloatArray:
        return squared_norms(A)

    @property
    def _expression(self) -> str:
        n_rounds, n_templates = self.coefficients.shape
        features = f"{n_rounds} feature{'' if n_rounds == 1 else 's'}"
        return f"Boosted({self.kernel._expression}, {features} on {n_templates} templates)"

    def __repr__(self) -> str:
        return self._expression
