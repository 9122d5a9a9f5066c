"""The papers' data: a name and a seed tell which rows are trained and tested on."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from kernsemble.datasets import load, make_ringnorm, make_threenorm, make_twonorm

GENERATORS = {"twonorm": make_twonorm, "threenorm": make_threenorm, "ringnorm": make_ringnorm}
N_TRAIN, N_TEST = 300, 3000
NOISE = "-n"  # how names of sets end in which labels are flipped
SCALED = " scaled"  # how names of sets end whose features are scaled
REDRAWN = " redrawn"  # how names of sets end whose given splits are replaced by random ones
FLIPPED = 0.1
TESTED = 0.4  # share of the rows of a set without splits of its own
TEST_SEED = 100_000  # apart from those of training draws


class Problem(NamedTuple):
    """Rows and classes to train on, and others to test on."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def draw(name: str, seed: int) -> Problem:
    """Return one draw of a generator, one given split, or one random split of a named set.

    Parameters
    ----------
    name : str
        "twonorm", "threenorm" or "ringnorm", with "-n" for 10 per cent wrong training labels;
        else a data set of `kernsemble.datasets.load`, whose given splits are taken in order, or
        which is split at random, 60 to 40; " redrawn" after it splits at random a set that has
        splits of its own, into parts as large; " scaled" scales each feature to [-1, 1] in the
        training rows.
    seed : int
        Which draw.
    """
    if name.removesuffix(NOISE) in GENERATORS:
        return _generated(name, seed)
    if name.endswith(REDRAWN):
        return _redrawn(_loaded(name.removesuffix(REDRAWN), 0), seed)
    problem = _loaded(name.removesuffix(SCALED), seed)
    return _scaled(problem) if name.endswith(SCALED) else problem


def n_draws(name: str) -> int | None:
    """Return how many draws there are of a set, None if any number."""
    if name.removesuffix(NOISE) in GENERATORS or name.endswith(REDRAWN):
        return None
    return len(load(name.removesuffix(SCALED)).splits) or None


def _generated(name: str, seed: int) -> Problem:
    make = GENERATORS[name.removesuffix(NOISE)]
    flip = FLIPPED if name.endswith(NOISE) else 0.0
    return Problem(
        *make(N_TRAIN, flip=flip, random_state=seed), *make(N_TEST, random_state=TEST_SEED + seed)
    )


def _loaded(name: str, seed: int) -> Problem:
    dataset = load(name)
    if dataset.splits:
        if seed >= len(dataset.splits):
            raise ValueError(f"seed = {seed}: {name} has {len(dataset.splits)} splits, from 0 on")
        X, X_test, y, y_test = dataset.parts(seed)
    else:
        X, X_test, y, y_test = train_test_split(
            dataset.X, dataset.y, test_size=TESTED, random_state=seed
        )
    return Problem(X, y, X_test, y_test)


def _redrawn(problem: Problem, seed: int) -> Problem:
    """Return a random split of all rows into parts as large as a problem's."""
    X, y = np.concatenate([problem.X, problem.X_test]), np.append(problem.y, problem.y_test)
    X, X_test, y, y_test = train_test_split(X, y, train_size=len(problem.y), random_state=seed)
    return Problem(X, y, X_test, y_test)


def _scaled(problem: Problem) -> Problem:
    X, y, X_test, y_test = problem
    X, X_test = (part.toarray() if hasattr(part, "toarray") else part for part in (X, X_test))
    scaler = MinMaxScaler((-1.0, 1.0)).fit(X)
    return Problem(scaler.transform(X), y, scaler.transform(X_test), y_test)
