"""KernelBoost on the experiments of its paper (Crammer, Keshet and Singer 2002), and its speed.

Part "speed": rounds on 1,500 rows with a Gaussian kernel, by the library and by the formulas of the
paper, with A'BA computed and one dense `scipy.linalg.eigh` of (A'BA, G) per round; both find the
same kernel. Then 10,000 rows with random templates.

Part "synthetic": two Gaussians in a plane with 98 noise features, 300 training and 200 test
rows, clean and with noise, for all four readings of the printed covariance. A Perceptron (last
function, rows in their order, 10 epochs) with the dot product, and with the kernel learned in 30
rounds of LogLoss. Error bars are 1.96 standard errors over draws.

Part "usps": the 45 pairs of digits of USPS, or of scikit-learn's digits (trained on half of the
rows) if USPS is not available. Errors of an averaged Perceptron of 10 epochs with the Gaussian
kernel exp(-|x - x'|²/2σ²) on pixels in [-1, 1], and with kernels learned from it: LogLoss for 30
rounds and ExpLoss for 50 on the training rows, both for 100 on the test rows (transduction).

Run from the repository, with the data folder in ``KERNSEMBLE_DATA``:
``.venv/bin/python benchmarks/bench_kernel_boosting.py [--parts speed synthetic usps] [--draws 100]
[--sigmas 1 8] [--steps bound line-search] [--set usps|digits]
[--kernels RBF log ...] [--threads 2] [--figure pairs.png]``.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
N_THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "2"
os.environ.update(dict.fromkeys(THREADS, N_THREADS))

import numpy as np
from scipy.linalg import eigh
from sklearn.datasets import load_digits

from kernsemble.boosting import KernelBoost
from kernsemble.datasets import load, make_rotated_gaussians, make_threenorm
from kernsemble.exceptions import DatasetNotFoundError
from kernsemble.experiments.methods.kernel_boosting import (
    N_EPOCHS,
    learn_kernel,
    perceptron_on,
)
from kernsemble.experiments.methods.measures import Values, error_percent
from kernsemble.experiments.paper_data import TrainTestData
from kernsemble.kernels import Gaussian, Kernel, Linear
from kernsemble.svm import KernelPerceptron

READINGS = [(sigma, axis) for sigma in ("deviation", "variance") for axis in ("across", "along")]
KERNELS = ("RBF", "log", "exp", "log, test", "exp, test")


# -- speed


def dense_rounds(X: Any, y: Any, kernel: Kernel, n_rounds: int) -> Any:
    """Return the learned kernel matrix, by the literal formulas of the paper (LogLoss)."""
    A = G = kernel(X)
    target, K = np.outer(y, y), np.zeros_like(G)
    for _ in range(n_rounds):
        D = 1.0 / (1.0 + np.exp(target * K))
        beta = eigh(A.T @ (D * target) @ A, G, subset_by_index=[len(y) - 1] * 2)[1][:, 0]
        K_t = np.outer(A @ beta, A @ beta)
        gains = D * target * K_t
        plus, minus = gains[gains > 0.0].sum(), -gains[gains < 0.0].sum()
        K += 0.5 * np.log(plus / minus) * K_t
    return K


def speed(n_rounds: int = 30) -> None:
    """Print the time of the rounds, with and without dense decompositions."""
    X, y = make_threenorm(1_500, random_state=0)
    kernel = Gaussian(0.02).bind(X)
    KernelBoost(kernel, n_rounds=1).fit(X[:100], y[:100])  # compiles
    booster = KernelBoost(kernel, n_rounds=n_rounds)
    ours = min(timed(booster.fit, X, y)[0] for _ in range(3))
    dense, K = timed(dense_rounds, X, y, kernel, n_rounds)
    difference = np.abs(booster.kernel_(X) - K).max() / np.abs(K).max()
    print(f"\n| {n_rounds} rounds on 1,500 rows | processor, s | seconds |\n|---|---|---|")
    print(f"| KernelBoost, the whole fit (best of 3) | {ours.processor:.2f} | {ours.clock:.2f} |")
    print(f"| one dense eigh per round (top vector) | {dense.processor:.2f} | {dense.clock:.2f} |")
    ratios = dense.processor / ours.processor, dense.clock / ours.clock
    print(
        f"\nRatio {ratios[0]:.1f} of processor time, {ratios[1]:.1f} of elapsed time; the kernels "
        f"differ by {difference:.1e} times the largest value.",
        flush=True,
    )
    X, y = make_threenorm(10_000, random_state=0)
    X_test, y_test = make_threenorm(5_000, random_state=1)
    booster = KernelBoost(Gaussian(0.02), n_rounds=n_rounds, n_templates=500, random_state=0)
    spent, _ = timed(booster.fit, X, y)
    machine = KernelPerceptron(booster.kernel_, random_state=0).fit(X, y)
    print(
        f"10,000 rows, 500 random templates: {spent.processor:.1f} s of processor time, "
        f"{spent.clock:.1f} s elapsed; alignment {booster.alignment_path_[0]:.2f} -> "
        f"{booster.alignment_path_[-1]:.2f}, test error of a Perceptron "
        f"{100 * (1 - machine.score(X_test, y_test)):.1f} %",
        flush=True,
    )


class Spent(NamedTuple):
    """Processor time, unaffected by other programs, and elapsed time, in seconds."""

    processor: float
    clock: float


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Spent, Any]:
    """Return the time and the result of a call."""
    processor, clock = time.process_time(), time.perf_counter()
    result = function(*arguments)
    return Spent(time.process_time() - processor, time.perf_counter() - clock), result


# -- synthetic


def draws_of(sigma: Any, axis: Any, seed: int) -> tuple[TrainTestData, TrainTestData]:
    """Return a draw with its clean and its noisy test rows."""
    make = partial(make_rotated_gaussians, sigma=sigma, long_axis=axis)
    train = make(300, random_state=3 * seed)
    tests = [make(200, noise=noise, random_state=3 * seed + 1) for noise in (0.0, 0.03)]
    clean, noisy = (TrainTestData(*train, *test) for test in tests)
    return clean, noisy


def synthetic(n_draws: int, steps: list[str]) -> None:
    """Print the numbers of Figures 3 and 4."""
    columns = ["reading", "kernel", "alignment", "online", "online, around 10", "290"]
    columns += ["clean, epoch 1", "epoch 10", "noisy, epoch 1", "epoch 10"]
    columns += ["separated", "examples", "mistakes"]
    print(f"\n{n_draws} draws; errors in percent, with 95 % error bars.\n")
    print(f"| {' | '.join(columns)} |\n|" + "---|" * len(columns))
    for sigma, axis in READINGS:
        runs: dict[str, list[tuple[Values, Values]]] = {
            name: [] for name in ("dot product", *steps)
        }
        for seed in range(n_draws):
            clean, noisy = draws_of(sigma, axis, seed)
            for name, found in runs.items():
                kernel = (
                    Linear()
                    if name == "dot product"
                    else KernelBoost(step=name).fit(clean.X, clean.y).kernel_
                )
                found.append((perceptron_on(kernel, clean), perceptron_on(kernel, noisy)))
        for name, found in runs.items():
            print(f"| {sigma}, {axis} | {name} | {' | '.join(cells(found))} |", flush=True)


def cells(runs: list[tuple[Values, Values]]) -> list[str]:
    """Return the numbers of one row."""
    clean, noisy = zip(*runs, strict=True)
    reached = [each for each in clean if "mistakes" in each]
    means = [
        f"{np.mean([each[name] for each in reached]):.1f}" if reached else "–"
        for name in ("examples", "mistakes")
    ]
    bars = [
        bar([each[name] for each in of])
        for of, names in (
            (clean, ("online", "online@10", "online@290", "error@1", "error")),
            (noisy, ("error@1", "error")),
        )
        for name in names
    ]
    aligned = np.mean([each["alignment"] for each in clean])
    return [f"{aligned:.2f}", *bars, f"{len(reached)}/{len(runs)}", *means]


def bar(numbers: list[float]) -> str:
    """Return a mean with its error bar."""
    half = 1.96 * np.std(numbers, ddof=1) / np.sqrt(len(numbers)) if len(numbers) > 1 else 0.0
    return f"{np.mean(numbers):.1f} ± {half:.1f}"


# -- digits


def digits_of(name: str) -> tuple[str, Any, Any, Any, Any]:
    """Return training and test digits, with pixels in [-1, 1]."""
    if name == "usps":
        try:
            dataset = load("usps")
            train, test = dataset.splits[0]
            return "USPS", dataset.X[train], dataset.y[train], dataset.X[test], dataset.y[test]
        except DatasetNotFoundError:
            print("USPS is not available: using the digits of scikit-learn.")
    X, y = load_digits(return_X_y=True)
    X, half = X / 8.0 - 1.0, len(y) // 2
    return "digits", X[:half], y[:half], X[half:], y[half:]


def usps(
    name: str, sigmas: list[float], steps: list[str], kernels: list[str], figure: str | None
) -> None:
    """Print the errors of the 45 pairs and compare kernels; draw Figure 5 for the last setting."""
    title, *parts = digits_of(name)
    for sigma in sigmas:
        for step in steps:
            about = f"{title}, σ = {sigma:g}, step = {step}"
            found = _compare(about, parts, sigma, step, kernels)
    if figure is not None:
        draw(found, about, figure)


def draw(found: dict[str, Any], title: str, path: str) -> None:
    """Draw the errors of the pairs: learned kernel against RBF, test against training templates."""
    from matplotlib import pyplot as plt

    pairs = [("RBF", "log"), ("log", "log, test")]
    labels = {"RBF": "RBF", "log": "learned on training rows", "log, test": "learned on test rows"}
    page, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    for ax, (x, y) in zip(axes, pairs, strict=True):
        largest = max(found[x].max(), found[y].max()) * 1.05
        ax.plot([0.0, largest], [0.0, largest], color="0.7")
        ax.scatter(found[x], found[y], s=15)
        ax.set(xlabel=f"{labels[x]}: error, %", ylabel=f"{labels[y]}: error, %", aspect="equal")
    page.suptitle(f"45 pairs of digits ({title})")
    page.savefig(path, dpi=80)


def _compare(
    title: str, parts: list[Any], sigma: float, step: str, names: list[str]
) -> dict[str, Any]:
    X, y, X_test, y_test = parts
    kernel, n_rounds = Gaussian(0.5 / sigma**2), dict.fromkeys(names, 0.0)
    errors: dict[str, list[float]] = {name: [] for name in names}
    spent = dict.fromkeys(names, Spent(0.0, 0.0))
    for pair in combinations(range(10), 2):
        rows, others = np.isin(y, pair), np.isin(y_test, pair)
        problem = TrainTestData(X[rows], y[rows], X_test[others], y_test[others])
        for name in names:
            took, learned = timed(_learned, kernel, name, step, problem)
            spent[name] = Spent(*np.add(spent[name], took))
            n_rounds[name] += len(getattr(learned, "coefficients", ())) / 45
            machine = KernelPerceptron(learned, n_epochs=N_EPOCHS, random_state=0)
            errors[name].append(error_percent(machine.fit(problem.X, problem.y), problem))
        latest = " ".join(f"{errors[name][-1]:.2f}" for name in names)
        print(f"{pair[0]}-{pair[1]}: {latest}", file=sys.stderr, flush=True)
    found = {name: np.array(each) for name, each in errors.items()}
    print(f"\n{title}\n")
    print(
        "| kernel | rounds | mean error, % | below RBF | equal | above | processor, s | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        print(
            f"| {name} | {n_rounds[name]:.1f} | {found[name].mean():.2f} "
            f"| {_verdict(found, name, 'RBF')} | {spent[name].processor:.0f} "
            f"| {spent[name].clock:.0f} |",
            flush=True,
        )
    for loss in ("log", "exp"):
        if f"{loss}, test" in names and loss in names:
            counts = _verdict(found, f"{loss}, test", loss)
            print(f"\n{loss}: on test rows against training rows below | equal | above: {counts}")
    return found


def _learned(kernel: Kernel, name: str, step: str, problem: TrainTestData) -> Any:
    if name == "RBF":
        return kernel
    loss, is_transductive = name[:3], name.endswith("test")
    return learn_kernel(kernel, problem, loss, step, is_transductive)


def _verdict(found: dict[str, Any], name: str, other: str) -> str:
    difference = found[name] - found[other]
    signs = np.where(np.abs(difference) < 1e-9, 0, np.sign(difference))
    return " | ".join(str(int((signs == sign).sum())) for sign in (-1, 0, 1))


def main() -> None:
    """Run the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", default=["speed", "synthetic", "usps"])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--sigmas", type=float, nargs="*", default=[1.0, 8.0])
    parser.add_argument("--steps", nargs="*", default=["bound", "line-search"])
    parser.add_argument("--set", default="usps", choices=["usps", "digits"])
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS), choices=KERNELS)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--figure", help="output file of Figure 5, for example pairs.png")
    arguments = parser.parse_args()
    start = time.perf_counter()
    if "speed" in arguments.parts:
        speed()
    if "synthetic" in arguments.parts:
        synthetic(arguments.draws, arguments.steps)
    if "usps" in arguments.parts:
        usps(
            arguments.set,
            arguments.sigmas,
            arguments.steps,
            arguments.kernels,
            arguments.figure,
        )
    print(f"\n{time.perf_counter() - start:.0f} s in total, {arguments.threads} threads.")


if __name__ == "__main__":
    main()
