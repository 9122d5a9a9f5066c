"""What machines for classes and for numbers share: rows, kernel, solutions, values."""

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from kernsemble._arguments import check_count, check_positive
from kernsemble._typing import FloatArray, Rows
from kernsemble.kernels import Kernel, as_kernel
from kernsemble.solvers import Solution, Status, solve_dual
from kernsemble.solvers.folds import bounds_at
from kernsemble.svm.scaling import FeatureScaling, Kind


class Machine(BaseEstimator):
    """A support vector machine, or several on the same rows."""

    kernel: str | Kernel
    C: float | Literal["scale"]
    scaling: Kind | None
    tol: float
    max_iter: int | None
    warm_start: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_settings(self) -> None:
        check_positive("tol", self.tol)
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)

    def _gram(
        self, X: Rows, counts: FloatArray, kernel: str | Kernel, scaling: Kind | None
    ) -> FloatArray:
        """Bind scaling and kernel to the rows that count, and return the matrix of all."""
        self.scaling_ = FeatureScaling.of(X, scaling, counts)
        scaled = self.scaling_.transform(X)
        self.kernel_ = as_kernel(kernel).bind(scaled[counts > 0.0])
        K: FloatArray = self.kernel_(scaled)
        return K

    def _penalty(self, K: FloatArray, counts: FloatArray) -> float:
        """Return the number that C stands for."""
        if self.C == "scale":
            return _inverse_mean_distance(K, counts)
        if np.inf != self.C:
            check_positive("C", self.C)
        return float(self.C)

    def _solve(
        self,
        K: FloatArray,
        p: FloatArray,
        low: FloatArray,
        high: FloatArray,
        before: FloatArray | None,
        epsilon: float = 0.0,
    ) -> Solution:
        lower, upper = bounds_at(self.C_, low), bounds_at(self.C_, high)
        start = _start(before, K, p, lower, upper)
        return solve_dual(
            K,
            p,
            lower,
            upper,
            epsilon=epsilon,
            tol=self.tol,
            max_iter=self.max_iter,
            start=start,
        )

    def _store(self, X: Rows, beta: FloatArray, solutions: list[Solution]) -> None:
        """Keep what the solutions say, a row of `beta` for each, and tell how they ended."""
        self.support_ = np.flatnonzero(beta.any(axis=0))
        self.support_vectors_ = X[self.support_]
        self.dual_coef_ = beta[:, self.support_]
        self.intercept_ = np.array([each.bias for each in solutions])
        self.n_iter_ = max(max(each.n_iter for each in solutions), 1)
        self.objective_ = np.array([each.objective for each in solutions])
        self._beta = beta
        statuses = {each.status for each in solutions}
        if Status.INTERRUPTED in statuses:
            raise KeyboardInterrupt(Status.INTERRUPTED.value)
        if Status.UNBOUNDED in statuses:
            raise ValueError(f"C = {self.C_}: {Status.UNBOUNDED.value}")
        if Status.STOPPED in statuses:
            violation = max(each.violation for each in solutions)
            warnings.warn(
                f"max_iter = {self.max_iter} was reached at violation {violation:.2g}, "
                f"tol = {self.tol}: {Status.STOPPED.value}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _values(self, X: ArrayLike) -> FloatArray:
        """Return the value of every machine at every row."""
        check_is_fitted(self)
        rows = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False
        )
        if len(self.support_) == 0:
            return np.tile(self.intercept_, (rows.shape[0], 1))
        K = self.kernel_(
            self.scaling_.transform(rows), self.scaling_.transform(self.support_vectors_)
        )
        return K @ self.dual_coef_.T + self.intercept_

    def _before(self, n_machines: int, n_rows: int) -> list[FloatArray | None]:
        """Return the coefficients to go on from, None for each machine that starts anew."""
        beta = getattr(self, "_beta", None) if self.warm_start else None
        if beta is None or beta.shape != (n_machines, n_rows):
            return [None] * n_machines
        return list(beta)


def _inverse_mean_distance(K: FloatArray, weight: FloatArray) -> float:
    """Return 1 over the mean of (K_ii + K_jj)/2 − K_ij, rows counted by weight."""
    total = float(weight.sum())
    distance = float(np.diagonal(K) @ weight) / total - float(weight @ K @ weight) / total**2
    return 1.0 / distance if distance > 0.0 else 1.0


def read_weights(sample_weight: ArrayLike | None, n: int) -> FloatArray:
    """Return how often each row counts, checked."""
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(
            f"sample_weight must hold {n} numbers, one for each row, none of them negative or NaN"
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every row: at least one must count")
    return weight


def _start(
    beta: FloatArray | None, K: FloatArray, p: FloatArray, lower: FloatArray, upper: FloatArray
) -> Solution | None:
    """Return coefficients as a start, unless the bounds or the sum no longer allow them."""
    if beta is None or (beta < lower).any() or (beta > upper).any():
        return None
    if abs(beta.sum()) > 1e-9 * max(float(np.abs(beta).sum()), 1.0):
        return None
    return Solution(beta, 0.0, p - K @ beta, np.nan, np.inf, 0, Status.STOPPED)
