"""The report about a fitted model."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from kernsemble._files import atomic_write, check_folder
from kernsemble._typing import ArrayLike
from kernsemble._value_object import short_repr
from kernsemble.report.charts import Chart, charts
from kernsemble.report.model_program import Origin
from kernsemble.report.page import page
from kernsemble.report.summary import Summary


@dataclass(frozen=True, eq=False)
class Report:
    """The report about a fitted model: numbers, charts and HTML page.

    Attributes
    ----------
    summary : Summary
        Numbers of the report.
    title : str
        Title of the page.
    charts : dict of str to Chart
        Plotly figures, by name.

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
    'out-of-fold rows'
    """

    summary: Summary
    title: str

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        title: str | None = None,
        source: str | os.PathLike[str] = "",
        reading: str = "",
        command: str = "",
        **settings: Any,
    ) -> Self:
        """Return the report about a fitted model; the settings are those of `write_report`."""
        name = settings.get("target")
        name = getattr(y, "name", None) if name is None else name
        origin = Origin(str(name or ""), os.fspath(source), reading, command)
        summary = Summary.from_estimator(model, X, y, origin=origin, **settings)
        return cls(summary, title or "Model report")

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """Plotly figures, by name."""
        return charts(self.summary)

    def to_html(self) -> str:
        """Return the page, which loads no external resources."""
        return page(self.summary, self.charts, self.title)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file atomically."""
        target = Path(path)
        check_folder(target)
        content = self.to_html()
        with atomic_write(target) as part:
            part.write_text(content, encoding="utf-8")
        return target


def write_report(  # noqa: PLR0913 (settings, given by name)
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
    target: str | None = None,
    source: str | os.PathLike[str] = "",
    reading: str = "",
    command: str = "",
) -> Path:
    """Write a report about a fitted model: one HTML file below 3 MB that opens offline.

    The report begins with three sentences: what is predicted, how well compared with always
    guessing and with a linear model, and what matters most. It shows scores with confidence
    intervals, ROC, precision-recall and calibration curves, feature importances, shape functions
    with standard errors, contributions to selected rows, the columns of the data, the model
    selection, and the program and versions that reproduce the model. The reader can move the
    threshold of a classifier, and change the values of a row of an additive model.

    Scores and curves are those of the test rows; without test rows those of out-of-fold
    predictions, which cross-validated models store as `out_of_fold_`. Other models are fitted
    again on five folds of at most 2,000 rows. Additive models are also fitted ten times to nine
    tenths of at most 10,000 rows, for the standard errors of their shape functions.

    At most 100,000 rows are scored, at most 20,000 are described and plotted, and the 80 most
    important features are plotted; the page reports what is left out.

    Parameters
    ----------
    model : fitted estimator
        Model of `kernsemble.svm` or `kernsemble.boosting`.
    path : str or path
        File to write. An existing file is replaced when the new one is complete.
    X : array-like, sparse matrix or DataFrame of shape (n, n_features)
        Training rows.
    y : array-like of shape (n,)
        Training targets.
    X_test, y_test : array-like, optional
        Test rows and targets. Without them the scores are those of out-of-fold predictions of
        the training rows.
    title : str, optional
        Title of the page.
    rows : sequence of int, optional
        Indices of the rows to explain, among the test rows if given, else the training rows; at
        most 12. By default the most confident predictions, the closest one and the worst errors.
    leaderboard : sequence of dict, optional
        Table to show, such as the scores of other models: one dict per row, with the same keys.
    target : str, optional
        Name of the target; by default that of the Series `y`.
    source : str or path, optional
        CSV or Parquet file of the training table, which the program of the page reads.
    reading : str, optional
        Lines of Python that define `X` and `y` in the program of the page, if reading `source`
        with pandas is not enough.
    command : str, optional
        Command line that wrote the report, to show on the page.

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
        target=target,
        source=source,
        reading=reading,
        command=command,
    )
    return report.write(path)
