"""The papers' data: a name and a seed tell which rows are trained and tested on."""

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.preprocessing import MinMaxScaler

from kernsemble.datasets import (
    Dataset,
    load,
    make_ringnorm,
    make_rotated_gaussians,
    make_sparse_sum,
    make_spheres,
    make_threenorm,
    make_twonorm,
)

N_TRAIN, N_TEST = 300, 3000
NOISE = "-n"  # how names of sets end in which labels are flipped
SCALED = " scaled"  # how names of sets end whose features are scaled
REDRAWN = " redrawn"  # how names of sets end whose given splits are replaced by random ones
FLIPPED = 0.1
TESTED = 0.4  # share of the rows of a set without splits of its own
TEST_SEED = 100_000  # apart from those of training draws
SPAM_ROWS = 1536  # of spam, to train on
LARGER = (14, 29, 44, 59, 74, 89)  # true columns among a hundred,
LARGER_SUM = (1.0, 1.0, 2.0, 2.0, 3.0, 3.0)  # and their coefficients
PAIRS = tuple(combinations(range(10), 2))  # of digits


class Problem(NamedTuple):
    """Rows and classes to train on, and others to test on; the true columns, where it has some."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    columns: tuple[int, ...] = ()


class Maker(NamedTuple):
    """What makes a problem of a seed, and how many seeds there are, None if any number."""

    make: Callable[[int], Problem]
    n_draws: int | None = None


class RareClass(NamedTuple):
    """A set, the class of it that is rare, and how often it is split."""

    set: str
    rare: int
    n_folds: int
    n_repeats: int


RARE_CLASSES = {
    "yeast, ME2": RareClass("yeast", 4, 5, 2),
    "yeast, ME1": RareClass("yeast", 5, 5, 2),
    "yeast, EXC": RareClass("yeast", 6, 5, 2),
    "abalone, 19 rings": RareClass("abalone", 19, 4, 2),
    "hiva, rare": RareClass("hiva", 1, 3, 1),
    "mammography, rare": RareClass("mammography", 1, 3, 1),
    "coil2000, rare": RareClass("coil2000", 1, 3, 1),
    "kdd04_protein, rare": RareClass("kdd04_protein", 1, 2, 1),
}


def draw(name: str, seed: int) -> Problem:
    """Return one draw of a generator, one given split, or one random split of a named set.

    Parameters
    ----------
    name : str
        A name of `MAKERS`, such as "twonorm", "threenorm" or "ringnorm", with "-n" for 10 per
        cent wrong training labels;
        else a data set of `kernsemble.datasets.load`, whose given splits are taken in order, or
        which is split at random, 60 to 40; " redrawn" after it splits at random a set that has
        splits of its own, into parts as large; " scaled" scales each feature to [-1, 1] in the
        training rows.
    seed : int
        Which draw.
    """
    if name.endswith(REDRAWN):
        return _redrawn(_loaded(name.removesuffix(REDRAWN), 0), seed)
    most = n_draws(name)
    if most is not None and seed >= most:
        raise ValueError(f"seed = {seed}: {name} has {most} draws, from 0 on")
    if name in MAKERS:
        return MAKERS[name].make(seed)
    problem = _loaded(name.removesuffix(SCALED), seed)
    return _scaled(problem) if name.endswith(SCALED) else problem


def n_draws(name: str) -> int | None:
    """Return how many draws there are of a set, None if any number."""
    if name.endswith(REDRAWN):
        return None
    if name in MAKERS:
        return MAKERS[name].n_draws
    return len(_read(name.removesuffix(SCALED)).splits) or None


def rare_rows(name: str) -> tuple[Any, Any]:
    """Return the rows of a set with a rare class, and ones for the rare."""
    dataset = _read(RARE_CLASSES[name].set)
    return np.asarray(dataset.X), (dataset.y == RARE_CLASSES[name].rare).astype(int)


@lru_cache(maxsize=2)  # the cells of a set mostly follow each other
def _read(name: str) -> Dataset:
    return load(name)


def _loaded(name: str, seed: int) -> Problem:
    dataset = _read(name)
    if dataset.splits:
        X, X_test, y, y_test = dataset.parts(seed)
        return Problem(X, y, X_test, y_test)
    return _split(name, TESTED, seed)


def _split(name: str, test_size: float, seed: int) -> Problem:
    dataset = _read(name)
    X, X_test, y, y_test = train_test_split(
        dataset.X, dataset.y, test_size=test_size, random_state=seed
    )
    return Problem(X, y, X_test, y_test)


def _scaled(problem: Problem) -> Problem:
    X, X_test = (
        part.toarray() if hasattr(part, "toarray") else part for part in (problem.X, problem.X_test)
    )
    scaler = MinMaxScaler((-1.0, 1.0)).fit(X)
    return problem._replace(X=scaler.transform(X), X_test=scaler.transform(X_test))


def _of_breiman(make: Callable[..., Any], flip: float, seed: int) -> Problem:
    return Problem(
        *make(N_TRAIN, flip=flip, random_state=seed), *make(N_TEST, random_state=TEST_SEED + seed)
    )


# the one reading of the printed covariance in which a line separates the classes
_separable_gaussians = partial(make_rotated_gaussians, sigma="deviation", long_axis="across")


def _redrawn(problem: Problem, seed: int) -> Problem:
    """Return a random split of all rows into parts as large as a problem's."""
    X, y = np.concatenate([problem.X, problem.X_test]), np.append(problem.y, problem.y_test)
    X, X_test, y, y_test = train_test_split(X, y, train_size=len(problem.y), random_state=seed)
    return Problem(X, y, X_test, y_test)


def _of_crammer(noise: float, seed: int) -> Problem:
    """Draw training rows, and test rows with noise in the two features that matter."""
    return Problem(
        *_separable_gaussians(300, random_state=3 * seed),
        *_separable_gaussians(200, noise=noise, random_state=3 * seed + 1),
    )


def _pair_of_digits(seed: int) -> Problem:
    X, X_test, y, y_test = _read("usps").parts()
    rows, others = np.isin(y, PAIRS[seed]), np.isin(y_test, PAIRS[seed])
    return Problem(X[rows], y[rows], X_test[others], y_test[others])


def _spam(seed: int) -> Problem:
    return _split("spam", len(_read("spam").y) - SPAM_ROWS, seed)


def _sphere(seed: int) -> Problem:
    """Draw points and their radii, which are looked at where they are."""
    X, radius = make_spheres(random_state=seed)
    return Problem(X, radius, X, radius)


def _sum(seed: int) -> Problem:
    return Problem(
        *make_sparse_sum(random_state=seed),
        *make_sparse_sum(random_state=TEST_SEED + seed),
        columns=(1, 4, 7),
    )


def _larger_sum(seed: int) -> Problem:
    return Problem(
        *_rows_of_larger_sum(seed), *_rows_of_larger_sum(TEST_SEED + seed), columns=LARGER
    )


def _rows_of_larger_sum(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 100))
    return X, X[:, LARGER] @ LARGER_SUM + rng.standard_normal(120)


def _rare_fold(name: str, seed: int) -> Problem:
    case = RARE_CLASSES[name]
    X, y = rare_rows(name)
    folds = RepeatedStratifiedKFold(n_splits=case.n_folds, n_repeats=case.n_repeats, random_state=0)
    train, test = list(folds.split(X, y))[seed]
    return Problem(X[train], y[train], X[test], y[test])


_BREIMAN = {"twonorm": make_twonorm, "threenorm": make_threenorm, "ringnorm": make_ringnorm}
MAKERS: dict[str, Maker] = {
    **{name: Maker(partial(_of_breiman, make, 0.0)) for name, make in _BREIMAN.items()},
    **{name + NOISE: Maker(partial(_of_breiman, make, FLIPPED)) for name, make in _BREIMAN.items()},
    "crammer synthetic": Maker(partial(_of_crammer, 0.0)),
    "crammer synthetic, noisy": Maker(partial(_of_crammer, 0.03)),
    "usps pairs": Maker(_pair_of_digits, len(PAIRS)),
    "spam of zhu": Maker(_spam),
    "zhu spheres": Maker(_sphere),
    "zhu toy": Maker(_sum),
    "zhu larger": Maker(_larger_sum),
    **{
        name: Maker(partial(_rare_fold, name), case.n_folds * case.n_repeats)
        for name, case in RARE_CLASSES.items()
    },
}
