"""Compare tuning C by five-fold cross-validation with scikit-learn's grid search over LIBSVM.

All sides have the same folds and the same kernel matrix in memory. Ours runs two threads on one
matrix; scikit-learn's GridSearchCV is timed both serially (n_jobs=1) and with two processes
(n_jobs=2), and the ratio is against the faster of the two. The largest difference of the
cross-validation errors is printed beside the times. Run from the repository:
``.venv/bin/python benchmarks/bench_selection_versus_gridsearch.py [--rows 300 1000 3000]
[--widths 10]``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import argparse
from functools import partial

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from timing import best_times

from kernsemble.datasets import make_threenorm
from kernsemble.kernels import Laplacian, Stump
from kernsemble.solvers import solve_folds

STUMP_CS = 2.0 ** np.arange(-17, 4, 2)
TREE_CS = 2.0 ** np.arange(-5, 16, 2)
TREE_GAMMAS = 2.0 ** np.arange(-15, 4, 2)
TREE_ROWS, TREE_REPEATS = 300, 3


def ours(matrices: list, y: np.ndarray, Cs: np.ndarray, folds: list) -> np.ndarray:
    """Return the cross-validation error of every matrix at every C."""
    signs = y.astype(float)
    lower, upper = np.minimum(0.0, signs), np.maximum(0.0, signs)
    held_out = [test for _, test in folds]
    errors = []
    for K in matrices:
        results = solve_folds(K, signs, lower, upper, Cs, held_out)
        wrong = [
            (np.sign(fold.decisions) != y[test]).mean(axis=1)
            for fold, test in zip(results, held_out, strict=True)
        ]
        errors.append(np.mean(wrong, axis=0))
    return np.array(errors)


def grid_search(
    matrices: list, y: np.ndarray, Cs: np.ndarray, folds: list, n_jobs: int
) -> np.ndarray:
    """Return the same errors from GridSearchCV over SVC, without refitting."""
    errors = []
    for K in matrices:
        search = GridSearchCV(
            SVC(kernel="precomputed"), {"C": Cs}, cv=folds, n_jobs=n_jobs, refit=False
        ).fit(K, y)
        errors.append(1.0 - search.cv_results_["mean_test_score"])
    return np.array(errors)


def compare(name: str, matrices: list, y: np.ndarray, Cs: np.ndarray, repeats: int) -> None:
    """Print one row: times, the ratio to the faster rival, and the difference of the errors."""
    folds = list(StratifiedKFold(5).split(y, y))
    sides = (
        partial(ours, matrices, y, Cs, folds),
        *(partial(grid_search, matrices, y, Cs, folds, n_jobs) for n_jobs in (1, 2)),
    )
    difference = np.abs(sides[0]() - sides[1]()).max()
    fast, serial, parallel = best_times(*sides, repeats=repeats)
    n_problems = 5 * len(Cs) * len(matrices)
    print(
        f"| {name} | {n_problems} | {fast:.3f} | {serial:.2f} | {parallel:.2f} "
        f"| {min(serial, parallel) / fast:.1f} | {100 * difference:.2f} |",
        flush=True,
    )


def n_repeats(n: int) -> int:
    """Return the number of timed runs for n rows."""
    return 7 if n <= 300 else 3 if n <= 1_000 else 2


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[300, 1_000, 3_000])
    parser.add_argument(
        "--widths", type=int, default=len(TREE_GAMMAS), help="number of tree kernels, 0 for none"
    )
    arguments = parser.parse_args()
    print(
        "| selection | problems | ours, s | grid search, 1 job, s | 2 jobs, s "
        "| ratio to the faster | errors differ by, % |"
    )
    print("|---|---|---|---|---|---|---|")
    for n in arguments.rows:
        X, y = make_threenorm(n, random_state=0)
        compare(f"SVM-Stump, {n:,} rows", [Stump().bind(X)(X)], y, STUMP_CS, n_repeats(n))
    gammas = TREE_GAMMAS[: arguments.widths]
    if len(gammas):
        X, y = make_threenorm(TREE_ROWS, random_state=0)
        trees = [Laplacian(gamma)(X) for gamma in gammas]
        name = f"SVM-Dec, {TREE_ROWS} rows, {len(gammas)} widths"
        compare(name, trees, y, TREE_CS, TREE_REPEATS)


if __name__ == "__main__":
    main()
