r"""Low-rank factors of a kernel matrix: pivoted incomplete Cholesky.

.. math:: K \approx G G^\top = K_{\cdot P} K_{PP}^{-1} K_{P \cdot}

with r pivots P. The rest, :math:`K - GG^\top`, is positive semidefinite, zero in the rows of
pivots, and its trace falls with every pivot. The greedy pivot is the row with the largest
remaining diagonal; the random one is drawn with probabilities proportional to it, which comes
within a factor of the best possible trace with few more pivots than the best rank needs, for any
kernel (Chen, Epperly, Tropp and Webber 2025), while greedy pivots tend to be outliers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from kernsemble._arguments import check_choice, check_count, check_not_negative
from kernsemble._threads import blocks
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.array_modules import ROWS_OF_A_COPY, on_host
from kernsemble.solvers.cholesky import factor_with_pivots_in_place

ComputeRows: TypeAlias = Callable[[IntArray], FloatArray]

ROUNDING = 64  # remaining diagonal that is rounding, in units in the last place
FIRST_CAPACITY = 64  # first capacity of the factor, which doubles when it is full


@dataclass(frozen=True, eq=False)
class LowRank:
    r"""A factor :math:`G`, and its extension to new rows.

    Attributes
    ----------
    G : array of shape (n, r)
        The factor, lower triangular in the rows of pivots.
    pivots : array of shape (r,)
        The rows that it interpolates: :math:`(GG^\top)_{iP} = K_{iP}`.
    errors : array of shape (r + 1,)
        Share of the trace of K that is left after each pivot; the first is 1.
    n_rows : int
        Number of kernel rows that were computed.
    """

    G: FloatArray
    pivots: IntArray
    errors: FloatArray
    n_rows: int

    @property
    def rank(self) -> int:
        """The number r of pivots."""
        return len(self.pivots)

    @property
    def error(self) -> float:
        """The share of the trace of K that the factor leaves."""
        return float(self.errors[-1])

    def extension(self, K_pivots: FloatArray) -> FloatArray:
        """Return the factor's rows for new rows, given their kernel with the pivots, (m, r)."""
        return _forward(self._pivot_factor(), K_pivots.T).T

    def coefficients(self, v: FloatArray) -> FloatArray:
        r"""Return c such that :math:`\sum_j c_j K(p_j, x) = g(x)^\top G^\top v`.

        An expansion on n rows becomes one on the r pivots.
        """
        return self.on_pivots(self.G.T @ v)

    def on_pivots(self, q: FloatArray) -> FloatArray:
        r"""Return c such that :math:`\sum_j c_j K(p_j, x) = g(x)^\top q`, for each column of q.

        For a unit vector q it is a function of norm 1.
        """
        from scipy.linalg import solve_triangular

        return solve_triangular(self._pivot_factor(), q, lower=True, trans="T")

    def _pivot_factor(self) -> FloatArray:
        return self.G[self.pivots].astype(np.float64, copy=False)


def pivoted_cholesky(
    compute_rows: ComputeRows,
    diagonal: FloatArray,
    *,
    rank: int | None = None,
    tol: float = 1e-3,
    method: Literal["greedy", "random"] = "greedy",
    rng: np.random.Generator | None = None,
    block: int = 50,
    dtype: DTypeLike = np.float64,
    capacity: int = FIRST_CAPACITY,
    xp: Any = np,
) -> LowRank:
    r"""Factor a positive semidefinite kernel matrix by computing only some of its rows.

    Parameters
    ----------
    compute_rows : callable
        Function ``compute_rows(rows)`` that returns rows of K, of shape (len(rows), n).
    diagonal : array of shape (n,)
        Diagonal of K.
    rank : int, optional
        Maximum number of pivots.
    tol : float
        Share of the trace to stop at.
    method : {"greedy", "random"}
        Selection of pivots.
    rng : numpy.random.Generator, optional
        Random number generator for random pivots.
    block : int
        Number of random pivots that are proposed at a time. A proposal is rejected with the
        share of it that earlier ones explain, so pivots are distributed as if drawn singly.
    dtype : float64 or float32
        Precision of the factor.
    capacity : int
        Number of pivots that the factor has memory for at first; the memory doubles when it is
        full.
    xp : module
        Array module of the rows, the diagonal and the factor: NumPy, or CuPy on a device.

    Returns
    -------
    LowRank
        A factor with `rank` pivots, or as many as `tol` needs (up to a block more if they are
        random), or as the rank of K within rounding.

    Notes
    -----
    Time is :math:`O(nr^2)` and memory :math:`O(nr)`. Each greedy pivot reads the whole factor;
    random ones read it once per block, so that most of the time is spent in matrix products. For
    a Gaussian kernel on 32,561 rows of 123 binary columns, 1,000 pivots took 23 seconds greedily
    and 6 at random on two loaded cores, with 48 and 30 per cent of the trace left.
    """
    check_choice("method", method, ("greedy", "random"))
    check_not_negative("tol", tol)
    check_count("block", block)
    if rank is not None:
        check_count("rank", rank)
    diagonal = xp.asarray(diagonal, dtype=np.float64)
    known = on_host(diagonal)
    if not (np.isfinite(known).all() and known.min(initial=0.0) >= 0.0):
        raise ValueError("diagonal contains negative or infinite values: use a definite kernel")
    most = len(diagonal) if rank is None else min(rank, len(diagonal))
    run = _Factorisation(compute_rows, diagonal, most, tol, np.dtype(dtype), capacity, xp)
    if method == "greedy":
        while not run.has_ended:
            run.add_greedy()
    else:
        rng = np.random.default_rng() if rng is None else rng
        while not run.has_ended:
            run.add_random(block, rng)
    return run.result()


def factored(K: FloatArray, tol: float = 1e-10) -> LowRank:
    r"""Factor a positive semidefinite matrix in memory, in :math:`O(n^2 r)`.

    Pivots are greedy; they end where the remaining diagonal is at most `tol` times its largest
    entry, so that a singular matrix has as many as its rank.
    """
    check_not_negative("tol", tol)
    if not np.isfinite(K).all():
        raise ValueError("K contains NaN or infinite values: pass a finite kernel matrix")
    diagonal = np.diagonal(K)
    largest = float(diagonal.max(initial=0.0))
    A = K / (largest or 1.0)
    order, rank = factor_with_pivots_in_place(A, tol)
    G = np.empty((len(K), rank))
    for span in blocks(rank, ROWS_OF_A_COPY):
        G[order, span] = np.triu(A[span], span.start).T
    total = float((diagonal / (largest or 1.0)).sum()) or 1.0
    shares = np.cumsum([0.0, *np.square(G).sum(axis=0)]) / total
    G *= np.sqrt(largest)
    return LowRank(G, order[:rank], np.maximum(1.0 - shares, 0.0), len(K))


class _Factorisation:
    """A factor in progress; its columns are stored as rows, each written once."""

    def __init__(
        self,
        compute_rows: ComputeRows,
        diagonal: FloatArray,
        most: int,
        tol: float,
        dtype: np.dtype[Any],
        capacity: int,
        xp: Any,
    ) -> None:
        self.compute_rows, self.most, self.xp = compute_rows, most, xp
        self.left = diagonal.copy()  # remaining diagonal
        self.vanished = ROUNDING * float(np.finfo(dtype).eps) * diagonal
        self.trace = float(diagonal.sum())
        self.tol_left = tol * self.trace
        self.columns = xp.empty((min(capacity, most), len(diagonal)), dtype)
        self.pivots: list[int] = []
        self.lengths: list[Any] = []  # squared lengths of the columns
        self.n_rows = 0

    @property
    def has_ended(self) -> bool:
        """Whether there are enough pivots, or nothing is left."""
        total = float(self.left.sum())
        return len(self.pivots) >= self.most or total <= self.tol_left or total <= 0.0

    def add_greedy(self) -> None:
        """Add the row with the largest remaining diagonal."""
        pivot = int(self.xp.argmax(self.left))
        residual = self._residual_rows(np.array([pivot]))
        left = float(residual[0, pivot])
        if left <= self.vanished[pivot]:
            self.left[pivot] = 0.0  # the difference was rounding
        else:
            self._add([pivot], residual / np.sqrt(left))

    def add_random(self, block: int, rng: np.random.Generator) -> None:
        """Propose rows by the remaining diagonal, and add those that are not rejected."""
        n_proposed, before = min(block, self.most), on_host(self.left)
        proposed = rng.choice(len(before), n_proposed, p=before / before.sum())
        rows, places = np.unique(proposed, return_inverse=True)
        bars = rng.random(n_proposed) * before[proposed]
        residual, chosen = self._residual_rows(rows), self.xp.asarray(rows)
        among = on_host(residual[:, chosen]).astype(np.float64)
        explained = self.xp.asarray(np.diagonal(among).copy())
        self.left[chosen] = self.xp.minimum(self.left[chosen], explained)
        rounding = on_host(self.vanished[chosen])
        factor, accepted = (
            np.zeros_like(among),
            list[int](),
        )  # of the accepted rows
        for place, bar in zip(places.tolist(), bars, strict=True):
            left = among[place, place]
            if left <= max(bar, rounding[place]):
                continue  # explained by the pivots before it
            column = among[:, place] / np.sqrt(left)
            column[accepted] = 0.0
            among -= np.outer(column, column)
            among[place] = among[:, place] = 0.0
            factor[:, len(accepted)] = column
            accepted.append(place)
            if len(self.pivots) + len(accepted) == self.most:
                break
        if accepted:
            small = factor[accepted, : len(accepted)]
            inverse = self.xp.asarray(_forward(small, np.eye(len(small))), dtype=residual.dtype)
            columns = inverse @ residual[self.xp.asarray(accepted)]
            self._add(rows[accepted].tolist(), columns)

    def _residual_rows(self, rows: IntArray) -> FloatArray:
        """Return rows of K less those of the factor."""
        self.n_rows += len(rows)
        known = self.columns[: len(self.pivots)]
        residual = self.xp.array(self.compute_rows(rows), dtype=self.columns.dtype)
        if len(known):
            residual -= known[:, self.xp.asarray(rows)].T @ known
        return residual

    def _add(self, pivots: list[int], columns: FloatArray) -> None:
        """Add the columns of pivots, in this order."""
        first, last = len(self.pivots), len(self.pivots) + len(pivots)
        while last > len(self.columns):
            self._grow()
        new, block = self.xp.asarray(pivots), self.columns[first:last]
        block[:] = columns
        block[:, self.xp.asarray(self.pivots, dtype=np.intp)] = 0.0  # exactly, without rounding
        block[:, new] = self.xp.triu(block[:, new])
        for column in block:
            squares = self.xp.square(column, dtype=np.float64)
            self.lengths.append(squares.sum())
            self.left -= squares
        self.pivots.extend(pivots)
        self.left[new] = 0.0
        self.left[self.left <= self.vanished] = 0.0

    def _grow(self) -> None:
        grown = self.xp.empty(
            (min(2 * len(self.columns), self.most), len(self.left)), self.columns.dtype
        )
        grown[: len(self.columns)] = self.columns
        self.columns = grown

    def result(self) -> LowRank:
        """Return the factor."""
        r = len(self.pivots)
        shares = np.cumsum([0.0, *map(float, self.lengths)]) / (self.trace or 1.0)
        return LowRank(
            G=(self.columns if r == len(self.columns) else self.columns[:r].copy()).T,
            pivots=np.array(self.pivots, dtype=np.intp),
            errors=np.maximum(1.0 - shares, 0.0),
            n_rows=self.n_rows,
        )


def _forward(L: FloatArray, rows: FloatArray) -> FloatArray:
    """Return :math:`L^{-1}` times rows."""
    from scipy.linalg import solve_triangular

    return solve_triangular(L, rows, lower=True, check_finite=False)
