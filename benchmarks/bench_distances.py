"""Compare distance matrices with scikit-learn's: time, and memory relative to the result.

Both sides have two threads: scikit-learn's Manhattan distances through ``n_jobs=2``, its
Euclidean distances through BLAS, ours through NUMBA_NUM_THREADS. Run from the repository:
``.venv/bin/python benchmarks/bench_distances.py``.
"""

import os

os.environ.update(
    dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
)

import time
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances, pairwise_distances
from timing import best_times, in_new_process, peak_bytes

from kernsemble.kernels import Perceptron, Stump, l1_distances, l2_distances


def rows(n: int, n_features: int, dtype: str = "float64") -> np.ndarray:
    """Return dense normal rows."""
    return np.random.default_rng(0).normal(size=(n, n_features)).astype(dtype)


def sparse_rows(n: int, n_features: int) -> sparse.csr_array:
    """Return sparse rows with 4 % of the entries stored."""
    return sparse.csr_array(sparse.random(n, n_features, density=0.04, rng=0))


def threaded_manhattan(X: np.ndarray) -> np.ndarray:
    """Return scikit-learn's Manhattan distances, with two threads for 1,000 rows or more."""
    if len(X) < 1_000:
        return manhattan_distances(X)
    return pairwise_distances(X, metric="manhattan", n_jobs=2)


COMPARISONS = [
    *(
        (f"L1, {n:,} x {d}", l1_distances, threaded_manhattan, rows(n, d))
        for n, d in ((300, 20), (1_000, 50), (5_000, 50), (5_000, 300))
    ),
    ("L1, 5,000 x 50, float32", l1_distances, threaded_manhattan, rows(5_000, 50, "float32")),
    ("L1, 5,000 x 300, 4 % stored", l1_distances, manhattan_distances, sparse_rows(5_000, 300)),
    *(
        (f"L2, {n:,} x {d}", l2_distances, euclidean_distances, rows(n, d))
        for n, d in ((300, 20), (1_000, 50), (5_000, 50), (5_000, 300))
    ),
    ("L2, 5,000 x 300, 4 % stored", l2_distances, euclidean_distances, sparse_rows(5_000, 300)),
]


def compare_speed() -> None:
    """Print the times of both sides, run alternately."""
    print("| distances | ours, ms | scikit-learn, ms | ratio |\n|---|---|---|---|")
    for name, our_function, their_function, X in COMPARISONS:
        ours, theirs = best_times(partial(our_function, X), partial(their_function, X))
        print(f"| {name} | {1e3 * ours:.1f} | {1e3 * theirs:.1f} | {theirs / ours:.1f} |")


MATRICES = {
    "L1": l1_distances,
    "L2": l2_distances,
    "(Stump() + Perceptron()) & Stump()": lambda X: ((Stump() + Perceptron()) & Stump()).bind(X)(X),
    "scikit-learn's L1": threaded_manhattan,
    "scikit-learn's L2": euclidean_distances,
}


def memory(name: str) -> float:
    """Return the peak memory of computing a 5,000 x 5,000 matrix, divided by its size."""
    X = rows(5_000, 50)
    MATRICES[name](X[:900])  # compile, start threads
    before = peak_bytes()
    matrix = MATRICES[name](X)
    return (peak_bytes() - before) / matrix.nbytes


def first_call() -> float:
    """Return the time of a first call on ten rows: import Numba, compile or read the cache."""
    start = time.perf_counter()
    l1_distances(rows(10, 3))
    return time.perf_counter() - start


def main() -> None:
    """Print all tables."""
    compare_speed()
    print("\n| matrix of 5,000 x 50 | peak memory / result |\n|---|---|")
    for name in MATRICES:
        print(f"| {name} | {in_new_process(memory, name):.2f} |")
    print(f"\nFirst call in a new process, compiled before: {in_new_process(first_call):.2f} s.")


if __name__ == "__main__":
    main()
