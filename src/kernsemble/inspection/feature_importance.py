"""How much features count in an ensemble."""

from typing import Any, NamedTuple

from kernsemble.inspection.dataframes import as_frame


class Importances(NamedTuple):
    """Shares of features in an ensemble, which sum to 1, and what they are shares of."""

    shares: dict[str, float]
    method: str

    def to_frame(self) -> Any:
        """Return a DataFrame with a row for each feature, the largest first."""
        ordered = sorted(self.shares.items(), key=lambda item: -item[1])
        return as_frame(
            {"share": [share for _, share in ordered]}, index=[name for name, _ in ordered]
        )
