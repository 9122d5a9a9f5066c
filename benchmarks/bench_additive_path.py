"""Time the additive machine along C, with this checkout and another one, in turn.

Cross-validation of every C on the default grid, with each loss, and one fit of perceptrons: the
same workloads in processes of their own with two threads, after a first call that compiles. The
last column is the largest difference of a mean validation score, or the relative one of objectives.
Run from the repository: ``.venv/bin/python benchmarks/bench_additive_path.py OTHER_CHECKOUT``;
KERNSEMBLE_DATA names the folder of data sets.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parents[1]
THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
PROGRAM = """
import json, time
import numpy as np
from kernsemble.datasets import load, make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV
from kernsemble.svm import InfiniteEnsembleRegressorCV

def rows(name):
    data = load(name)
    some = data.splits[0].train if data.splits else slice(None)
    return data.X[some], data.y[some]

X, y = {rows}
model = {model}
few = slice(None, None, len(X) // 400)
model.fit(X[few], y[few])
start = time.perf_counter()
model.fit(X, y)
seconds = time.perf_counter() - start
results = getattr(model, "cv_results_", None)
evidence = np.abs(model.objective_) if results is None else results["mean_test_score"]
print(json.dumps([seconds, np.ravel(evidence).tolist()]))
"""
TUNED = "InfiniteEnsembleClassifierCV('stump', solver='additive', random_state=0, loss='{}')"
SETS = ("adult", "coil2000", "magic", "spam")
WORKLOADS = {
    **{
        f"{name}, {loss}": (f"rows('{name}')", TUNED.format(loss))
        for name in SETS
        for loss in ("logistic", "squared_hinge", "hinge")
    },
    "california_housing, epsilon_insensitive": (
        "rows('california_housing')",
        "InfiniteEnsembleRegressorCV('stump', solver='additive', random_state=0, "
        "loss='epsilon_insensitive')",
    ),
    **{
        f"threenorm, 100,000 rows, one fit of perceptrons, {loss}": (
            "make_threenorm(100_000, random_state=0)",
            "InfiniteEnsembleClassifier('perceptron', solver='additive', random_state=0, "
            f"loss='{loss}')",
        )
        for loss in ("logistic", "hinge")
    },
}


def measured(checkout: Path, workload: tuple[str, str]) -> tuple[float, np.ndarray]:
    """Return time and evidence of a workload in a new process that imports one checkout."""
    rows, model = workload
    program = PROGRAM.replace("{rows}", rows).replace("{model}", model)
    environment = {**os.environ, **dict.fromkeys(THREADS, "2"), "PYTHONPATH": f"{checkout}/src"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds, evidence = json.loads(done.stdout.splitlines()[-1])
    return seconds, np.array(evidence)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=2, help="processes per checkout")
    parser.add_argument("--only", default="", help="workloads whose names contain this text")
    arguments = parser.parse_args()
    print("| workload | other, s | this, s | ratio | difference |\n|---|---|---|---|---|")
    for name, workload in WORKLOADS.items():
        if arguments.only not in name:
            continue
        times, evidence = {HERE: [], arguments.other: []}, {}
        for _ in range(arguments.rounds):
            for checkout in times:
                seconds, evidence[checkout] = measured(checkout.resolve(), workload)
                times[checkout].append(seconds)
        this, other = min(times[HERE]), min(times[arguments.other])
        before = evidence[arguments.other]
        gap = np.max(np.abs(evidence[HERE] - before) / np.maximum(np.abs(before), 1.0))
        print(f"| {name} | {other:.2f} | {this:.2f} | {other / this:.1f} | {gap:.1e} |", flush=True)


if __name__ == "__main__":
    main()
