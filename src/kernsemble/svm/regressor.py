"""An infinite ensemble that fits numbers."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from kernsemble._arguments import check_not_negative
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import FloatArray, Rows
from kernsemble._validation import read_weights
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import ScalingKind
from kernsemble.svm.losses import LossOfNumbers, Solver, penalty_unit
from kernsemble.svm.machine import Machine
from kernsemble.svm.problem import Problem, TargetScale

SHARE_OF_SPREAD = 0.1  # that errors may have for free


class InfiniteEnsembleRegressor(RegressorMixin, Machine):
    r"""A weighted sum of infinitely many hypotheses that fits numbers.

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2
              + \textstyle\sum_i C_i \max(0, |y_i - f(x_i)| - \varepsilon),
              \qquad f(x) = \int w(a)\, r(a)\, h_a(x)\, da + b

    Parameters
    ----------
    kernel, scaling, max_iter, cache_size, warm_start
        As for `InfiniteEnsembleClassifier`.
    C : float or "scale", default="scale"
        How much errors count against the size of the weights, in units of y; "scale" is the
        standard deviation of y over the mean distance of training rows.
    epsilon : float or "scale", default="scale"
        Errors up to this do not count, in units of y; "scale" is a tenth of the standard
        deviation of y.
    tol : float, default=1e-3
        The violation of the optimality conditions to stop at, in standard deviations of y; for
        the additive solver the duality gap, as a share of the objective.
    loss : {"epsilon_insensitive", "squared"}, default="epsilon_insensitive"
        What errors cost: that of support vector machines, or half their square, which has no
        epsilon, whose C does not depend on the unit of y, and which needs the additive solver.
    solver, max_levels, n_slices, n_grids, random_state
        As for `InfiniteEnsembleClassifier`.

    Attributes
    ----------
    C_, epsilon_ : floats
        The numbers that C and epsilon stand for.
    solver_, tables_, sampling_error_, mixed_table_
        As for `InfiniteEnsembleClassifier`.
    kernel_, scaling_, support_, support_vectors_, dual_coef_, intercept_, objective_
        As for `InfiniteEnsembleClassifier`.
    duality_gap_, n_iter_, n_features_in_, feature_names_in_
        As for `InfiniteEnsembleClassifier`.

    Notes
    -----
    With the defaults the unit of y does not matter: y in thousands gives the same predictions,
    in thousands.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.svm import InfiniteEnsembleRegressor
    >>> X = np.linspace(0, 6, 100)[:, np.newaxis]
    >>> y = np.sin(X.ravel())
    >>> InfiniteEnsembleRegressor(C=10.0).fit(X, y).score(X, y)
    0.992
    """

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        kernel: str | Kernel = "stump",
        C: float | Literal["scale"] = "scale",
        scaling: ScalingKind | None = "range",
        epsilon: float | Literal["scale"] = "scale",
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        warm_start: bool = False,
        solver: Solver = "auto",
        loss: LossOfNumbers = "epsilon_insensitive",
        max_levels: int = 256,
        n_slices: int | None = None,
        n_grids: int = 512,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.scaling = scaling
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.solver = solver
        self.loss = loss
        self.max_levels = max_levels
        self.n_slices = n_slices
        self.n_grids = n_grids
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the ensemble.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            The numbers to fit.
        sample_weight : array-like of shape (n,), optional
            How often each row counts; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, target, weight = self._read(X, y, sample_weight)
        scale = TargetScale.of(target, weight)
        self.epsilon_ = self._width(scale.spread)
        problem = Problem.of_numbers(target, weight, self.epsilon_ / scale.spread, scale)
        with Task.of_fit(self, 1, X, y, sample_weight) as task:
            comparison = self._compare_rows(rows, weight)
            self.C_ = self._penalty(comparison, weight, penalty_unit(self.loss, problem))
            self._fit_machines(rows, comparison, [problem], task)
        return self

    def _read(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Rows, FloatArray, FloatArray]:
        """Return rows, their numbers, and how often they count."""
        X, y = self._read_rows(X, y, y_numeric=True)
        return X, np.asarray(y, dtype=np.float64), read_weights(sample_weight, X.shape[0])

    def _width(self, spread: float) -> float:
        """Return the number that epsilon stands for, where the target has that spread."""
        if self.epsilon == "scale":
            return SHARE_OF_SPREAD * spread
        check_not_negative("epsilon", self.epsilon)
        return float(self.epsilon)

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the value of the ensemble at each row."""
        return self._values(X)[:, 0]
