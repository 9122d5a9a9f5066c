"""How often a short evolution in parallel universes finds the true columns, and at what cost.

Part "recovery": in how many of so many seeds exactly the true columns are selected, on the toy of
Zhu (2008) (n = 50, p = 10, columns 2, 5, 8) and on a larger problem (n = 120, p = 100, columns 15,
30, ..., 90 with coefficients 1, 1, 2, 2, 3, 3): evolution of automatic length with 25, 10 and 1
universes, all subsets by AIC and by BIC, stepwise AIC, its bagging on 25 bootstrap samples (largest
gap), and the lasso with a penalty chosen by cross-validation. Settings of the evolution were chosen
on other seeds, 1000 and above.

Part "curve": the same after each generation, for evolutions of fixed length.

Part "speed": subsets a second of one processor, beside one least-squares fit a subset.

Part "large": n = 500, p = 1,000, with two jobs.

Run from the repository: ``.venv/bin/python benchmarks/bench_evolution.py [--parts recovery curve
speed large] [--seeds 100 50]``.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

import numpy as np
from sklearn.linear_model import LassoCV, LinearRegression

from kernsemble._typing import BoolArray, FloatArray
from kernsemble.datasets import make_sparse_sum
from kernsemble.selection import (
    ParallelEvolutionSelector,
    bagged_stepwise_search,
    exhaustive_search,
    largest_gap,
    stepwise_search,
)
from kernsemble.selection.criteria import Remembered, bind_criterion

Rows = tuple[FloatArray, FloatArray]


class Problem(NamedTuple):
    """Rows to draw, and the columns that are true."""

    name: str
    draw: Callable[[int], Rows]
    true: tuple[int, ...]
    n_features: int
    last_generation: int


def draw_larger(seed: int) -> Rows:
    """Draw 120 rows of 100 columns, six of which are true."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 100))
    signal = X[:, [14, 29, 44, 59, 74, 89]] @ [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    return X, signal + rng.standard_normal(120)


PROBLEMS = (
    Problem("toy", lambda seed: make_sparse_sum(random_state=seed), (1, 4, 7), 10, 40),
    Problem("larger", draw_larger, (14, 29, 44, 59, 74, 89), 100, 80),
)


def above_the_gap(importances: FloatArray) -> BoolArray:
    """Return the columns above the largest gap."""
    order = np.argsort(-importances, kind="stable")
    support = np.zeros(len(importances), dtype=bool)
    support[order[: largest_gap(importances).n_above]] = True
    return support


def by_evolution(X: FloatArray, y: FloatArray, seed: int, n_universes: int = 25) -> BoolArray:
    """Return what an evolution of automatic length selects."""
    return ParallelEvolutionSelector(n_universes=n_universes, random_state=seed).fit(X, y).support_


def by_bagging(X: FloatArray, y: FloatArray, seed: int) -> BoolArray:
    """Return what stepwise searches on bootstrap samples agree on."""
    return above_the_gap(bagged_stepwise_search(X, y, random_state=seed).mean(axis=0))


def by_lasso(X: FloatArray, y: FloatArray, seed: int) -> BoolArray:
    """Return what the lasso keeps."""
    return LassoCV(cv=5, random_state=seed).fit(X, y).coef_ != 0.0


METHODS: dict[str, Callable[[FloatArray, FloatArray, int], BoolArray]] = {
    "evolution, B = 25": by_evolution,
    "evolution, B = 10": lambda X, y, seed: by_evolution(X, y, seed, 10),
    "evolution, B = 1": lambda X, y, seed: by_evolution(X, y, seed, 1),
    "all subsets, AIC": lambda X, y, _: exhaustive_search(X, y).best,
    "all subsets, BIC": lambda X, y, _: exhaustive_search(X, y, "bic").best,
    "stepwise, AIC": lambda X, y, _: stepwise_search(X, y).subset,
    "bagging + stepwise AIC": by_bagging,
    "lasso, cross-validated": by_lasso,
}


def recovery(counts: list[int]) -> None:
    """Print how often exactly the true columns are selected."""
    titles = [f"{problem.name}, % of {n}" for problem, n in zip(PROBLEMS, counts, strict=True)]
    print(f"\n| method | {' | '.join(f'{title} | seconds a run' for title in titles)} |")
    print("|---|" + "---|" * 2 * len(titles))
    for name, method in METHODS.items():
        cells = []
        for problem, n in zip(PROBLEMS, counts, strict=True):
            if name.startswith("all subsets") and problem.n_features > 20:
                cells += ["–", "–"]
                continue
            start, hits = time.perf_counter(), 0
            for seed in range(n):
                selected = method(*problem.draw(seed), seed)
                hits += tuple(np.flatnonzero(selected)) == problem.true
            cells += [f"{100.0 * hits / n:.0f}", f"{(time.perf_counter() - start) / n:.3f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def curve(counts: list[int]) -> None:
    """Print how often the true columns are selected after each generation."""
    for problem, n in zip(PROBLEMS, counts, strict=True):
        hits, shares = np.zeros(problem.last_generation + 1), np.zeros(problem.last_generation + 1)
        automatic = []
        for seed in range(n):
            X, y = problem.draw(seed)
            settings = {"random_state": seed, "select": 0.5}
            selector = ParallelEvolutionSelector(n_generations=problem.last_generation, **settings)
            selector.fit(X, y)
            shares += selector.entropies_ / selector.entropies_[0]
            for generation, importances in enumerate(selector.history_):
                selected = np.flatnonzero(above_the_gap(importances))
                hits[generation] += tuple(selected) == problem.true
            automatic.append(ParallelEvolutionSelector(**settings).fit(X, y).n_generations_)
        ends = np.quantile(automatic, [0.0, 0.5, 1.0]).astype(int).tolist()
        print(
            f"\n{problem.name}: automatic length {ends[1]} ({ends[0]} to {ends[2]}) generations\n"
        )
        shown = [g for g in range(len(hits)) if g <= 16 or g % 8 == 0]
        print(f"| generation | {' | '.join(map(str, shown))} |\n|---|" + "---|" * len(shown))
        print(f"| recovery, % | {' | '.join(f'{100 * hits[g] / n:.0f}' for g in shown)} |")
        print(f"| entropy | {' | '.join(f'{shares[g] / n:.2f}' for g in shown)} |", flush=True)


def speed() -> None:
    """Print subsets a second."""
    columns = ["n", "p", "columns a subset", "ours", "remembered", "lstsq", "LinearRegression"]
    print(f"\n| {' | '.join(columns)} | ratios |\n|" + "---|" * (len(columns) + 1))
    for n, p, k in ((50, 10, 3), (120, 100, 10), (120, 100, 20), (500, 1000, 30), (5000, 100, 20)):
        ours, again, plain, fits = rates(n, p, k)
        print(
            f"| {n} | {p} | {k} | {ours:,.0f} | {again:,.0f} | {plain:,.0f} | {fits:,.0f} "
            f"| {ours / plain:.0f}, {ours / fits:.0f} |",
            flush=True,
        )


def rates(n: int, p: int, k: int) -> tuple[float, float, float, float]:
    """Return subsets of k columns a second: ours, known before, by NumPy and by scikit-learn."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = X[:, 0] + rng.standard_normal(n)
    subsets = rng.random((2000, p)).argsort(axis=1) < k
    few, scoring = subsets[:200], bind_criterion("aic", X, y)
    known = Remembered(scoring)
    known.scores(scoring, subsets)
    return (
        _rate(lambda: scoring.scores(subsets, scoring.start()), len(subsets)),
        _rate(lambda: known.scores(scoring, subsets), len(subsets)),
        _rate(lambda: [_plain_aic(X[:, subset], y) for subset in few], len(few)),
        _rate(lambda: [LinearRegression().fit(X[:, subset], y) for subset in few], len(few)),
    )


def _plain_aic(X: FloatArray, y: FloatArray) -> float:
    design = np.column_stack([np.ones(len(X)), X])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(len(y) * np.log(residual @ residual / len(y)) + 2.0 * X.shape[1])


def _rate(work: Callable[[], object], n: int) -> float:
    best = np.inf
    for _ in range(10):
        start = time.thread_time()  # of one processor, which other programs do not slow down
        work()
        best = min(best, time.thread_time() - start)
    return n / best


def large() -> None:
    """Print what a thousand columns take."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 1000))
    true = np.arange(99, 1000, 100)
    y = X[:, true].sum(axis=1) + rng.standard_normal(500)
    start = time.perf_counter()
    selector = ParallelEvolutionSelector(random_state=0, n_jobs=2).fit(X, y)
    seconds = time.perf_counter() - start
    selected = np.flatnonzero(selector.support_)
    print(
        f"\nn = 500, p = 1,000: {seconds:.1f} s, {selector.n_generations_} generations, "
        f"{selector.n_evaluated_:,} subsets scored, gap {selector.gap_:.2f}; true columns "
        f"{'exactly' if np.array_equal(selected, true) else 'not exactly'} found "
        f"({len(np.intersect1d(selected, true))} of {len(true)}, and "
        f"{len(np.setdiff1d(selected, true))} others)."
    )


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("recovery", "curve", "speed", "large")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seeds", nargs=2, type=int, default=[100, 50], metavar=("TOY", "LARGER"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # gaps of one universe, paths of the lasso
    for part in asked.parts:
        if part in ("recovery", "curve"):
            globals()[part](asked.seeds)
        else:
            globals()[part]()


if __name__ == "__main__":
    main()
