"""Three sentences about a model: what it predicts, how well, and what matters most."""

from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import Score, format_score
from kernsemble.report.data_summary import DataSummary
from kernsemble.report.rivals import Comparison, guess_name, linear_name

N_FEATURES = 3  # number of features that are named
N_CLASSES = 4  # maximum number of classes that are named

ROWS = {
    "test rows": "On test rows, which took no part in fitting,",
    "out-of-fold rows": "On rows that it was not fitted to (out-of-fold rows),",
    "training rows": "On the rows that it was fitted to, which is optimistic,",
}


def plain_summary(
    target: str,
    data: DataSummary,
    predictions: Predictions,
    score: Score,
    comparison: Comparison,
    importances: dict[str, float],
) -> list[str]:
    """Return three sentences in plain language."""
    return [
        _what_is_predicted(target, data, predictions),
        _how_well(predictions, score, comparison),
        _what_matters(importances),
    ]


def _what_is_predicted(target: str, data: DataSummary, predictions: Predictions) -> str:
    of = f"{data.n_columns:,} column{'s' if data.n_columns > 1 else ''}"
    if predictions.classes is None:
        kind = "a number"
    else:
        names = [str(each) for each in predictions.classes]
        if len(names) > N_CLASSES + 1:
            kind = f"{', '.join(names[:N_CLASSES])} and {len(names) - N_CLASSES} other classes"
        else:
            kind = " or ".join([", ".join(names[:-1]), names[-1]])
    return (
        f"The model predicts {target or 'the target'} ({kind}) from {of}; it was fitted to "
        f"{data.n_rows:,} rows."
    )


def _how_well(predictions: Predictions, score: Score, comparison: Comparison) -> str:
    is_class = predictions.classes is not None
    best = f"{ROWS[predictions.where]} its {score.name} is {score}"
    others = []
    guess = comparison.value(guess_name(is_class))
    if guess is not None:
        always = (
            "always guessing the most frequent class" if is_class else "always guessing the mean"
        )
        others.append(f"{format_score(guess)} for {always}")
    linear = comparison.value(linear_name(is_class))
    if linear is not None:
        others.append(f"{format_score(linear)} for {linear_name(is_class)}")
    return f"{best}, compared with {' and '.join(others)}." if others else f"{best}."


def _what_matters(importances: dict[str, float]) -> str:
    named = [
        f"{name} ({100 * share:.0f}\N{NO-BREAK SPACE}%)"
        for name, share in importances.items()
        if share > 0.0
    ]
    if not named:
        return "No feature matters: the model is constant."
    named[0] = f"{named[0][:-1]} of the feature importance)"
    *first, last = named[:N_FEATURES]
    is_are = "features are" if first else "feature is"
    return f"The most important {is_are} {', '.join(first)}{' and ' if first else ''}{last}."
