"""The unit of the values and contributions of a model."""

from typing import Any

from sklearn.base import is_classifier


def value_unit(model: Any, target: str) -> str:
    """Return the unit: log-odds for a logistic loss or a vote, decision values, or the target's."""
    if not is_classifier(model):
        return f"units of {target}" if target else "units of the target"
    has_log_odds = getattr(model, "loss_", None) == "logistic" or hasattr(model, "members_")
    return "log-odds" if has_log_odds else "decision value"
