r"""The linear programs of boosting (LPBoost), restricted to the hypotheses found so far.

Hypothesis :math:`h_t` is a column :math:`m_t` with an entry for each pair :math:`j = (i, k)` of
a row and a class that is wrong for it,

.. math:: m_t[j] = [h_t(x_i) = y_i] - [h_t(x_i) = k] \in \{-1, 0, 1\} .

Two classes have one pair per row, :math:`m_t[i] = y_i h_t(x_i)`. The weights of the vote solve
the soft margin, problem (P4) of Lin and Li, or the largest margin after a share of rows is
given up:

.. math:: \min_{w, \xi \ge 0}\; \textstyle\sum_t w_t + \sum_i C_i \xi_i
          \quad&\text{s.t.}\quad \textstyle\sum_t w_t m_t[j] \ge 1 - \xi_{i(j)}

          \max_{w, \xi \ge 0, \rho}\; \rho - \textstyle\sum_i c_i \xi_i
          \quad&\text{s.t.}\quad \textstyle\sum_t w_t m_t[j] \ge \rho - \xi_{i(j)} ,\;
          \textstyle\sum_t w_t = 1 .

The programs solved are their duals, over a distribution U of the pairs,

.. math:: \max_{U \ge 0} \textstyle\sum_j U_j \quad&\text{s.t.}\quad U^\top m_t \le 1 ,\;
          \textstyle\sum_{j \in i} U_j \le C_i

          \min_{U \ge 0, \gamma} \gamma \quad&\text{s.t.}\quad U^\top m_t \le \gamma ,\;
          \textstyle\sum_j U_j = 1 ,\; \textstyle\sum_{j \in i} U_j \le c_i ,

where a hypothesis is a row. The basis stays dual feasible when hypotheses are added and when C
changes, and the dual simplex continues from it; the multipliers of its rows are the weights.
Without limits, C = ∞, the first problem is the second: :math:`w/\rho` with objective
:math:`1/\rho`, if :math:`\rho > 0`.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from threading import Event
from typing import Any, Protocol, TypeAlias

import numpy as np

from kernsemble._memory import physical_memory
from kernsemble._threads import ended
from kernsemble._typing import Array, BoolArray, FloatArray, IntArray
from kernsemble.solvers.dual_simplex import DualSimplex

FEASIBILITY = 1e-9  # tolerance of rows and multipliers, with U in units of its limit
BYTES_PER_ENTRY = 130  # memory of the model of HiGHS, measured
ROUNDING = 1e-9  # tolerance of limits that sum to one

Found: TypeAlias = tuple[FloatArray, FloatArray, float]  # weights, U and level


class Form(Enum):
    """Form of the linear program: soft margin, or largest margin."""

    SOFT = "min Σ w + Σ C ξ, margins of at least 1 - ξ"
    MARGIN = "max ρ - Σ c ξ, margins of at least ρ - ξ, Σ w = 1"


@dataclass(frozen=True, eq=False)
class MasterSolution:
    r"""The optimum over the hypotheses that are present.

    Attributes
    ----------
    weights : array of shape (n_columns,)
        Weights w, not negative.
    distribution : array of shape (n_pairs,)
        Dual solution U, within its limits.
    level : float
        Upper bound on :math:`U^\top m_t`: 1, or :math:`\gamma`.
    objective : float
        :math:`\sum_j U_j`, or :math:`\gamma`; minus infinity if no hypothesis is present.
    """

    weights: FloatArray
    distribution: FloatArray
    level: float
    objective: float


class Master:
    r"""A linear program to which hypotheses are added one after another.

    Parameters
    ----------
    upper : array of shape (n_rows,)
        Limits :math:`C_i` or :math:`c_i`; zero leaves a row out, and infinity for all
        others is a hard margin, which is solved in the second form, whatever the `form`.
    rows : array of shape (n_pairs,), optional
        Row of each pair; one pair per row by default.
    form : Form
        Form of the program.

    Notes
    -----
    With one pair per row the solver is `DualSimplex`; HiGHS is used if that fails, and with several
    pairs per row. An entry takes three bytes, and some 130 with HiGHS: over half a gigabyte for 450
    hypotheses on 10,000 rows.
    """

    def __init__(
        self, upper: FloatArray, rows: IntArray | None = None, *, form: Form = Form.SOFT
    ) -> None:
        self.rows = np.arange(len(upper)) if rows is None else np.asarray(rows)
        self.form = form
        self.is_hard = False  # whether the limits are infinite
        self._hypotheses: dict[bytes, Any] = {}  # by their columns
        self._columns: list[Array] = []
        self._program: _Program | None = None
        self.limit(upper)

    @property
    def n_columns(self) -> int:
        """Number of hypotheses present."""
        return len(self._hypotheses)

    @property
    def hypotheses(self) -> list[Any]:
        """The hypotheses added with each column."""
        return list(self._hypotheses.values())

    @property
    def room(self) -> float:
        """Number of hypotheses that fit into half of the memory."""
        return 0.5 * physical_memory() // (BYTES_PER_ENTRY * len(self.rows))

    @property
    def maximises_margin(self) -> bool:
        """Whether the second form is solved: by `form`, or because U has no limits."""
        return self.form is Form.MARGIN or self.is_hard

    def limit(self, upper: FloatArray) -> None:
        """Set the limits of U; hypotheses and basis stay."""
        upper = np.asarray(upper, dtype=np.float64)
        is_hard = bool(np.isinf(upper).any())
        _check_limits(upper, is_hard, self.form)
        if self._program is not None and is_hard != self.is_hard:
            self._program = None
        self.upper, self.is_hard = upper, is_hard
        if self.maximises_margin and not is_hard:
            self.upper = upper * max(1.0, 1.0 / upper.sum())
        if self._program is not None:
            self._program.limit(self.upper)

    def add(self, column: Array, hypothesis: Any = None) -> bool:
        """Add a hypothesis unless one with the same votes is present; return whether it is new."""
        key = np.asarray(column, dtype=np.int8).tobytes()
        if len(key) != len(self.rows):
            raise ValueError(
                f"column has {len(key)} entries: pass one for each of the {len(self.rows)} pairs"
            )
        if key in self._hypotheses:
            return False
        self._hypotheses[key] = hypothesis
        self._columns.append(np.frombuffer(key, dtype=np.int8))
        return True

    def solve(self) -> MasterSolution | None:
        """Return the optimum over the hypotheses present, None if the solver failed."""
        if not self._hypotheses:
            return self.without_hypotheses()
        for program in self._programs():
            found = program.solve(self._columns)
            if found is not None:
                self._program = program
                return self._solution(*found)
        self._program = None
        return None

    def _programs(self) -> Iterator["_Program"]:
        """Yield the current program, then new ones, for it may be inaccurate."""
        if self._program is not None:
            yield self._program
        if np.array_equal(self.rows, np.arange(len(self.upper))):
            yield _DenseProgram(self.upper, self.rows, self.maximises_margin)
        yield _HighsProgram(self.upper, self.rows, self.maximises_margin)

    def _solution(self, weights: FloatArray, U: FloatArray, level: float) -> MasterSolution:
        U = self._within_limits(U)
        if not self.maximises_margin:
            return MasterSolution(weights, U, 1.0, float(U.sum()))
        return MasterSolution(weights / weights.sum(), U, level, level)

    def without_hypotheses(self) -> MasterSolution:
        """Return the starting solution: the limits, shared evenly among the pairs of a row."""
        share = (np.isinf(self.upper) if self.is_hard else self.upper).astype(np.float64)
        U = (share / np.maximum(np.bincount(self.rows, minlength=len(share)), 1))[self.rows]
        if self.maximises_margin:
            return MasterSolution(np.empty(0), U / U.sum(), -np.inf, -np.inf)
        return MasterSolution(np.empty(0), U, 1.0, float(U.sum()))

    def margins(self, weights: FloatArray) -> FloatArray:
        r"""Return :math:`\sum_t w_t m_t[j]` for the first hypotheses, as many as weights."""
        margins = np.zeros(len(self.rows))
        for weight, column in zip(weights, self._columns, strict=False):
            if weight != 0.0:
                margins += weight * column
        return margins

    def attained(self, weights: FloatArray) -> float:
        r"""Return the objective of any weights in the primal problem.

        .. math:: \sum_t w_t + \sum_i C_i \xi_i \quad\text{or}\quad \rho - \sum_i c_i \xi_i

        with the best :math:`\rho`, the smallest margin without rows of total weight 1.
        """
        if self.maximises_margin and not len(weights):
            return -np.inf
        least = np.full(len(self.upper), np.inf)  # margin of each row
        np.minimum.at(least, self.rows, self.margins(weights))
        if self.is_hard:
            return float(least[self.upper > 0.0].min())
        level = 1.0
        if self.maximises_margin:
            order = np.argsort(least)
            place = np.searchsorted(np.cumsum(self.upper[order]), 1.0 - ROUNDING)
            level = float(least[order[min(int(place), len(order) - 1)]])
        loss = float(self.upper @ np.maximum(level - least, 0.0))
        return level - loss if self.maximises_margin else float(weights.sum()) + loss

    def _within_limits(self, U: FloatArray) -> FloatArray:
        """Return U scaled to its limits where rounding exceeds them, so that bounds hold."""
        sums = np.bincount(self.rows, U, minlength=len(self.upper))
        over, factor = sums > self.upper, np.ones(len(sums))
        factor[over] = self.upper[over] / sums[over]
        return U * factor[self.rows]


class _Program(Protocol):
    """A program in U/s, where s is the size of the limits, that keeps its basis."""

    def limit(self, upper: FloatArray) -> None:
        """Set the limits and the unit s."""

    def solve(self, columns: Sequence[Array]) -> Found | None:
        """Return the optimum over columns, the first of which are present, None if it failed."""


class _DenseProgram:
    """One pair per row: hypotheses are rows of `DualSimplex`, after that of the sum of U."""

    def __init__(self, upper: FloatArray, rows: IntArray, maximises_margin: bool) -> None:
        self.n, self.maximises_margin, self.n_sent = len(rows), maximises_margin, 0
        ones, zeros = np.ones(self.n), np.zeros(self.n)
        self.simplex = DualSimplex(ones, zeros)
        if maximises_margin:
            self.simplex = DualSimplex(np.append(zeros, -1.0), np.append(zeros, -np.inf))
            self.simplex.append(np.append(ones, 0.0)[None], 0.0, as_equations=True)
        self.limit(upper)

    def limit(self, upper: FloatArray) -> None:
        """Set the limits and the unit; infinite limits become larger than the sum of U."""
        self.unit, self.level = _unit_and_level(upper, self.maximises_margin)
        self.first = int(np.argmax(upper))
        bound = np.where(np.isinf(upper), 2.0, upper) / self.unit
        right = np.full(self.simplex.n_rows, self.level)
        if self.maximises_margin:
            bound, right[0] = np.append(bound, np.inf), 1.0 / self.unit
        self.simplex.bound(bound, right)

    def solve(self, columns: Sequence[Array]) -> Found | None:
        """Return weights, U and level, starting from the last basis."""
        new = np.array(columns[self.n_sent :], dtype=np.int8).reshape(-1, self.n)
        if self.maximises_margin:
            new = np.pad(new, ((0, 0), (0, 1)), constant_values=-1)
        self.simplex.append(new, self.level)
        if self.maximises_margin and self.n_sent == 0:
            self.simplex.begin(np.array([0, 1]), np.array([self.n, self.first]))
        self.n_sent = len(columns)
        if not self.simplex.solve():
            return None
        x, weights = self.unit * self.simplex.x, np.maximum(self.simplex.multipliers, 0.0)
        if not self.maximises_margin:
            return weights, x, 1.0
        return weights[1:], x[:-1], float(x[-1])


class _HighsProgram:
    """A model of HiGHS."""

    def __init__(self, upper: FloatArray, rows: IntArray, maximises_margin: bool) -> None:
        self.rows, self.maximises_margin = rows, maximises_margin
        n_pairs_per_row = np.bincount(rows, minlength=len(upper))
        self.is_shared: BoolArray = n_pairs_per_row > 1
        self.stop = Event()
        self.model, self.infinity = _new_model(self.stop)
        n, finite = len(rows), bool(np.isfinite(upper).all())
        self.n_sums = int(self.is_shared.sum()) if finite else 0
        self.n_before = self.n_sums + maximises_margin  # rows before those of hypotheses
        self.n_sent = 0
        cost = np.full(n, 0.0 if maximises_margin else -1.0)
        self.model.addVars(n, np.zeros(n), np.zeros(n))
        self.model.changeColsCost(n, np.arange(n, dtype=np.int32), cost)
        if maximises_margin:
            self.model.addVar(-self.infinity, self.infinity)
            self.model.changeColCost(n, 1.0)
            self._add_rows([np.arange(n)], [np.ones(n)], 0.0)
        if self.n_sums:
            order = np.argsort(rows, kind="stable")
            parts = np.split(order, np.cumsum(n_pairs_per_row)[:-1])
            parts = [parts[i] for i in np.flatnonzero(self.is_shared)]
            self._add_rows(parts, [np.ones(len(part)) for part in parts], 0.0)
        self.limit(upper)

    def limit(self, upper: FloatArray) -> None:
        """Set the limits, of pairs and of sums."""
        n = len(self.rows)
        self.unit, self.level = unit, level = _unit_and_level(upper, self.maximises_margin)
        bound = np.minimum(upper / unit, self.infinity)
        self.model.changeColsBounds(n, np.arange(n, dtype=np.int32), np.zeros(n), bound[self.rows])
        if self.maximises_margin:
            self.model.changeRowBounds(0, 1.0 / unit, 1.0 / unit)
        if self.n_sums:
            for row, value in enumerate(bound[self.is_shared], self.n_before - self.n_sums):
                self.model.changeRowBounds(row, -self.infinity, value)
        for row in range(self.n_before, self.n_before + self.n_sent):
            self.model.changeRowBounds(row, -self.infinity, level)

    def solve(self, columns: Sequence[Array]) -> Found | None:
        """Return weights, U and level, starting from the last basis, or anew if that fails."""
        self._send(columns[self.n_sent :])
        if not self._run():
            self.model.clearSolver()
            if not self._run():
                return None
        solution, n = self.model.getSolution(), len(self.rows)
        values = np.array(solution.col_value) * self.unit
        weights = np.maximum(-np.array(solution.row_dual)[self.n_before :], 0.0)
        level = float(values[n]) if self.maximises_margin else 1.0
        return weights, np.maximum(values[:n], 0.0), level

    def _run(self) -> bool:
        """Return whether an optimum was found; an interrupt ends the run at its next step."""
        import highspy

        with ThreadPoolExecutor(1) as pool:  # whose thread cannot be interrupted, and need not be
            try:
                (running,) = ended([pool.submit(self.model.run)])
            except BaseException:
                self.stop.set()
                raise
        is_run = running.result() == highspy.HighsStatus.kOk
        return is_run and self.model.getModelStatus() == highspy.HighsModelStatus.kOptimal

    def _send(self, columns: Sequence[Array]) -> None:
        """Add the rows of new hypotheses in one call, since each call copies the whole matrix."""
        if not columns:
            return
        places = [np.flatnonzero(column) for column in columns]
        values = [column[place] for column, place in zip(columns, places, strict=True)]
        if self.maximises_margin:
            places = [np.append(place, len(self.rows)) for place in places]
            values = [np.append(value, -1) for value in values]
        self._add_rows(places, values, self.level)
        self.n_sent += len(columns)

    def _add_rows(self, places: Sequence[Array], values: Sequence[Array], upper: float) -> None:
        starts = np.cumsum([0, *map(len, places)])
        self.model.addRows(
            len(places),
            np.full(len(places), -self.infinity),
            np.full(len(places), upper),
            int(starts[-1]),
            starts[:-1].astype(np.int32),
            np.concatenate(places).astype(np.int32),
            np.concatenate(values).astype(np.float64),
        )


def _unit_and_level(upper: FloatArray, maximises_margin: bool) -> tuple[float, float]:
    """Return the unit of U, a power of two to avoid rounding, and the level in it.

    Above C = 1 it is the root of C, so that neither the limit nor the level is far from one.
    """
    largest = 1.0 / len(upper) if maximises_margin else float(upper.max())
    largest = min(largest, largest**0.5)
    unit = float(2.0 ** np.ceil(np.log2(largest))) if largest > 0.0 else 1.0
    return unit, 0.0 if maximises_margin else 1.0 / unit


def _new_model(stop: Event) -> tuple[Any, float]:
    """Return a silent model that keeps its basis, and its value for infinity.

    A run ends at its next step if `stop` is set.
    """
    import highspy

    def check(event: Any) -> None:
        if stop.is_set():
            event.interrupt()

    model: Any = highspy.Highs()  # type: ignore[no-untyped-call, unused-ignore]
    for option, value in {
        "output_flag": False,
        "presolve": "off",  # presolve and parallel runs discard the basis
        "parallel": "off",
        "threads": 1,
        "solver": "simplex",
        "simplex_strategy": 1,
        "simplex_scale_strategy": 0,
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
    }.items():
        model.setOptionValue(option, value)
    model.cbSimplexInterrupt.subscribe(check)
    return model, highspy.kHighsInf


def _check_limits(upper: FloatArray, is_hard: bool, form: Form) -> None:
    if not (upper >= 0.0).all():
        raise ValueError(f"upper has {upper.min()}: pass limits of 0 or above")
    if is_hard and bool(((upper > 0.0) & np.isfinite(upper)).any()):
        raise ValueError("upper has finite and infinite limits: pass only one kind")
    if form is Form.MARGIN and upper.sum() < 1.0 - ROUNDING:
        raise ValueError(f"the limits sum to {upper.sum():.6g}, and U to 1: lower nu to 1 or below")
