"""Settings, versions and the program that reproduce a model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernsemble._model_cards import kernel_text
from kernsemble._versions import versions
from kernsemble.inspection.vote_members import vote_in_words, vote_members
from kernsemble.report.model_program import Origin, model_program

__all__ = ["ModelSettings", "Origin", "model_settings"]

PACKAGES = ("kernsemble", "scikit-learn", "numpy", "scipy", "numba", "pandas", "polars", "skops")
MAX_LENGTH = 300  # maximum number of characters of a setting


@dataclass(frozen=True, eq=False)
class ModelSettings:
    """Parameters, fitted attributes and versions of a model; program and command that make it."""

    parameters: dict[str, str]
    learned: dict[str, str]
    versions: dict[str, str]
    code: str
    command: str
    selected: str  # kernel, C and scaling, or the vote, in a phrase; "" if the model has none


def model_settings(model: Any, origin: Origin) -> ModelSettings:
    """Return the settings of a fitted model."""
    parameters = {name: _short(value) for name, value in model.get_params(deep=False).items()}
    program = model_program(model, origin)
    return ModelSettings(
        parameters, _learned(model), versions(PACKAGES), program, origin.command, _selected(model)
    )


def _selected(model: Any) -> str:
    kernel = getattr(model, "kernel_", None)
    if kernel is None:
        return vote_in_words(model)
    found = [kernel_text(kernel)]
    if hasattr(model, "C_"):
        found.append(f"C = {model.C_:.3g}")
    scaling = getattr(model, "scaling_", None)
    if scaling is not None:
        found.append(f"scaling {scaling.kind}")
    return ", ".join(found)


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
    for place, each in enumerate(vote_members(model), start=1):
        found[f"member {place}"] = (
            f"{each.name}: {kernel_text(each.kernel)}, scaling {each.scaling}, C = {each.C:.4g}, "
            f"weight {each.weight:.4g}"
        )
    if hasattr(model, "support_"):
        found["support vectors"] = f"{len(model.support_):,}"
    if hasattr(model, "estimator_weights_"):
        found["hypotheses"] = f"{np.count_nonzero(model.estimator_weights_):,}"
    for name in ("duality_gap_", "n_iter_"):
        if hasattr(model, name):
            found[name] = f"{np.max(getattr(model, name)):.4g}"
    return found
