"""Descent on the 0/1 error of a half-space by exact line searches, compiled."""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray

ROUNDING = 1e-15  # of a product, as a share of the product of norms; nine times its bound
STILL = 1e-12  # of a row's own size: what moves less along a direction does not move
SAME = 1e-12  # of the total weight: errors that differ by less are equal
CROWDED = 16  # places that a row is moved on average before buckets are given up


def minimise_error(
    X: FloatArray,
    signs: FloatArray,
    weight: FloatArray,
    directions: FloatArray,
    w0: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    r"""Minimise the weighted 0/1 error of a half-space along given directions, one at a time.

    .. math:: E(w) = \frac{\sum_i v_i\,[\,\mathrm{sign}(w^\top(x_i, 1)) \ne y_i\,]}{\sum_i v_i},
              \qquad w \leftarrow w + t\,d, \quad t \in \arg\min_t E(w + t\,d)

    Along a direction a row changes sides at :math:`t_i = -a_i / b_i`, with the scores
    :math:`a_i = w^\top(x_i, 1)` and :math:`b_i = d^\top(x_i, 1)`, so E is constant between
    neighbouring crossings: they are sorted, running sums of the signed weights are the errors
    of all intervals, and w goes to the middle of a best one, or :math:`\max|a| / \max|b|`
    beyond the last crossing where it has no end. Of several best intervals the widest is
    taken, as :math:`t / (\max|a| / \max|b| + |t|)` measures them, and that of w itself only if
    there is no other: equally good hyperplanes are walked along. Intervals that rounding may
    have opened are passed over, and the error is counted again after each step, which is
    undone should it have risen.

    Parameters
    ----------
    X : array of shape (n, D)
        Rows, not far from the origin compared with their spread.
    signs : array of shape (n,)
        Their sides y, −1 or +1. The sign of zero is −1.
    weight : array of shape (n,)
        How often each counts, positive.
    directions : array of shape (n_epochs, D + 1)
        Unit vectors d; the last component moves the bias.
    w0 : array of shape (D + 1,)
        Where to start, at zero for instance.

    Returns
    -------
    w : array of shape (D + 1,)
        The last vector, of unit length: the best one, as errors never rise.
    errors : array of shape (n_epochs + 1,)
        The error at the start and after each epoch.

    Notes
    -----
    Costs O(n (D + log n)) an epoch, nothing once the error is zero; the crossings of ordinary
    rows are sorted in O(n), by buckets.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.learners.line_search import minimise_error
    >>> X, signs = np.array([[0.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0])
    >>> w, errors = minimise_error(X, signs, np.ones(3), np.eye(2)[[1, 0]], np.zeros(2))
    >>> errors, w / w[0]
    (array([0.333, 0.333, 0.   ]), array([ 1.   , -1.333]))
    """
    columns = np.ascontiguousarray(X.T)
    noise = ROUNDING * len(w0) * np.sqrt(1.0 + np.einsum("ij,ij->i", X, X).max())
    length = np.sqrt(w0 @ w0)
    start = w0 / length if length > 0.0 else w0.copy()
    w, errors = _descend(columns, signs, weight, directions, start, noise)
    return w, errors / weight.sum()


@jit
def _descend(
    columns: FloatArray,
    signs: FloatArray,
    weight: FloatArray,
    directions: FloatArray,
    w: FloatArray,
    noise: float,
) -> tuple[FloatArray, FloatArray]:
    n, moved = len(signs), np.empty(len(w))
    a, b, a_moved = np.empty(n), np.empty(n), np.empty(n)  # scores of w, of d and of the next w
    u, u_sorted, row = np.empty(n), np.empty(n), np.empty(n, dtype=np.intp)
    bucket, place = np.empty(n, dtype=np.intp), np.empty(n + 2, dtype=np.intp)
    vote, equal = signs * weight, SAME * weight.sum()
    _scores(columns, w, a)
    error = _error(a, signs, weight)
    errors = np.zeros(len(directions) + 1)
    errors[0] = error
    for epoch in range(len(directions)):
        if error == 0.0:
            break
        d = directions[epoch]
        _scores(columns, d, b)
        kappa = _typical_crossing(a, b, noise)
        if kappa > 0.0:
            _cross(a, b, kappa, u, bucket, place)
            m = _sort(u, bucket, place, u_sorted, row)
            t = _best_step(a, b, kappa, vote, u_sorted[:m], row, noise, equal)
            if _move(w, t, d, moved):
                _scores(columns, moved, a_moved)
                error_moved = _error(a_moved, signs, weight)
                if error_moved <= error + equal:
                    w, moved, a, a_moved = moved, w, a_moved, a
                    error = min(error, error_moved)
        errors[epoch + 1] = error
    return w, errors


@jit
def _move(w: FloatArray, t: float, d: FloatArray, moved: FloatArray) -> bool:
    """Fill in w + t d at unit length; tell whether it is a vector, and another one."""
    squares = 0.0
    for k in range(len(w)):
        moved[k] = w[k] + t * d[k]
        squares += moved[k] * moved[k]
    if squares > 0.0:
        moved /= np.sqrt(squares)
    return t != 0.0 and squares > 0.0


@jit
def _scores(columns: FloatArray, w: FloatArray, a: FloatArray) -> None:
    """Fill in w'(x, 1) for all rows, alike for equal ones; four columns a pass save time."""
    D = len(columns)
    a[:] = w[D]
    for d in range(0, D - 3, 4):
        first, second, third, fourth = columns[d], columns[d + 1], columns[d + 2], columns[d + 3]
        w1, w2, w3, w4 = w[d], w[d + 1], w[d + 2], w[d + 3]
        for i in range(len(a)):
            a[i] += w1 * first[i] + w2 * second[i] + w3 * third[i] + w4 * fourth[i]
    for d in range(D - D % 4, D):
        column = columns[d]
        for i in range(len(a)):
            a[i] += w[d] * column[i]


@jit
def _error(a: FloatArray, signs: FloatArray, weight: FloatArray) -> float:
    error = 0.0
    for i in range(len(a)):
        error += weight[i] if (a[i] > 0.0) != (signs[i] > 0.0) else 0.0
    return error


@jit
def _typical_crossing(a: FloatArray, b: FloatArray, noise: float) -> float:
    """Return how far off rows cross, 1 from the zero vector; 0 if none moves beyond rounding.

    It is told by the largest numbers, which repetitions and the order of rows do not change.
    """
    size, speed = 0.0, 0.0
    for i in range(len(a)):
        size = max(size, abs(a[i]))
        speed = max(speed, abs(b[i]))
    if speed <= noise:
        return 0.0
    return size / speed if size > 0.0 else 1.0


@jit
def _cross(
    a: FloatArray, b: FloatArray, kappa: float, u: FloatArray, bucket: IntArray, place: IntArray
) -> None:
    r"""Fill in where rows cross, as :math:`u = t / (\kappa + |t|)`, and count them in buckets.

    That is between −1 and 1 and spreads rows evenly where a and b are alike, so n buckets are
    of equal width. A row that does not move is in none, −1.
    """
    n = len(a)
    for i in range(n):
        size = kappa * abs(b[i]) + abs(a[i])
        u[i] = (-a[i] if b[i] > 0.0 else a[i]) / (size if size > 0.0 else 1.0)
        bucket[i] = np.intp(0.5 * n * (u[i] + 1.0))
    place[:] = 0
    for i in range(n):
        if abs(u[i]) < 1.0 - STILL and b[i] != 0.0:
            place[bucket[i] + 1] += 1
        else:
            bucket[i] = -1


@jit
def _sort(
    u: FloatArray, bucket: IntArray, place: IntArray, u_sorted: FloatArray, row: IntArray
) -> int:
    """Fill in the crossings in order and their rows; return how many rows move.

    Rows go to their buckets, and insertion finishes the order; where crossings crowd in few
    buckets a sort by comparisons does.
    """
    m, shifts = 0, 0
    for k in range(len(place)):
        m += place[k]
        place[k] = m
    for i in range(len(u)):
        if bucket[i] >= 0:
            p = place[bucket[i]]
            place[bucket[i]] = p + 1
            u_sorted[p], row[p] = u[i], i
    for p in range(1, m):
        if u_sorted[p - 1] <= u_sorted[p]:
            continue
        own, i, q = u_sorted[p], row[p], p
        while q > 0 and u_sorted[q - 1] > own:
            u_sorted[q], row[q] = u_sorted[q - 1], row[q - 1]
            q -= 1
        u_sorted[q], row[q] = own, i
        shifts += p - q
        if shifts > CROWDED * m:
            order = np.argsort(u_sorted[:m])
            u_sorted[:m], row[:m] = u_sorted[:m][order], row[:m][order]
            break
    return m


@jit
def _best_step(
    a: FloatArray,
    b: FloatArray,
    kappa: float,
    vote: FloatArray,
    u: FloatArray,
    row: IntArray,
    noise: float,
    equal: float,
) -> float:
    """Return the step to the middle of the best interval between crossings in order, 0 if none."""
    m, least, widest, best = len(u), np.inf, -np.inf, -1
    noise *= 1.0 + kappa  # of u, for rows of unit size
    error = 0.0  # above that of the interval on the left
    for p in range(m + 1):
        if p > 0:
            i = row[p - 1]
            error += vote[i] if b[i] < 0.0 else -vote[i]
        if error > least + equal:
            continue
        low, high, inexact = -1.0, 1.0, STILL
        if p > 0:
            low = u[p - 1]
            inexact += noise / (kappa * abs(b[i]) + abs(a[i]))
        if p < m:
            j = row[p]
            high = u[p]
            inexact += noise / (kappa * abs(b[j]) + abs(a[j]))
        width = high - low
        if width <= inexact:
            continue
        if low < 0.0 < high:
            width -= 2.0  # the last choice
        if error < least - equal or width > widest:
            least, widest, best = min(error, least), width, p
    if best < 0 or m == 0:
        return 0.0
    i, j = row[max(best - 1, 0)], row[min(best, m - 1)]
    low, high = -a[i] / b[i], -a[j] / b[j]
    if best == 0:
        return high - kappa
    if best == m:
        return low + kappa
    return 0.5 * (low + high)
