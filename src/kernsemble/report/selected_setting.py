"""The estimator of the selected setting, without the selection."""

from importlib import import_module
from typing import Any

from sklearn.base import clone


def selected_estimator(model: Any, factor: float = 1.0) -> Any:
    """Return an unfitted estimator with the selected setting of a model.

    Its C is that of the model times `factor`, so that fewer rows can be regularised as much as
    all; its pairs of columns are those that the model found. A model without model selection is
    cloned. Return None if there is no such estimator, as
    for a vote.
    """
    family = type(model)
    if hasattr(model, "members_"):
        return None
    if not hasattr(model, "best_params_"):
        settings = model.get_params(deep=False)
        copy = clone(model)
        if isinstance(settings.get("C"), (int, float)):
            copy.set_params(C=factor * settings["C"])
        return copy.set_params(**_found_pairs(model))
    package = ".".join(family.__module__.split(".")[:2])
    single = getattr(import_module(package), family.__name__.removesuffix("CV"), None)
    if single is None or single is family:
        return None
    settings = model.get_params(deep=False)
    settings |= {name: value for name, value in model.best_params_.items() if name != "C"}
    for name in ("C", "epsilon", "solver", "loss"):
        if hasattr(model, f"{name}_"):
            settings[name] = getattr(model, f"{name}_")
    if "C" in settings:
        settings["C"] = factor * settings["C"]
    settings |= _found_pairs(model)
    settings["calibration"] = None  # probabilities take more fits
    known = single().get_params(deep=False)
    return clone(single(**{name: settings[name] for name in known if name in settings}))


def _found_pairs(model: Any) -> dict[str, Any]:
    """Return the settings that give a model the pairs of columns of another one."""
    pairs = getattr(model, "pairs_", ())
    return {"n_pairs": 0, "pairs": list(pairs)} if pairs else {}
