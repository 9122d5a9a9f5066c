"""A fitted model as one page."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from numpy.typing import ArrayLike

from kernsemble._files import atomic_write, check_folder
from kernsemble.report.charts import Chart, charts
from kernsemble.report.page import page
from kernsemble.report.summary import Summary


@dataclass(frozen=True, eq=False)
class Report:
    """What is said and shown of a fitted model, in three stages.

    Attributes
    ----------
    summary : Summary
        The numbers.
    title : str
        The heading of the page.
    charts : dict of str to Chart
        Plotly's figures of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernsemble.report import Report
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> report = Report.from_estimator(InfiniteEnsembleClassifier().fit(X, y), X, y)
    >>> report.summary.data.targets
    {'0': 50, '1': 50, '2': 50}
    >>> report.summary.predictions.where
    'training rows'
    """

    summary: Summary
    title: str

    @classmethod
    def from_estimator(
        cls, model: Any, X: ArrayLike, y: ArrayLike, *, title: str | None = None, **settings: Any
    ) -> Self:
        """Return the report of a model; the settings are those of `write_report`."""
        summary = Summary.from_estimator(model, X, y, **settings)
        return cls(summary, title or "Model report")

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """The charts, by name."""
        return charts(self.summary)

    def to_html(self) -> str:
        """Return the page, which loads nothing from anywhere."""
        return page(self.summary, self.charts, self.title)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all."""
        place = Path(path)
        check_folder(place)
        content = self.to_html()
        with atomic_write(place) as part:
            part.write_text(content, encoding="utf-8")
        return place


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    X: ArrayLike,
    y: ArrayLike,
    *,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    title: str | None = None,
    rows: Sequence[int] | None = None,
    leaderboard: Sequence[Mapping[str, Any]] | None = None,
) -> Path:
    """Write a page about a fitted model: one file below 3 MB that opens offline.

    It shows the data, how settings were chosen, scores with intervals, calibration, ROC and
    precision, importances, shape functions with the density of the stumps, what features
    contribute to chosen rows, and what is needed to make the model again.

    Of many rows, 100,000 are scored and at most 20,000 drawn and described; of many features, the
    80 most important are drawn. The page says so. The cost is that of predicting the scored rows
    and, for machines that are no sums over features, some 200,000 evaluations to share what they
    say among features.

    Parameters
    ----------
    model : fitted estimator
        Of `kernsemble.svm` or `kernsemble.boosting`.
    path : str or path
        The file, which appears whole or not at all. An older one of that name is replaced.
    X : array-like, sparse matrix or DataFrame of shape (n, n_features)
        The training rows.
    y : array-like of shape (n,)
        Their targets.
    X_test, y_test : array-like, optional
        Rows that the model does not know. Without them scores are those of the training rows,
        which flatter; the page says so.
    title : str, optional
        The heading of the page.
    rows : sequence of int, optional
        Places of the rows whose contributions are shown, among the test rows if there are any, else
        the training rows; at most 12. By default the surest, the closest call, the worst errors.
    leaderboard : sequence of dict, optional
        A table to show, such as the scores of rivals: a dict for each line, with the same keys.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from kernsemble.report import write_report
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = InfiniteEnsembleClassifier().fit(X[::2], y[::2])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     written = write_report(model, path, X[::2], y[::2], X_test=X[1::2], y_test=y[1::2])
    ...     written.stat().st_size < 3_000_000
    True
    """
    report = Report.from_estimator(
        model,
        X,
        y,
        title=title,
        X_test=X_test,
        y_test=y_test,
        rows=rows,
        leaderboard=leaderboard,
    )
    return report.write(path)
