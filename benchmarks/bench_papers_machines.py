"""Repeat the papers' experiments on artificial data with our machines, 100 draws a cell.

Lin & Li 2008, Tables 2-5: 300 training and 3000 test examples, ten per cent of the training
labels wrong in the sets that end in -n, features as they are drawn (the papers scale real data
only), five folds, the papers' grids, the smallest C on ties. A cell is our mean ± its standard
error, the published mean, and how many combined standard errors lie between. Run from the
repository:
``.venv/bin/python benchmarks/bench_papers_machines.py [draws]``.
"""

import sys
import time
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from kernsemble.datasets import make_ringnorm, make_threenorm, make_twonorm
from kernsemble.kernels import Gaussian, Laplacian, MiddleStump, Perceptron, Stump
from kernsemble.svm import InfiniteEnsembleClassifierCV

GENERATORS = {"twonorm": make_twonorm, "threenorm": make_threenorm, "ringnorm": make_ringnorm}
WIDTHS = 2.0 ** np.arange(-15, 4, 2)
SCALE_FREE_CS, RADIAL_CS = 2.0 ** np.arange(-17, 4, 2), 2.0 ** np.arange(-5, 16, 2)
machine = partial(InfiniteEnsembleClassifierCV, scaling=None)
MACHINES = {
    "SVM-Stump": machine(Stump(), SCALE_FREE_CS),
    "SVM-Mid": machine(MiddleStump(), SCALE_FREE_CS),
    "SVM-Perc": machine(Perceptron(), SCALE_FREE_CS),
    "SVM-Dec": machine([Laplacian(g) for g in WIDTHS], RADIAL_CS),
    "SVM-Gauss": machine([Gaussian(g) for g in WIDTHS], RADIAL_CS),
}
PUBLISHED = {  # mean test error in % and its standard error
    "SVM-Stump": {
        "twonorm": (2.86, 0.04),
        "twonorm-n": (3.08, 0.06),
        "threenorm": (17.7, 0.1),
        "threenorm-n": (19.0, 0.14),
        "ringnorm": (3.97, 0.07),
        "ringnorm-n": (5.56, 0.11),
    },
    "SVM-Mid": {
        "twonorm": (3.1, 0.04),
        "twonorm-n": (3.29, 0.05),
        "threenorm": (18.6, 0.12),
        "threenorm-n": (19.6, 0.13),
        "ringnorm": (5.3, 0.07),
        "ringnorm-n": (7.03, 0.14),
    },
    "SVM-Perc": {
        "twonorm": (2.55, 0.03),
        "twonorm-n": (2.75, 0.05),
        "threenorm": (14.6, 0.08),
        "threenorm-n": (16.3, 0.1),
        "ringnorm": (2.46, 0.04),
        "ringnorm-n": (3.5, 0.09),
    },
    "SVM-Dec": {
        "twonorm": (2.87, 0.04),
        "twonorm-n": (3.1, 0.05),
        "threenorm": (15.0, 0.11),
        "threenorm-n": (16.8, 0.15),
        "ringnorm": (2.25, 0.05),
        "ringnorm-n": (2.67, 0.06),
    },
    "SVM-Gauss": {
        "twonorm": (2.64, 0.05),
        "twonorm-n": (2.86, 0.07),
        "threenorm": (14.6, 0.11),
        "threenorm-n": (15.6, 0.15),
        "ringnorm": (1.77, 0.04),
        "ringnorm-n": (2.05, 0.07),
    },
}


def test_error(candidate: InfiniteEnsembleClassifierCV, name: str, draw: int) -> float:
    """Return the test error in percent on one draw."""
    make = GENERATORS[name.removesuffix("-n")]
    X, y = make(300, flip=0.1 if name.endswith("-n") else 0.0, random_state=draw)
    X_test, y_test = make(3000, random_state=100_000 + draw)
    return 100.0 * (1.0 - candidate.fit(X, y).score(X_test, y_test))


def main() -> None:
    """Print the table."""
    n_draws = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    start = time.perf_counter()
    sets = list(PUBLISHED["SVM-Stump"])
    print("| | " + " | ".join(sets) + " |\n|" + "---|" * (len(sets) + 1))
    for method, candidate in MACHINES.items():
        cells = []
        for name in sets:
            errors = Parallel(n_jobs=2)(
                delayed(test_error)(candidate, name, draw) for draw in range(n_draws)
            )
            mean, spread = np.mean(errors), np.std(errors, ddof=1) / np.sqrt(n_draws)
            published, published_spread = PUBLISHED[method][name]
            apart = (mean - published) / np.hypot(spread, published_spread)
            cells.append(f"{mean:.2f} ± {spread:.2f} ({published}; {apart:+.1f})")
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{n_draws} draws a cell in {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
