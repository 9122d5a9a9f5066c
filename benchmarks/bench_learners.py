"""Time rounds of AdaBoost on perceptrons and on trees, and fits with a tuned number of rounds.

One thread, without compilation, processor time, best of several runs: the first 60 rounds of
`AdaBoostClassifier`, and `AdaBoostClassifierCV` with 10, 20, … up to the given number of rounds,
on five folds.

Run from the repository: ``.venv/bin/python benchmarks/bench_learners.py [--rounds 1500]``.
"""

import argparse
import os
import time

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

from kernsemble.boosting import AdaBoostClassifier, AdaBoostClassifierCV
from kernsemble.experiments.paper_data import draw
from kernsemble.learners import C45Tree, RCDPerceptron

PROBLEMS = ("twonorm-n", "threenorm", "german", "pima")
ROUNDS_TIMED, REPEATS = 60, 8


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1500)
    grid = range(10, parser.parse_args().rounds + 1, 10)
    print(
        "| learner | problem | rows | per round, ms | tuned fit, s | selected rounds "
        "| test error, % |"
    )
    print("|" + "---|" * 7)
    for learner in (RCDPerceptron(), C45Tree()):
        AdaBoostClassifier(learner, 2, random_state=0).fit([[0.0], [1.0], [0.5]] * 5, [0, 1, 1] * 5)
        for name in PROBLEMS:
            X, y, X_test, y_test = draw(name, 0, is_scaled=True)
            times = []
            for _ in range(REPEATS):
                start = time.process_time()
                machine = AdaBoostClassifier(learner, ROUNDS_TIMED, random_state=0).fit(X, y)
                times.append(time.process_time() - start)
            start = time.process_time()
            tuned = AdaBoostClassifierCV(learner, grid, random_state=0).fit(X, y)
            elapsed, error = time.process_time() - start, 1.0 - tuned.score(X_test, y_test)
            per_round = 1e3 * min(times) / len(machine.estimator_weights_)
            print(
                f"| {type(learner).__name__} | {name} | {len(y)} | {per_round:.2f} | {elapsed:.1f} "
                f"| {tuned.n_estimators_} | {100 * error:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
