"""Compare the choice of C by five folds with scikit-learn's grid search over LIBSVM.

Both sides have two workers, the same folds and the same kernel matrix in memory; ours are
threads on one matrix, scikit-learn's are joblib processes. The largest difference of the
cross-validation errors is printed beside the times. Run from the repository:
``.venv/bin/python benchmarks/bench_selection_versus_gridsearch.py``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

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


def ours(matrices: list, y: np.ndarray, Cs: np.ndarray, folds: list) -> np.ndarray:
    """Return the cross-validation error of every matrix at every C."""
    signs = y.astype(float)
    low, high = np.minimum(0.0, signs), np.maximum(0.0, signs)
    held_out = [test for _, test in folds]
    errors = []
    for K in matrices:
        results = solve_folds(K, signs, low, high, Cs, held_out)
        wrong = [
            (np.sign(fold.decisions) != y[test]).mean(axis=1)
            for fold, test in zip(results, held_out, strict=True)
        ]
        errors.append(np.mean(wrong, axis=0))
    return np.array(errors)


def theirs(matrices: list, y: np.ndarray, Cs: np.ndarray, folds: list) -> np.ndarray:
    """Return the same from GridSearchCV over SVC, refitting nothing."""
    errors = []
    for K in matrices:
        search = GridSearchCV(
            SVC(kernel="precomputed"), {"C": Cs}, cv=folds, n_jobs=2, refit=False
        ).fit(K, y)
        errors.append(1.0 - search.cv_results_["mean_test_score"])
    return np.array(errors)


def compare(name: str, matrices: list, y: np.ndarray, Cs: np.ndarray, repeats: int) -> None:
    """Print one row: times, ratio, and how far the errors are apart."""
    folds = list(StratifiedKFold(5).split(y, y))
    difference = np.abs(ours(matrices, y, Cs, folds) - theirs(matrices, y, Cs, folds)).max()
    sides = (partial(side, matrices, y, Cs, folds) for side in (ours, theirs))
    fast, slow = best_times(*sides, repeats=repeats)
    n_problems = 5 * len(Cs) * len(matrices)
    print(
        f"| {name} | {n_problems} | {fast:.3f} | {slow:.2f} | {slow / fast:.1f} "
        f"| {100 * difference:.2f} |",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    print("| selection | problems | ours, s | grid search, s | ratio | errors differ by, % |")
    print("|---|---|---|---|---|---|")
    for n, repeats in ((300, 7), (1_000, 3), (3_000, 2)):
        X, y = make_threenorm(n, random_state=0)
        compare(f"SVM-Stump, {n:,} rows", [Stump().bind(X)(X)], y, STUMP_CS, repeats)
    X, y = make_threenorm(300, random_state=0)
    trees = [Laplacian(gamma)(X) for gamma in TREE_GAMMAS]
    compare("SVM-Dec, 300 rows, 10 widths", trees, y, TREE_CS, 3)


if __name__ == "__main__":
    main()
