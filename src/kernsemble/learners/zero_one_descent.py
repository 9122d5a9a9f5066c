"""Minimisation of the 0/1 error of a half-space by exact line searches, compiled."""

from typing import NamedTuple, Self

import numpy as np

from kernsemble._jit import jit, jit_sums
from kernsemble._typing import BoolArray, FloatArray, IntArray

ROUNDING = 1e-15  # relative rounding error of a product per component, nine times its bound
STILL = 1e-12  # movement along a direction, relative to the row's size, treated as none
SAME = 1e-12  # difference of errors, relative to the total weight, treated as none
DRIFT = 4.0  # rounding error of updated scores, in units of a product's, before recomputation
ROWS_PER_BUCKET = 5  # mean number; fewer rows mean more buckets to scan, more rows more sorting
DIRECTIONS_PER_BLOCK = 32  # number of directions that rows are projected on at once
MAGNITUDE = 2**63 - 1  # mask of the bits of a float without its sign
MAX_INSERTION_SORT = 64  # largest number of crossings sorted by insertion


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
    neighbouring crossings: these are sorted, cumulative sums of the signed weights are the errors
    of all intervals, and w moves to the middle of a best one, or :math:`\max|a| / \max|b|`
    beyond the last crossing if the interval is unbounded. Of several best intervals the widest is
    selected, measured by :math:`t / (\max|a| / \max|b| + |t|)`, and the one that contains w only
    if there is no other, so that w moves between equally good hyperplanes. Intervals that may be
    due to rounding are skipped, and the error is counted again after each step, which is
    undone if the error has risen.

    Parameters
    ----------
    X : array of shape (n, D)
        Rows, not far from the origin compared with their spread.
    signs : array of shape (n,)
        Their classes y, −1 or +1. The sign of zero is −1.
    weight : array of shape (n,)
        Positive weights of the rows.
    directions : array of shape (n_epochs, D + 1)
        Unit vectors d; the last component moves the bias.
    w0 : array of shape (D + 1,)
        Initial vector, for example zero.

    Returns
    -------
    w : array of shape (D + 1,)
        Last vector, of unit length: the best one, as the error never rises.
    errors : array of shape (n_epochs + 1,)
        Error at the start and after each epoch.

    Notes
    -----
    The cost is O(n D) per epoch, and none once the error is zero. Few crossings are sorted: the
    falls and rises of the error are summed in buckets along the line, and only buckets in which
    the error may get as low as between two buckets are scanned row by row. Scores of w are
    updated by those of d, and recomputed before rounding errors accumulate.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.learners.zero_one_descent import minimise_error
    >>> X, signs = np.array([[0.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0])
    >>> w, errors = minimise_error(X, signs, np.ones(3), np.eye(2)[[1, 0]], np.zeros(2))
    >>> errors, w / w[0]
    (array([0.333, 0.333, 0.   ]), array([ 1.   , -1.333]))
    """
    return Projections.from_rows(X).minimise_error(signs, weight, directions, w0)


class Projections(NamedTuple):
    """Rows stored by column, and the rounding error of their product with a unit vector."""

    columns: FloatArray
    noise: float

    @classmethod
    def from_rows(cls, X: FloatArray) -> Self:
        """Prepare rows for any number of minimisations."""
        longest = np.sqrt(1.0 + np.einsum("ij,ij->i", X, X).max())
        return cls(np.ascontiguousarray(X.T), ROUNDING * (X.shape[1] + 1) * longest)

    def minimise_error(
        self, signs: FloatArray, weight: FloatArray, directions: FloatArray, w0: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Minimise the error, see the function of that name."""
        length = np.sqrt(w0 @ w0)
        start = w0 / length if length > 0.0 else w0.copy()
        w, errors = _descend(self.columns, signs, weight, directions, start, self.noise)
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
    n, D = len(signs), len(columns)
    a, a_moved, moved = np.empty((1, n)), np.empty((1, n)), np.empty((1, D + 1))  # scores, next w
    B = np.empty((DIRECTIONS_PER_BLOCK, n))  # scores of a block of directions
    vote, equal = signs * weight, SAME * weight.sum()
    u, delta, bucket = np.empty(n), np.empty(n), np.empty(n, dtype=np.uint32)
    n_buckets = n // ROWS_PER_BUCKET + 1
    change, error_before = np.empty((n_buckets + 1, 2)), np.empty(n_buckets)
    is_listed, row = np.empty(n_buckets + 1, dtype=np.bool_), np.empty(n, dtype=np.uint32)
    w = w.copy().reshape(1, D + 1)
    _project(columns, w, a)
    drift, error = 1.0, _error(a[0], signs, weight)
    errors = np.zeros(len(directions) + 1)
    errors[0] = error
    for epoch in range(len(directions)):
        if error == 0.0:
            break
        if epoch % DIRECTIONS_PER_BLOCK == 0:
            _project(columns, directions[epoch : epoch + DIRECTIONS_PER_BLOCK], B)
        b, d = B[epoch % DIRECTIONS_PER_BLOCK], directions[epoch]
        kappa = _typical_crossing(a[0], b, noise)
        if kappa > 0.0:
            _cross(a[0], b, vote, kappa, u, delta, bucket, change)
            limit = _shortlist(change, error_before, is_listed, equal)
            m = _sort(u, bucket, is_listed, row)
            t, least = _best_step(
                a[0], b, kappa, u, delta, bucket, error_before, row[:m], limit, noise, equal
            )
            if least > limit - equal:  # the apparent best interval is due to rounding
                is_listed[:n_buckets] = True
                m = _sort(u, bucket, is_listed, row)
                t, _ = _best_step(
                    a[0], b, kappa, u, delta, bucket, error_before, row[:m], np.inf, noise, equal
                )
            length = _move(w[0], t, d, moved[0])
            if length > 0.0:
                drift_moved = (drift + abs(t) + 3.0 * (1.0 + abs(t)) / (D + 1.0)) / length
                if drift_moved > DRIFT:
                    drift_moved = 1.0
                    _project(columns, moved, a_moved)
                else:
                    for i in range(n):
                        a_moved[0, i] = (a[0, i] + t * b[i]) / length
                error_moved = _error(a_moved[0], signs, weight)
                if error_moved <= error + equal:
                    w, moved, a, a_moved = moved, w, a_moved, a
                    error, drift = min(error, error_moved), drift_moved
        errors[epoch + 1] = error
    return w[0], errors


@jit
def _move(w: FloatArray, t: float, d: FloatArray, moved: FloatArray) -> float:
    """Fill in w + t d at unit length; return its length before, 0 if w does not move."""
    squares = 0.0
    for k in range(len(w)):
        moved[k] = w[k] + t * d[k]
        squares += moved[k] * moved[k]
    length = np.sqrt(squares)
    if length > 0.0:
        moved /= length
    return length if t != 0.0 else 0.0


@jit
def _project(columns: FloatArray, directions: FloatArray, scores: FloatArray) -> None:
    """Fill in d'(x, 1) for all directions and rows, four columns per pass.

    Equal rows get exactly equal scores.
    """
    D = len(columns)
    for k in range(len(directions)):
        d, score = directions[k], scores[k]
        score[:] = d[D]
        for c in range(0, D - 3, 4):
            first, second, third = columns[c], columns[c + 1], columns[c + 2]
            fourth = columns[c + 3]
            d1, d2, d3, d4 = d[c], d[c + 1], d[c + 2], d[c + 3]
            for i in range(len(score)):
                score[i] += d1 * first[i] + d2 * second[i] + d3 * third[i] + d4 * fourth[i]
        for c in range(D - D % 4, D):
            column, d1 = columns[c], d[c]
            for i in range(len(score)):
                score[i] += d1 * column[i]


@jit_sums
def _error(a: FloatArray, signs: FloatArray, weight: FloatArray) -> float:
    error = 0.0
    for i in range(len(a)):
        error += weight[i] if (a[i] > 0.0) != (signs[i] > 0.0) else 0.0
    return error


@jit
def _typical_crossing(a: FloatArray, b: FloatArray, noise: float) -> float:
    """Return the typical distance of crossings, 1 for the zero vector; 0 if no row moves.

    It depends on the largest scores only, which repetitions and the order of rows do not change.
    """
    size, speed = _largest(a), _largest(b)
    if speed <= noise:
        return 0.0
    return size / speed if size > 0.0 else 1.0


@jit
def _largest(a: FloatArray) -> float:
    """Return the largest absolute value, by comparing bits as integers, which have its order."""
    bits, largest = a.view(np.int64), np.zeros(1, dtype=np.int64)
    for i in range(len(a)):
        largest[0] = max(largest[0], bits[i] & MAGNITUDE)
    return largest.view(np.float64)[0]


@jit
def _cross(
    a: FloatArray,
    b: FloatArray,
    vote: FloatArray,
    kappa: float,
    u: FloatArray,
    delta: FloatArray,
    bucket: IntArray,
    change: FloatArray,
) -> None:
    r"""Fill in the crossings of rows, as :math:`u = t / (\kappa + |t|)`, and put them in buckets.

    u is between −1 and 1 and spreads rows evenly where a and b are of similar size, so buckets
    have equal width. Rows that do not move are in an extra bucket, the last. `delta` is the
    increase of the error when a row crosses, and `change` the rises and falls in each bucket.
    """
    half, none = 0.5 * (len(change) - 1), np.int32(len(change) - 1)
    for i in range(len(a)):
        size = kappa * abs(b[i]) + abs(a[i])
        own = (-a[i] if b[i] > 0.0 else a[i]) / (size if size > 0.0 else 1.0)
        moves = (abs(own) < 1.0 - STILL) & (b[i] != 0.0)
        u[i] = own
        delta[i] = vote[i] if b[i] < 0.0 else -vote[i]
        bucket[i] = np.int32(half * (own + 1.0)) if moves else none
    change[:] = 0.0
    for i in range(len(a)):
        change[bucket[i], np.uint32(delta[i] < 0.0)] += delta[i]


@jit
def _shortlist(
    change: FloatArray, error_before: FloatArray, is_listed: BoolArray, equal: float
) -> float:
    """Mark the buckets with ends of intervals that may be best; return the limit of their errors.

    Errors are relative to the leftmost interval. They are exact between buckets, as `error_before`
    the next one, and within a bucket bounded below by leaving out its rises.
    """
    error, least, n_buckets = 0.0, 0.0, len(error_before)
    for k in range(n_buckets):
        error_before[k] = error
        error += change[k, 0] + change[k, 1]
        least = min(least, error)
    limit = least + 2.0 * equal
    is_listed[:] = False
    for k in range(n_buckets):
        if error_before[k] + change[k, 1] > limit:
            continue
        is_listed[k] = True
        if error_before[k] <= limit:
            _list_last(change, k, is_listed)
    if error <= limit:
        _list_last(change, n_buckets, is_listed)
    return limit


@jit
def _list_last(change: FloatArray, k: int, is_listed: BoolArray) -> None:
    """Mark the last non-empty bucket before the k-th."""
    k -= 1
    while k >= 0 and change[k, 0] == 0.0 and change[k, 1] == 0.0:
        k -= 1
    if k >= 0:
        is_listed[k] = True


@jit
def _sort(u: FloatArray, bucket: IntArray, is_listed: BoolArray, row: IntArray) -> int:
    """Fill in the rows of marked buckets in the order of their crossings; return their number."""
    m = 0
    for i in range(len(u)):
        if is_listed[bucket[i]]:
            row[m] = i
            m += 1
    if m > MAX_INSERTION_SORT:
        row[:m] = row[:m][np.argsort(u[row[:m]])]
        return m
    for p in range(1, m):
        i, q = row[p], p
        while q > 0 and u[row[q - 1]] > u[i]:
            row[q] = row[q - 1]
            q -= 1
        row[q] = i
    return m


@jit
def _best_step(
    a: FloatArray,
    b: FloatArray,
    kappa: float,
    u: FloatArray,
    delta: FloatArray,
    bucket: IntArray,
    error_before: FloatArray,
    row: IntArray,
    limit: float,
    noise: float,
    equal: float,
) -> tuple[float, float]:
    """Return the step to the middle of the best interval between marked crossings, and its error.

    Where the preceding row is not marked, the error is above the limit.
    """
    m, least, widest, best = len(row), np.inf, -np.inf, -1
    noise *= 1.0 + kappa  # rounding error of u, for rows of unit size
    error, i, j, own = 0.0, np.uint32(0), np.uint32(0), -1
    for p in range(m + 1):
        if p > 0:
            i = j
            error += delta[i]
        if p < m:
            j = row[p]
            error = error if bucket[j] == own else error_before[bucket[j]]
            own = bucket[j]
        if error > limit or error > least + equal:
            continue
        lower, upper, inexact = -1.0, 1.0, STILL
        if p > 0:
            lower = u[i]
            inexact += noise / (kappa * abs(b[i]) + abs(a[i]))
        if p < m:
            upper = u[j]
            inexact += noise / (kappa * abs(b[j]) + abs(a[j]))
        width = upper - lower
        if width <= inexact:
            continue
        if lower < 0.0 < upper:
            width -= 2.0  # the present interval, only if there is no other
        if error < least - equal or width > widest:
            least, widest, best = min(error, least), width, p
    return _step(a, b, kappa, row, best) if best >= 0 and m > 0 else 0.0, least


@jit
def _step(a: FloatArray, b: FloatArray, kappa: float, row: IntArray, best: int) -> float:
    """Return the step to the middle of the interval before a crossing, or beyond all of them."""
    i, j = row[max(best - 1, 0)], row[min(best, len(row) - 1)]
    lower, upper = -a[i] / b[i], -a[j] / b[j]
    if best == 0:
        return upper - kappa
    if best == len(row):
        return lower + kappa
    return 0.5 * (lower + upper)
