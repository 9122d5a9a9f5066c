r"""Standard errors of shape functions, by the delete-a-group jackknife.

The rows are divided into G groups, and the selected setting is fitted again without each group.
With :math:`g_{(k)}` the shape function without group k,

.. math:: \mathrm{se}^2 = \tfrac{G-1}{G} \textstyle\sum_k (g_{(k)} - \bar g)^2 .
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from kernsemble._typing import FloatArray
from kernsemble.inspection import EnsembleView, by_class
from kernsemble.inspection.fitted_models import column_categories
from kernsemble.report.row_samples import RowSample, rows_at
from kernsemble.report.selected_setting import selected_estimator

N_GROUPS = 10
MAX_MATRIX_ROWS = 1_500  # maximum number of rows of machines on a kernel matrix
MAX_TABLE_ROWS = 10_000  # maximum number of rows of machines on tables
MAX_MACHINES = 12  # maximum number of machines per fit
MAX_COLUMNS = 200  # maximum number of columns


@dataclass(frozen=True, eq=False)
class ShapeBands:
    """Shape functions without each group of rows, and the number of rows that they are from."""

    views: list[list[EnsembleView]]  # by group, then by machine
    n_rows: int
    n_available: int

    @property
    def method(self) -> str:
        """Description of the standard errors."""
        text = (
            f"The band is ± 2 standard errors by the jackknife: the selected setting was fitted "
            f"again {len(self.views)} times, each time without another 1/{len(self.views)} of the "
            "rows"
        )
        if self.n_rows < self.n_available:
            text += f" ({self.n_rows:,} rows sampled, and the errors scaled to all)"
        return f"{text}. It does not include the uncertainty of the selection."

    def standard_error(
        self, machine: int, feature: str, x: FloatArray, known: tuple[Any, ...] | None
    ) -> FloatArray:
        """Return the standard error of a shape function at values; categories as codes."""
        values = []
        for views in self.views:
            view = views[machine]
            d = view.feature_names.index(feature)
            theirs = column_categories(view.model.fitted)[d]
            places = x if known is None else _codes(x, known, theirs or ())
            values.append(view.shapes[feature](places))
        n = len(values)
        spread = np.sqrt((n - 1) * np.var(values, axis=0))
        return spread * np.sqrt(self.n_rows / self.n_available)


def _codes(x: FloatArray, known: tuple[Any, ...], theirs: tuple[Any, ...]) -> FloatArray:
    """Return the codes of the same categories in another model, −1 if it has none."""
    place = {name: float(code) for code, name in enumerate(theirs)}
    return np.array([place.get(known[int(code)], -1.0) for code in x])


def shape_bands(
    model: Any, X: Any, y: Any, background: Any, n_groups: int = N_GROUPS
) -> ShapeBands | None:
    """Return the shape functions of refits of an additive model; None if that is not possible.

    Every shape function is centred on the rows `background`.
    """
    n_machines = len(by_class(model).labels)
    is_table = hasattr(model, "tables_")
    sample = RowSample.draw(X, y, MAX_TABLE_ROWS if is_table else MAX_MATRIX_ROWS)
    n, targets = len(sample.y), sample.y
    is_large = n_machines > MAX_MACHINES or model.n_features_in_ > MAX_COLUMNS
    if n < 2 * n_groups or is_large:
        return None
    if is_classifier(model):
        counts = np.unique(targets, return_counts=True)[1]
        if counts.min() < n_groups or len(counts) < len(model.classes_):
            return None
        splitter: Any = StratifiedKFold(n_groups, shuffle=True, random_state=0)
    else:
        splitter = KFold(n_groups, shuffle=True, random_state=0)
    estimator = selected_estimator(model, sample.n_rows * n_groups / (n * (n_groups - 1)))
    if estimator is None:
        return None
    views = []
    for train, _ in splitter.split(np.zeros(n), targets):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refitted = clone(estimator).fit(rows_at(sample.X, train), targets[train])
        views.append(list(EnsembleView.each(by_class(refitted), background).values()))
    return ShapeBands(views, n, sample.n_rows)
