"""Feature importance."""

from typing import Any, NamedTuple, Self

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble._value_object import short_repr
from kernsemble.inspection.dataframes import as_frame

N_GROUPS = 5  # number of groups of background rows


class Importances(NamedTuple):
    """Feature importances.

    Attributes
    ----------
    shares : dict of str to float
        Share of each feature. Shares sum to 1, or are all zero if the model is constant.
    method : str
        Quantity that they are shares of.
    standard_errors : dict of str to float
        Standard error of each share, due to the sample of rows and to sampled contributions; zero
        if the shares are exact.
    """

    shares: dict[str, float]
    method: str
    standard_errors: dict[str, float]

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def from_sizes(cls, names: list[str], sizes: FloatArray, method: str) -> Self:
        """Return exact importances, proportional to sizes."""
        shares = sizes / (float(sizes.sum()) or 1.0)
        return cls(
            dict(zip(names, shares.tolist(), strict=True)), method, dict.fromkeys(names, 0.0)
        )

    @classmethod
    def from_contributions(
        cls,
        names: list[str],
        contributions: FloatArray,
        group_sizes: list[int],
        unused_rows: float,
        unused_background: float,
        method: str,
    ) -> Self:
        r"""Return the shares :math:`s_d` of the mean absolute contributions to n rows.

        With :math:`T_i = \sum_d |\phi_{id}|` and :math:`r_{id} = |\phi_{id}| - s_d T_i`, the
        squared standard error of the ratio of two means is

        .. math:: u\, \frac{\sum_i r_{id}^2}{n(n-1)\, \bar T^2}
                  + u'\, \frac{G-1}{G} \sum_g (s_d^{(g)} - \bar s_d)^2 ,

        where the second term is a jackknife over G groups of background rows: :math:`s^{(g)}` are
        the shares without group g.

        Parameters
        ----------
        names : list of str
            Names of the features.
        contributions : array of shape (G, n, n_features)
            Contributions with respect to each group of background rows.
        group_sizes : list of int
            Number of background rows in each group.
        unused_rows, unused_background : float
            Shares u and u' of the rows, and of the background rows, that are not in the sample.
        method : str
            Description of the quantity.
        """
        n_groups, n, _ = contributions.shape
        weight = np.array(group_sizes)[:, np.newaxis, np.newaxis] / sum(group_sizes)
        together = (weight * contributions).sum(axis=0)
        sizes = np.abs(together)
        total = sizes.sum(axis=1, keepdims=True)
        mean_total = float(total.mean()) or 1.0
        shares = sizes.mean(axis=0) / mean_total
        away = (sizes - shares * total) / mean_total
        squares = (away**2).sum(axis=0) / (n * max(n - 1, 1))
        squares *= unused_rows
        if n_groups > 1:
            without = (together - weight * contributions) / (1.0 - weight)
            means = np.abs(without).mean(axis=1)
            others = means / np.maximum(means.sum(axis=1, keepdims=True), np.finfo(float).tiny)
            squares += unused_background * (n_groups - 1) * others.var(axis=0)
        return cls(
            dict(zip(names, shares.tolist(), strict=True)),
            method,
            dict(zip(names, np.sqrt(squares).tolist(), strict=True)),
        )

    @property
    def is_exact(self) -> bool:
        """Whether the shares have no sampling error."""
        return not any(self.standard_errors.values())

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per feature, the largest share first.

        Sampled shares have a second column, their standard errors.
        """
        ordered = sorted(self.shares, key=lambda name: -self.shares[name])
        columns = {"share": [self.shares[name] for name in ordered]}
        if not self.is_exact:
            columns["standard_error"] = [self.standard_errors[name] for name in ordered]
        return as_frame(columns, index=ordered)
