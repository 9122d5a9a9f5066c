"""One machine of a fitted model as a sum of functions: of single features, of pairs, of several."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernsemble._arguments import as_generator, check_count
from kernsemble._counts import counted
from kernsemble._typing import ArrayLike, FloatArray
from kernsemble.inspection.average_effects import (
    AverageEffect,
    average_interactions,
    average_pairs,
    grid_of,
)
from kernsemble.inspection.averaged_stumps import AveragedStumps
from kernsemble.inspection.dataframes import concatenated
from kernsemble.inspection.decomposition import Decomposition
from kernsemble.inspection.fitted_models import FittedModel, as_fitted_model
from kernsemble.inspection.pair_functions import PairFunction
from kernsemble.inspection.shape_functions import Shape, StumpDensity


@dataclass(frozen=True, eq=False, repr=False)
class MachineFunctions:
    """The functions of one machine of a fitted model, in the user's units.

    Attributes
    ----------
    model : FittedModel
        The model.
    machine : int
        Index of the machine.
    decomposition : Decomposition
        Its functions.
    background : array or None
        Rows over which shape functions have mean zero; None if the model does not store them.
    centred_on : str
        Description of these rows.
    """

    model: FittedModel
    machine: int
    decomposition: Decomposition
    background: FloatArray | None
    centred_on: str

    @classmethod
    def from_estimator(
        cls, model: Any, X: ArrayLike | None = None, machine: int | str | None = None
    ) -> Self:
        """Return the view of one machine of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            Model of `kernsemble.svm` or `kernsemble.boosting`.
        X : array-like or DataFrame of shape (n, n_features), optional
            Background rows: shape functions are centred on them, and contributions are relative
            to them. Best the training rows. By default the training rows that the model stores;
            boosted ensembles store none.
        machine : int or str, optional
            Index or label of the machine, required if there are several.

        Returns
        -------
        EnsembleView
        """
        fitted = as_fitted_model(model)
        return cls._from_machine(fitted, X, fitted.machine_index(machine))

    @classmethod
    def each(cls, model: Any, X: ArrayLike | None = None) -> dict[str, Self]:
        """Return the views of all machines of a fitted model, by label."""
        fitted = as_fitted_model(model)
        return {label: cls._from_machine(fitted, X, k) for k, label in enumerate(fitted.labels)}

    @classmethod
    def _from_machine(cls, model: FittedModel, X: ArrayLike | None, machine: int) -> Self:
        decomposition = model.decompose(machine)
        if X is not None:
            return cls(model, machine, decomposition, model.encode(X), "the rows given")
        stored, name = model.training_rows
        rows = None if stored is None or stored.shape[0] == 0 else model.dense(stored)
        return cls(model, machine, decomposition, rows, name)

    def __repr__(self) -> str:
        model = type(self.model.fitted).__name__
        n, label = len(self.feature_names), self.label
        label = label if len(label) <= 80 else f"{label[:77]}..."
        return f"<{type(self).__name__} of {label!r}: {counted(n, 'feature')}, {model}>"

    @property
    def label(self) -> str:
        """Label of the machine: the classes that it separates, or "prediction"."""
        return self.model.labels[self.machine]

    @property
    def one_for(self) -> str:
        """Target of each machine of the model, such as "each pair of classes"."""
        return self.model.one_for

    @cached_property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return self.model.feature_names

    def feature_name(self, feature: str | int) -> str:
        """Return the name of a feature given by name or by index."""
        return self.feature_names[self.model.feature_index(feature)]

    def shape(self, feature: str | int) -> Shape:
        """Return the centred shape function of a feature."""
        return self.shapes[self.feature_name(feature)]

    @property
    def is_additive(self) -> bool:
        """Whether the machine is a sum of functions of one feature, or of a pair, each."""
        return not self.decomposition.interactions

    @property
    def interactions(self) -> list[str]:
        """Descriptions of the terms that depend on several features, apart from pairs."""
        return [each.name for each in self.decomposition.interactions]

    # -- functions of features

    @cached_property
    def _means(self) -> list[float]:
        return [term.mean(self.background) for term in self.decomposition.additive]

    @property
    def intercept(self) -> float:
        """Constant left when every shape function has mean zero; without interactions."""
        return self.decomposition.intercept + sum(self._means)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """Centred shape function of each feature, without interactions."""
        found: dict[int, list[Shape]] = {}
        for term, mean in zip(self.decomposition.additive, self._means, strict=True):
            found.setdefault(term.column, []).append(term.shape.shifted(-mean))
        return {
            name: Shape.total(found[d]) if d in found else Shape(missing=0.0)
            for d, name in enumerate(self.feature_names)
        }

    def average_effect(
        self, feature: str | int, n_points: int = 20, n_background: int = 200
    ) -> AverageEffect:
        """Return the effect of a feature, averaged over background rows.

        The effect of additive terms and of pairs is exact, that of other terms of several features
        has a standard error.

        Parameters
        ----------
        feature : str or int
            Feature, by name or by index.
        n_points : int, default=20
            Maximum number of values of the feature, at equal shares of the background rows.
        n_background : int, default=200
            Maximum number of background rows, drawn at random.

        Returns
        -------
        AverageEffect

        Examples
        --------
        >>> from kernsemble.datasets import make_threenorm
        >>> from kernsemble.inspection import EnsembleView
        >>> from kernsemble.svm import InfiniteEnsembleClassifier
        >>> X, y = make_threenorm(200, random_state=0)
        >>> view = EnsembleView.from_estimator(InfiniteEnsembleClassifier("laplacian").fit(X, y))
        >>> found = view.average_effect("x0", n_points=5)
        >>> len(found.values), found.is_exact
        (5, False)
        """
        check_count("n_points", n_points)
        check_count("n_background", n_background)
        column, known = self.model.feature_index(feature), self._known_background()
        values = grid_of(known[:, column], n_points)
        of_pairs = average_pairs(self.decomposition.pairs, column, values, known)
        exact = self.shapes[self.feature_names[column]](values) + of_pairs
        background = random_rows(known, n_background, 0)
        terms = self.decomposition.interactions
        averages, errors = average_interactions(terms, column, values, background)
        return AverageEffect(values, exact + averages, errors, exact)

    @property
    def exactness(self) -> str:
        """The terms whose functions are exact, and those that are averaged over rows."""
        n, several = len({each.column for each in self.decomposition.additive}), self.interactions
        kinds = [(n, "feature"), (len(self.decomposition.pairs), "pair")]
        parts = [counted(number, kind) for number, kind in kinds if number]
        exact = f"functions of {' and '.join(parts)}" if parts else "none"
        return f"exact: {exact}; averaged over rows: {', '.join(several) or 'none'}"

    @cached_property
    def densities(self) -> dict[str, list[StumpDensity]]:
        """Stump densities of each feature, one for each stump kernel on it."""
        found: dict[str, list[StumpDensity]] = {name: [] for name in self.feature_names}
        for term in self.decomposition.additive:
            if term.density is not None:
                found[self.feature_names[term.column]].append(term.density)
        return found

    def pairs(self) -> list[PairFunction]:
        """Return the functions of pairs of features, the most important first.

        They are pure: the mean over either feature is zero for independent columns with the
        distributions of the training rows. `share` is the share of the variance of all functions
        of one or two features then.
        """
        sizes = self.decomposition.sizes(len(self.feature_names))
        total = float(sizes.sum()) or 1.0
        found = sorted(self.decomposition.pairs, key=lambda pair: -pair.variance)
        return [
            replace(
                pair,
                names=(self.feature_names[pair.columns[0]], self.feature_names[pair.columns[1]]),
                share=pair.variance / total,
            )
            for pair in found
        ]

    def shape_frame(self) -> Any:
        """Return a DataFrame of all shape functions, with one row per knot or category."""
        tables = [(name, shape.table()) for name, shape in self.shapes.items()]
        keys = ("knot", "category", "value", "value_above")
        return concatenated(tables, keys)

    def density_frame(self) -> Any:
        """Return a DataFrame of all stump densities, with one row per interval of thresholds."""
        keys = ("lower", "upper", "measure", "density", "weight")
        tables = [
            (name, {key: getattr(each, key) for key in keys})
            for name, several in self.densities.items()
            for each in several
        ]
        return concatenated(tables, keys)

    def averaged_stumps(self) -> AveragedStumps:
        """Return the machine as finitely many averaged stumps (Theorem 8)."""
        if (
            not self.is_additive
            or self.decomposition.pairs
            or not self.decomposition.additive
            or any(each.density is None for each in self.decomposition.additive)
        ):
            raise ValueError(
                f"the machine {self.label!r} does not consist of stumps only: averaged stumps are "
                "available for Stump(), MiddleStump() and boosted stumps"
            )
        parts = [
            (each.column, each.density) for each in self.decomposition.additive if each.density
        ]
        return AveragedStumps(
            np.concatenate([np.full(len(part.lower), column) for column, part in parts]),
            np.concatenate([part.lower for _, part in parts]),
            np.concatenate([part.upper for _, part in parts]),
            np.concatenate([0.5 * np.sqrt(part.measure) for _, part in parts]),
            np.concatenate([part.weight for _, part in parts]),
            self.decomposition.intercept,
        )

    def _known_background(self) -> FloatArray:
        if self.background is None:
            raise ValueError(
                f"{type(self.model.fitted).__name__} stores no training rows, which contributions "
                "need as background: pass some, EnsembleView.from_estimator(model, X)"
            )
        return self.background


def random_rows(rows: FloatArray, n: int, random_state: int | None) -> FloatArray:
    """Return at most n of the rows, drawn at random, in their order."""
    if len(rows) <= n:
        return rows
    drawn = as_generator(random_state).choice(len(rows), n, replace=False)
    return rows[np.sort(drawn)]
