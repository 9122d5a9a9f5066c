"""A table of numbers, categories and missing values, similar to census data."""

from typing import Any

import numpy as np

from kernsemble._arguments import as_generator, check_count, check_share
from kernsemble._typing import Array, FloatArray

OCCUPATIONS = {
    "clerk": -0.2,
    "craft": 0.0,
    "farming": -0.8,
    "machine operator": -0.5,
    "manager": 0.9,
    "professional": 0.7,
    "sales": 0.1,
    "service": -1.0,
}
HOUSEHOLDS = {"alone": -0.9, "couple": 0.9, "parents": -1.4, "shared": -0.6}
REGIONS = ("east", "north", "south", "west")  # uninformative


def make_mixed_table(
    n_samples: int = 2000,
    missing: float = 0.05,
    random_state: int | np.random.Generator | None = None,
) -> tuple[Any, Array]:
    r"""Draw a table with numbers, categories and missing values, and a class of income.

    .. math:: P(\text{high}) = \sigma\bigl(\textstyle -2.6 + 1.6\, e^{-((\text{age} - 47)/14)^2}
              + 0.4\,(\text{education} - 10) + 1.2 \tanh((\text{hours} - 40)/8)
              + 0.45 \log_{10}(1 + \text{gain}) + o + h\bigr)

    with a number o for each occupation and h for each household; regions are uninformative, and
    couples with long education have 0.5 more, an interaction of two columns. Ages, years of
    education and weekly hours of work are rounded Gaussians, gains are zero for nine in ten. Values
    of education, hours and occupation are missing; those of hours more often where the income is
    high, so that their absence is informative.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows.
    missing : float, default=0.05
        Share of missing values in education and occupation, and in hours where the income is not
        high; where it is high, three times as much, at most all.
    random_state : int, numpy.random.Generator or None, default=None
        Random seed or generator.

    Returns
    -------
    X : pandas.DataFrame of shape (n_samples, 7)
        Columns age, education, hours, gain, occupation, household and region.
    y : ndarray of shape (n_samples,)
        "high" or "below".

    Examples
    --------
    >>> from kernsemble.datasets import make_mixed_table
    >>> X, y = make_mixed_table(1000, random_state=0)
    >>> X.dtypes.astype(str).to_dict()
    {'age': 'float64', 'education': 'float64', 'hours': 'float64', 'gain': 'float64',
    'occupation': 'category', 'household': 'category', 'region': 'category'}
    >>> float((y == "high").mean())
    0.33
    """
    check_count("n_samples", n_samples)
    check_share("missing", missing)
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "a mixed table needs pandas, which is not installed: pip install pandas"
        ) from error
    rng = as_generator(random_state)
    age = np.round(np.clip(rng.normal(40.0, 13.0, n_samples), 17.0, 80.0))
    education = np.round(np.clip(rng.normal(11.0, 2.6, n_samples), 4.0, 20.0))
    hours = np.round(np.clip(rng.normal(40.0, 10.0, n_samples), 5.0, 80.0))
    gain = np.where(
        rng.random(n_samples) < 0.1, np.round(10.0 ** rng.normal(3.5, 0.5, n_samples)), 0
    )
    occupation = rng.choice(list(OCCUPATIONS), n_samples)
    household = rng.choice(list(HOUSEHOLDS), n_samples, p=[0.25, 0.5, 0.1, 0.15])
    region = rng.choice(REGIONS, n_samples)
    logit = (
        -2.6
        + 1.6 * np.exp(-(((age - 47.0) / 14.0) ** 2))
        + 0.4 * (education - 10.0)
        + 1.2 * np.tanh((hours - 40.0) / 8.0)
        + 0.45 * np.log10(1.0 + gain)
        + np.array([OCCUPATIONS[each] for each in occupation])
        + np.array([HOUSEHOLDS[each] for each in household])
        + 0.5 * ((household == "couple") & (education > 12.0))
    )
    is_high = rng.random(n_samples) < 1.0 / (1.0 + np.exp(-logit))
    chance = np.where(is_high, min(3.0 * missing, 1.0), missing)
    X = pd.DataFrame(
        {
            "age": age,
            "education": _with_gaps(education, missing, rng),
            "hours": _with_gaps(hours, chance, rng),
            "gain": gain,
            "occupation": pd.Series(occupation).where(rng.random(n_samples) >= missing),
            "household": household,
            "region": region,
        }
    )
    categories = {"occupation": list(OCCUPATIONS), "household": list(HOUSEHOLDS), "region": REGIONS}
    kinds = {name: pd.CategoricalDtype(list(known)) for name, known in categories.items()}
    return X.astype(kinds), np.where(is_high, "high", "below")


def _with_gaps(
    values: FloatArray, chance: float | FloatArray, rng: np.random.Generator
) -> FloatArray:
    return np.where(rng.random(len(values)) < chance, np.nan, values)
