"""Simple rivals of a model, scored on the same rows: always guessing, and a linear model."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kernsemble._typing import Array, FloatArray
from kernsemble._validation import as_table
from kernsemble.inspection.fitted_models import as_fitted_model, column_categories
from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import Score, scores
from kernsemble.report.held_out import HeldOut
from kernsemble.report.row_samples import RowSample, rows_at

MAX_ROWS = 5_000  # maximum number of rows that rivals are fitted to and scored on
MAX_NUMBERS = 2_000_000  # rows times columns
MAX_CATEGORIES = 30  # maximum number of indicators per column of categories


class Rival(NamedTuple):
    """A method, and its scores on the rows of the comparison."""

    name: str
    scores: list[Score]


class Comparison(NamedTuple):
    """The model and simple rivals, scored on the same rows."""

    rivals: list[Rival]  # this model first
    n_rows: int  # number of rows compared on

    def value(self, name: str) -> float | None:
        """Return the first score of a rival, None if it could not be computed."""
        found = [each.scores[0].value for each in self.rivals if each.name == name]
        return found[0] if found else None

    @property
    def names(self) -> list[str]:
        """Names of the scores that every rival has."""
        known = [[score.name for score in each.scores] for each in self.rivals]
        return [name for name in known[0] if all(name in each for each in known)]


THIS_MODEL = "this model"


def guess_name(is_classifier: bool) -> str:
    """Return the name of the rival that always guesses."""
    return "always the most frequent class" if is_classifier else "always the mean"


def linear_name(is_classifier: bool) -> str:
    """Return the name of the linear rival."""
    return "logistic regression" if is_classifier else "ridge regression"


def compare_with_rivals(
    model: Any, X: Any, y: Any, X_test: Any, held_out: HeldOut, max_rows: int = MAX_ROWS
) -> Comparison:
    """Return the scores of the model and its rivals.

    Rivals of out-of-fold predictions are fitted on the same folds, those of test rows on training
    rows. Columns are standardised, missing numbers replaced by the median, and categories
    encoded as indicators.
    """
    y, is_class = np.asarray(y), is_classifier(model)
    n_classes = len(model.classes_) if is_class else 1
    numbers = model.n_features_in_ * max(1, n_classes // 4)
    most = int(np.clip(MAX_NUMBERS // numbers, 200, max_rows))
    compared = held_out.sample(most)
    predictions = compared.predictions
    found = [
        Rival(THIS_MODEL, scores(predictions, 0)),
        Rival(guess_name(is_class), scores(predictions.always_guessing(y), 0)),
    ]
    if predictions.where != "training rows":
        try:
            linear = _linear_predictions(model, X, y, X_test, compared, most)
            found.append(Rival(linear_name(is_class), scores(linear, 0)))
        except ValueError:
            pass  # a fold without rows of some class: there is no such rival
    return Comparison(found, len(predictions.y))


def _linear_predictions(
    model: Any, X: Any, y: Array, X_test: Any, compared: HeldOut, max_rows: int
) -> Predictions:
    fitted = as_fitted_model(model)
    table = as_table(X if X_test is None else X_test)
    tested = fitted.encode(rows_at(table, compared.indices))
    rival = _pipeline(model)
    if compared.folds is None:
        sample = RowSample.draw(X, y, max_rows)
        return _fitted(rival, fitted.encode(sample.X), sample.y, tested, compared.predictions)
    targets, parts, places = compared.predictions.y, [], []
    for fold in np.unique(compared.folds):
        mine = np.flatnonzero(compared.folds == fold)
        others = ~np.isin(compared.indices, compared.indices[mine])
        some = compared.at(mine).predictions
        parts.append(_fitted(rival, tested[others], targets[others], tested[mine], some))
        places.append(mine)
    order = np.argsort(np.concatenate(places), kind="stable")
    return _in_order(parts, order, compared.predictions)


def _in_order(parts: list[Predictions], order: Any, like: Predictions) -> Predictions:
    predicted = np.concatenate([each.predicted for each in parts])[order]
    if like.classes is None:
        return Predictions(like.where, like.y, predicted)
    blocks = [each.probabilities for each in parts if each.probabilities is not None]
    P = np.concatenate(blocks)[order]
    return Predictions(like.where, like.y, predicted, like.classes, P, P)


def _pipeline(model: Any) -> Any:
    is_category = np.array([known is not None for known in column_categories(model)])
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES)
    columns = make_column_transformer(
        (numbers, np.flatnonzero(~is_category)), (one_hot, np.flatnonzero(is_category))
    )
    if is_classifier(model):
        return make_pipeline(columns, LogisticRegression(max_iter=300))
    return make_pipeline(columns, RidgeCV(np.logspace(-3.0, 3.0, 13)))


def _fitted(
    rival: Any, X: FloatArray, y: Array, tested: FloatArray, like: Predictions
) -> Predictions:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # columns without values
        machine = clone(rival).fit(X, y)
        predicted = machine.predict(tested)
    if like.classes is None:
        return Predictions(like.where, like.y, predicted.astype(np.float64))
    P = np.zeros((len(tested), len(like.classes)))
    P[:, np.searchsorted(like.classes, machine.classes_)] = machine.predict_proba(tested)
    return Predictions(like.where, like.y, predicted, like.classes, P, P)
