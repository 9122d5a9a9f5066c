"""The unit of the values and contributions of a model."""

from typing import Any

from sklearn.base import is_classifier


def value_unit(model: Any, target: str) -> str:
    """Return the unit: log-odds for a logistic loss, decision values, or that of the target."""
    if not is_classifier(model):
        return f"units of {target}" if target else "units of the target"
    return "log-odds" if getattr(model, "loss_", None) == "logistic" else "decision value"
