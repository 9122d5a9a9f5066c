r"""Boosting on pairs of rows, whose hypotheses are kernels of rank one.

Rows have coordinates :math:`f_i` in an orthonormal basis of a space of functions, and targets
:math:`T_{ij} = c_i^\top c_j` for the similarity of pairs. The kernel :math:`K = \sum_t \alpha_t
u_t u_t^\top`, with :math:`u_{ti} = f_i^\top q_t`, is to have large margins :math:`T_{ij} K_{ij}`
(Crammer, Keshet and Singer 2002):

.. math:: \min_K \textstyle\sum_{ij} s_i s_j\, \ell(T_{ij} K_{ij}), \qquad
          \ell(m) = \ln(1 + e^{-m}) \;\text{ or }\; e^{-m} .

Each round weights pairs by :math:`D_{ij} = -\ell'(T_{ij} K_{ij})`, large where a pair is badly
aligned, and takes the unit vector q with the largest score :math:`\sum_{ij} B_{ij} u_i u_j =
q^\top F^\top B F q`, :math:`B_{ij} = s_i s_j D_{ij} T_{ij}`: a top eigenvector. With
:math:`W_\pm` the sums of the positive and of the negative :math:`B_{ij} u_i u_j` in size,

.. math:: \alpha = \frac{1}{2\max(1, h)} \ln\frac{W_+}{W_-}, \qquad
          h = \max_{ij} |T_{ij} u_i u_j| .

With :math:`h \le 1`, as for rows of length at most 1, that is the paper's. The bound of Collins,
Schapire and Singer, by which the loss falls by at least :math:`(\sqrt{W_+} - \sqrt{W_-})^2`, needs
:math:`h \le 1`; if h is larger it holds for the kernel divided by h.
"""

from enum import Enum
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from kernsemble._jit import jit
from kernsemble._threads import blocks, run
from kernsemble._typing import FloatArray
from kernsemble.solvers.eigenvector import top_eigenvector

PairLoss: TypeAlias = Literal["log", "exp"]
StepRule: TypeAlias = Literal["bound", "line-search"]

SMALLEST_SHARE = 1e-6  # smallest W₋ / W₊ for the length of a step, which bounds the length
NOTHING = 1e-12  # W₋ / W₊ that is rounding
LEAST_SCORE = 1e-7  # smallest (W₊ − W₋) / (W₊ + W₋); the loss falls by less than its square
ROWS_PER_TASK = 64
MAX_TRIALS = 60  # maximum number of steps of a line search
LEAST_SLOPE = 1e-3  # slope at which a line search ends, relative to the first


class PairStatus(Enum):
    """Result of a round; the value is the message for users."""

    GOES_ON = "the loss can be reduced further"
    PERFECT = "no pair of training rows contradicts the last base kernel"
    UNALIGNED = "no further base kernel is aligned with the targets"


class Round(NamedTuple):
    r"""A base kernel :math:`u u^\top` and its weight."""

    q: FloatArray  # the unit vector, in the coordinates of the rows
    u: FloatArray  # its products with the rows
    alpha: float
    score: float  # the eigenvalue, over the number of pairs
    loss: float  # the mean loss of pairs after it
    n_products: int
    status: PairStatus


class Pairs:
    """All pairs of rows: the current kernel, and the demand B of each pair.

    Only the upper triangles of both matrices are used.

    Parameters
    ----------
    F : array of shape (m, r)
        Coordinates of the rows.
    C : array of shape (m, c)
        Vectors whose inner products are the targets.
    weight : array of shape (m,)
        Weights of the rows; that of a pair is the product.
    loss : {"log", "exp"}
        Loss of a margin.
    step : {"bound", "line-search"}
        Length of steps: by the formula above, or to the minimum of the loss.
    """

    def __init__(
        self,
        F: FloatArray,
        C: FloatArray,
        weight: FloatArray,
        loss: PairLoss,
        step: StepRule = "bound",
    ) -> None:
        m = len(F)
        self._size = _longest(F)  # unit of the rows, so that sums of squares do not overflow
        if not np.finfo(np.float64).tiny <= self._size * self._size < np.inf:
            raise ValueError(
                f"the longest row of the features is {self._size:g}, whose square is outside the "
                "range of floats: scale the columns"
            )
        self.F, self.is_exp, self.step = F / self._size, loss == "exp", step
        self._C, self._weight = np.ascontiguousarray(C), weight / weight.sum()
        self._K, self._B = np.zeros((m, m)), np.empty((m, m))
        self._tasks = blocks(m, ROWS_PER_TASK)
        self._last: FloatArray | None = None
        self._longest_target = float(np.square(C).sum(axis=1).max())
        self.loss = self._move(np.zeros(m), 0.0)

    def _move(self, u: FloatArray, alpha: float) -> float:
        """Add a base kernel, update the weights of pairs, and return their mean loss."""

        def work(rows: slice) -> float:
            span = rows.start, rows.stop
            return _weigh(
                self._K, self._B, self._C, self._weight, u, alpha, self.is_exp, span[0], span[1]
            )

        return float(sum(run(work, self._tasks)))

    def demanded(self, u: FloatArray) -> FloatArray:
        """Return the demand of the pairs at each row, B times u."""
        from scipy.linalg.blas import dsymv

        return dsymv(1.0, self._B.T, u, lower=1)  # the transpose needs no copy

    def operator(self, q: FloatArray) -> FloatArray:
        r"""Return :math:`F^\top B F q`, of one vector or of each column, F in its unit."""
        if q.ndim == 2:
            return np.column_stack([self.operator(column) for column in q.T])
        return self.demanded(self.F @ q) @ self.F

    def advance(self) -> Round | None:
        """Add the base kernel with the largest score; return None if none has a positive one."""
        top = top_eigenvector(self.operator, self.F.shape[1], self._last)
        u = self.F @ top.vector
        parts = np.sum(run(lambda rows: _signed(self._B, u, rows.start, rows.stop), self._tasks), 0)
        plus, minus = float(parts[0]), float(parts[1])
        if plus - minus <= LEAST_SCORE * (plus + minus):
            return None
        is_perfect = minus <= NOTHING * plus
        alpha = self._length(u, plus, minus)
        self._last, self.loss = top.vector, self._move(u, alpha)
        status = PairStatus.PERFECT if is_perfect else PairStatus.GOES_ON
        unit = self._size**2
        found = top.vector, self._size * u, alpha / unit, top.value * unit
        return Round(*found, self.loss, top.n_products, status)

    def _length(self, u: FloatArray, plus: float, minus: float) -> float:
        """Return the weight of a base kernel."""
        height = float(np.square(u).max()) * self._longest_target
        if self.step == "bound":
            rate = 0.5 * float(np.log(plus / max(minus, SMALLEST_SHARE * plus)))
            return rate / max(self._size**-2, height)
        return self._line_search(u, plus - minus, -0.5 * float(np.log(SMALLEST_SHARE)) / height)

    def _line_search(self, u: FloatArray, score: float, longest: float) -> float:
        """Return the minimum of the loss along u, by Newton steps within a bracket."""
        low, high, alpha = 0.0, np.inf, 0.0
        slope, curvature = self._slopes(u, 0.0)
        for _ in range(MAX_TRIALS):
            newton = alpha - slope / curvature if curvature > 0.0 else longest
            alpha = min(newton, longest) if low < newton < high else 0.5 * (low + high)
            slope, curvature = self._slopes(u, alpha)
            if abs(slope) <= LEAST_SLOPE * score or (alpha == longest and slope < 0.0):
                break
            low, high = (alpha, high) if slope < 0.0 else (low, alpha)
        return alpha

    def _slopes(self, u: FloatArray, alpha: float) -> tuple[float, float]:
        """Return the first and second derivative of the loss by the weight of a base kernel."""

        def work(rows: slice) -> tuple[float, float]:
            span = rows.start, rows.stop
            return _slopes(self._K, self._C, self._weight, u, alpha, self.is_exp, span[0], span[1])

        slope, curvature = np.sum(run(work, self._tasks), axis=0)
        return float(slope), float(curvature)


def _longest(F: FloatArray) -> float:
    """Return the length of the longest row, without overflow of its square."""
    largest = float(np.abs(F).max())
    return largest * float(np.sqrt(np.square(F / largest).sum(axis=1).max()))


@jit
def _target(C: FloatArray, i: int, j: int) -> float:
    total = 0.0
    for place in range(C.shape[1]):
        total += C[i, place] * C[j, place]
    return total


@jit
def _weigh(
    K: FloatArray,
    B: FloatArray,
    C: FloatArray,
    weight: FloatArray,
    u: FloatArray,
    alpha: float,
    is_exp: bool,
    first: int,
    last: int,
) -> float:
    total = 0.0
    for i in range(first, last):
        for j in range(i, len(u)):
            target = _target(C, i, j)
            K[i, j] += alpha * u[i] * u[j]
            margin = target * K[i, j]
            pair = weight[i] * weight[j]
            if is_exp:
                loss = D = np.exp(-margin)
            else:
                small = np.exp(-abs(margin))
                D = (small if margin > 0.0 else 1.0) / (1.0 + small)
                loss = np.log(1.0 + small) + max(-margin, 0.0)
            B[i, j] = pair * D * target
            total += (1.0 if i == j else 2.0) * pair * loss
    return total


@jit
def _signed(B: FloatArray, u: FloatArray, first: int, last: int) -> tuple[float, float]:
    plus, minus = 0.0, 0.0
    for i in range(first, last):
        for j in range(i, len(u)):
            gain = (1.0 if i == j else 2.0) * B[i, j] * u[i] * u[j]
            if gain > 0.0:
                plus += gain
            else:
                minus -= gain
    return plus, minus


@jit
def _slopes(
    K: FloatArray,
    C: FloatArray,
    weight: FloatArray,
    u: FloatArray,
    alpha: float,
    is_exp: bool,
    first: int,
    last: int,
) -> tuple[float, float]:
    slope, curvature = 0.0, 0.0
    for i in range(first, last):
        for j in range(i, len(u)):
            target = _target(C, i, j)
            height = target * u[i] * u[j]
            margin = target * K[i, j] + alpha * height
            pair = (1.0 if i == j else 2.0) * weight[i] * weight[j]
            if is_exp:
                D = bend = np.exp(-margin)
            else:
                small = np.exp(-abs(margin))
                D = (small if margin > 0.0 else 1.0) / (1.0 + small)
                bend = D * (1.0 - D)
            slope -= pair * D * height
            curvature += pair * bend * height * height
    return slope, curvature


def alignment_of_features(Z: FloatArray, C: FloatArray, weight: FloatArray) -> float:
    r"""Return the alignment :math:`\langle ZZ^\top, CC^\top\rangle / (\|ZZ^\top\|\|CC^\top\|)`.

    Pairs are weighted by the products of their rows' weights. Computed without a matrix of pairs,
    as :math:`\langle ZZ^\top, CC^\top\rangle = \|Z^\top C\|_F^2`, in :math:`O(m T (T + c))`. Zero
    features have an alignment of 0.
    """
    size = np.abs(Z).max(initial=0.0)
    Z = Z / size if size > 0.0 else Z
    weighted = weight[:, np.newaxis] * Z
    inner = np.square(weighted.T @ C).sum()
    norms = np.linalg.norm(weighted.T @ Z) * np.linalg.norm((weight[:, np.newaxis] * C).T @ C)
    return float(inner / norms) if norms > 0.0 else 0.0
