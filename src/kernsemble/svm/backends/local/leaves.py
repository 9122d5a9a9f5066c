"""The machines on all leaves of partitions, fitted by several threads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble._threads import at_most, n_threads, run
from kernsemble._typing import FloatArray
from kernsemble.kernels import Kernel
from kernsemble.solvers.partition import Partition
from kernsemble.solvers.ridge import NotDefiniteError
from kernsemble.svm.backends.least_squares import solve_least_squares
from kernsemble.svm.backends.local.machines import LeafMachines
from kernsemble.svm.backends.local.rows import ScaledRows, mean_target
from kernsemble.svm.problem import Problem

MATRICES = 2.5  # matrices between the rows of a leaf: the kernel, its factor, and tiles


class Evidence(NamedTuple):
    """The objective and the duality gap of every machine, summed over leaves."""

    objective: FloatArray
    gap: FloatArray

    @classmethod
    def mean(cls, several: "Sequence[Evidence]") -> "Evidence":
        """Return the mean evidence."""
        return cls(*(np.mean(each, axis=0) for each in zip(*several, strict=True)))

    @classmethod
    def sum(cls, several: "Sequence[Evidence]") -> "Evidence":
        """Return the evidence of machines on different rows together."""
        return cls(*(np.sum(each, axis=0) for each in zip(*several, strict=True)))


class FittedLeaves(NamedTuple):
    """The machines of every partition that was finished, and the evidence for them."""

    parts: tuple[LeafMachines, ...]
    evidence: Evidence  # mean over the partitions
    is_interrupted: bool


@dataclass(frozen=True, eq=False)
class _Leaf:
    """The solution on a leaf; columns are the values of C, and for each the problems."""

    beta: FloatArray  # (n_rows, n_machines)
    bias: FloatArray
    objective: FloatArray
    gap: FloatArray


def affordable_rows(budget: Budget, itemsize: int = 8) -> float:
    """Return the number of rows of the largest leaf whose matrices fit into the budget."""
    return float(np.sqrt(budget.n_bytes / (MATRICES * itemsize)))


def fit_leaves(
    rows: ScaledRows,
    kernel: Kernel,
    problems: Sequence[Problem],
    Cs: Sequence[float],
    budget: Budget,
    task: Task,
) -> FittedLeaves:
    """Return the machines of every problem at every C, on all leaves.

    The machines at one value of C come after those at the one before. An interrupt keeps the
    partitions whose leaves are finished, if there are any.
    """
    merged, partitions = rows.merged(problems), rows.partitions
    found = [dict[int, _Leaf]() for _ in partitions]

    def fit(place: tuple[int, int]) -> None:
        number, leaf = place
        mine = partitions[number].rows_of(leaf)
        some = [problem.among(mine) for problem in merged]
        found[number][leaf] = _fit_leaf(kernel, rows.coordinates[mine], some, problems, Cs)
        task.note("leaf")

    is_interrupted = False
    largest = max(int(np.diff(each.ends).max()) for each in partitions)
    with at_most(_affordable_threads(largest, rows.coordinates.itemsize, budget)):
        try:
            run(fit, list(_numbered(partitions)), fewest=2)
        except KeyboardInterrupt:
            is_interrupted = True
    finished = [
        (partition, [leaves[leaf] for leaf in range(partition.n_leaves)])
        for partition, leaves in zip(partitions, found, strict=True)
        if len(leaves) == partition.n_leaves
    ]
    if not finished:
        raise KeyboardInterrupt
    parts = tuple(_joined(partition, leaves) for partition, leaves in finished)
    return FittedLeaves(parts, _evidence([leaves for _, leaves in finished]), is_interrupted)


def _numbered(partitions: Sequence[Partition]) -> Iterator[tuple[int, int]]:
    """Yield the number of the partition and that of the leaf, one partition after another."""
    for number, each in enumerate(partitions):
        for leaf in range(each.n_leaves):
            yield number, leaf


def _joined(partition: Partition, leaves: Sequence[_Leaf]) -> LeafMachines:
    beta = np.concatenate([each.beta for each in leaves])
    return LeafMachines(partition, beta, np.array([each.bias for each in leaves]))


def _evidence(finished: Sequence[Sequence[_Leaf]]) -> Evidence:
    def mean(name: str) -> FloatArray:
        sums = [sum(getattr(leaf, name) for leaf in leaves) for leaves in finished]
        return np.asarray(np.mean(sums, axis=0))

    return Evidence(mean("objective"), mean("gap"))


def _fit_leaf(
    kernel: Kernel,
    X: FloatArray,
    problems: Sequence[Problem],
    whole: Sequence[Problem],
    Cs: Sequence[float],
) -> _Leaf:
    """Fit the machines of a leaf, in double precision if single precision does not suffice.

    A problem without rows in the leaf has its mean target as a constant there.
    """
    try:
        return _fit_in_precision(kernel, X, problems, whole, Cs)
    except NotDefiniteError:
        if X.dtype == np.float64:
            raise
        return _fit_in_precision(kernel, X.astype(np.float64), problems, whole, Cs)


def _fit_in_precision(
    kernel: Kernel,
    X: FloatArray,
    problems: Sequence[Problem],
    whole: Sequence[Problem],
    Cs: Sequence[float],
) -> _Leaf:
    shape = len(Cs), len(problems)
    beta, bias = np.zeros((len(X), *shape), X.dtype), np.zeros(shape)
    objective, gap = np.zeros(shape), np.zeros(shape)
    present = [k for k, problem in enumerate(problems) if problem.loss.strengths.any()]
    for place in set(range(len(problems))).difference(present):
        bias[:, place] = mean_target(whole[place])
    K = kernel(X) if present else None
    for c, C in enumerate(Cs):
        if K is None:
            break
        solved = solve_least_squares(K, [problems[place] for place in present], C)
        for place, (rows, solution) in zip(present, solved, strict=True):
            beta[rows, c, place], bias[c, place] = solution.beta, solution.bias
            objective[c, place], gap[c, place] = solution.objective, solution.gap
    return _Leaf(beta.reshape(len(X), -1), bias.ravel(), objective.ravel(), gap.ravel())


def _affordable_threads(largest: int, itemsize: int, budget: Budget) -> int:
    """Return the number of threads whose matrices fit into the budget."""
    needed = MATRICES * float(largest) ** 2 * itemsize
    budget.check(
        needed,
        f"the matrices of a leaf of {largest:,} rows, which rounding errors keep together, take",
        "use scaling='rank'",
    )
    return max(min(n_threads(), int(budget.n_bytes / needed)), 1)
