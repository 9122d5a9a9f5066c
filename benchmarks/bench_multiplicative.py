"""The ensemble of partially trained SVMs, on the data sets of its paper (Tsang and Kwok 2007).

Part "table2": test errors of the Parzen window, of the last iterate (the rho-SVM) and of the
ensemble, iterations and seconds, each beside the published number of Tables 2 and 3. Nothing is
tuned: a Gaussian kernel as wide as the training rows are spread, features as they come. IDA sets
are averaged over the realizations at hand, which are fewer than the paper's 100; all other sets
have one split. Seconds are those of a whole fit; kernel matrix, updates and all. As the paper's
updates end sooner on most sets, the ensemble of as many steps as the paper tells comes last.

Part "path": the whole regularization path with the same kernel, against the whole ensemble, over
the same splits: mean seconds (the best of three fits of each split), breakpoints, the test error
at the C with the least leave-one-out bound, SVM(LOO), and the least of all breakpoints, SVM(BEST).

Part "sparsity": how much shorter expansions get, and what that costs.

Part "adult": the ensemble on all 32,561 rows of adult, with kernels of low rank, against single
fits of LIBSVM's nu-SVM (scikit-learn's NuSVC, the same kernel exactly), which take minutes each.

Run from the repository, with the data folder in ``KERNSEMBLE_DATA``:
``.venv/bin/python benchmarks/bench_multiplicative.py [--parts table2 path sparsity adult]
[--sets ...] [--ranks ...] [--nus ...]``.
"""

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import NuSVC

from kernsemble.datasets import load
from kernsemble.svm import MultiplicativeSVC, SVMPath

HYPOTHESES = {"Parzen window": "first", "rho-SVM": "last", "ensemble": "ensemble"}
MARGIN = 1.0  # points of error that a reproduced number may be above the published one


class Published(NamedTuple):
    """A row of Tables 2 and 3: errors in per cent, iterations and seconds of the ensemble."""

    set: str
    best: float  # SVM(BEST)
    loo: float  # SVM(LOO)
    parzen: float
    last: float
    ensemble: float
    n_iter: float
    seconds: float


PUBLISHED = {
    "cancer": Published("ida_breast_cancer", 23.1, 26.1, 27.4, 33.5, 28.2, 62.3, 0.03),
    "diabetis": Published("ida_diabetis", 24.8, 28.9, 33.4, 34.5, 24.8, 65.5, 0.1),
    "german": Published("ida_german", 22.6, 24.9, 29.8, 29.3, 23.7, 44.9, 0.3),
    "titanic": Published("ida_titanic", 22.7, 25.5, 23.3, 45.2, 22.5, 434.4, 0.08),
    "waveform": Published("ida_waveform", 11.2, 18.8, 22.0, 11.2, 10.0, 42.4, 0.1),
    "astro": Published("svmguide1", 5.8, 9.3, 7.0, 22.1, 3.4, 310.0, 9.5),
    "adult1": Published("a1a", 16.3, 17.7, 24.1, 19.4, 15.9, 42.0, 10.7),
    "adult2": Published("a2a", 16.0, 17.4, 24.0, 22.8, 15.8, 40.0, 23.1),
    "adult3": Published("a3a", 16.1, 16.2, 24.1, 19.7, 15.9, 104.0, 49.1),
    "web1": Published("w1a", 2.3, 2.8, 3.0, 14.4, 2.8, 33.0, 64.3),
    "web2": Published("w2a", 2.1, 2.2, 3.0, 3.4, 2.1, 125.0, 129.9),
}

Parts = tuple[Any, Any, Any, Any]  # training rows and classes, test rows and classes
PATH_SECONDS = {  # of the whole regularization path, Table 3
    "cancer": 0.4,
    "diabetis": 3.1,
    "german": 22.2,
    "titanic": 0.08,
    "waveform": 2.7,
    "astro": 180.3,
    "adult1": 243.3,
    "adult2": 632.7,
    "adult3": 957.3,
    "web1": 2853.7,
    "web2": 6978.7,
}
REPEATS = 3


def splits(name: str) -> Iterator[Parts]:
    """Yield the training and the test part of every realization of a data set."""
    dataset = load(name)
    for train, test in dataset.splits:
        yield dataset.X[train], dataset.y[train], dataset.X[test], dataset.y[test]


class Outcome(NamedTuple):
    """The error on the test part, and the seconds of the fit, by the clock and of processors."""

    error: float
    seconds: float
    processor: float


def tested(machine: Any, parts: Parts) -> Outcome:
    """Fit a machine, and test it."""
    X, y, X_test, y_test = parts
    start, start_processor = time.perf_counter(), time.process_time()
    machine.fit(X, y)
    seconds, processor = time.perf_counter() - start, time.process_time() - start_processor
    return Outcome(float((machine.predict(X_test) != y_test).mean()), seconds, processor)


def table2(names: list[str]) -> None:
    """Print Tables 2 and 3, ours beside the paper's."""
    columns = [*HYPOTHESES, "iterations", "seconds"]
    print("\nOurs, and in brackets the paper's; after ± the standard error over the splits.\n")
    print(f"| set | splits | {' | '.join(columns)} | at the paper's steps |")
    print("|" + "---|" * (len(columns) + 3))
    n_within = 0
    for name in names:
        published = PUBLISHED[name]
        found: dict[str, list[float]] = {column: [] for column in (*columns, "stopped")}
        for parts in splits(published.set):
            for column, hypothesis in HYPOTHESES.items():
                machine = MultiplicativeSVC(hypothesis=hypothesis)
                outcome = tested(machine, parts)
                found[column].append(100.0 * outcome.error)
            found["iterations"].append(machine.n_iter_)  # of the ensemble, the last
            found["seconds"].append(outcome.seconds)
            stopped = MultiplicativeSVC(max_iter=round(published.n_iter))
            found["stopped"].append(100.0 * tested(stopped, parts).error)
        n_within += np.mean(found["ensemble"]) <= published.ensemble + MARGIN
        cells = [
            f"{_mean(found[column], 3 if column == 'seconds' else 1)} ({given:g})"
            for column, given in zip(columns, published[3:], strict=True)
        ]
        print(
            f"| {name} | {len(found['ensemble'])} | {' | '.join(cells)} "
            f"| {_mean(found['stopped'], 1)} |",
            flush=True,
        )
    print(
        f"\nThe ensemble is at most {MARGIN:g} point above the paper's, or below it, on "
        f"{n_within} of {len(names)} sets."
    )


def _mean(numbers: list[float], digits: int) -> str:
    mean = f"{np.mean(numbers):.{digits}f}"
    if len(numbers) == 1 or digits != 1:
        return mean
    return f"{mean} ± {np.std(numbers, ddof=1) / np.sqrt(len(numbers)):.{digits}f}"


def path(names: list[str]) -> None:
    """Print what the whole regularization path takes and tells, beside the ensemble."""
    print("\nOurs, and in brackets the paper's.\n")
    columns = ["set", "rows", "splits", "breakpoints", "path, s", "ensemble, s", "ratio"]
    columns += ["SVM(LOO)", "SVM(BEST)", "ensemble"]
    print(f"| {' | '.join(columns)} |\n|" + "---|" * len(columns))
    for name in names:
        published = PUBLISHED[name]
        rows = np.array([_beside_path(parts) for parts in splits(published.set)])
        n, n_breakpoints, path_seconds, seconds, loo, best, ensemble = rows.mean(axis=0)
        print(
            f"| {name} | {n:.0f} | {len(rows)} | {n_breakpoints:.0f} "
            f"| {path_seconds:.3f} ({PATH_SECONDS[name]:g}) "
            f"| {seconds:.3f} ({published.seconds:g}) | {path_seconds / seconds:.1f} "
            f"({PATH_SECONDS[name] / published.seconds:.0f}) | {100 * loo:.1f} "
            f"({published.loo:g}) | {100 * best:.1f} ({published.best:g}) "
            f"| {100 * ensemble:.1f} ({published.ensemble:g}) |",
            flush=True,
        )


def _beside_path(parts: Parts) -> tuple[float, ...]:
    """Return what a row of the table averages, of one split."""
    ensemble = MultiplicativeSVC()
    ours = min(tested(ensemble, parts) for _ in range(REPEATS))
    whole = SVMPath(ensemble.kernel_, scaling=None)
    loo = min(tested(whole, parts) for _ in range(REPEATS))
    best = 1.0 - whole.score_path(*parts[2:])[1].max()
    n_rows, n_breakpoints = len(parts[1]), len(whole.Cs_)
    return n_rows, n_breakpoints, loo.seconds, ours.seconds, loo.error, best, ours.error


def sparsity(names: list[str]) -> None:
    """Print how short expansions get, and their errors, on the first split of each set."""
    shares = (None, 0.01, 0.05, 0.1)
    print("\nSupport vectors and test error, %, by sparsity (first split of each set).\n")
    print(
        f"| set | {' | '.join('all' if s is None else f'{s:g}' for s in shares)} | seconds more |"
    )
    print("|---|" + "---|" * (len(shares) + 1))
    for name in names:
        parts = next(splits(PUBLISHED[name].set))
        cells, times = [], []
        for share in shares:
            machine = MultiplicativeSVC(sparsity=share)
            outcome = tested(machine, parts)
            cells.append(f"{len(machine.support_)}: {100.0 * outcome.error:.2f}")
            times.append(outcome.seconds)
        print(f"| {name} | {' | '.join(cells)} | {max(times) - times[0]:.2f} |", flush=True)


def adult(ranks: list[int], nus: list[float]) -> None:
    """Print time and error on the full adult set: the ensemble, and one nu-SVM after another."""
    parts = next(splits("a9a"))
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
    """Run the parts."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # of updates ended at the paper's steps
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", default=["table2", "path", "sparsity", "adult"])
    parser.add_argument("--sets", nargs="*", default=list(PUBLISHED))
    parser.add_argument("--ranks", type=int, nargs="*", default=[200, 500, 1000])
    parser.add_argument("--nus", type=float, nargs="*", default=[0.25, 0.35, 0.45])
    asked = parser.parse_args()
    if "table2" in asked.parts:
        table2(asked.sets)
    if "path" in asked.parts:
        path(asked.sets)
    if "sparsity" in asked.parts:
        sparsity(asked.sets)
    if "adult" in asked.parts:
        adult(asked.ranks, asked.nus)


if __name__ == "__main__":
    main()
