"""The mixed table follows its formula."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kernsemble.datasets import make_mixed_table
from kernsemble.datasets.mixed_table import HOUSEHOLDS, OCCUPATIONS


def probability(X):
    """Return the probability of a high income, of rows without missing values."""
    occupation, household = X["occupation"].astype(str), X["household"].astype(str)
    logit = (
        -2.6
        + 1.6 * np.exp(-(((X["age"] - 47) / 14) ** 2))
        + 0.4 * (X["education"] - 10)
        + 1.2 * np.tanh((X["hours"] - 40) / 8)
        + 0.45 * np.log10(1 + X["gain"])
        + occupation.map(OCCUPATIONS)
        + household.map(HOUSEHOLDS)
        + 0.5 * ((household == "couple") & (X["education"] > 12))
    )
    return 1 / (1 + np.exp(-logit))


def test_the_share_of_high_incomes_follows_the_formula():
    X, y = make_mixed_table(50_000, missing=0.0, random_state=0)
    assert X.notna().all(axis=None)
    P, is_high = probability(X), y == "high"
    for k in range(10):
        mine = (k / 10 <= P) & ((k + 1) / 10 > P)
        error = np.sqrt((P[mine] * (1 - P[mine])).sum()) / mine.sum()
        assert abs(is_high[mine].mean() - P[mine].mean()) < 4 * error


def test_missing_values_have_the_given_share_and_hours_are_informative():
    X, y = make_mixed_table(20_000, missing=0.1, random_state=0)
    gaps = X.isna()
    assert gaps[["age", "gain", "household", "region"]].to_numpy().sum() == 0
    assert gaps["education"].mean() == pytest.approx(0.1, abs=0.01)
    assert gaps["occupation"].mean() == pytest.approx(0.1, abs=0.01)
    assert gaps["hours"][y == "high"].mean() == pytest.approx(0.3, abs=0.02)
    assert gaps["hours"][y == "below"].mean() == pytest.approx(0.1, abs=0.01)


def test_the_table_depends_on_the_seed_only():
    (X, y), (again, y_again) = (make_mixed_table(50, random_state=3) for _ in range(2))
    pd.testing.assert_frame_equal(X, again)
    assert_array_equal(y, y_again)


@pytest.mark.parametrize("settings", [{"n_samples": 0}, {"missing": 1.5}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        make_mixed_table(**settings)
