"""The measures of the leaderboard, from predictions on test rows."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

SMALLEST_PROBABILITY = 1e-6  # bounds the log-loss of a single row


@dataclass(frozen=True)
class Measure:
    """A measure, stored as a loss: the smaller, the better.

    Parameters
    ----------
    name : str
        Name in the store.
    title : str
        Heading of what is shown.
    task : str
        Kind of the sets it applies to.
    decimals : int
        Decimals in tables.
    is_complement : bool
        Whether one minus the loss is shown, as for the area under the curve.
    factor : float
        Factor for display: 100 for percentages.
    """

    name: str
    title: str
    task: str
    decimals: int
    is_complement: bool = False
    factor: float = 1.0

    def shown(self, loss: float) -> float:
        """Return the number to show for a loss."""
        return self.factor * (1.0 - loss if self.is_complement else loss)


MEASURES = (
    Measure("error", "error, %", "classification", 2, factor=100.0),
    Measure("auroc_loss", "AUROC, %", "classification", 2, is_complement=True, factor=100.0),
    Measure("log_loss", "log-loss", "classification", 4),
    Measure("rmse", "RMSE / std", "regression", 4),
)


def classification(
    y: np.ndarray, predicted: np.ndarray, probability: np.ndarray
) -> dict[str, float]:
    """Return error, one minus the area under the ROC curve, and log-loss."""
    return {
        "error": float(np.mean(predicted != y)),
        "auroc_loss": 1.0 - area(y, probability),
        "log_loss": log_loss(y, probability),
    }


def classification_by_value(
    y: np.ndarray, predicted: np.ndarray, value: np.ndarray
) -> dict[str, float]:
    """Return the error and, for two classes, one minus the area, of a method without probabilities.

    The log-loss is missing.
    """
    found = {"error": float(np.mean(predicted != y))}
    return found if value.ndim > 1 else found | {"auroc_loss": 1.0 - roc_auc_score(y == 1, value)}


def area(y: np.ndarray, probability: np.ndarray) -> float:
    """Return the area under the ROC curve, averaged over the classes of the test rows."""
    if probability.shape[1] == 2:
        probability = probability[:, 1:]
        return float(roc_auc_score(y == 1, probability[:, 0]))
    present = np.intersect1d(y, np.arange(probability.shape[1]))
    return float(np.mean([roc_auc_score(y == code, probability[:, code]) for code in present]))


def log_loss(y: np.ndarray, probability: np.ndarray) -> float:
    """Return the mean negative logarithm of the probability of the true class."""
    total = probability.sum(axis=1)
    true = probability[np.arange(len(y)), y] / total
    return float(-np.log(np.clip(true, SMALLEST_PROBABILITY, 1.0)).mean())


def regression(y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Return the root mean squared error, divided by the standard deviation of the target."""
    return {"rmse": float(np.sqrt(np.mean((y - predicted) ** 2)) / y.std())}


def of_guessing(task: str, y_train: np.ndarray, y_test: np.ndarray) -> dict[str, float]:
    """Return the measures of predicting the shares of the classes, or the mean, for every row."""
    if task == "regression":
        return regression(y_test, np.full(len(y_test), y_train.mean()))
    shares = np.bincount(y_train) / len(y_train)
    guessed = np.full(len(y_test), shares.argmax())
    return classification(y_test, guessed, np.tile(shares, (len(y_test), 1)))
