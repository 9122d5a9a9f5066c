"""Feature importance."""

from typing import Any, NamedTuple, Self

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble._value_object import short_repr
from kernsemble.inspection.dataframes import as_frame


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
        standard_error: FloatArray,
        n_available: int,
        method: str,
    ) -> Self:
        r"""Return the shares :math:`s_d` of the mean absolute contributions to n of N rows.

        With :math:`T_i = \sum_d |\phi_{id}|` and :math:`r_{id} = |\phi_{id}| - s_d T_i`, the
        standard error of the ratio of two means is

        .. math:: \frac{1}{\bar T} \sqrt{\Bigl(1 - \frac nN\Bigr) \frac{\sum_i r_{id}^2}{n(n-1)}
                  + \frac{\sum_i \sigma_{id}^2}{n^2}} ,

        where :math:`\sigma_{id}` is the standard error of the contribution itself.
        """
        sizes, n = np.abs(contributions), len(contributions)
        total = sizes.sum(axis=1, keepdims=True)
        shares = sizes.mean(axis=0) / (float(total.mean()) or 1.0)
        squares = ((sizes - shares * total) ** 2).sum(axis=0) / (n * max(n - 1, 1))
        squares = (1.0 - n / n_available) * squares + (standard_error**2).sum(axis=0) / n**2
        errors = np.sqrt(squares) / (float(total.mean()) or 1.0)
        return cls(
            dict(zip(names, shares.tolist(), strict=True)),
            method,
            dict(zip(names, errors.tolist(), strict=True)),
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
