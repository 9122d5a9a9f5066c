r"""Least squares on subsets of columns, from their inner products, and a memory of scores.

Subsets are rows of boolean arrays. A subset of k columns costs O(k³), for any number of rows.
"""

from typing import NamedTuple, Self

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray

COLLINEAR = 1e-7  # remaining share of a column's variance at which it depends on earlier ones
PERFECT = 1e-8  # share of the variance of y at which residuals may be rounding


class Moments(NamedTuple):
    r"""Inner products of columns, and of y as the last one, centred and scaled to length one.

    Attributes
    ----------
    gram : array of shape (p + 1, p + 1)
        Correlations; those of a constant column are zero.
    n : float
        Number of rows, with repetitions.
    variance : float
        Variance of y; one if y is constant.
    """

    gram: FloatArray
    n: float
    variance: float

    @classmethod
    def from_rows(cls, X: FloatArray, y: FloatArray, weight: FloatArray) -> Self:
        """Return the moments of weighted rows, in O(n p²)."""
        share = weight / weight.sum()
        columns = np.sqrt(share)[:, np.newaxis] * standardised(np.column_stack([X, y]), weight)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            variance = float(share @ (y - share @ y) ** 2) if columns[:, -1].any() else 1.0
        if not np.isfinite(variance):
            raise ValueError("the variance of y exceeds the range of floats: divide y by a number")
        return cls(columns.T @ columns, float(weight.sum()), variance)


def standardised(X: FloatArray, weight: FloatArray) -> FloatArray:
    """Return columns of weighted mean zero and variance one; constant columns become zero."""
    share = weight / weight.sum()
    largest = np.abs(X).max(axis=0)
    columns = X / np.where(largest > 0.0, largest, 1.0)  # so that no square overflows
    columns -= share @ columns
    columns -= share @ columns  # removes rounding errors
    deviation = np.sqrt(share @ columns**2)
    is_constant = deviation <= 1e-14 * np.sqrt(len(X))
    columns[:, is_constant] = 0.0
    return columns / np.where(is_constant, 1.0, deviation)


def residual_shares(moments: Moments, subsets: BoolArray) -> FloatArray:
    r"""Return the share of the variance of y that each subset leaves unexplained.

    .. math:: \min_{a, b} \|y - a - X_S b\|^2 \, / \, \min_a \|y - a\|^2

    A subset of k columns costs O(k³). Columns that depend linearly on others add nothing.
    Shares are at least 1e-8, so that all perfect fits are equal up to rounding.
    """
    shares = np.empty(len(subsets))
    _residual_shares(moments.gram, subsets, subsets.sum(axis=1).max(initial=0), shares)
    return shares


@jit
def _residual_shares(
    gram: FloatArray, subsets: BoolArray, largest_size: int, shares: FloatArray
) -> None:
    room = np.empty((largest_size + 1, largest_size + 1))
    chosen = np.empty(largest_size + 1, dtype=np.int64)
    for place in range(len(subsets)):
        k = 0
        for column in range(subsets.shape[1]):
            if subsets[place, column]:
                chosen[k] = column
                k += 1
        chosen[k] = len(gram) - 1
        for i in range(k + 1):
            for j in range(i, k + 1):
                room[i, j] = gram[chosen[i], chosen[j]]
        for r in range(k):  # removes the part that column r explains of the later ones
            pivot = room[r, r]
            if pivot > COLLINEAR:
                for i in range(r + 1, k + 1):
                    factor = room[r, i] / pivot
                    left, taken = room[i, i : k + 1], room[r, i : k + 1]
                    for j in range(len(left)):  # from zero, so that it is vectorised
                        left[j] -= factor * taken[j]
        shares[place] = max(room[k, k], PERFECT)


class SubsetMemory:
    """Scores of the subsets seen so far: a hash table on their bits.

    Parameters
    ----------
    n_columns : int
        Number of columns to select from.
    """

    def __init__(self, n_columns: int) -> None:
        self._n_words = -(-n_columns // 64)
        self._make_room(256)

    def _make_room(self, capacity: int) -> None:
        self._keys = np.empty((capacity // 2, self._n_words), dtype=np.uint64)
        self._scores = np.empty(capacity // 2)
        self._slots = np.full(capacity, -1, dtype=np.int64)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def scores(self) -> FloatArray:
        """The stored scores, in the order in which subsets were first seen; writable."""
        return self._scores[: self._n]

    def places(self, subsets: BoolArray) -> tuple[IntArray, IntArray]:
        """Return the place of each subset's score, and the new subsets, without repetitions."""
        keys = np.zeros((len(subsets), 8 * self._n_words), dtype=np.uint8)
        bits = np.packbits(subsets, axis=1)
        keys[:, : bits.shape[1]] = bits
        words = keys.view(np.uint64)
        if self._n + len(words) > len(self._scores):
            self._grow(self._n + len(words))
        places = np.empty(len(words), dtype=np.int64)
        n_before = self._n
        self._n = _insert(words, _hashes(words), self._keys, self._slots, n_before, places)
        _, first = np.unique(places, return_index=True)
        return places, first[places[first] >= n_before]

    def _grow(self, n: int) -> None:
        keys, scores = self._keys[: self._n], self.scores
        self._make_room(4 * n)
        places = np.empty(len(keys), dtype=np.int64)
        self._n = _insert(keys, _hashes(keys), self._keys, self._slots, 0, places)
        self._scores[: self._n] = scores


def _hashes(words: IntArray) -> IntArray:
    """Return a hash of each row of 64-bit words (after FNV)."""
    mixed = np.full(len(words), 14695981039346656037, dtype=np.uint64)
    for word in words.T:
        mixed = (mixed ^ word) * np.uint64(1099511628211)  # modulo 2^64
        mixed ^= mixed >> np.uint64(29)
    return mixed


@jit
def _insert(
    words: IntArray,
    hashes: IntArray,
    keys: IntArray,
    slots: IntArray,
    n_keys: int,
    places: IntArray,
) -> int:
    """Find each row of words among the keys, or append it; return the number of keys."""
    for row in range(len(words)):
        slot = np.int64(hashes[row] % np.uint64(len(slots)))
        while True:
            place = slots[slot]
            if place < 0:
                slots[slot] = n_keys
                keys[n_keys] = words[row]
                place = n_keys
                n_keys += 1
                break
            if np.all(keys[place] == words[row]):
                break
            slot = (slot + 1) % len(slots)
        places[row] = place
    return n_keys
