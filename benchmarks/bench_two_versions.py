"""Compare the times of two checkouts of kernsemble, side by side, best of several repeats.

Each workload runs in processes of its own, in turn with the one and with the other checkout, after
a first call that compiles. Ratios above 1 mean that this checkout is faster. Run from the
repository: ``.venv/bin/python benchmarks/bench_two_versions.py PATH_OF_THE_OTHER_CHECKOUT``.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
HERE = Path(__file__).parents[1]
COMMON = """
from kernsemble.datasets import make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifier as Plain
from kernsemble.svm import InfiniteEnsembleClassifierCV as Tuned
from kernsemble.svm import InfiniteEnsembleRegressorCV as TunedRegressor
"""
WORKLOADS = {  # set-up, timed expression, number of repeats in a process
    "select C, stumps, 300 rows": ("X, y = make_threenorm(300, random_state=0)",
        "Tuned().fit(X, y)", 7),
    "select C, stumps, 1,000 rows": ("X, y = make_threenorm(1_000, random_state=0)",
        "Tuned().fit(X, y)", 5),
    "select C, stumps, 3,000 rows": ("X, y = make_threenorm(3_000, random_state=0)",
        "Tuned().fit(X, y)", 2),
    "select among 4 kernels and 2 scalings, 500 rows": (
        "X, y = make_threenorm(500, random_state=0)",
        "Tuned(['stump', 'perceptron', 'laplacian', 'exponential'], scaling=['range', 'rank'])"
        ".fit(X, y)", 3),
    "race (kernel='auto'), 1,000 rows": ("X, y = make_threenorm(1_000, random_state=0)",
        "Tuned('auto', random_state=0).fit(X, y)", 3),
    "select C and epsilon, regression, 500 rows": (
        "X, y = make_threenorm(500, random_state=0)",
        "TunedRegressor().fit(X, X[:, 0] + y)", 3),
    "fit, exact, 2,000 rows": ("X, y = make_threenorm(2_000, random_state=0)",
        "Plain('perceptron', C=1.0).fit(X, y)", 5),
    "fit, additive, 10,000 rows": ("X, y = make_threenorm(10_000, random_state=0)",
        "Plain().fit(X, y)", 5),
    "fit, additive, 100,000 rows": ("X, y = make_threenorm(100_000, random_state=0)",
        "Plain().fit(X, y)", 3),
    "fit, additive, 1,000,000 rows": ("X, y = make_threenorm(1_000_000, random_state=0)",
        "Plain().fit(X, y)", 2),
    "select C, additive logistic, 20,000 rows": ("X, y = make_threenorm(20_000, random_state=0)",
        "Tuned(loss='logistic').fit(X, y)", 3),
    "predict 100,000 rows, additive": (
        "X, y = make_threenorm(100_000, random_state=0); model = Plain().fit(X, y)",
        "model.predict(X)", 5),
    "predict 10,000 rows, exact": (
        "X, y = make_threenorm(10_000, random_state=0); model = Plain().fit(X[:1000], y[:1000])",
        "model.predict(X)", 5),
}  # fmt: skip


def seconds(checkout: Path, workload: tuple[str, str, int]) -> float:
    """Return the best time of a workload in a new process that imports one checkout."""
    setup, expression, repeats = workload
    program = (
        f"{COMMON}\n{setup}\nimport time\n{expression}\nbest = float('inf')\n"
        f"for _ in range({repeats}):\n"
        f"    start = time.perf_counter()\n    {expression}\n"
        "    best = min(best, time.perf_counter() - start)\nprint(best)\n"
    )
    environment = {**os.environ, **dict.fromkeys(THREADS, "2"), "PYTHONPATH": f"{checkout}/src"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=2, help="processes per checkout")
    arguments = parser.parse_args()
    print("| workload | other, s | this, s | ratio |\n|---|---|---|---|")
    for name, workload in WORKLOADS.items():
        found = {HERE: [], arguments.other: []}
        for number in range(arguments.rounds):
            order = list(found) if number % 2 else list(found)[::-1]
            for checkout in order:
                found[checkout].append(seconds(checkout.resolve(), workload))
        this, other = min(found[HERE]), min(found[arguments.other])
        print(f"| {name} | {other:.3f} | {this:.3f} | {other / this:.2f} |", flush=True)


if __name__ == "__main__":
    main()
