"""Time of the vote of ``kernel="auto"`` by number of rows, and whether `time_budget` holds.

Threenorm with 20 features, two classes; the seconds are those of one fit after a fit to 200 rows
that loads and compiles code, the accuracy is that on 3,000 other rows. Run from the repository:
``.venv/bin/python benchmarks/bench_vote.py``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import time

from kernsemble.datasets import make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifierCV

CASES = [
    *((n_rows, None) for n_rows in (500, 1_000, 2_000, 3_000, 6_000, 10_000)),
    *((n_rows, 5.0) for n_rows in (2_000, 6_000)),
]


def main() -> None:
    """Print a row per number of rows and time budget."""
    X_test, y_test = make_threenorm(3_000, random_state=1)
    few = make_threenorm(200, random_state=2)
    InfiniteEnsembleClassifierCV(random_state=0).fit(*few)
    print("| rows | time_budget, s | fit, s | members | accuracy |\n|---|---|---|---|---|")
    for n_rows, budget in CASES:
        X, y = make_threenorm(n_rows, random_state=0)
        model = InfiniteEnsembleClassifierCV(time_budget=budget, random_state=0)
        start = time.perf_counter()
        model.fit(X, y)
        seconds, score = time.perf_counter() - start, model.score(X_test, y_test)
        cells = (
            f"{n_rows:,}",
            budget or "none",
            f"{seconds:.1f}",
            len(model.members_),
            f"{score:.3f}",
        )
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
