"""Measure the ensemble of partially trained SVMs (Tsang and Kwok 2007): sparsity and many rows.

Part "sparsity": support vectors, test error and time by `sparsity`, on the paper's data sets.

Part "adult": the ensemble on all 32,561 rows of adult, with kernels of low rank, against single
fits of LIBSVM's nu-SVM (scikit-learn's NuSVC, with the exact kernel), which take minutes each.

For the paper's own tables, use ``kernsemble reproduce tsang-kwok-2007``. Run from the
repository, with the data folder in ``KERNSEMBLE_DATA``:
``.venv/bin/python benchmarks/bench_multiplicative.py [--parts sparsity adult] [--sets ...]
[--ranks ...] [--nus ...]``.
"""

import argparse
import os
import time
from typing import Any, NamedTuple

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

from sklearn.svm import NuSVC

from kernsemble.datasets import load
from kernsemble.svm import MultiplicativeSVC

SETS = (
    "ida_breast_cancer",
    "ida_diabetis",
    "ida_german",
    "ida_titanic",
    "ida_waveform",
    "svmguide1",
    "a1a",
    "a2a",
    "a3a",
    "w1a",
    "w2a",
)

Parts = tuple[Any, Any, Any, Any]  # training rows and classes, test rows and classes


def first_split(name: str) -> Parts:
    """Return the training and the test part of the first split of a data set."""
    X, X_test, y, y_test = load(name).parts(0)
    return X, y, X_test, y_test


class Outcome(NamedTuple):
    """The test error, and the elapsed and the processor time of the fit in seconds."""

    error: float
    seconds: float
    processor: float


def tested(machine: Any, parts: Parts) -> Outcome:
    """Fit and test a machine."""
    X, y, X_test, y_test = parts
    start, start_processor = time.perf_counter(), time.process_time()
    machine.fit(X, y)
    seconds, processor = time.perf_counter() - start, time.process_time() - start_processor
    return Outcome(float((machine.predict(X_test) != y_test).mean()), seconds, processor)


def sparsity(names: list[str]) -> None:
    """Print the numbers of support vectors and the errors, on the first split of each set."""
    shares = (None, 0.01, 0.05, 0.1)
    print("\nSupport vectors and test error, %, by sparsity (first split of each set).\n")
    print(
        f"| set | {' | '.join('all' if s is None else f'{s:g}' for s in shares)} | extra seconds |"
    )
    print("|---|" + "---|" * (len(shares) + 1))
    for name in names:
        parts = first_split(name)
        cells, times = [], []
        for share in shares:
            machine = MultiplicativeSVC(sparsity=share)
            outcome = tested(machine, parts)
            cells.append(f"{len(machine.support_)}: {100.0 * outcome.error:.2f}")
            times.append(outcome.seconds)
        print(f"| {name} | {' | '.join(cells)} | {max(times) - times[0]:.2f} |", flush=True)


def adult(ranks: list[int], nus: list[float]) -> None:
    """Print time and error on the full adult set, for the ensemble and for nu-SVMs."""
    parts = first_split("a9a")
    print("\n| adult, 32,561 rows | test error, % | seconds | processor, s | support vectors |")
    print("|---|---|---|---|---|")
    ensembles = []
    for rank in ranks:
        for hypothesis in ("ensemble", "last", "first"):
            machine = MultiplicativeSVC(hypothesis=hypothesis, rank=rank, random_state=0)
            outcome = tested(machine, parts)
            if hypothesis == "ensemble":
                ensembles.append(outcome)
            _row(f"{hypothesis}, rank {rank}, {machine.n_iter_} steps", outcome, machine)
    gamma = MultiplicativeSVC(hypothesis="first", rank=1).fit(*parts[:2]).kernel_.gamma
    rivals = []
    for nu in nus:
        rival = NuSVC(nu=nu, gamma=gamma, cache_size=2_000)
        rivals.append(tested(rival, parts))
        _row(f"nu-SVM, nu = {nu:g}", rivals[-1], rival)
    if rivals:
        best = min(rivals)
        print(
            f"\nOne fit at the best nu takes {best.seconds:.0f} s; ensembles are "
            + ", ".join(
                f"{100.0 * (each.error - best.error):+.2f} points from it in {each.seconds:.1f} s"
                for each in ensembles
            )
            + "."
        )


def _row(label: str, outcome: Outcome, machine: Any) -> None:
    print(
        f"| {label} | {100.0 * outcome.error:.2f} | {outcome.seconds:.1f} | "
        f"{outcome.processor:.1f} | {len(machine.support_):,} |",
        flush=True,
    )


def main() -> None:
    """Run the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", default=["sparsity", "adult"])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--ranks", type=int, nargs="*", default=[200, 500, 1000])
    parser.add_argument("--nus", type=float, nargs="*", default=[0.25, 0.35, 0.45])
    arguments = parser.parse_args()
    if "sparsity" in arguments.parts:
        sparsity(arguments.sets)
    if "adult" in arguments.parts:
        adult(arguments.ranks, arguments.nus)


if __name__ == "__main__":
    main()
