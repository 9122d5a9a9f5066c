"""Data of the papers: training and test rows by name and seed."""

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
from kernsemble.datasets.catalogue import find_entry

N_TRAIN, N_TEST = 300, 3000
NOISE = "-n"  # suffix of data sets with flipped labels
SCALED = " scaled"  # suffix of data sets with scaled features
REDRAWN = " redrawn"  # suffix of data sets whose given splits are replaced by random ones
FLIPPED = 0.1  # share of flipped labels
TESTED = 0.4  # share of test rows of a data set without given splits
TEST_SEED = 100_000  # offset of the seeds of test rows
SPAM_ROWS = 1536  # number of training rows of spam
LARGER = (14, 29, 44, 59, 74, 89)  # true columns among a hundred,
LARGER_SUM = (1.0, 1.0, 2.0, 2.0, 3.0, 3.0)  # and their coefficients
PAIRS = tuple(combinations(range(10), 2))  # pairs of digits


class TrainTestData(NamedTuple):
    """Training rows and test rows, and the true columns where they are known."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    columns: tuple[int, ...] = ()


class DataGenerator(NamedTuple):
    """A function that draws data from a seed.

    Attributes
    ----------
    make : callable
        The function.
    n_draws : int or None
        Number of seeds, None if unlimited.
    dataset : str or None
        Data set that it reads, None if it draws from a distribution.
    """

    make: Callable[[int], TrainTestData]
    n_draws: int | None = None
    dataset: str | None = None


class RareClass(NamedTuple):
    """A data set, its rare class, and its cross-validation."""

    data: str
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


def draw(name: str, seed: int) -> TrainTestData:
    """Return one draw of a generator, one given split, or one random split of a named set.

    Parameters
    ----------
    name : str
        A name of `GENERATORS`, such as "twonorm", "threenorm" or "ringnorm", with the suffix "-n"
        for 10 per cent wrong training labels; else a data set of `kernsemble.datasets.load`,
        whose given splits are used in order, or which is split at random, 60 to 40. The suffix
        " redrawn" splits a data set with given splits at random, into parts of the same size;
        " scaled" scales each feature to [-1, 1] in the training rows.
    seed : int
        Number of the draw.
    """
    if name.endswith(REDRAWN):
        return _redrawn(_loaded(name.removesuffix(REDRAWN), 0), seed)
    most = n_draws(name)
    if most is not None and seed >= most:
        raise ValueError(f"seed = {seed}: {name} has {most} draws, from 0 on")
    if name in GENERATORS:
        return GENERATORS[name].make(seed)
    data = _loaded(name.removesuffix(SCALED), seed)
    return _scaled(data) if name.endswith(SCALED) else data


def n_draws(name: str) -> int | None:
    """Return the number of draws of a data set, None if unlimited."""
    if name.endswith(REDRAWN):
        return None
    if name in GENERATORS:
        return GENERATORS[name].n_draws
    return find_entry(name.removesuffix(SCALED)).n_splits or None


def dataset_of(name: str) -> str | None:
    """Return the data set that `draw` reads, None if it draws from a distribution."""
    if name in GENERATORS:
        return GENERATORS[name].dataset
    return name.removesuffix(REDRAWN).removesuffix(SCALED)


def rare_rows(name: str) -> tuple[Any, Any]:
    """Return the rows of a data set with a rare class, and labels 1 for the rare class."""
    return _rare_rows(RARE_CLASSES[name])


def _rare_rows(case: RareClass) -> tuple[Any, Any]:
    dataset = _read(case.data)
    return np.asarray(dataset.X), (dataset.y == case.rare).astype(int)


@lru_cache(maxsize=2)  # consecutive cells mostly share a data set
def _read(name: str) -> Dataset:
    return load(name)


def _loaded(name: str, seed: int) -> TrainTestData:
    dataset = _read(name)
    if dataset.splits:
        X, X_test, y, y_test = dataset.parts(seed)
        return TrainTestData(X, y, X_test, y_test)
    return _split(name, TESTED, seed)


def _split(name: str, test_size: float, seed: int) -> TrainTestData:
    dataset = _read(name)
    X, X_test, y, y_test = train_test_split(
        dataset.X, dataset.y, test_size=test_size, random_state=seed
    )
    return TrainTestData(X, y, X_test, y_test)


def _scaled(data: TrainTestData) -> TrainTestData:
    X, X_test = (
        part.toarray() if hasattr(part, "toarray") else part for part in (data.X, data.X_test)
    )
    scaler = MinMaxScaler((-1.0, 1.0)).fit(X)
    return data._replace(X=scaler.transform(X), X_test=scaler.transform(X_test))


def _breiman(make: Callable[..., Any], flip: float, seed: int) -> TrainTestData:
    return TrainTestData(
        *make(N_TRAIN, flip=flip, random_state=seed), *make(N_TEST, random_state=TEST_SEED + seed)
    )


# the only reading of the printed covariance in which a line separates the classes
_separable_gaussians = partial(make_rotated_gaussians, sigma="deviation", long_axis="across")


def _redrawn(data: TrainTestData, seed: int) -> TrainTestData:
    """Return a random split of all rows into parts of the same size."""
    X, y = np.concatenate([data.X, data.X_test]), np.append(data.y, data.y_test)
    X, X_test, y, y_test = train_test_split(X, y, train_size=len(data.y), random_state=seed)
    return TrainTestData(X, y, X_test, y_test)


def _crammer(noise: float, seed: int) -> TrainTestData:
    """Draw training rows, and test rows with noise in the two features that matter."""
    return TrainTestData(
        *_separable_gaussians(300, random_state=3 * seed),
        *_separable_gaussians(200, noise=noise, random_state=3 * seed + 1),
    )


def _pair_of_digits(seed: int) -> TrainTestData:
    X, X_test, y, y_test = _read("usps").parts()
    rows, others = np.isin(y, PAIRS[seed]), np.isin(y_test, PAIRS[seed])
    return TrainTestData(X[rows], y[rows], X_test[others], y_test[others])


def _spam(seed: int) -> TrainTestData:
    return _split("spam", len(_read("spam").y) - SPAM_ROWS, seed)


def _sphere(seed: int) -> TrainTestData:
    """Draw points and their radii; the test rows are the training rows."""
    X, radius = make_spheres(random_state=seed)
    return TrainTestData(X, radius, X, radius)


def _sum(seed: int) -> TrainTestData:
    return TrainTestData(
        *make_sparse_sum(random_state=seed),
        *make_sparse_sum(random_state=TEST_SEED + seed),
        columns=(1, 4, 7),
    )


def _larger_sum(seed: int) -> TrainTestData:
    return TrainTestData(
        *_rows_of_larger_sum(seed), *_rows_of_larger_sum(TEST_SEED + seed), columns=LARGER
    )


def _rows_of_larger_sum(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 100))
    return X, X[:, LARGER] @ LARGER_SUM + rng.standard_normal(120)


def rare_fold(case: RareClass, seed: int) -> TrainTestData:
    """Return a fold of the repeated cross-validation of a data set with a rare class."""
    X, y = _rare_rows(case)
    folds = RepeatedStratifiedKFold(n_splits=case.n_folds, n_repeats=case.n_repeats, random_state=0)
    train, test = list(folds.split(X, y))[seed]
    return TrainTestData(X[train], y[train], X[test], y[test])


_BREIMAN = {"twonorm": make_twonorm, "threenorm": make_threenorm, "ringnorm": make_ringnorm}
GENERATORS: dict[str, DataGenerator] = {
    **{name: DataGenerator(partial(_breiman, make, 0.0)) for name, make in _BREIMAN.items()},
    **{
        name + NOISE: DataGenerator(partial(_breiman, make, FLIPPED))
        for name, make in _BREIMAN.items()
    },
    "crammer synthetic": DataGenerator(partial(_crammer, 0.0)),
    "crammer synthetic, noisy": DataGenerator(partial(_crammer, 0.03)),
    "usps pairs": DataGenerator(_pair_of_digits, len(PAIRS), "usps"),
    "spam of zhu": DataGenerator(_spam, dataset="spam"),
    "zhu spheres": DataGenerator(_sphere),
    "zhu toy": DataGenerator(_sum),
    "zhu larger": DataGenerator(_larger_sum),
    **{
        name: DataGenerator(partial(rare_fold, case), case.n_folds * case.n_repeats, case.data)
        for name, case in RARE_CLASSES.items()
    },
}
