"""Measure the cost of feature contributions (Shapley values), by kernel and method.

On the breast-cancer data (569 rows, 30 features), with 50 background rows. The error is the root
mean square standard error of sampled contributions, relative to that of the contributions. Run from
the repository: ``.venv/bin/python benchmarks/bench_explain.py``.
"""

from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer
from timing import best_times

from kernsemble.boosting import AdaBoostClassifier
from kernsemble.inspection import EnsembleView
from kernsemble.kernels import Exponential, Gaussian, Laplacian, Perceptron, Stump
from kernsemble.learners import C45Tree
from kernsemble.svm import InfiniteEnsembleClassifier

MODELS = {
    "Stump()": (InfiniteEnsembleClassifier(Stump()), 569),
    "AdaBoost, 100 stumps": (AdaBoostClassifier(), 569),
    "Laplacian()": (InfiniteEnsembleClassifier(Laplacian()), 20),
    "Gaussian()": (InfiniteEnsembleClassifier(Gaussian()), 20),
    "Perceptron()": (InfiniteEnsembleClassifier(Perceptron()), 20),
    "Exponential()": (InfiniteEnsembleClassifier(Exponential()), 20),
    "AdaBoost, 20 trees": (AdaBoostClassifier(C45Tree(), n_estimators=20), 5),
}


def main() -> None:
    """Print the table."""
    X, y = load_breast_cancer(return_X_y=True)
    print("| model | method | view, ms | per row, ms | error |")
    print("|---|---|---|---|---|")
    for name, (model, n) in MODELS.items():
        model.fit(X, y)
        view = EnsembleView.from_estimator(model, X)
        found = view.explain(X[:n])
        looking, explaining = best_times(
            partial(EnsembleView.from_estimator, model, X), partial(view.explain, X[:n]), repeats=3
        )
        error = np.sqrt((found.standard_error**2).mean() / (found.contributions**2).mean())
        print(
            f"| {name} | {found.method} | {1e3 * looking:.1f} | {1e3 * explaining / n:.3g} "
            f"| {error:.2g} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
