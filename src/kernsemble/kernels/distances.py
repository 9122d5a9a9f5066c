r"""L1 and Euclidean distances between all rows of two matrices.

Dense or CSR, float32 or float64. The cost is rows × rows × features for dense input (half of
that within one matrix), rows × stored entries for sparse input. Euclidean distances are computed
from inner products where that loses at most two digits, and from differences where rows
are close.
"""

import numpy as np
from scipy import sparse

from kernsemble._jit import jit
from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble._validation import as_features
from kernsemble.kernels.gram import TileFunction, fill_gram
from kernsemble.kernels.symbols import SymbolicRows

CLOSE = 0.01  # squared distance of close rows, relative to their squared norms
FEW_COLUMNS = 4096  # largest number of columns for which a sparse tile is made dense
MARKED = -1.0  # a distance that is not yet computed
SQUARABLE = (1e-12, 1e12)  # range of values whose squares float32 can represent


def l1_distances(
    X: ArrayLike, Y: ArrayLike | None = None, out: FloatArray | None = None
) -> FloatArray:
    r"""Return :math:`\sum_d |x_d - y_d|` for every row x of `X` and y of `Y`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features)
        Rows.
    Y : array-like or sparse matrix of shape (m, n_features), optional
        Other rows. Without them the rows of `X` are compared with each other, each pair
        once.
    out : array of shape (n, m), optional
        Array for the result.

    Returns
    -------
    array of shape (n, m)
        Float32 when all input is, float64 otherwise.

    Examples
    --------
    >>> from kernsemble.kernels import l1_distances
    >>> l1_distances([[0, 0], [3, 4]])
    array([[0., 7.],
           [7., 0.]])
    """
    return _distances(l1_tile, X, Y, out)


def l2_distances(
    X: ArrayLike, Y: ArrayLike | None = None, out: FloatArray | None = None
) -> FloatArray:
    r"""Return :math:`(\sum_d (x_d - y_d)^2)^{1/2}` for every row x of `X` and y of `Y`.

    Parameters and result are as for `l1_distances`.

    Examples
    --------
    >>> from kernsemble.kernels import l2_distances
    >>> l2_distances([[0, 0], [3, 4]])
    array([[0., 5.],
           [5., 0.]])
    """
    return _distances(l2_tile, X, Y, out)


def _distances(
    tile: TileFunction, X: ArrayLike, Y: ArrayLike | None, out: FloatArray | None
) -> FloatArray:
    A = as_features(X)
    B = None if Y is None or Y is X else as_features(Y, A.shape[1], "Y")
    return fill_gram(tile, A, B, out)


def l1_tile(A: Rows, B: Rows) -> FloatArray:
    """Return the sums of absolute differences between a few rows."""
    if isinstance(A, SymbolicRows):
        return A.compared_with(B, "l1")
    return _sums(A, B, power=1)


def squared_l2_tile(A: Rows, B: Rows) -> FloatArray:
    r"""Return the sums of squared differences between a few rows.

    They are expanded as :math:`\|a\|^2 + \|b\|^2 - 2a^\top b`, around the mean if dense. Pairs
    for which less than a hundredth of the norms is left are computed from their differences;
    if there are many such pairs of dense rows, the whole tile is.
    """
    if isinstance(A, SymbolicRows):
        return A.compared_with(B, "squared l2")
    dtype = np.result_type(A.dtype, B.dtype)
    is_sparse = sparse.issparse(A) or sparse.issparse(B)
    if is_sparse:
        a, b = (sparse.csr_array(rows, dtype=dtype) for rows in (A, B))
    else:
        A, B = np.array(A, dtype, order="C"), np.array(B, dtype, order="C")
        centre = A.mean(axis=0)
        a, b = A - centre, B - centre
    squares = dot_tile(a, b)
    n_close = _expand(squared_norms(a), squared_norms(b), CLOSE, squares)
    if n_close and is_sparse:
        _fill_marked(a, b, 2, squares)
    elif n_close > CLOSE * squares.size:
        return _sums(A, B, power=2)
    elif n_close:
        _recompute_marked(A, B, squares)
    return squares


def squared_norms(rows: Rows) -> FloatArray:
    """Return the squared length of every row."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)


def l2_tile(A: Rows, B: Rows) -> FloatArray:
    """Return the Euclidean distances between a few rows, at any scale."""
    if isinstance(A, SymbolicRows):
        return np.sqrt(squared_l2_tile(A, B))
    size = max(abs(A).max(), abs(B).max())
    if size > 0.0 and not SQUARABLE[0] < size < SQUARABLE[1]:
        return l2_tile(A / size, B / size) * size
    squares = squared_l2_tile(A, B)
    return np.sqrt(squares, out=squares)


def dot_tile(A: Rows, B: Rows) -> FloatArray:
    """Return the inner products between a few rows; one side of sparse ones is made dense."""
    if isinstance(A, SymbolicRows):
        return A.compared_with(B, "dot")
    if sparse.issparse(A) and sparse.issparse(B) and B.shape[1] <= FEW_COLUMNS:
        return A @ B.T.toarray(order="C")
    products = A @ B.T
    return products.toarray(order="C") if sparse.issparse(products) else products


def _sums(A: Rows, B: Rows, power: int) -> FloatArray:
    r"""Return :math:`\sum_d |a_d - b_d|^p`, p = 1 or 2, from the differences."""
    dtype = np.result_type(A.dtype, B.dtype)
    n, m = A.shape[0], B.shape[0]
    if sparse.issparse(A) or sparse.issparse(B):
        sums = np.full((n, m), MARKED, dtype)
        _fill_marked(A, B, power, sums)
        return sums
    sums = np.zeros((n + n % 2, m), dtype)
    _dense_differences(_even(A, dtype), _even(B, dtype).T.copy(), m, power, sums)
    return sums[:n]


def _fill_marked(A: Rows, B: Rows, power: int, sums: FloatArray) -> None:
    """Replace marks by the sums of sparse differences."""
    row = np.zeros(A.shape[1], sums.dtype)
    _sparse_differences(*_parts(A, sums.dtype), *_parts(B, sums.dtype), power, row, sums)


def _even(rows: FloatArray, dtype: np.dtype[np.floating]) -> FloatArray:
    """Return a copy with even numbers of rows and columns, padded with zeros.

    Copied, so that one compiled version serves read-only and strided input.
    """
    n, n_features = rows.shape
    padded = np.zeros((n + n % 2, n_features + n_features % 2), dtype)
    padded[:n, :n_features] = rows
    return padded


def _parts(rows: Rows, dtype: np.dtype[np.floating]) -> tuple[FloatArray, IntArray, IntArray]:
    rows = sparse.csr_array(rows)
    return (
        rows.data.astype(dtype),
        rows.indices.astype(np.int64),
        rows.indptr.astype(np.int64),
    )


@jit
def _expand(a: FloatArray, b: FloatArray, close: float, products: FloatArray) -> int:
    """Turn inner products into squared distances; mark close pairs and count them."""
    n_close = 0
    for i in range(len(a)):
        for j in range(len(b)):
            scale = a[i] + b[j]
            square = scale - 2.0 * products[i, j]
            is_close = square <= close * scale
            products[i, j] = MARKED if is_close else square
            n_close += is_close
    return n_close


@jit
def _recompute_marked(A: FloatArray, B: FloatArray, squares: FloatArray) -> None:
    for i in range(len(A)):
        for j in range(len(B)):
            if squares[i, j] < 0.0:
                total = 0.0
                for d in range(A.shape[1]):
                    total += (A[i, d] - B[j, d]) * (A[i, d] - B[j, d])
                squares[i, j] = total


@jit
def _dense_differences(A: FloatArray, BT: FloatArray, m: int, power: int, sums: FloatArray) -> None:
    """Add up two features of two rows at a time, which halves the memory traffic."""
    n, n_features = A.shape
    for i in range(0, n, 2):
        for d in range(0, n_features, 2):
            a, b = A[i, d], A[i, d + 1]
            p, q = A[i + 1, d], A[i + 1, d + 1]
            if power == 2:
                for j in range(m):
                    s, t = BT[d, j], BT[d + 1, j]
                    sums[i, j] += (a - s) * (a - s) + (b - t) * (b - t)
                    sums[i + 1, j] += (p - s) * (p - s) + (q - t) * (q - t)
            else:
                for j in range(m):
                    s, t = BT[d, j], BT[d + 1, j]
                    sums[i, j] += abs(a - s) + abs(b - t)
                    sums[i + 1, j] += abs(p - s) + abs(q - t)


@jit
def _size(difference: float, power: int) -> float:
    return difference * difference if power == 2 else abs(difference)


@jit
def _sparse_differences(
    A_data: FloatArray,
    A_indices: IntArray,
    A_indptr: IntArray,
    B_data: FloatArray,
    B_indices: IntArray,
    B_indptr: IntArray,
    power: int,
    row: FloatArray,
    sums: FloatArray,
) -> None:
    """Sum marked pairs over the stored entries of b, then over those of a in other columns.

    `row` contains one row of A, zeros elsewhere; `seen` the last pair with a column stored in b.
    """
    seen = np.full(len(row), -1)
    for i in range(len(A_indptr) - 1):
        for p in range(A_indptr[i], A_indptr[i + 1]):
            row[A_indices[p]] = A_data[p]
        for j in range(len(B_indptr) - 1):
            if sums[i, j] >= 0.0:
                continue
            total, pair = 0.0, i * len(B_indptr) + j
            for p in range(B_indptr[j], B_indptr[j + 1]):
                total += _size(row[B_indices[p]] - B_data[p], power)
                seen[B_indices[p]] = pair
            for p in range(A_indptr[i], A_indptr[i + 1]):
                if seen[A_indices[p]] != pair:
                    total += _size(A_data[p], power)
            sums[i, j] = total
        for p in range(A_indptr[i], A_indptr[i + 1]):
            row[A_indices[p]] = 0
