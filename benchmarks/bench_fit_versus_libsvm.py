"""Compare one fit on the Laplacian kernel with the official LIBSVM, built with OpenMP.

Both sides have two threads, the same kernel matrix in memory and the same tolerance. LIBSVM
reads the matrix as its "precomputed" kernel with a cache for all of it; building its
problem from the matrix is not timed. Ours is timed without and with computing the
matrix from the rows. Run from the repository, after ``.venv/bin/pip install libsvm-official``:
``.venv/bin/python benchmarks/bench_fit_versus_libsvm.py``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

from functools import partial

import numpy as np
from scipy import sparse
from timing import best_times

from kernsemble.datasets import make_threenorm
from kernsemble.kernels import Laplacian
from kernsemble.solvers import Solution, solve_dual

try:
    from libsvm import svmutil
except ImportError as error:
    raise SystemExit("pip install libsvm-official, then run this again") from error

TOLERANCE = 1e-3


def ours(K: np.ndarray, y: np.ndarray, C: float) -> Solution:
    """Solve with a given matrix."""
    return solve_dual(K, y, np.minimum(0.0, C * y), np.maximum(0.0, C * y), tol=TOLERANCE)


def with_matrix(kernel: Laplacian, X: np.ndarray, y: np.ndarray, C: float) -> Solution:
    """Compute the matrix, and solve."""
    return ours(kernel(X), y, C)


def libsvm_problem(K: np.ndarray, y: np.ndarray) -> svmutil.svm_problem:
    """Return the matrix in LIBSVM's form: rows numbered from one."""
    numbered = np.column_stack([np.arange(1.0, len(y) + 1.0), K])
    return svmutil.svm_problem(y, sparse.csr_matrix(numbered), isKernel=True)


def dual_objective(K: np.ndarray, y: np.ndarray, model: svmutil.svm_model) -> float:
    """Return the dual objective of LIBSVM's coefficients."""
    beta = np.zeros(len(y))
    places = np.array(model.get_sv_indices()) - 1
    beta[places] = np.ravel(model.get_sv_coef())
    beta *= np.sign(beta @ y)  # LIBSVM's positive class is that of the first row
    return float(0.5 * beta @ K @ beta - y @ beta)


def main() -> None:
    """Print the table."""
    print(
        "| rows | C | ours, s | with the matrix, s | LIBSVM, s | ratio | ratio with the matrix "
        "| objectives differ by |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for n, repeats in ((1_000, 5), (3_000, 5), (10_000, 2)):
        X, y = make_threenorm(n, random_state=0)
        y = y.astype(np.float64)
        kernel = Laplacian().bind(X)
        K = kernel(X)
        problem = libsvm_problem(K, y)
        for C in (1.0, 32.0):
            options = svmutil.svm_parameter(f"-t 4 -c {C} -e {TOLERANCE} -m 4000 -q")
            model = svmutil.svm_train(problem, options)
            difference = ours(K, y, C).objective / dual_objective(K, y, model) - 1.0
            times = best_times(
                partial(ours, K, y, C),
                partial(with_matrix, kernel, X, y, C),
                partial(svmutil.svm_train, problem, options),
                repeats=repeats,
            )
            alone, together, theirs = times
            print(
                f"| {n:,} | {C:g} | {alone:.3f} | {together:.3f} | {theirs:.3f} "
                f"| {theirs / alone:.1f} | {theirs / together:.1f} | {abs(difference):.0e} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
