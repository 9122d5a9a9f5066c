"""Settings, versions and code that reproduce a model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import config_context

from kernsemble._versions import versions

PACKAGES = ("kernsemble", "scikit-learn", "numpy", "scipy", "numba", "pandas", "polars", "skops")
MAX_LENGTH = 300  # maximum number of characters of a setting


@dataclass(frozen=True, eq=False)
class ModelSettings:
    """Parameters, fitted attributes and versions of a model, and code that uses it."""

    parameters: dict[str, str]
    learned: dict[str, str]
    versions: dict[str, str]
    code: str


def model_settings(model: Any) -> ModelSettings:
    """Return the settings of a fitted model."""
    parameters = {name: _short(value) for name, value in model.get_params(deep=False).items()}
    return ModelSettings(parameters, _learned(model), versions(PACKAGES), _code(model))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} …"


def _learned(model: Any) -> dict[str, str]:
    """Return the fitted attributes that the model has."""
    found: dict[str, str] = {}
    for name in ("kernel_", "C_", "epsilon_", "nu_", "solver_", "loss_", "best_score_"):
        if hasattr(model, name):
            value = getattr(model, name)
            found[name] = f"{value:.6g}" if isinstance(value, float) else _short(value)
    scaling = getattr(model, "scaling_", None)
    if scaling is not None:
        found["scaling_"] = repr(scaling.kind)
    if hasattr(model, "support_"):
        found["support vectors"] = f"{len(model.support_):,}"
    if hasattr(model, "estimator_weights_"):
        found["hypotheses"] = f"{np.count_nonzero(model.estimator_weights_):,}"
    for name in ("duality_gap_", "n_iter_"):
        if hasattr(model, name):
            found[name] = f"{np.max(getattr(model, name)):.4g}"
    return found


def _code(model: Any) -> str:
    family = type(model)
    package = ".".join(family.__module__.split(".")[:2])
    with config_context(print_changed_only=True):
        made = repr(model)
    return (
        "import kernsemble\n"
        f"from {package} import {family.__name__}\n\n"
        f"model = {made}.fit(X, y)\n\n"
        'kernsemble.save(model, "model.skops")\n'
        'model = kernsemble.load("model.skops")  # contains no code\n'
        "model.predict(X)\n"
    )
