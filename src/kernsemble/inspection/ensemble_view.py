"""What a fitted model says of hypotheses, features and rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kernsemble._arguments import check_count
from kernsemble._typing import FloatArray
from kernsemble.inspection.averaged_stumps import AveragedStumps
from kernsemble.inspection.dataframes import stacked
from kernsemble.inspection.decomposition import Decomposition
from kernsemble.inspection.explanation import (
    Explanation,
    Method,
    interaction_contributions,
    joined,
)
from kernsemble.inspection.feature_importance import Importances
from kernsemble.inspection.fitted_models import (
    FittedModel,
    SupportVectorModel,
    VotingModel,
    as_fitted_model,
)
from kernsemble.inspection.hypothesis_weights import HypothesisWeights, hypothesis_weights
from kernsemble.inspection.margins import Margins
from kernsemble.inspection.perceptron_density import (
    PerceptronDensity,
    density_along,
    density_of_slice,
)
from kernsemble.inspection.shape_functions import Shape, StumpDensity

ROWS_FOR_IMPORTANCE = 100


@dataclass(frozen=True, eq=False)
class EnsembleView:
    r"""A fitted model as the ensemble that it is.

    .. math:: f(x) = b + \textstyle\sum_d g_d(x_d), \qquad
              g_d(v) = \int S_d(a)\, \mathrm{sign}(v - a)\, da + \text{const}

    for machines of stumps and categories, which are sums over features; what a machine of another
    kernel says of features is found by Shapley values. `of` makes a view of one machine,
    `each` of all machines of a model. Numbers are in the user's unit, whatever the scaling.

    Attributes
    ----------
    label : str
        What the machine decides, such as "yes vs no": its values are positive for the first.
    one_for : str
        What the model has a machine for, such as "each pair of classes".
    feature_names : list of str
        The features, x0, x1, … where the training rows had no names.
    centred_on : str
        The rows over which each shape function has mean zero.
    background : array or None
        These rows as the machine sees them, as far as they are known.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernsemble.inspection import EnsembleView
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = InfiniteEnsembleClassifier().fit(X, y)
    >>> view = EnsembleView.from_estimator(model, X)
    >>> view.importances().to_frame().head(3).round(3)
                   share
    worst texture  0.116
    mean texture   0.077
    worst radius   0.064
    >>> explanation = view.explain(X.head(1))
    >>> explanation.method
    'exact, additive'
    >>> together = explanation.intercept + explanation.contributions.sum()
    >>> bool(abs(together - explanation.values[0]) < 1e-9)
    True
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
        """Return the view of a machine of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            Of `kernsemble.svm` or `kernsemble.boosting`.
        X : array-like or DataFrame of shape (n, n_features), optional
            The rows that shape functions are centred on and contributions are told against:
            best the training rows. Without them, what the model keeps of its training rows;
            boosted ensembles keep none.
        machine : int or str, optional
            Which machine, by place or label, if there are several.

        Returns
        -------
        EnsembleView
        """
        read = as_fitted_model(model)
        return cls._of_machine(read, X, _place(read, machine))

    @classmethod
    def each(cls, model: Any, X: ArrayLike | None = None) -> dict[str, Self]:
        """Return the views of all machines of a fitted model, by label."""
        read = as_fitted_model(model)
        return {label: cls._of_machine(read, X, k) for k, label in enumerate(read.labels)}

    @classmethod
    def _of_machine(cls, read: FittedModel, X: ArrayLike | None, machine: int) -> Self:
        if X is not None:
            return cls(read, machine, read.decompose(machine), read.read(X), "the rows given")
        kept, name = read.training_rows
        rows = None if kept is None or kept.shape[0] == 0 else read.dense(kept)
        return cls(read, machine, read.decompose(machine), rows, name)

    @property
    def label(self) -> str:
        """What the machine decides."""
        return self.model.labels[self.machine]

    @property
    def one_for(self) -> str:
        """What the model has a machine for."""
        return self.model.one_for

    @cached_property
    def feature_names(self) -> list[str]:
        """The features."""
        return self.model.feature_names

    def feature_name(self, feature: str | int) -> str:
        """Return the name of a feature that is given by name or by place."""
        return self.feature_names[self.model.feature_index(feature)]

    def shape(self, feature: str | int) -> Shape:
        """Return the centred shape function of a feature."""
        return self.shapes[self.feature_name(feature)]

    @property
    def is_additive(self) -> bool:
        """Whether the machine is a sum of functions of one feature each."""
        return not self.decomposition.interactions

    @property
    def interactions(self) -> list[str]:
        """What of the machine is a function of several features together."""
        return [each.name for each in self.decomposition.interactions]

    # -- functions of features

    @cached_property
    def _means(self) -> list[float]:
        return [piece.mean(self.background) for piece in self.decomposition.additive]

    @property
    def intercept(self) -> float:
        """What is left when every shape function has mean zero; without interactions."""
        return self.decomposition.intercept + sum(self._means)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The centred shape function of each feature, without interactions."""
        found: dict[int, list[Shape]] = {}
        for piece, mean in zip(self.decomposition.additive, self._means, strict=True):
            found.setdefault(piece.column, []).append(piece.shape.shifted(-mean))
        return {
            name: Shape.total(found[d]) if d in found else Shape(missing=0.0)
            for d, name in enumerate(self.feature_names)
        }

    @cached_property
    def densities(self) -> dict[str, list[StumpDensity]]:
        """The densities of the stumps of each feature, one for each kernel of stumps on it."""
        found: dict[str, list[StumpDensity]] = {name: [] for name in self.feature_names}
        for piece in self.decomposition.additive:
            if piece.density is not None:
                found[self.feature_names[piece.column]].append(piece.density)
        return found

    def shape_frame(self) -> Any:
        """Return a DataFrame of all shape functions: a row for each knot or category."""
        tables = [(name, shape.table()) for name, shape in self.shapes.items()]
        keys = ("knot", "category", "value", "value_above")
        return stacked(tables, keys)

    def density_frame(self) -> Any:
        """Return a DataFrame of all stump densities: a row for each interval of thresholds."""
        keys = ("lower", "upper", "measure", "density", "weight")
        tables = [
            (name, {key: getattr(each, key) for key in keys})
            for name, several in self.densities.items()
            for each in several
        ]
        return stacked(tables, keys)

    def averaged_stumps(self) -> AveragedStumps:
        """Return the finitely many averaged stumps that the machine is (Theorem 8)."""
        if not self.decomposition.additive or any(
            each.density is None for each in self.decomposition.additive
        ):
            raise ValueError(
                f"the machine {self.label!r} is not made of stumps alone: averaged stumps are for "
                "Stump(), MiddleStump() and boosted stumps"
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

    def perceptron_density(self, direction: ArrayLike | int) -> PerceptronDensity:
        """Return the weights of all perceptrons of one direction of the scaled features.

        Parameters
        ----------
        direction : array-like of shape (D,) or int
            The direction, of any length, among the columns that the perceptrons see. Of a machine
            on tables, the place of one of the directions that it has sampled.

        Returns
        -------
        PerceptronDensity
        """
        if not isinstance(self.model, SupportVectorModel):
            raise ValueError(f"{self.model.fitted!r} is no machine of all perceptrons")
        expansion, is_place = self.model.expansion(self.machine), isinstance(direction, int)
        if (expansion is None) != is_place:
            raise ValueError(
                f"direction = {direction!r}: a machine on tables has sampled directions, give the "
                "place of one; any other machine, solver='exact', has all of them, give a vector"
            )
        if expansion is None:
            assert isinstance(direction, int)
            return density_of_slice(direction, self.model.fitted.tables_, self.machine)
        return density_along(direction, self.model.kernel, expansion)

    def hypotheses(self) -> HypothesisWeights:
        """Return the hypotheses of a boosted ensemble with their weights, the largest first."""
        if not isinstance(self.model, VotingModel):
            raise ValueError(
                f"{type(self.model.fitted).__name__} has infinitely many hypotheses: ask for "
                "densities, averaged_stumps() or perceptron_density(direction)"
            )
        return hypothesis_weights(self.model.fitted, self.feature_names)

    # -- features and rows

    def importances(self, n_background: int = 50, **settings: Any) -> Importances:
        r"""Return the share of each feature.

        Of an additive machine it is the share of :math:`\|w\|^2 = 2 \sum_d \int S_d^2`, and of
        boosted stumps that of :math:`\sum_t |w_t|`; of others the mean size of contributions to at
        most 100 background rows. All are zero if the machine is constant.
        """
        if self.is_additive:
            sizes = np.zeros(len(self.feature_names))
            for piece in self.decomposition.additive:
                sizes[piece.column] += piece.size
            method = self.model.importance
        else:
            rows = _drawn(self._known_background(), ROWS_FOR_IMPORTANCE, 0)
            found = self._explained(rows, np.zeros(len(rows)), n_background, **settings)
            sizes = np.abs(found.contributions).mean(axis=0)
            method = f"share of the mean size of contributions ({found.method})"
        shares = sizes / (float(sizes.sum()) or 1.0)
        return Importances(dict(zip(self.feature_names, shares.tolist(), strict=True)), method)

    def explain(
        self,
        X: ArrayLike,
        *,
        method: Method = "auto",
        n_background: int = 50,
        n_permutations: int = 200,
        random_state: int | None = 0,
    ) -> Explanation:
        """Return what each feature contributes to the decision values of rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows.
        method : {"auto", "exact", "sampled"}, default="auto"
            How interactions are shared among features: exactly, by the factors of a kernel or by
            all coalitions of columns, or from random orders; "auto" is exact where that is cheap.
            Sums over features are exact in any case, and cost a look-up.
        n_background : int, default=50
            Against how many of the background rows, drawn at random, interactions are told.
        n_permutations : int, default=200
            How many random orders of the columns are taken, at least; rounded up to two for each
            background row.
        random_state : int or None, default=0
            What rows and orders are drawn with.

        Returns
        -------
        Explanation
            It names the method.
        """
        values = self.model.values(X)[:, self.machine]
        rows = self.model.read(X)
        return self._explained(rows, values, n_background, method, n_permutations, random_state)

    def _explained(
        self,
        rows: FloatArray,
        values: FloatArray,
        n_background: int,
        method: Method = "auto",
        n_permutations: int = 200,
        random_state: int | None = 0,
    ) -> Explanation:
        contributions = np.column_stack(
            [shape(rows[:, d]) for d, shape in enumerate(self.shapes.values())]
        )
        intercept, squares = self.intercept, np.zeros_like(contributions)
        methods = ["exact, additive"] if self.decomposition.additive or self.is_additive else []
        if self.decomposition.interactions:
            check_count("n_background", n_background)
            background = _drawn(self._known_background(), n_background, random_state)
            rng = np.random.default_rng(random_state)
            for each in self.decomposition.interactions:
                found, how = interaction_contributions(
                    each, rows, background, method, n_permutations, rng
                )
                contributions[:, each.columns] += found.values
                squares[:, each.columns] += found.standard_error**2
                intercept += found.base
                methods.append(how)
        return Explanation(
            intercept,
            contributions,
            values,
            rows,
            tuple(self.feature_names),
            joined(methods),
            np.sqrt(squares),
        )

    def _known_background(self) -> FloatArray:
        if self.background is None:
            raise ValueError(
                f"{type(self.model.fitted).__name__} keeps no training rows to tell contributions "
                "against: give some, EnsembleView.from_estimator(model, X)"
            )
        return self.background

    def margins(self, X: ArrayLike, y: ArrayLike) -> Margins:
        """Return how clearly rows are decided.

        Rows that a machine for a pair of classes does not know are left out. Of a boosted
        ensemble it is the vote for the class of the row, less that for any other class.
        """
        norm, name = self.model.norm(self.decomposition)
        return Margins(self.model.margins(X, y, self.machine), norm, name)


def _place(model: FittedModel, machine: int | str | None) -> int:
    labels = model.labels
    if machine is None and len(labels) == 1:
        return 0
    if isinstance(machine, str) and machine in labels:
        return labels.index(machine)
    if isinstance(machine, (int, np.integer)) and 0 <= machine < len(labels):
        return int(machine)
    raise ValueError(
        f"machine = {machine!r}: there are {len(labels)} machines, one for {model.one_for}; give "
        f"a place or one of {labels}, or ask for EnsembleView.each(model)"
    )


def _drawn(rows: FloatArray, n: int, random_state: int | None) -> FloatArray:
    if len(rows) <= n:
        return rows
    chosen = np.random.default_rng(random_state).choice(len(rows), n, replace=False)
    return rows[np.sort(chosen)]
