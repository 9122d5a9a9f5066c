r"""Kernel ridge regression by conjugate gradients: products with the kernel, no matrix.

.. math:: (K + \mathrm{diag}(1/C))\,\beta + b\,\mathbf 1 = y, \qquad \mathbf 1^\top\beta = 0

Steps stay where coefficients sum to zero, so the bias is exact: b is the mean of the rest. Each
column of y may have strengths :math:`C_i` of its own, and rows with strength zero are absent:
values of C, folds and classes are columns that share every product :math:`K V`.

The preconditioner is :math:`M = GG^\top + \mathrm{diag}(1/C)` with a factor G of low rank by
randomly pivoted Cholesky (Díaz, Epperly, Frangella, Tropp and Webber 2023), projected as the
system is: with :math:`t = M^{-1}\mathbf 1`

.. math:: M^{-1} = S - S G (I + G^\top S G)^{-1} G^\top S, \quad S = \mathrm{diag}(C), \qquad
          P = M^{-1} - \frac{t t^\top}{\mathbf 1^\top t} .

G is a factor of :math:`K_{ij} - K_{ip} - K_{jp} + K_{pp}` with some row p, which equals K between
coefficients that sum to zero and is definite if K is so only there. One product takes
:math:`O(n^2)` time, a system of 10⁶ rows some dozens of products.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from kernsemble._threads import blocks
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.array_modules import on_host
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.low_rank import pivoted_cholesky
from kernsemble.solvers.result import Status
from kernsemble.solvers.ridge import NotDefiniteError

BLOCK = 16_384  # number of rows of the factor whose products are in double precision at a time
ROUNDING = 1e-5  # negative curvature, relative to the largest one, that is rounding
WORTH_RESTART = 0.5  # factor by which the residual must fall between two restarts

Product = Callable[[Any], Any]  # K V for columns V


class System(NamedTuple):
    """Targets whose rows have the same strengths.

    Attributes
    ----------
    strengths : array of shape (n,)
        The strengths at C = 1; zero for rows that are absent. Systems that share this object
        share its part of the preconditioner.
    C : float
        The factor of the strengths.
    targets : array of shape (n, n_targets)
        The targets; those of absent rows are not read.
    """

    strengths: FloatArray
    C: float
    targets: FloatArray


@dataclass(frozen=True, eq=False)
class RidgeSolution:
    """Coefficients of all targets of all systems (columns, in their order), and the evidence.

    Attributes
    ----------
    beta : array of shape (n, n_columns)
        The coefficients, zero at absent rows.
    bias : array of shape (n_columns,)
        The bias.
    values : array of shape (n, n_columns)
        The products of the kernel with the coefficients, at all rows.
    residual : array of shape (n_columns,)
        Norm of the residual of the system, relative to that of its centred target.
    n_iter : int
        Number of products with the kernel.
    status : Status
        Reason why the run ended.
    """

    beta: FloatArray
    bias: FloatArray
    values: FloatArray
    residual: FloatArray
    n_iter: int
    status: Status

    @classmethod
    def together(cls, parts: Sequence[Self], xp: Any = np) -> Self:
        """Return the solutions of several portions of the columns as one."""
        ended = [each.status for each in parts]
        status = next((each for each in ended if each is not Status.CONVERGED), Status.CONVERGED)
        return cls(
            xp.concatenate([each.beta for each in parts], axis=1),
            xp.concatenate([each.bias for each in parts]),
            xp.concatenate([each.values for each in parts], axis=1),
            np.concatenate([each.residual for each in parts]),
            max(each.n_iter for each in parts),
            Status.INTERRUPTED if Status.INTERRUPTED in ended else status,
        )


def centred_factor(
    compute_rows: Callable[[IntArray], Any],
    diagonal: Any,
    rank: int,
    rng: np.random.Generator,
    *,
    block: int = 100,
    tol: float = 1e-6,
    dtype: Any = np.float64,
    xp: Any = np,
) -> Any:
    r"""Return the factor G, of shape (n, rank), by randomly pivoted Cholesky.

    Parameters
    ----------
    compute_rows : callable
        Function ``compute_rows(rows)`` that returns rows of K, of shape (len(rows), n).
    diagonal : array of shape (n,)
        Diagonal of K.
    rank, rng, block, tol, dtype, xp
        As for `pivoted_cholesky`.
    """
    p = int(rng.integers(len(diagonal)))
    first = xp.asarray(compute_rows(np.array([p]))[0], dtype=np.float64)
    own = first[p]
    squared = xp.maximum(xp.asarray(diagonal, dtype=np.float64) - 2.0 * first + own, 0.0)
    squared[p] = 0.0

    def rows_from(rows: IntArray) -> Any:
        found = compute_rows(rows)
        found -= first.astype(found.dtype)
        found += (own - first[xp.asarray(rows)])[:, np.newaxis].astype(found.dtype)
        return found

    return pivoted_cholesky(
        rows_from,
        squared,
        rank=rank,
        tol=tol,
        method="random",
        rng=rng,
        block=block,
        dtype=dtype,
        capacity=rank,
        xp=xp,
    ).G


def solve_by_products(
    product: Product,
    G: Any,
    systems: Sequence[System],
    *,
    tol: float = 1e-3,
    max_products: int = 1_000,
    watch: Watch | None = None,
    xp: Any = np,
) -> RidgeSolution:
    r"""Solve all systems to a relative residual.

    Parameters
    ----------
    product : callable
        Function ``product(V)`` that returns K V for columns V, in the precision of G.
    G : array of shape (n, r)
        The factor of the preconditioner, as `centred_factor` returns it.
    systems : sequence of System
        The strengths and targets, with arrays of `xp`.
    tol : float
        Norm of the residual, relative to that of the centred target, to stop at.
    max_products : int
        Maximum number of products with the kernel.
    watch : callable, optional
        Called as ``watch(n_products, residual)`` after each product; an exception ends the run, a
        KeyboardInterrupt with the solution reached so far.
    xp : module
        Array module: NumPy, or CuPy on a device.

    Notes
    -----
    Products may be in single precision: the residual is computed anew at the end, and the run
    goes on from there until it is small enough, or single precision does not reduce it further.
    """
    run = _Run(product, _Preconditioner(G, systems, xp), systems, tol, max_products, watch, xp)
    return run.finish()


class _Preconditioner:
    """The projected inverse of M for every system, in the precision of G but for its core."""

    def __init__(self, G: Any, systems: Sequence[System], xp: Any) -> None:
        self.G, self.xp = G, xp
        self.strengths = [each.C * each.strengths for each in systems]
        products: dict[int, Any] = {}  # by the identity of strengths
        self.cores = []
        for each in systems:
            key = id(each.strengths)
            if key not in products:
                products[key] = self._weighted_product(each.strengths)
            unit = xp.eye(G.shape[1])
            self.cores.append(xp.linalg.inv(unit + each.C * products[key]))
        unit = xp.ones((len(G), len(systems)))
        self.t = self._without_projection(unit, np.arange(len(systems)))
        self.total = self.t.sum(axis=0)

    def _weighted_product(self, strengths: Any) -> Any:
        r"""Return :math:`G^\top S G` in double precision, by blocks of rows."""
        total = self.xp.zeros((self.G.shape[1],) * 2)
        for rows in blocks(len(self.G), BLOCK):
            part = self.G[rows].astype(np.float64)
            total += part.T @ (strengths[rows, np.newaxis] * part)
        return total

    def apply(self, r: Any, places: IntArray) -> Any:
        """Return P r for columns r of the systems at some places."""
        z, mine = self._without_projection(r, places), self.xp.asarray(places)
        z -= self.t[:, mine] * (z.sum(axis=0) / self.total[mine])
        return z

    def _without_projection(self, r: Any, places: IntArray) -> Any:
        weighted = self.xp.empty_like(r)
        columns = [
            (place, self.xp.asarray(np.flatnonzero(places == place)))
            for place in np.unique(places).tolist()
        ]
        for place, mine in columns:
            weighted[:, mine] = self.strengths[place][:, np.newaxis] * r[:, mine]
        inner = (self.G.T @ weighted.astype(self.G.dtype)).astype(np.float64)
        for place, mine in columns:
            inner[:, mine] = self.cores[place] @ inner[:, mine]
        found = (self.G @ inner.astype(self.G.dtype)).astype(np.float64)
        for place, mine in columns:
            weighted[:, mine] -= self.strengths[place][:, np.newaxis] * found[:, mine]
        return weighted


class _Run:
    """The coefficients of all columns, and the steps that improve them."""

    def __init__(
        self,
        product: Product,
        preconditioner: _Preconditioner,
        systems: Sequence[System],
        tol: float,
        max_products: int,
        watch: Watch | None,
        xp: Any,
    ) -> None:
        self.product, self.preconditioner, self.xp = product, preconditioner, xp
        self.tol, self.max_products, self.watch = tol, max_products, watch
        widths = [each.targets.shape[1] for each in systems]
        self.places = np.repeat(np.arange(len(systems)), widths)
        strengths = xp.stack(preconditioner.strengths, axis=1)[:, xp.asarray(self.places)]
        self.present = strengths > 0.0
        self.bend = xp.where(self.present, 1.0 / xp.where(self.present, strengths, 1.0), 0.0)
        targets = xp.concatenate([each.targets for each in systems], axis=1).astype(np.float64)
        self.y = xp.where(self.present, targets, 0.0)
        self.counts = self.present.sum(axis=0)
        self.beta = xp.zeros_like(self.y)
        self.values = xp.zeros_like(self.y)  # K beta, when it was computed last
        self.size = on_host(self._norm(self._centred(self.y, slice(None))))
        self.n_products = 0
        self.stretch = 0.0  # largest factor by which the matrix has stretched a direction

    def finish(self) -> RidgeSolution:
        """Advance until the residual is small enough or stays."""
        status, before = Status.CONVERGED, np.inf
        while True:
            residual, relative = self._residual()
            if relative.max() <= self.tol or status is Status.INTERRUPTED:
                break
            if relative.max() > WORTH_RESTART * before or self.n_products >= self.max_products:
                is_early = self.n_products >= self.max_products
                status = Status.STOPPED if is_early else Status.ROUNDED
                break
            before = float(relative.max())
            try:
                self._advance(residual, np.flatnonzero(relative > self.tol))
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            self.values = self._times(self.beta)
        bias = (self.y - self.present * self.values - self.bend * self.beta).sum(axis=0)
        return RidgeSolution(
            self.beta, bias / self.counts, self.values, relative, self.n_products, status
        )

    def _residual(self) -> tuple[Any, FloatArray]:
        """Return the residual of the current coefficients, and its norm relative to y's."""
        rest = self.y - self.bend * self.beta - self.present * self.values
        residual = self._centred(rest, slice(None))
        size = np.where(self.size > 0.0, self.size, 1.0)
        return residual, on_host(self._norm(residual)) / size

    def _advance(self, residual: Any, active: IntArray) -> None:
        """Take steps for some columns until the residual that they carry along is small enough."""
        mine = self.xp.asarray(active)
        r = residual[:, mine]
        z = self.preconditioner.apply(r, self.places[active])
        direction, size = z.copy(), (r * z).sum(axis=0)
        while self.n_products < self.max_products:
            image = self.present[:, mine] * self._times(direction)
            image += self.bend[:, mine] * direction
            curvature = (direction * image).sum(axis=0)
            length = self._norm(direction)
            self.stretch = max(self.stretch, float((self._norm(image) / length).max()))
            if not float(curvature.min()) > 0.0:
                if bool((curvature >= -ROUNDING * self.stretch * length**2).all()):
                    return
                raise NotDefiniteError(
                    "the kernel matrix is not positive definite between coefficients that sum to "
                    "zero, or not finite: use a smaller C, float64 rows, or a definite kernel"
                )
            step = size / curvature
            self.beta[:, mine] += step * direction
            r = self._centred(r - step * image, mine)
            relative = on_host(self._norm(r)) / self.size[active]
            if self.watch is not None:
                self.watch(self.n_products, float(relative.max()))
            left = np.flatnonzero(relative > self.tol)
            if len(left) == 0:
                return
            if len(left) < len(active):
                active, left = active[left], self.xp.asarray(left)
                mine, size, step = mine[left], size[left], step[left]
                r, direction, image = r[:, left], direction[:, left], image[:, left]
            z = self.preconditioner.apply(r, self.places[active])
            turn = -step * (z * image).sum(axis=0) / size  # robust to a rounded preconditioner
            direction = z + turn * direction
            size = (r * z).sum(axis=0)

    def _times(self, V: Any) -> Any:
        self.n_products += 1
        return self.product(V.astype(self.preconditioner.G.dtype)).astype(np.float64)

    def _centred(self, r: Any, columns: Any) -> Any:
        """Return columns less their means over the rows that are present."""
        present = self.present[:, columns]
        return present * (r - r.sum(axis=0) / self.counts[columns])

    def _norm(self, r: Any) -> Any:
        return self.xp.sqrt((r * r).sum(axis=0))
