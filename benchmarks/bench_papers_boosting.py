"""Repeat the papers' experiments on artificial data with AdaBoost and LPBoost.

Lin & Li 2008, Tables 2-4: 300 training and 3000 test examples, ten per cent of the training labels
wrong in the sets that end in -n, features as they are drawn, five folds, T from 10 to 1500 or C
from 2^-17 to 2^3, the smallest on ties; at most 1000 columns in a fold, for all C together (the
papers: for each C), or fewer if asked for by --columns. Perceptrons are found by RCD-bias with 200
epochs, from zero or from Fisher's discriminant, for the papers do not say. LPBoost is also told
without a choice, at the largest C. A cell is our mean ± its standard error, the published mean, and
how many combined standard errors lie between; negative is better. Run from the repository:
``.venv/bin/python benchmarks/bench_papers_boosting.py [--draws 20] [--methods AdaBoost-Stump …]
[--sets twonorm …] [--columns 1000]``.
"""

import argparse
import time
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernsemble.boosting import AdaBoostClassifierCV, LPBoostClassifier, LPBoostClassifierCV
from kernsemble.datasets import make_ringnorm, make_threenorm, make_twonorm
from kernsemble.learners import C45Tree, RCDPerceptron

GENERATORS = {"twonorm": make_twonorm, "threenorm": make_threenorm, "ringnorm": make_ringnorm}
LEARNERS = {
    "Stump": None,
    "Perc": RCDPerceptron(start="zero"),
    "Perc, Fisher": RCDPerceptron(start="fisher"),
    "Dec": C45Tree(),
}
METHODS = {
    f"{booster}-{name}": machine(learner)
    for name, learner in LEARNERS.items()
    for booster, machine in (("AdaBoost", AdaBoostClassifierCV), ("LPBoost", LPBoostClassifierCV))
} | {
    f"LPBoost-{name}, C = 8": LPBoostClassifier(learner, C=8.0)
    for name, learner in LEARNERS.items()
}
PUBLISHED = {  # mean test error in % and its standard error
    "AdaBoost-Stump": {
        "twonorm": (5.02, 0.06),
        "twonorm-n": (12.7, 0.17),
        "threenorm": (22.1, 0.12),
        "threenorm-n": (26.1, 0.17),
        "ringnorm": (10.1, 0.14),
        "ringnorm-n": (19.6, 0.2),
    },
    "LPBoost-Stump": {
        "twonorm": (5.58, 0.07),
        "twonorm-n": (17.9, 0.19),
        "threenorm": (24.1, 0.15),
        "threenorm-n": (30.3, 0.16),
        "ringnorm": (10.3, 0.14),
        "ringnorm-n": (22.4, 0.21),
    },
    "AdaBoost-Perc": {
        "twonorm": (3.11, 0.04),
        "twonorm-n": (4.53, 0.1),
        "threenorm": (17.3, 0.11),
        "threenorm-n": (20.0, 0.18),
        "ringnorm": (36.3, 0.14),
        "ringnorm-n": (37.8, 0.2),
    },
    "LPBoost-Perc": {
        "twonorm": (3.52, 0.05),
        "twonorm-n": (6.89, 0.11),
        "threenorm": (18.2, 0.11),
        "threenorm-n": (22.1, 0.13),
        "ringnorm": (37.4, 0.13),
        "ringnorm-n": (39.1, 0.15),
    },
    "AdaBoost-Dec": {
        "twonorm": (3.74, 0.05),
        "twonorm-n": (6.46, 0.09),
        "threenorm": (16.8, 0.09),
        "threenorm-n": (20.2, 0.16),
        "ringnorm": (4.33, 0.06),
        "ringnorm-n": (7.32, 0.12),
    },
    "LPBoost-Dec": {
        "twonorm": (4.8, 0.06),
        "twonorm-n": (7.89, 0.1),
        "threenorm": (18.3, 0.1),
        "threenorm-n": (22.0, 0.12),
        "ringnorm": (6.0, 0.1),
        "ringnorm-n": (8.76, 0.12),
    },
}


def test_error(method: str, name: str, draw: int, columns: int | None) -> float:
    """Return the test error in percent on one draw."""
    make = GENERATORS[name.removesuffix("-n")]
    X, y = make(300, flip=0.1 if name.endswith("-n") else 0.0, random_state=draw)
    X_test, y_test = make(3000, random_state=100_000 + draw)
    machine = clone(METHODS[method]).set_params(random_state=draw)
    if columns is not None and isinstance(machine, LPBoostClassifier):
        machine.set_params(max_columns=columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at 1000 columns, as in the papers
        return 100.0 * (1.0 - machine.fit(X, y).score(X_test, y_test))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--columns", type=int)
    parser.add_argument("--sets", nargs="+", default=list(PUBLISHED["AdaBoost-Stump"]))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    asked = parser.parse_args()
    sets = asked.sets
    print("| | " + " | ".join(sets) + " | minutes |\n|" + "---|" * (len(sets) + 2))
    for method in asked.methods:
        print(f"| {method} |", end="", flush=True)
        start = time.perf_counter()
        for name in sets:
            errors = Parallel(n_jobs=2)(
                delayed(test_error)(method, name, draw, asked.columns)
                for draw in range(asked.draws)
            )
            mean, spread = np.mean(errors), np.std(errors, ddof=1) / np.sqrt(asked.draws)
            published, published_spread = PUBLISHED[method.partition(",")[0]][name]
            apart = (mean - published) / np.hypot(spread, published_spread)
            print(f" {mean:.2f} ± {spread:.2f} ({published}; {apart:+.1f}) |", end="", flush=True)
        print(f" {(time.perf_counter() - start) / 60:.1f} |", flush=True)


if __name__ == "__main__":
    main()
