import numpy as np
from scipy import sparse

from kernsemble.datasets.fingerprint import fingerprint, unordered_fingerprint


def test_one_changed_value_or_label_changes_the_fingerprint(tiny_values):
    X, y = tiny_values
    whole = fingerprint(X, y)
    X[1, 1] += 1e-12
    assert fingerprint(X, y) != whole
    X, y = X.copy(), y.copy()
    y[0] = -y[0]
    assert fingerprint(X, y) != whole


def test_fingerprint_depends_on_values_and_not_on_their_storage(tiny_values):
    X, y = tiny_values
    whole = fingerprint(X, y)
    assert fingerprint(np.asfortranarray(X), y.astype(np.int8)) == whole
    assert fingerprint(X.astype(np.float32), y) == whole
    assert fingerprint(np.where(X == 0.0, -0.0, X), y) == whole


def test_fingerprint_depends_on_the_fractions_of_a_real_target(tiny_values):
    X, y = tiny_values
    assert fingerprint(X, y + 0.25) != fingerprint(X, y + 0.5)


def test_every_nan_counts_as_one(tiny_values):
    X, y = tiny_values
    X[0, 0] = np.nan
    whole = fingerprint(X, y)
    X[0, 0] = -np.nan
    assert fingerprint(X, y) == whole


def test_sparse_fingerprint_ignores_stored_zeros_and_column_order(tiny_values):
    X, y = tiny_values
    stored_zeros = sparse.csr_array(
        (X[:, ::-1].ravel(), np.tile([1, 0], 4), np.arange(0, 9, 2)), shape=X.shape
    )
    assert fingerprint(stored_zeros, y) == fingerprint(sparse.csr_array(X), y)


def test_unordered_fingerprint_forgets_the_order_of_rows_but_not_their_labels(tiny_values):
    X, y = tiny_values
    order = [2, 0, 3, 1]
    assert fingerprint(X[order], y[order]) != fingerprint(X, y)
    assert unordered_fingerprint(X[order], y[order]) == unordered_fingerprint(X, y)
    assert unordered_fingerprint(X[order], y) != unordered_fingerprint(X, y)
