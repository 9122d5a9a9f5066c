r"""Column generation: linear programs over hypotheses that are too many to enumerate.

The restricted program is solved, a base learner finds the hypothesis with the largest edge
:math:`U^\top m` under its distribution U (pricing), and that one is added, until no edge is above
the level. Restricted programs bound the optimum over all hypotheses from one side, edges from the
other: for the soft margin,

.. math:: \frac{\sum_j U_j}{\max(1, \max_h U^\top m_h)} \;\le\; \text{optimum} \;\le\;
          \textstyle\sum_t w_t + \sum_i C_i \xi_i ,

and the largest margin is at least that of the weights and at most
:math:`\max_h U^\top m_h`, for every distribution U that was priced.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from kernsemble._typing import Array, FloatArray, Rows
from kernsemble.solvers.linear_program import Form, Master

SMALLEST_LEVEL = 1e-3  # smallest margin for which tol is relative

Hypothesis: TypeAlias = tuple[Any, Array]  # any object that identifies it, and its column
Price: TypeAlias = Callable[[FloatArray], Sequence[Hypothesis]]
OnRound: TypeAlias = Callable[[int, float], None]


class Ending(Enum):
    """Reason why column generation ended; the value is the message for users."""

    OPTIMAL = "no hypothesis that the base learner finds improves the objective by more than tol"
    COLUMNS_USED_UP = "stopped early: raise max_columns, loosen tol or lower C"
    MEMORY_USED_UP = (
        "stopped early: more hypotheses on these rows and classes would need more than half of "
        "the memory: use fewer rows, or lower C"
    )
    NO_NEW_COLUMN = (
        "the base learner finds only hypotheses that are present: this is the optimum over "
        "those found; use an exhaustive base learner to be sure, or loosen tol"
    )
    INSEPARABLE = (
        "no weighted vote of these hypotheses separates the classes: use a finite C or a base "
        "learner with more hypotheses"
    )
    INTERRUPTED = "interrupted: the weights are optimal for the hypotheses found so far"
    FAILED = "the linear program could not be solved within rounding: lower C or raise nu"


@dataclass(frozen=True, eq=False)
class Generated:
    r"""The weights of a vote, and the evidence for them.

    Attributes
    ----------
    hypotheses : list
        Hypotheses as named by the base learner, including those without weight.
    weights : array of shape (n_columns,)
        Their weights w. They sum to one if no solution of a hard margin was found.
    distribution : array of shape (n_pairs,)
        Dual solution U over the hypotheses found.
    objective : float
        Objective of the weights: :math:`\sum_t w_t + \sum_i C_i\xi_i` (infinite if a hard margin
        is violated), or :math:`\rho - \sum_i c_i\xi_i`.
    lower, upper : float
        Bounds on the optimum over all hypotheses; the bound from edges holds if the base learner
        is exhaustive.
    violation : float
        Difference between the largest edge found at `distribution` and the level.
    stages : CSR matrix of shape (n_solved, n_columns)
        Weights of every restricted optimum with hypotheses; those of a hard margin on the scale
        of the last.
    n_rounds : int
        Number of calls of the base learner.
    status : Ending
        Reason why the run ended.
    """

    hypotheses: list[Any]
    weights: FloatArray
    distribution: FloatArray
    objective: float
    lower: float
    upper: float
    violation: float
    stages: Rows
    n_rounds: int
    status: Ending


def generate_columns(
    master: Master,
    price: Price,
    *,
    tol: float = 1e-4,
    max_columns: int = 1000,
    start_columns: Iterable[Hypothesis] = (),
    on_round: OnRound | None = None,
) -> Generated:
    r"""Solve a linear program over all hypotheses that a base learner can find.

    Parameters
    ----------
    master : Master
        The program; its hypotheses are kept, and those found are added to it.
    price : callable
        Function ``price(U)`` that returns hypotheses with large edges :math:`U^\top m`, each with
        its column m. One of them should be the best of all; the others are added too if they
        violate the level, which saves rounds.
    tol : float
        Relative distance of the bounds to stop at, at the latest when no edge is above
        ``level * (1 + tol)``. For margins below 0.001 it is an absolute ``0.001 * tol``.
    max_columns : int
        Maximum number of hypotheses in the program, including those at the start.
    start_columns : iterable of hypotheses
        Hypotheses to start with.
    on_round : callable, optional
        Called as ``on_round(n_columns, violation)`` after each pricing; an exception ends the
        run, a KeyboardInterrupt with the solution reached so far.

    Returns
    -------
    Generated
        For a hard margin, C = ∞, the solution of the soft-margin problem if there is one.

    Notes
    -----
    A round prices once and solves the program from its last basis. With exhaustive stumps on
    300 to 10,000 rows there were one to two rounds per hypothesis with weight in the end, and
    a seventh to a sixteenth of that when the best stump of each of twenty features was added
    at a time, in a half to a seventh of the time.
    """
    run = _GenerationRun(master, price, tol, max_columns, on_round)
    try:
        status = run.finish(start_columns)
    except KeyboardInterrupt:
        status = Ending.INTERRUPTED
    return run.generated(status)


def generate_path(
    master: Master,
    price: Price,
    uppers: Iterable[FloatArray],
    *,
    tol: float = 1e-4,
    max_columns: int = 1000,
    on_round: OnRound | None = None,
) -> Iterator[Generated]:
    """Yield the solutions for one set of limits after another, keeping hypotheses and basis.

    Increasing limits need more and more hypotheses; `max_columns` is the limit for all together.
    An interrupted solution is the last.
    """
    for upper in uppers:
        master.limit(upper)
        found = generate_columns(master, price, tol=tol, max_columns=max_columns, on_round=on_round)
        yield found
        if found.status is Ending.INTERRUPTED:
            return


class _GenerationRun:
    """A column generation in progress."""

    def __init__(
        self,
        master: Master,
        price: Price,
        tol: float,
        max_columns: int,
        on_round: OnRound | None,
    ) -> None:
        self.master, self.price, self.on_round = master, price, on_round
        self.tol, self.max_columns = tol, max_columns
        self.most = min(max_columns, master.room)
        self.must_separate = master.is_hard and master.form is Form.SOFT
        self.solution = master.without_hypotheses()
        self.bound = np.inf if master.maximises_margin else 0.0  # bound from edges
        self.violation, self.n_rounds = np.inf, 0
        self.stages: list[FloatArray] = []

    def finish(self, start: Iterable[Hypothesis]) -> Ending:
        """Add hypotheses until the run ends; return the reason."""
        for name, column in start:
            self.master.add(column, name)
        while True:
            solution = self.master.solve()
            if solution is None:
                return Ending.FAILED
            self.solution, self.violation = solution, np.inf
            if len(solution.weights):
                self.stages.append(solution.weights)
            found = [
                (float(solution.distribution @ column), column, name)
                for name, column in self.price(solution.distribution)
            ]
            ending = self._look_at(max((edge for edge, _, _ in found), default=None))
            if ending is not None:
                return ending
            if not self._add(found):
                return Ending.NO_NEW_COLUMN

    def _look_at(self, edge: float | None) -> Ending | None:
        """Record the largest edge; return the reason to end, if any."""
        self.n_rounds += 1
        if edge is not None:
            self._note(edge)
        if self.on_round is not None:
            self.on_round(self.master.n_columns, self.violation)
        if edge is None:
            return Ending.NO_NEW_COLUMN
        if self.must_separate and self.bound <= self.tol * SMALLEST_LEVEL:
            return Ending.INSEPARABLE
        objective = self.solution.objective
        if abs(objective - self.bound) <= self._distance(objective) or self.violation <= 0.0:
            return Ending.OPTIMAL
        if self.master.n_columns < self.most:
            return None
        is_full = self.most < self.max_columns
        return Ending.MEMORY_USED_UP if is_full else Ending.COLUMNS_USED_UP

    def _note(self, edge: float) -> None:
        self.violation = edge - self.solution.level
        if self.master.maximises_margin:
            self.bound = min(self.bound, edge)
        else:
            self.bound = max(self.bound, self.solution.objective / max(1.0, edge))

    def _distance(self, value: float) -> float:
        """Return the distance from a value that tol allows."""
        if not self.master.maximises_margin:
            return self.tol * value
        return self.tol * max(value, -value, SMALLEST_LEVEL) if np.isfinite(value) else 0.0

    def _add(self, found: list[tuple[float, Array, Any]]) -> bool:
        """Add hypotheses above the level, the largest edges first; return whether one is new."""
        level, before = self.solution.level, self.master.n_columns
        for edge, column, name in sorted(found, key=lambda each: -each[0]):
            if edge <= level + self._distance(level) or self.master.n_columns >= self.most:
                break
            self.master.add(column, name)
        return self.master.n_columns > before

    def generated(self, status: Ending) -> Generated:
        """Return the result, with bounds that do not depend on the tolerances of the LP solver."""
        solution, bound = self.solution, self.bound
        weights, U, violation = solution.weights, solution.distribution, self.violation
        objective = self.master.attained(weights)
        if self.master.maximises_margin:
            lower, upper = objective, max(objective, bound)
        else:
            lower, upper = min(objective, bound), objective
        stages = _stacked(self.stages, self.master.n_columns)
        if self.must_separate:
            lower = 1.0 / bound if bound > 0.0 else np.inf
            if objective > 0.0:
                stages.data /= objective
                weights, U = weights / objective, U / solution.level
                violation, objective = violation / solution.level, 1.0 / objective
            else:
                objective = np.inf
            upper = objective
        without = np.zeros(self.master.n_columns - len(weights))  # added after the last solution
        return Generated(
            hypotheses=self.master.hypotheses,
            weights=np.append(weights, without),
            distribution=U,
            objective=objective,
            lower=lower,
            upper=upper,
            violation=violation,
            stages=stages,
            n_rounds=self.n_rounds,
            status=status,
        )


def _stacked(stages: list[FloatArray], n_columns: int) -> Rows:
    from scipy.sparse import csr_matrix

    places = [np.flatnonzero(weights) for weights in stages]
    starts = np.cumsum([0, *map(len, places)])
    data = [weights[place] for weights, place in zip(stages, places, strict=True)]
    return csr_matrix(
        (np.concatenate([np.empty(0), *data]), np.concatenate([np.empty(0, int), *places]), starts),
        shape=(len(stages), n_columns),
    )
