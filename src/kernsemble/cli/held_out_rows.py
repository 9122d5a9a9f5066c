"""Rows held out of the training data, and test rows that were trained on."""

from collections import Counter

import numpy as np

from kernsemble.cli.column_types import import_polars
from kernsemble.cli.console import CommandError
from kernsemble.cli.training_data import TrainingData

__all__ = ["hold_out", "n_trained_on"]


def hold_out(data: TrainingData, share: float, seed: int) -> tuple[TrainingData, TrainingData]:
    """Return the training rows and a random share of held-out rows, stratified by class."""
    from sklearn.model_selection import train_test_split

    is_classifier = data.task == "classification"
    try:
        kept, held_out = train_test_split(
            np.arange(data.n_rows),
            test_size=share,
            random_state=seed,
            stratify=data.y if is_classifier else None,
        )
    except ValueError as error:
        classes = f" of {len(np.unique(data.y))} classes" if is_classifier else ""
        need = "a row of every class" if is_classifier else "at least one"
        raise CommandError(
            f"--holdout {share:g}: there are {data.n_rows} rows{classes}, and both the training "
            f"and the held-out rows need {need}: use another share, or more rows"
        ) from error
    return _rows(data, np.sort(kept)), _rows(data, np.sort(held_out))


def _rows(data: TrainingData, rows: np.ndarray) -> TrainingData:
    return data._replace(X=data.X[rows], y=data.y[rows])


def n_trained_on(train: TrainingData, test: TrainingData) -> int:
    """Return the number of test rows that equal a training row, features and target.

    Rows of few distinct values may be equal by chance. The number is zero unless it exceeds, by
    more than three standard deviations, the number to be expected from the share of training rows
    that equal another one.
    """
    known = Counter(_hashes(train))
    n = sum(each in known for each in _hashes(test))
    share = sum(times for times in known.values() if times > 1) / train.n_rows
    expected = share * test.n_rows
    return n if n > expected + 3.0 * np.sqrt(expected * (1.0 - share)) else 0


def _hashes(data: TrainingData) -> list[int]:
    """Return a number for each row, equal for equal rows; missing numbers are equal."""
    pl = import_polars()
    numbers = pl.selectors.float()
    frame = data.X.with_columns(numbers.fill_nan(None))
    return frame.hstack([pl.Series("\0target", data.y.astype(str))]).hash_rows().to_list()
