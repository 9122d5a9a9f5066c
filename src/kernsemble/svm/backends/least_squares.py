"""The squared loss on a kernel matrix: every problem and every fold by one factorisation per C."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kernsemble._threads import blocks
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers import Fold, Solution, Status
from kernsemble.solvers.array_modules import ROWS_OF_A_COPY, between
from kernsemble.solvers.cholesky import HOST, LinearAlgebra
from kernsemble.solvers.losses import Squared
from kernsemble.solvers.ridge import Ridge
from kernsemble.svm.problem import Problem

WORTH_REFITS = 0.5  # cost of refits, over the cube of the rows, from which a factor serves all


class Group(NamedTuple):
    """Problems whose rows have the same strengths, so that they share a factor."""

    places: list[int]
    rows: IntArray
    strengths: FloatArray  # at C = 1
    targets: FloatArray  # (n_rows, n_problems)


def solve_least_squares(
    K: FloatArray, problems: Sequence[Problem], C: float, algebra: LinearAlgebra = HOST
) -> list[tuple[IntArray, Solution]]:
    """Return the rows of every problem, and its solution on them, in the unit of its target.

    The matrix is in the memory of `algebra`.
    """
    found: dict[int, tuple[IntArray, Solution]] = {}
    for group in groups_of(problems):
        rows, y = group.rows, algebra.to_device(group.targets)
        part = K if len(rows) == len(K) else between(K, rows, rows, algebra.xp)
        strengths = C * group.strengths
        beta, bias = Ridge.from_matrix(part, strengths, algebra=algebra).solve(y)
        values = part @ beta.astype(part.dtype)
        arrays = map(algebra.to_host, (beta, bias, values))
        found |= solutions_of(group, problems, strengths, *arrays)
    return [found[place] for place in range(len(problems))]


def solve_least_squares_and_fold(
    K: FloatArray,
    problems: Sequence[Problem],
    C: float,
    held_out: IntArray,
    algebra: LinearAlgebra = HOST,
) -> tuple[list[tuple[IntArray, Solution]], list[Fold]] | None:
    """Return the solutions of all rows and the fold of every problem, by one factorisation.

    None if problems differ in the strengths of rows or lack some, or held-out rows repeat.
    """
    group, *others = groups_of(problems)
    kept = np.setdiff1d(np.arange(len(K)), held_out, assume_unique=True)
    if others or len(group.rows) < len(K) or len(kept) + len(held_out) != len(K) or not len(kept):
        return None
    order, strengths = np.concatenate([kept, held_out]), C * group.strengths
    part, y = _upper_triangle(K, order, algebra.xp), algebra.to_device(group.targets[order])
    ridge = Ridge.from_matrix(part, strengths[order], out=part, algebra=algebra)
    found, bias = ridge.solve(y)
    predicted = algebra.to_host(ridge.left_out_last(y, found, len(held_out)))
    beta = algebra.xp.empty_like(found)
    beta[algebra.to_device(order)] = found
    arrays = map(algebra.to_host, (beta, bias, K @ beta.astype(K.dtype)))
    solutions = solutions_of(group, problems, strengths, *arrays)
    n_iter, statuses = np.ones(1, dtype=np.intp), (Status.CONVERGED,)
    folds = [Fold(values[np.newaxis], n_iter, statuses) for values in predicted.T]
    return [solutions[place] for place in range(len(problems))], folds


def _upper_triangle(K: FloatArray, order: IntArray, xp: Any) -> FloatArray:
    """Return the matrix with rows and columns in another order, at least its upper triangle."""
    found, places = xp.empty(K.shape, K.dtype), xp.asarray(order)
    for span in blocks(len(K), ROWS_OF_A_COPY):
        rows = K.take(places[span], axis=0)
        found[span, span.start :] = rows.take(places[span.start :], axis=1)
    return found


def least_squares_folds(
    K: FloatArray,
    problems: Sequence[Problem],
    Cs: Sequence[float],
    held_out: Sequence[IntArray],
    algebra: LinearAlgebra = HOST,
) -> list[list[Fold]]:
    """Return for each problem and fold the decision values of the held-out rows, at every C."""
    n_rows = [len(rows) for rows in held_out]
    values = [[np.empty((len(Cs), n)) for n in n_rows] for _ in problems]
    for group in groups_of(problems):
        place_of = np.full(len(K), -1)
        place_of[group.rows] = np.arange(len(group.rows))
        places = [place_of[fold] for fold in held_out]
        for c, fold, found in _left_out(K, group, Cs, places, held_out, algebra):
            predicted = algebra.to_host(found)
            for k, place in enumerate(group.places):
                values[place][fold][c] = predicted[:, k]
    n_iter, statuses = np.ones(len(Cs), dtype=np.intp), (Status.CONVERGED,) * len(Cs)
    return [[Fold(fold, n_iter, statuses) for fold in mine] for mine in values]


def _left_out(
    K: FloatArray,
    group: Group,
    Cs: Sequence[float],
    places: Sequence[IntArray],
    held_out: Sequence[IntArray],
    algebra: LinearAlgebra,
) -> Iterator[tuple[int, int, FloatArray]]:
    """Yield each C and fold and its predictions, by block left-out values or, if cheaper, refits.

    Rows that the problem lacks are predicted as new ones.
    """
    rows, strengths, xp = group.rows, group.strengths, algebra.xp
    y = algebra.to_device(group.targets)
    part = K if len(rows) == len(K) else between(K, rows, rows, xp)
    known = [each[each >= 0] for each in places]
    n, n_left = float(len(rows)), np.array([len(each) for each in known])
    is_whole = len(rows) == len(K)
    if is_whole and ((n - n_left) ** 3).sum() / 3.0 > WORTH_REFITS * n**3:
        memory = None  # of one factor after another
        for c, C in enumerate(Cs):
            ridge = Ridge.from_matrix(part, C * strengths, out=memory, algebra=algebra)
            memory = ridge.factor
            beta, _ = ridge.solve(y)
            for fold, values in enumerate(ridge.left_out(y, beta, known)):
                yield c, fold, values
        return
    for fold, mine in enumerate(known):
        kept = np.delete(np.arange(len(rows)), mine)
        block, known = between(part, kept, kept, xp), y[algebra.to_device(kept)]
        across = between(K, held_out[fold], rows[kept], xp)
        for c, C in enumerate(Cs):
            A = block if len(Cs) == 1 else block.copy()
            ridge = Ridge.from_matrix(A, C * strengths[kept], out=A, algebra=algebra)
            beta, bias = ridge.solve(known)
            yield c, fold, across @ beta.astype(across.dtype) + bias


def groups_of(problems: Sequence[Problem]) -> Iterator[Group]:
    """Yield the problems by their strengths."""
    by_strengths: dict[bytes, list[int]] = {}
    for place, problem in enumerate(problems):
        by_strengths.setdefault(_squared(problem).strengths.tobytes(), []).append(place)
    for places in by_strengths.values():
        rows = problems[places[0]].rows
        targets = np.column_stack([_squared(problems[place]).y[rows] for place in places])
        yield Group(places, rows, _squared(problems[places[0]]).strengths[rows], targets)


def _squared(problem: Problem) -> Squared:
    assert isinstance(problem.loss, Squared)
    return problem.loss


def solutions_of(
    group: Group,
    problems: Sequence[Problem],
    strengths: FloatArray,
    beta: FloatArray,
    bias: FloatArray,
    products: FloatArray,
) -> dict[int, tuple[IntArray, Solution]]:
    r"""Return the rows and the solution of each problem of a group, in the unit of its target.

    `products` are :math:`K\beta` at these rows.
    """
    found = {}
    for k, place in enumerate(group.places):
        y = group.targets[:, k]
        solution = _solution(beta[:, k], float(bias[k]), products[:, k], y, strengths)
        found[place] = group.rows, problems[place].scale.restore_solution(solution)
    return found


def _solution(
    beta: FloatArray, bias: float, products: FloatArray, y: FloatArray, strengths: FloatArray
) -> Solution:
    r"""Return the solution with the evidence for it, given :math:`K\beta`."""
    square, residual = float(beta @ products), y - products
    error = residual - bias
    dual = 0.5 * square + 0.5 * float(beta @ (beta / strengths)) - float(beta @ y)  # to minimise
    finite = np.where(np.isinf(strengths), 0.0, strengths)  # of C = inf the error is 0
    primal = 0.5 * square + 0.5 * float(finite @ error**2)
    violation = float(np.abs(error - beta / strengths).max())
    gap = max(primal + dual, 0.0)
    return Solution(beta, bias, residual, dual, gap, violation, 1, Status.CONVERGED)
