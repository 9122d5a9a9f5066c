"""Compare ``kernel="auto"`` with a random forest and gradient boosting, all at their defaults.

Every classification set in the data folder is split a few times, with the same splits for all
methods. Sets that come with several splits (of the IDA collection) use those. For all others
stratified training sets are drawn, of the size of the given one, or 60 % of the rows, and at
most ``--rows``; the test set is the rest, at most 20,000 rows. If rows are grouped, no group is
in both parts; classes with one training row are left out (two of shuttle). Columns with named
categories are one-hot encoded for ours and the forest, and declared as categorical to boosting,
which supports them. The other columns are unchanged.

A cell is the mean test error in percent and the mean time in seconds to fit and to predict.
Ours is compared with the one of forest and boosting that has the smaller mean error on a set;
the difference is clear if it exceeds two standard errors, taken over the test rows on
which the two disagree. Run from the repository, with the data folder in ``KERNSEMBLE_DATA``:
``.venv/bin/python benchmarks/bench_accuracy.py [--sets ...] [--splits 3] [--rows 6000]
[--methods ...]``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from kernsemble.datasets import Dataset, Split, list_datasets, load
from kernsemble.svm import InfiniteEnsembleClassifierCV

REGRESSION_SETS = {"abalone"}  # the number of rings is an age, not a class
TRAINING_SHARE = 0.6
MOST_TEST_ROWS = 20_000
OURS, RIVALS = "auto", ("forest", "boosting")


def auto(is_category: np.ndarray, seed: int) -> Any:
    """Return our classifier, which selects kernel, scaling and C."""
    machine = InfiniteEnsembleClassifierCV(kernel="auto", random_state=seed)
    return make_pipeline(indicators(is_category), machine)


def forest(is_category: np.ndarray, seed: int) -> Any:
    """Return scikit-learn's random forest."""
    return make_pipeline(
        indicators(is_category), RandomForestClassifier(n_jobs=2, random_state=seed)
    )


def boosting(is_category: np.ndarray, seed: int) -> Any:
    """Return scikit-learn's gradient boosting on histograms."""
    return HistGradientBoostingClassifier(categorical_features=is_category, random_state=seed)


def explainable_boosting(is_category: np.ndarray, seed: int) -> Any:
    """Return the explainable boosting machine of the package interpret."""
    from interpret.glassbox import ExplainableBoostingClassifier

    kinds = ["nominal" if each else "continuous" for each in is_category]
    return ExplainableBoostingClassifier(feature_types=kinds, n_jobs=2, random_state=seed)


def indicators(is_category: np.ndarray) -> Any:
    """Return the one-hot encoding of categories, missing values included."""
    return make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            np.flatnonzero(is_category),
        ),
        remainder="passthrough",
    )


METHODS: dict[str, Callable[[np.ndarray, int], Any]] = {
    OURS: auto,
    "forest": forest,
    "boosting": boosting,
    "ebm": explainable_boosting,
}


def draw_split(dataset: Dataset, number: int, most_rows: int) -> Split:
    """Return the training and test rows of one repetition."""
    if number < len(dataset.splits) > 1:
        return dataset.splits[number]
    given = len(dataset.splits[0].train) if dataset.splits else None
    inside, outside = np.arange(len(dataset.y)), None
    if dataset.groups is not None:
        groups = np.random.default_rng(number).permutation(np.unique(dataset.groups))
        in_training = np.isin(dataset.groups, groups[: round(TRAINING_SHARE * len(groups))])
        inside, outside = np.flatnonzero(in_training), np.flatnonzero(~in_training)
    n_rows = min(given or round(TRAINING_SHARE * len(dataset.y)), most_rows, len(inside))
    train, rest = stratified(inside, dataset.y, n_rows, number)
    test, _ = stratified(rest if outside is None else outside, dataset.y, MOST_TEST_ROWS, number)
    classes, counts = np.unique(dataset.y[train], return_counts=True)
    known = classes[counts > 1]  # cross-validation needs two rows per class
    return Split(*(rows[np.isin(dataset.y[rows], known)] for rows in (train, test)))


def stratified(rows: np.ndarray, y: np.ndarray, n: int, seed: int) -> tuple[Any, Any]:
    """Return a stratified sample of `n` rows, and the other rows."""
    if n >= len(rows):
        return rows, rows[:0]
    return tuple(train_test_split(rows, train_size=n, stratify=y[rows], random_state=seed))


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a method on one split: the test rows it got wrong, and its times."""

    wrong: np.ndarray
    fit_seconds: float
    predict_seconds: float


def measure(dataset: Dataset, split: Split, method: str, seed: int) -> Outcome:
    """Fit one method on one split and test it."""
    named = [bool(dataset.categories.get(name)) for name in dataset.feature_names or ()]
    is_category = np.array(named or [False] * dataset.X.shape[1])
    machine = METHODS[method](is_category, seed)
    start = time.perf_counter()
    machine.fit(dense(dataset.X[split.train]), dataset.y[split.train])
    fitted = time.perf_counter()
    predicted = machine.predict(dense(dataset.X[split.test]))
    end = time.perf_counter()
    return Outcome(predicted != dataset.y[split.test], fitted - start, end - fitted)


def dense(X: Any) -> np.ndarray:
    """Return rows as a dense array, which boosting needs."""
    return X.toarray() if sparse.issparse(X) else X


Outcomes = dict[str, list[Outcome]]


def mean_error(outcomes: list[Outcome]) -> float:
    """Return the mean error over the splits in percent."""
    return 100.0 * float(np.mean([each.wrong.mean() for each in outcomes]))


def advantage(outcomes: Outcomes) -> tuple[float, float] | None:
    """Return the better rival's error minus ours, and its standard error."""
    present = [rival for rival in RIVALS if rival in outcomes]
    if OURS not in outcomes or not present:
        return None
    better = min(present, key=lambda rival: mean_error(outcomes[rival]))
    differences = np.concatenate(
        [
            theirs.wrong.astype(float) - ours.wrong
            for ours, theirs in zip(outcomes[OURS], outcomes[better], strict=True)
        ]
    )
    gain = mean_error(outcomes[better]) - mean_error(outcomes[OURS])
    return gain, 100.0 * float(np.sqrt((differences**2).sum())) / len(differences)


def ranks(outcomes: Outcomes) -> dict[str, float]:
    """Return the rank of each method on one set, 1 for the smallest error."""
    places = rankdata([round(mean_error(each), 6) for each in outcomes.values()])
    return dict(zip(outcomes, map(float, places), strict=True))


def cells(outcomes: Outcomes) -> str:
    """Return a table's cells: error, rank and times of each method, and our advantage."""
    places = ranks(outcomes)
    texts = [
        f"{mean_error(each):.2f} ({places[method]:g}; {_mean(each, 'fit_seconds'):.2f} + "
        f"{_mean(each, 'predict_seconds'):.2f})"
        for method, each in outcomes.items()
    ]
    gain = advantage(outcomes)
    if gain is not None:
        texts.append(f"{gain[0]:+.2f} ± {gain[1]:.2f}")
    return " | ".join(texts)


def _mean(outcomes: list[Outcome], name: str) -> float:
    return float(np.mean([getattr(each, name) for each in outcomes]))


def report(results: dict[str, Outcomes], methods: list[str]) -> None:
    """Print averages over the sets, and the number of sets that ours wins."""
    print("\n| | " + " | ".join(methods) + " |\n|" + "---|" * (len(methods) + 1))
    rows = {
        "mean error, %": [np.mean([mean_error(r[m]) for r in results.values()]) for m in methods],
        "mean rank": [np.mean([ranks(r)[m] for r in results.values()]) for m in methods],
        "mean time to fit, s": [
            np.mean([_mean(r[m], "fit_seconds") for r in results.values()]) for m in methods
        ],
        "mean time to predict, s": [
            np.mean([_mean(r[m], "predict_seconds") for r in results.values()]) for m in methods
        ],
    }
    for title, values in rows.items():
        print(f"| {title} | " + " | ".join(f"{value:.2f}" for value in values) + " |")
    gains = [gain for gain in map(advantage, results.values()) if gain is not None]
    if gains:
        _report_gains(np.array(gains))


def _report_gains(gains: np.ndarray) -> None:
    gain, spread = gains.T
    clear = np.abs(gain) > 2.0 * spread
    print(
        f"\nAgainst the better of {' and '.join(RIVALS)} on each set, our error is smaller on "
        f"{(gain > 0).sum()} sets ({(clear & (gain > 0)).sum()} clearly), equal on "
        f"{(gain == 0).sum()}, larger on {(gain < 0).sum()} ({(clear & (gain < 0)).sum()} "
        f"clearly); the mean difference is {gain.mean():+.2f} ± "
        f"{np.sqrt((spread**2).sum()) / len(gain):.2f} points in our favour."
    )


def main() -> None:
    """Print the table, one row per set, and the averages."""
    sets = [entry.name for entry in list_datasets() if entry.name not in REGRESSION_SETS]
    methods = [name for name in METHODS if name != "ebm" or find_spec("interpret")]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=sets, default=sets, metavar="SET")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=methods)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="The least populated class")  # in shuttle, yeast
    start = time.perf_counter()
    headings = [f"{method}: error, % (rank; s to fit + predict)" for method in options.methods]
    headings += ["our advantage ± s.e."] if OURS in options.methods else []
    print("| set | rows × columns | " + " | ".join(headings) + " |")
    print("|" + "---|" * (len(headings) + 2))
    results: dict[str, Outcomes] = {}
    for name in options.sets:
        dataset = load(name)
        splits = [draw_split(dataset, k, options.rows) for k in range(options.splits)]
        results[name] = {
            method: [measure(dataset, split, method, seed) for seed, split in enumerate(splits)]
            for method in options.methods
        }
        size = f"{len(splits[0].train)} × {dataset.X.shape[1]}"
        print(f"| {name} | {size} | {cells(results[name])} |", flush=True)
    report(results, options.methods)
    print(f"\n{options.splits} splits per set in {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
