"""Cards of fitted models in notebooks, above scikit-learn's diagram."""

import re
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np

from kernsemble._counts import counted
from kernsemble._folds import comparable_means, corrected_standard_error, fold_scores
from kernsemble._html_cards import card, curve, dot_chart
from kernsemble._typing import FloatArray

VOTE = "vote"  # the kernel of a vote in `cv_results_`
PARAMETERS = ("C_", "epsilon_", "nu_", "n_estimators_", "alpha_")


class CardMixin:
    """Mixin of estimators whose HTML repr has a card with the settings, once they are fitted.

    It must come before BaseEstimator among the bases.
    """

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram: Callable[[], str] = super()._repr_html_  # type: ignore[misc]
        return lambda: model_card(self) + diagram()

    def _repr_mimebundle_(self, **settings: Any) -> dict[str, str]:
        found: dict[str, str] = super()._repr_mimebundle_(**settings)  # type: ignore[misc]
        if "text/html" in found:
            found["text/html"] = model_card(self) + found["text/html"]
        return found


def model_card(model: Any) -> str:
    """Return the card of a fitted model, nothing before it is fitted."""
    found = dict(facts(model))
    return card(type(model).__name__, found, picture(model)) if found else ""


def facts(model: Any) -> Iterator[tuple[str, str]]:
    """Yield the names and values of learned settings."""
    if hasattr(model, "kernel_"):
        yield "kernel", kernel_text(model.kernel_)
    for name in PARAMETERS:
        value = np.ravel(getattr(model, name, ()))
        if len(value) and isinstance(value[0], Real):
            yield name.rstrip("_"), ", ".join(f"{each:.4g}" for each in value)
    scaling = getattr(model, "scaling_", None)
    if scaling is not None:
        yield "scaling", str(scaling.kind)
    if hasattr(model, "members_"):
        yield "vote", counted(len(model.members_), "machine")
        for place, each in enumerate(model.members_, start=1):
            yield f"{place}. {each.name}", f"{100 * each.share:.0f} % of the vote, C = {each.C:.3g}"
    if hasattr(model, "loss_"):
        yield "loss, solver", f"{model.loss_}, {model.solver_}"
    if hasattr(model, "support_vectors_"):
        yield "support vectors", f"{len(model.support_):,}"
    if hasattr(model, "estimator_weights_"):
        yield "hypotheses", f"{np.count_nonzero(model.estimator_weights_):,}"
    if hasattr(model, "rare_classes_") and np.isfinite(model.best_score_).all():
        yield measure_of(model), ", ".join(f"{each:.3f}" for each in model.best_score_)
    if hasattr(model, "best_index_"):
        scores = fold_scores(model.cv_results_)[model.best_index_]
        error = corrected_standard_error(scores)
        spread = f" ± {error:.3f} (standard error)" if np.isfinite(error) else ""
        yield f"{measure_of(model)}, {len(scores)} folds", f"{np.mean(scores):.3f}{spread}"


def picture(model: Any) -> str:
    """Return the scores of all kernels, or along the grid of one parameter; or nothing."""
    if hasattr(model, "leave_one_out_errors_"):
        return _bound_along_path(model)
    results, best = getattr(model, "cv_results_", None), getattr(model, "best_index_", None)
    if isinstance(results, list) and results:  # one per rare class
        results = results[0]
        best = int(np.argmax(results["mean_test_score"]))
    if not isinstance(results, Mapping) or best is None:
        return ""
    params, caption = results["params"], f"cross-validated {measure_of(model)}"
    if hasattr(model, "members_"):
        settings: dict[str, list[int]] = {}
        for index, each in enumerate(params):
            settings.setdefault(setting_text(each), []).append(index)
        return _best_of_groups(fold_scores(results), settings, f"{caption} ± standard error")
    numeric = [name for name, value in params[0].items() if isinstance(value, Real)]
    parameter = numeric[-1] if numeric else None
    groups: dict[str, list[int]] = {}
    for index, each in enumerate(params):
        others = [rounded(str(value)) for name, value in each.items() if name != parameter]
        groups.setdefault(", ".join(others), []).append(index)
    if len(groups) > 1:
        return _best_of_groups(fold_scores(results), groups, f"{caption} ± standard error")
    grid = [] if parameter is None else [float(each[parameter]) for each in params]
    if len(set(grid)) < 2 or min(grid) <= 0.0:
        return ""
    caption = f"{caption} along {parameter}, {min(grid):.3g} to {max(grid):.3g}"
    return curve(grid, results["mean_test_score"].tolist(), best, caption)


def _bound_along_path(model: Any) -> str:
    """Return a chart of the leave-one-out bound at every breakpoint of a regularization path."""
    is_finite = np.isfinite(model.Cs_)
    grid, errors = model.Cs_[is_finite].tolist(), model.leave_one_out_errors_[is_finite].tolist()
    if len(grid) < 2:
        return ""
    best = int(np.argmin(np.abs(np.log(grid) - np.log(model.C_))))
    return curve(
        grid, errors, best, f"leave-one-out bound along C, {grid[0]:.3g} to {grid[-1]:.3g}"
    )


def _best_of_groups(scores: FloatArray, groups: dict[str, list[int]], caption: str) -> str:
    """Return a chart of the best setting of each group, with means and errors over folds."""
    comparable, means, errors = comparable_means(scores), {}, {}
    for name, places in groups.items():
        best = places[int(np.argmax(comparable[places]))]
        if np.isfinite(comparable[best]):
            means[name] = float(comparable[best])
            errors[name] = float(np.nan_to_num(corrected_standard_error(scores[best])))
    return dot_chart(means, errors, caption) if means else ""


def measure_of(model: Any) -> str:
    """Return the name of the score that the model selection used."""
    asked = getattr(model, "scoring", None)
    if asked is None:
        has_rare = hasattr(model, "rare_classes_")
        numbers = "R²" if not hasattr(model, "classes_") else "accuracy"
        return "average precision" if has_rare else numbers
    return asked.replace("_", " ") if isinstance(asked, str) else "score"


def kernel_text(kernel: Any) -> str:
    """Return a kernel as short text, without the rows it is bound to.

    Examples
    --------
    >>> from kernsemble._model_cards import kernel_text
    >>> from kernsemble.kernels import Laplacian
    >>> kernel_text(Laplacian(gamma=1 / 3).bind([[0.0], [1.0]]))
    'Laplacian(gamma=0.3333)'
    """
    return rounded(str(kernel).replace(".bind(X)", ""))


def setting_text(params: Mapping[str, Any]) -> str:
    """Return the kernel of numbers and the scaling as short text; "vote" for that of a vote.

    Examples
    --------
    >>> from kernsemble._model_cards import setting_text
    >>> from kernsemble.kernels import Laplacian
    >>> setting_text({"kernel": Laplacian(gamma=1 / 3), "scaling": "rank", "C": 1.0})
    'Laplacian(gamma=0.3333), rank'
    >>> setting_text({"kernel": "vote", "scaling": None})
    'vote'
    """
    kernel = re.sub(r"^Mixed\((.*)\)$", r"\1", kernel_text(params["kernel"]))
    return kernel if kernel == VOTE else f"{kernel}, {params['scaling']}"


def rounded(text: str, longest: int = 80) -> str:
    """Return a text with four digits of each number, cut if it is long."""
    text = re.sub(r"\d+\.\d{4,}(e[+-]\d+)?", lambda found: f"{float(found[0]):.4g}", text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
