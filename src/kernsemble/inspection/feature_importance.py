"""Feature importance."""

from typing import Any, NamedTuple

from kernsemble.inspection.dataframes import as_frame


class Importances(NamedTuple):
    """Feature importances.

    Attributes
    ----------
    shares : dict of str to float
        Share of each feature. Shares sum to 1, or are all zero if the model is constant.
    method : str
        Quantity that they are shares of.
    """

    shares: dict[str, float]
    method: str

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per feature, the largest share first."""
        ordered = sorted(self.shares.items(), key=lambda item: -item[1])
        return as_frame(
            {"share": [share for _, share in ordered]}, index=[name for name, _ in ordered]
        )
