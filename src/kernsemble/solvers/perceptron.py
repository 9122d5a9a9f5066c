r"""The kernel perceptron (Rosenblatt), represented by its mistakes.

From :math:`f = 0`, rows are visited in order, and where :math:`y_i f(x_i) \le 0` the row is a
mistake, and :math:`f \leftarrow f + y_i K(x_i, \cdot)`. So every intermediate f is a sum over
the first mistakes, and the rows and steps of the mistakes determine them all.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kernsemble._jit import jit
from kernsemble._threads import blocks
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.kernel_matrix import Matrix

LOOK_AHEAD = 256  # rows that are searched at a time for the next mistake
PORTION = 4_096  # number of visits between which a run can be interrupted


class Mistakes(NamedTuple):
    """The mistakes in order: their rows, and the number of visits before each."""

    rows: IntArray
    steps: IntArray

    def before(self, step: int) -> "Mistakes":
        """Return the mistakes among the first `step` visits."""
        n = int(np.searchsorted(self.steps, step))
        return Mistakes(self.rows[:n], self.steps[:n])

    def survivals(self, n_steps: int) -> IntArray:
        """Return the number of visits that the function after each mistake survived."""
        return np.diff(self.steps, append=n_steps)


def mistakes_on_matrix(K: FloatArray, signs: FloatArray, order: IntArray) -> Mistakes:
    """Visit rows in the given order, which may contain repetitions, on a kernel matrix.

    A mistake reads a row of the matrix, any other visit nothing.
    """
    values = np.zeros(len(signs))
    return _in_portions(lambda *portion: _on_matrix(K, signs, values, *portion), order)


def mistakes_on_features(Z: FloatArray, signs: FloatArray, order: IntArray) -> Mistakes:
    r"""Visit rows given the features Z of the kernel :math:`ZZ^\top`, in O(T) per visit."""
    w = np.zeros(Z.shape[1])
    return _in_portions(lambda *portion: _on_features(Z, signs, w, *portion), order)


def mistakes_on_demand(matrix: Matrix, signs: FloatArray, order: IntArray) -> Mistakes:
    """Visit rows of a matrix whose rows are computed on demand."""
    values, rows, steps, step = np.zeros(len(signs)), list[int](), list[int](), 0
    while step < len(order):
        ahead = order[step : step + LOOK_AHEAD]
        mistaken = np.flatnonzero(signs[ahead] * values[ahead] <= 0.0)
        if not len(mistaken):
            step += len(ahead)
            continue
        row = int(ahead[mistaken[0]])
        rows.append(row)
        steps.append(step + int(mistaken[0]))
        values += matrix.times(np.array([row]), signs)
        step = steps[-1] + 1
    return Mistakes(np.array(rows, dtype=np.intp), np.array(steps, dtype=np.intp))


def _in_portions(visit: Callable[[IntArray, IntArray], int], order: IntArray) -> Mistakes:
    """Return the mistakes, given a function that writes the steps of those of a portion."""
    found = [np.empty(0, dtype=np.intp)]
    for span in blocks(len(order), PORTION):
        steps = np.empty(span.stop - span.start, dtype=np.intp)
        found.append(span.start + steps[: visit(order[span], steps)])
    all_steps = np.concatenate(found)
    return Mistakes(order[all_steps], all_steps)


@jit
def _on_matrix(
    K: FloatArray, signs: FloatArray, values: FloatArray, order: IntArray, steps: IntArray
) -> int:
    n = 0
    for step in range(len(order)):
        i = order[step]
        if signs[i] * values[i] <= 0.0:
            steps[n] = step
            n += 1
            values += signs[i] * K[i]
    return n


@jit
def _on_features(
    Z: FloatArray, signs: FloatArray, w: FloatArray, order: IntArray, steps: IntArray
) -> int:
    n = 0
    for step in range(len(order)):
        i = order[step]
        value = 0.0
        for d in range(len(w)):
            value += w[d] * Z[i, d]
        if signs[i] * value <= 0.0:
            steps[n] = step
            n += 1
            w += signs[i] * Z[i]
    return n
