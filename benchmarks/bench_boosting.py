"""Time AdaBoost, LPBoost and their base learners.

On threenorm with 20 features, one thread, without compilation (printed separately), best of
several runs:

- AdaBoost on stumps against scikit-learn's on trees of depth one, its default;
- LPBoost on stumps to the optimum over all of them, on one live linear program, against rebuilding
  the program in each round for `scipy.optimize.linprog` (same stump search, same stopping rule);
- the linear programs of LPBoost on trees, perceptrons and stumps, one hypothesis at a time, by
  the dense dual simplex method and by HiGHS, in processor time;
- a single fit of each base learner, against the most similar one of scikit-learn.

Run from the repository: ``.venv/bin/python benchmarks/bench_boosting.py [--parts adaboost lpboost
programs learners]``.
"""

import argparse
import os
import time
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

import numpy as np
import sklearn.ensemble
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import Perceptron
from sklearn.tree import DecisionTreeClassifier

from kernsemble.boosting import AdaBoostClassifier, LPBoostClassifier
from kernsemble.boosting.lpboost_program import LPBoostProgram
from kernsemble.datasets import make_threenorm
from kernsemble.learners import C45Tree, DecisionStump, RCDPerceptron
from kernsemble.learners.hypothesis_search import Cases, search_for
from kernsemble.solvers.column_generation import generate_columns
from kernsemble.solvers.linear_program import Form, _DenseProgram, _HighsProgram


def seconds(machine: Any, X: np.ndarray, y: np.ndarray, repeats: int = 3) -> float:
    """Return the shortest time of several fits."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        machine.fit(X, y)
        times.append(time.perf_counter() - start)
    return min(times)


def adaboost() -> None:
    """Compare AdaBoost on stumps with scikit-learn's."""
    X, y = make_threenorm(300, random_state=0)
    first = seconds(AdaBoostClassifier(n_estimators=1), X, y, 1)
    print(f"\nFirst fit in this process, compiled code compiled or loaded: {first:.1f} s.\n")
    print("| AdaBoost-Stump | rounds | ours, s | scikit-learn, s | ratio |\n|---|---|---|---|---|")
    for n, n_rounds, repeats in ((300, 1000, 3), (3_000, 300, 2), (30_000, 100, 1)):
        X, y = make_threenorm(n, random_state=0)
        ours = seconds(AdaBoostClassifier(n_estimators=n_rounds), X, y, repeats)
        theirs = seconds(sklearn.ensemble.AdaBoostClassifier(n_estimators=n_rounds), X, y, repeats)
        print(f"| {n} x 20 | {n_rounds} | {ours:.3f} | {theirs:.2f} | {theirs / ours:.0f} |")


def rebuilt(X: np.ndarray, y: np.ndarray, C: float, tol: float) -> tuple[float, int]:
    """Return the optimum over all stumps and the number of rounds, with a new program per round."""
    cases = Cases(X, np.intp(y > 0), np.array([-1, 1]), len(X))
    program = LPBoostProgram(cases, np.ones(len(X)), DecisionStump().search(cases, None))
    U, columns = np.full(len(X), C), []
    while True:
        ((_, column),) = program.price(U)
        if U @ column <= 1.0 + tol:
            return U.sum(), len(columns)
        columns.append(column)
        program_matrix = -sparse.hstack([np.transpose(columns), sparse.eye(len(X))], "csr")
        cost = np.concatenate([np.ones(len(columns)), np.full(len(X), C)])
        found = linprog(cost, program_matrix, -np.ones(len(X)))
        U = -found.ineqlin.marginals


def lpboost() -> None:
    """Compare LPBoost on one live program with rebuilding it, and time it up to 10,000 rows."""
    X, y = make_threenorm(60, random_state=0)
    first = seconds(LPBoostClassifier(), X, y, 1)
    print(f"\nFirst fit in this process, compiled code compiled or loaded: {first:.1f} s.\n")
    print(
        "| LPBoost-Stump | C | columns | with weight | ours, s | one per round, s | its columns "
        "| rebuilt, s | its columns | ratios | objectives differ by |\n|" + "---|" * 11
    )
    for n, multiple in ((300, 50), (600, 50), (600, 600)):
        X, y = make_threenorm(n, random_state=0)
        machine = LPBoostClassifier(C=multiple / n)
        ours = seconds(machine, X, y)
        literal = LPBoostClassifier(C=multiple / n, pricing="one")
        one = seconds(literal, X, y, 1)
        start = time.perf_counter()
        objective, n_columns = rebuilt(X, y, multiple / n, machine.tol)
        theirs = time.perf_counter() - start
        apart = abs(machine.objective_ / objective - 1.0)
        print(
            f"| {n} x 20 | {multiple}/n | {len(machine.estimator_weights_)} | {machine.n_voters_} "
            f"| {ours:.2f} | {one:.2f} | {len(literal.estimator_weights_)} | {theirs:.1f} "
            f"| {n_columns} | {theirs / ours:.0f}, {theirs / one:.0f} | {apart:.0e} |",
            flush=True,
        )
    for n in (3_000, 10_000):
        X, y = make_threenorm(n, random_state=0)
        machine = LPBoostClassifier(max_columns=5000)
        ours = seconds(machine, X, y, 1)
        print(
            f"| {n:,} x 20 | 50/n | {len(machine.estimator_weights_)} | {machine.n_voters_} "
            f"| {ours:.1f} | | | | | | gap {machine.duality_gap_ / machine.objective_:.0e} |",
            flush=True,
        )


def hypotheses(
    n: int, learner: Any, C: float, max_columns: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the columns that LPBoost on threenorm generates, one per round, and the bounds."""
    X, y = make_threenorm(n, random_state=0)
    cases = Cases(X, np.intp(y > 0), np.array([-1, 1]), n)
    program = LPBoostProgram(
        cases, np.ones(n), search_for(learner, cases, np.random.RandomState(0))
    )
    master = program.master(Form.SOFT, C)
    found = {}

    def price(U: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        ((name, column),) = program.price(U)
        found.setdefault(column.tobytes(), column)
        return [(name, column)]

    generate_columns(master, price, tol=1e-6, max_columns=max_columns)
    return list(found.values())[: master.n_columns], master.upper


def programs() -> None:
    """Compare both linear program solvers on the same hypotheses, one at a time."""
    print(
        "\n| LPBoost on | rows | C | columns | equations | ms per round, last fifth | HiGHS "
        "| ratio | steps per round | HiGHS | µs per step | all rounds, s | HiGHS "
        "| objectives differ by |\n|" + "---|" * 14
    )
    for name, learner, n, C, most in (
        ("C4.5 trees", C45Tree(), 300, 8.0, 300),
        ("C4.5 trees", C45Tree(), 300, 8.0, 1000),
        ("C4.5 trees", C45Tree(), 300, 0.125, 300),
        ("perceptrons", RCDPerceptron(), 300, 8.0, 300),
        ("perceptrons", RCDPerceptron(), 300, 8.0, 1000),
        ("perceptrons", RCDPerceptron(), 300, 0.125, 300),
        ("stumps", DecisionStump(), 600, 1.0, 1000),
        ("stumps", DecisionStump(), 3000, 50 / 3000, 1000),
    ):
        columns, upper = hypotheses(n, learner, C, most)
        solvers = [kind(upper, np.arange(n), False) for kind in (_DenseProgram, _HighsProgram)]
        times, steps, apart = np.empty((len(columns), 2)), np.empty((len(columns), 2)), 0.0
        for number in range(len(columns)):
            objectives = []
            for place, solver in enumerate(solvers):
                start = time.thread_time()
                found = solver.solve(columns[: number + 1])
                times[number, place] = time.thread_time() - start
                objectives.append(found[1].sum())
            steps[number, 0] = solvers[0].simplex.n_steps
            steps[number, 1] = solvers[1].model.getInfo().simplex_iteration_count
            apart = max(apart, abs(objectives[0] / objectives[1] - 1.0))
        last = slice(-(len(columns) // 5), None)
        (ours, theirs), (ours_steps, their_steps) = times[last].mean(0), steps[last].mean(0)
        print(
            f"| {name} | {n} | {C:.3g} | {len(columns)} | {solvers[0].simplex.n_equations} "
            f"| {1e3 * ours:.2f} | {1e3 * theirs:.1f} | {theirs / ours:.0f} | {ours_steps:.0f} "
            f"| {their_steps:.0f} | {1e6 * ours / ours_steps:.0f} | {times[:, 0].sum():.2f} "
            f"| {times[:, 1].sum():.1f} | {apart:.0e} |",
            flush=True,
        )


def learners() -> None:
    """Time single fits of the base learners at three sizes."""
    pairs = {
        "DecisionStump": (DecisionStump(), DecisionTreeClassifier(max_depth=1)),
        "RCDPerceptron, 200 epochs": (RCDPerceptron(random_state=0), Perceptron()),
        "C45Tree": (C45Tree(), DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2)),
    }
    print("\n| one fit, ms (scikit-learn's, ms) | 300 x 20 | 3,000 x 20 | 30,000 x 20 |")
    print("|---|---|---|---|")
    for name, (ours, theirs) in pairs.items():
        cells = []
        for n in (300, 3_000, 30_000):
            X, y = make_threenorm(n, random_state=0)
            ours.fit(X[:50], y[:50])
            mine, other = (1e3 * seconds(each, X, y) for each in (ours, theirs))
            cells.append(f"{mine:.1f} ({other:.1f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


PARTS = {"adaboost": adaboost, "lpboost": lpboost, "programs": programs, "learners": learners}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    for part in parser.parse_args().parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
