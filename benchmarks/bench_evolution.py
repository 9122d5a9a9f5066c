"""Measure how often parallel evolution selects exactly the true variables, and its cost.

Part "recovery": the percentage of seeds in which exactly the true variables are selected, on the
toy problem of Zhu (2008) (n = 50, p = 10, columns 2, 5, 8) and on a larger problem (n = 120,
p = 100, columns 15, 30, ..., 90 with coefficients 1, 1, 2, 2, 3, 3): evolution of automatic length
with 25, 10 and 1 universes, all subsets by AIC and by BIC, stepwise AIC, its bagging on 25
bootstrap samples (largest gap), and the lasso with a cross-validated penalty. The settings of the
evolution were tuned on other seeds, 1000 and above.

Part "curve": the same after each generation, for evolutions of fixed length.

Part "speed": subsets per second on one processor, compared with one least-squares fit per subset.

Part "large": n = 500, p = 1,000, with two jobs.

Run from the repository: ``.venv/bin/python benchmarks/bench_evolution.py [--parts recovery curve
speed large] [--seeds 100 50]``.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

import numpy as np
from sklearn.linear_model import LinearRegression

from kernsemble._typing import FloatArray
from kernsemble.experiments.methods.column_selection import SELECTIONS, above_the_gap
from kernsemble.experiments.paper_data import draw
from kernsemble.selection import ParallelEvolutionSelector
from kernsemble.selection.criteria import ScoreCache, bind_criterion

LAST_GENERATIONS = {"zhu toy": 40, "zhu larger": 80}  # by problem
MAX_EXHAUSTIVE = 20  # largest number of columns for exhaustive search
METHODS = {name: each for name, each in SELECTIONS.items() if "six generations" not in name}


def recovery(counts: list[int]) -> None:
    """Print the percentage of seeds in which exactly the true variables are selected."""
    titles = [f"{name}, % of {n}" for name, n in zip(LAST_GENERATIONS, counts, strict=True)]
    print(f"\n| method | {' | '.join(f'{title} | seconds per run' for title in titles)} |")
    print("|---|" + "---|" * 2 * len(titles))
    for method, select in METHODS.items():
        cells = []
        for name, n in zip(LAST_GENERATIONS, counts, strict=True):
            problems = [draw(name, seed) for seed in range(n)]
            if method.startswith("all subsets") and problems[0].X.shape[1] > MAX_EXHAUSTIVE:
                cells += ["–", "–"]
                continue
            start, hits = time.perf_counter(), 0
            for seed, problem in enumerate(problems):
                selected = select(problem.X, problem.y, seed)
                hits += tuple(np.flatnonzero(selected)) == problem.columns
            cells += [f"{100.0 * hits / n:.0f}", f"{(time.perf_counter() - start) / n:.3f}"]
        print(f"| {method} | {' | '.join(cells)} |", flush=True)


def curve(counts: list[int]) -> None:
    """Print the percentage of exact selections after each generation."""
    for (name, last), n in zip(LAST_GENERATIONS.items(), counts, strict=True):
        hits, shares = np.zeros(last + 1), np.zeros(last + 1)
        automatic = []
        for seed in range(n):
            problem = draw(name, seed)
            settings = {"random_state": seed, "select": 0.5}
            selector = ParallelEvolutionSelector(n_generations=last, **settings)
            selector.fit(problem.X, problem.y)
            shares += selector.entropies_ / selector.entropies_[0]
            for generation, importances in enumerate(selector.history_):
                selected = np.flatnonzero(above_the_gap(importances))
                hits[generation] += tuple(selected) == problem.columns
            short = ParallelEvolutionSelector(**settings).fit(problem.X, problem.y)
            automatic.append(short.n_generations_)
        ends = np.quantile(automatic, [0.0, 0.5, 1.0]).astype(int).tolist()
        print(f"\n{name}: automatic length {ends[1]} ({ends[0]} to {ends[2]}) generations\n")
        shown = [g for g in range(len(hits)) if g <= 16 or g % 8 == 0]
        print(f"| generation | {' | '.join(map(str, shown))} |\n|---|" + "---|" * len(shown))
        print(f"| recovery, % | {' | '.join(f'{100 * hits[g] / n:.0f}' for g in shown)} |")
        print(f"| entropy | {' | '.join(f'{shares[g] / n:.2f}' for g in shown)} |", flush=True)


def speed() -> None:
    """Print the number of subsets per second."""
    columns = ["n", "p", "columns per subset", "ours", "cached", "lstsq", "LinearRegression"]
    print(f"\n| {' | '.join(columns)} | ratios |\n|" + "---|" * (len(columns) + 1))
    for n, p, k in ((50, 10, 3), (120, 100, 10), (120, 100, 20), (500, 1000, 30), (5000, 100, 20)):
        ours, again, plain, fits = rates(n, p, k)
        print(
            f"| {n} | {p} | {k} | {ours:,.0f} | {again:,.0f} | {plain:,.0f} | {fits:,.0f} "
            f"| {ours / plain:.0f}, {ours / fits:.0f} |",
            flush=True,
        )


def rates(n: int, p: int, k: int) -> tuple[float, float, float, float]:
    """Return subsets of k columns per second: ours, cached, by NumPy and by scikit-learn."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = X[:, 0] + rng.standard_normal(n)
    subsets = rng.random((2000, p)).argsort(axis=1) < k
    few, scoring = subsets[:200], bind_criterion("aic", X, y)
    cache = ScoreCache(scoring)
    cache.scores(scoring, subsets)
    return (
        _rate(lambda: scoring.scores(subsets, scoring.start()), len(subsets)),
        _rate(lambda: cache.scores(scoring, subsets), len(subsets)),
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
        start = time.thread_time()  # processor time, unaffected by other programs
        work()
        best = min(best, time.thread_time() - start)
    return n / best


def large() -> None:
    """Print time and result for a thousand columns."""
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
    """Run the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("recovery", "curve", "speed", "large")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seeds", nargs=2, type=int, default=[100, 50], metavar=("TOY", "LARGER"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # gaps of one universe, convergence of the lasso
    for part in arguments.parts:
        if part in ("recovery", "curve"):
            globals()[part](arguments.seeds)
        else:
            globals()[part]()


if __name__ == "__main__":
    main()
