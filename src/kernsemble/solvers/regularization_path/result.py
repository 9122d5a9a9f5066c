"""The stored regularization path, and the machine at any C."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np

from kernsemble._threads import blocks
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.solvers.result import Status

SAME = 1e-13  # rounding of the ends, which are stored as reciprocals
ROWS_AT_ONCE = 64  # rows of a matrix that are copied at a time

PathPoint: TypeAlias = tuple[float, FloatArray, FloatArray]  # C, alpha and F = K gamma + b_0


class Side(IntEnum):
    r"""Side of the margin: :math:`y_i f(x_i)` above, at or below 1, or a row of weight zero."""

    RIGHT = 0
    ELBOW = 1
    LEFT = 2
    ABSENT = 3


@dataclass(frozen=True, eq=False, repr=False)
class RegularizationPath(Value):
    r"""The support vector machines of every C between two ends.

    With :math:`\lambda = 1/C`, :math:`\alpha_i = \lambda y_i\beta_i \in [0, s_i]` and
    :math:`b_0 = \lambda b`, all of :math:`\alpha` and :math:`b_0` is linear in
    :math:`\lambda` between breakpoints, and only coefficients of rows on the elbow change. So
    each breakpoint stores the coefficients on the elbow and the rows that moved.

    Attributes
    ----------
    Cs : array of shape (n_breakpoints,)
        Breakpoints in increasing order; the last is `largest_C` if the path was not
        followed to its own end. Equal values are rows that move at the same C.
    event_breakpoints, event_rows, event_sides : arrays of shape (n_events,)
        Breakpoint, row and new `Side` of every move; the sides at the first breakpoint are
        listed as its moves. If a row moves twice at a breakpoint, the later move counts.
    violations : array of shape (n_breakpoints,)
        Largest distance of :math:`y_i f(x_i)` from the correct side of 1.
    n_restarts : int
        Number of times the solution was found again at a fixed C, after ties or rounding.
    is_complete : bool
        Whether there is no breakpoint beyond the last, so that the path extends to any larger C.
    status : Status
        CONVERGED at an end, STOPPED by `max_breakpoints`, or INTERRUPTED.
    """

    Cs: FloatArray
    event_breakpoints: IntArray
    event_rows: IntArray
    event_sides: IntArray
    violations: FloatArray
    n_restarts: int
    is_complete: bool
    status: Status
    _y: FloatArray
    _weight: FloatArray
    _first_sides: IntArray
    _first_slope: float | None  # slope of b_0 in lambda before the first breakpoint
    _b_0: FloatArray
    _alpha: FloatArray  # coefficients on the elbow, in order of arrival, for each breakpoint
    _alpha_ends: IntArray
    _limit: tuple[FloatArray, float] | None  # alpha and b_0 at lambda = 0
    _errors: FloatArray

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "status": self.status.name}  # files store no classes

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**state, "status": Status[state["status"]]})

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest C of the path; 0 and inf if it is complete."""
        first, last = float(self.Cs[0]), float(self.Cs[-1])
        return (
            first if self._first_slope is None else 0.0,
            last if self._limit is None else np.inf,
        )

    def at(self, C: float) -> tuple[FloatArray, float]:
        r"""Return the coefficients :math:`\beta` and the bias b at one C, in O(m + n_events).

        C may be any value between the `ends`; C = inf is possible if the classes are separated.
        """
        if not C > 0.0:
            raise ValueError(f"C = {C!r}: use a positive number")
        C = self._snapped(C)
        if self.Cs[0] > C:
            return self._before(C)
        place = int(np.searchsorted(self.Cs, C, side="right")) - 1
        here, b_0 = self._alpha_at(place), float(self._b_0[place])
        if self.Cs[place] == C:
            return self._y * here * C, b_0 * C
        if place + 1 < len(self.Cs):
            beyond, there, b_there = 1.0 / self.Cs[place + 1], *self._knot(place + 1)
        else:
            beyond, there, b_there = 0.0, *self._checked_limit(C)
        share = (1.0 / self.Cs[place] - 1.0 / C) / (1.0 / self.Cs[place] - beyond)
        if np.isinf(C):  # alpha vanishes with lambda
            return self._y * here * self.Cs[place], b_0 * float(self.Cs[place])
        alpha = np.clip(here + share * (there - here), 0.0, self._weight)
        return self._y * alpha * C, (b_0 + share * (b_there - b_0)) * C

    def sides_at(self, breakpoint_: int) -> IntArray:
        """Return the `Side` of every row just after a breakpoint."""
        sides = self._first_sides.copy()
        n = self._n_events(breakpoint_)
        sides[self.event_rows[:n]] = self.event_sides[:n]  # the last move of a row stays
        return sides

    def decisions_along(self, K: FloatArray) -> Iterator[FloatArray]:
        r"""Yield the decision values :math:`K\beta + b` at one breakpoint after another.

        Parameters
        ----------
        K : array of shape (n_rows, m)
            Kernel matrix between any rows and the training rows.

        Notes
        -----
        A breakpoint costs O(n_rows e) with e rows on the elbow: only their coefficients move.
        """
        for C, _, F in self._knots_along(np.ascontiguousarray(K.T), range(len(self.Cs))):
            yield C * F

    def decisions_at(self, K: FloatArray, Cs: Iterable[float]) -> Iterator[FloatArray]:
        r"""Yield the decision values :math:`K\beta + b` at one finite C after another.

        Parameters
        ----------
        K : array of shape (n_rows, m)
            Kernel matrix between any rows and the training rows.
        Cs : increasing floats
            Values between the `ends`.

        Notes
        -----
        Costs at most as much as `decisions_along`, and O(n_rows + m) for every C, by interpolation
        between breakpoints; with few values of C, O(n_rows m) for each.
        """
        for C, _, F in self._points_at(np.ascontiguousarray(K.T), Cs):
            yield C * F

    def leave_one_out_errors_at(
        self, K: FloatArray, Cs: Iterable[float], counts: FloatArray
    ) -> FloatArray:
        r"""Return the bound on the leave-one-out error at any C, where rows have multiplicities.

        Of the :math:`n_i` equal rows that a row represents one is left out, and its share of the
        coefficient is :math:`\lambda_i / n_i`; a row of :math:`n_i < 1` is left out whole.

        .. math:: \frac{\sum_i s_i\,[\,\lambda_i K_{ii} / \max(n_i, 1) \ge y_i f(x_i)\,]}
                  {\sum_i s_i}

        Parameters
        ----------
        K : array of shape (m, m)
            The kernel matrix.
        Cs : increasing floats
            Values between the `ends`.
        counts : array of shape (m,)
            Number :math:`n_i` of equal rows that each row represents.
        """
        scale = np.diagonal(K) / np.maximum(counts, 1.0)
        errors = [
            self._weight[alpha * scale >= self._y * F].sum()
            for _, alpha, F in self._points_at(K, Cs)
        ]
        return np.array(errors) / self._weight.sum()

    def leave_one_out_errors(self) -> FloatArray:
        r"""Return the bound of Evgeniou et al. on the leave-one-out error, at every breakpoint.

        .. math:: \frac{\sum_i s_i\,[\,\lambda_i K_{ii} \ge y_i f(x_i)\,]}{\sum_i s_i},
                  \qquad \lambda_i = y_i\beta_i .

        Without row i the machine has :math:`y_i f^{(i)}(x_i) \ge y_i f(x_i) - \lambda_i K_{ii}`
        if its bias is held: with D the dual objective to be maximised, D at
        :math:`\lambda - \lambda_i e_i` is at most D at :math:`\lambda^{(i)}`, and D at
        :math:`\lambda^{(i)} + \lambda_i e_i` at most D at :math:`\lambda`; the sum of both is
        the claim. So a row that is not counted is predicted correctly when left out. With a bias
        fitted again the error may exceed the bound, and a constant added to K raises the bound.
        """
        return self._errors.copy()

    def _knots_along(self, K: FloatArray, places: Iterable[int]) -> Iterator[PathPoint]:
        """Yield some breakpoints, in order; the one after the last is the limit at C = inf.

        The rows of K, of shape (m, n_rows), are those of the training rows.
        """
        signed, values = np.zeros(len(self._y)), np.zeros(K.shape[1])
        for place in places:
            alpha, b_0 = self._knot(place)
            move = self._y * alpha - signed
            rows = np.flatnonzero(move)
            for span in blocks(len(rows), ROWS_AT_ONCE):  # which are copied
                some = rows[span]
                values = values + move[some] @ K[some]
            signed += move
            yield float(self.Cs[place]) if place < len(self.Cs) else np.inf, alpha, values + b_0

    def _points_at(self, K: FloatArray, Cs: Iterable[float]) -> Iterator[PathPoint]:
        """Yield the points at some values of C, from the breakpoints around each of them."""
        asked = [self._snapped(C) for C in Cs]
        last = len(self.Cs) - (self._limit is None)
        before = np.maximum(np.searchsorted(self.Cs, asked, side="right") - 1, 0)
        places = np.unique(np.concatenate([before, np.minimum(before + 1, last)]))
        knots = self._knots_along(K, places.tolist())
        here: PathPoint | None = next(knots, None)
        there = here
        for C in asked:
            assert here is not None
            while there is not None and there[0] <= C:
                here, there = there, next(knots, None)
            if here[0] > C:
                yield C, here[1], here[2] + self._bias_before(C)
            elif here[0] == C:
                yield here
            elif there is None:
                self._checked_limit(C)
            else:
                share = (1.0 / here[0] - 1.0 / C) / (1.0 / here[0] - 1.0 / there[0])
                alpha, F = here[1] + share * (there[1] - here[1]), here[2]
                yield C, alpha, F + share * (there[2] - F)

    def _snapped(self, C: float) -> float:
        """Return C, or the end that it equals up to rounding."""
        return next((float(end) for end in self.Cs[[0, -1]] if abs(C - end) <= SAME * end), C)

    def _alpha_at(self, place: int) -> FloatArray:
        n, sides = self._n_events(place), self.sides_at(place)
        latest = np.zeros(len(sides), dtype=np.intp)
        latest[self.event_rows[:n]] = np.arange(n)
        alpha = np.where(sides == Side.LEFT, self._weight, 0.0)
        elbow = np.flatnonzero(sides == Side.ELBOW)
        start = self._alpha_ends[place - 1] if place else 0
        alpha[elbow[np.argsort(latest[elbow])]] = self._alpha[start : self._alpha_ends[place]]
        return alpha

    def _n_events(self, place: int) -> int:
        return int(np.searchsorted(self.event_breakpoints, place, side="right"))

    def _knot(self, place: int) -> tuple[FloatArray, float]:
        """Return alpha and b_0 at a breakpoint, or in the limit for the one after the last."""
        if place == len(self.Cs) and self._limit is not None:
            return self._limit
        return self._alpha_at(place), float(self._b_0[place])

    def _before(self, C: float) -> tuple[FloatArray, float]:
        b_0 = self._b_0[0] + self._bias_before(C)
        return self._y * self._alpha_at(0) * C, float(b_0 * C)

    def _bias_before(self, C: float) -> float:
        """Return the difference of b_0 at a smaller C from that of the first breakpoint."""
        if self._first_slope is None:
            raise ValueError(f"C = {C!r}: the path starts at {self.Cs[0]:.6g}; lower smallest_C")
        return float(self._first_slope * (1.0 / C - 1.0 / self.Cs[0]))

    def _checked_limit(self, C: float) -> tuple[FloatArray, float]:
        if self._limit is None:
            raise ValueError(f"C = {C!r}: the path ends at {self.Cs[-1]:.6g}; raise largest_C")
        if np.isinf(C) and self._limit[0].any():
            raise ValueError("C = inf: the classes are not separable; use a finite C")
        return self._limit
