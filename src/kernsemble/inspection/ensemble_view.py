"""The ensemble view of a fitted model: importances, contributions, hypotheses, margins."""

from typing import Any

import numpy as np

from kernsemble._arguments import as_generator, check_count
from kernsemble._html_cards import bar_chart, card
from kernsemble._model_cards import facts
from kernsemble._typing import ArrayLike, FloatArray
from kernsemble.inspection.explanation import (
    Explanation,
    Method,
    interaction_contributions,
    joined,
)
from kernsemble.inspection.feature_importance import N_GROUPS, Importances
from kernsemble.inspection.fitted_models import (
    SupportVectorModel,
    VotingModel,
)
from kernsemble.inspection.hypothesis_weights import HypothesisWeights, hypothesis_weights
from kernsemble.inspection.machine_functions import MachineFunctions, random_rows
from kernsemble.inspection.margins import Margins
from kernsemble.inspection.perceptron_density import (
    PerceptronDensity,
    density_along,
    density_of_sampled_direction,
)

CARD_ROWS = 10  # number of rows for the importances in a notebook
ROWS_FOR_IMPORTANCE = 100  # maximum number of rows that importances are averaged over


class EnsembleView(MachineFunctions):
    r"""The ensemble view of one machine of a fitted model.

    .. math:: f(x) = b + \textstyle\sum_d g_d(x_d), \qquad
              g_d(v) = \int S_d(a)\, \mathrm{sign}(v - a)\, da + \text{const}

    for machines of stumps and categories, which are sums over features; with pairs of columns
    there are functions of two features besides. For other kernels the contributions of features
    are Shapley values. A vote of machines is the sum of its members: their functions and
    contributions add with the weights. Use `from_estimator` for one machine and `each` for all
    machines of a model. All numbers are in the user's units, whatever the scaling.

    Attributes
    ----------
    label : str
        Classes that the machine separates, such as "yes vs no": its decision values are positive
        for the first; "prediction" for a regressor.
    one_for : str
        Target of each machine of the model, such as "each pair of classes".
    feature_names : list of str
        Names of the features; x0, x1, … if the training rows had no names.
    centred_on : str
        Rows over which each shape function has mean zero.
    background : array or None
        These rows as the machine sees them; None if the model does not store them.

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

    def _repr_html_(self) -> str:
        """Return a card with the learned settings and a bar chart of importances."""
        settings = {"machine": self.label, "model": type(self.model.fitted).__name__}
        try:
            found = self.importances(CARD_ROWS, CARD_ROWS, n_permutations=2 * CARD_ROWS)
        except ValueError:  # interactions, and no rows to average over
            picture = ""
        else:
            caption = f"importances: {found.method}"
            picture = bar_chart(found.shares, caption)
        return card("EnsembleView", {**settings, **dict(facts(self.model.fitted))}, picture)

    def perceptron_density(self, direction: ArrayLike | int) -> PerceptronDensity:
        """Return the weights of all perceptrons along one direction of the scaled features.

        Parameters
        ----------
        direction : array-like of shape (D,) or int
            Direction, of any length, in the columns of the perceptron kernel. For a machine on
            tables, the index of one of its sampled directions.

        Returns
        -------
        PerceptronDensity
        """
        if not isinstance(self.model, SupportVectorModel):
            raise ValueError(
                f"{self.model.fitted!r} has no perceptron kernel: use kernel='perceptron'"
            )
        support, is_index = self.model.support_vectors(self.machine), isinstance(direction, int)
        if (support is None) != is_index:
            raise ValueError(
                f"direction = {direction!r}: for a machine on tables pass the index of a sampled "
                "direction; for a machine with solver='exact' pass a vector"
            )
        if support is None:
            assert isinstance(direction, int)
            tables = self.model.fitted.tables_
            return density_of_sampled_direction(direction, tables, self.machine)
        return density_along(direction, self.model.kernel, support)

    def hypotheses(self) -> HypothesisWeights:
        """Return the hypotheses of a boosted ensemble, the largest weight first."""
        if not isinstance(self.model, VotingModel):
            raise ValueError(
                f"{type(self.model.fitted).__name__} has infinitely many hypotheses: use "
                "densities, averaged_stumps() or perceptron_density(direction)"
            )
        return hypothesis_weights(self.model.fitted, self.feature_names)

    def importances(
        self, n_background: int = 50, n_rows: int = ROWS_FOR_IMPORTANCE, **settings: Any
    ) -> Importances:
        r"""Return the feature importances.

        The importance of a feature is its share of :math:`\|w\|^2 = 2 \sum_d \int S_d^2` for an
        additive machine, of :math:`\sum_t |w_t|` for boosted stumps, and of the mean absolute
        contributions to some background rows for other models. With a learned measure, as with
        pairs of columns, it is the share of the variance over the training rows, for independent
        columns; a pair counts half for either feature. All are zero if the machine is
        constant. `feature_importances` returns those of all classes of a model.

        Parameters
        ----------
        n_background : int, default=50
            Number of background rows for machines with interactions.
        n_rows : int, default=100
            Maximum number of rows to average over, for machines with interactions.
        **settings
            Other settings of `explain`, for machines with interactions.

        Returns
        -------
        Importances
        """
        if self.is_additive:
            sizes = self.decomposition.sizes(len(self.feature_names))
            method = self.model.importance_method
            if self.decomposition.has_learned_measure:
                method = "share of the variance of all functions, pairs divided equally, exact"
            return Importances.from_sizes(self.feature_names, sizes, method)
        check_count("n_background", n_background)
        known = self._known_background()
        rows, background = random_rows(known, n_rows, 1), random_rows(known, n_background, 0)
        groups = np.array_split(background, min(N_GROUPS, len(background)))
        parts = [self._explained(rows, np.zeros(len(rows)), each, **settings) for each in groups]
        how = parts[0].method.replace(
            f"{len(groups[0])} background", f"{len(background)} background"
        )
        return Importances.from_contributions(
            self.feature_names,
            np.array([each.contributions for each in parts]),
            [len(each) for each in groups],
            1.0 - len(rows) / len(known),
            1.0 - len(background) / len(known) if parts[0].is_exact else 1.0,
            f"share of the mean absolute contributions to {len(rows)} rows ({how})",
        )

    def learned_measure(self) -> Importances:
        """Return the learned measure over features: the share of hypotheses on each feature.

        That of a vote is the mean over its members with learned scalings, weighted by their shares
        of the vote.

        Returns
        -------
        Importances

        Examples
        --------
        >>> import numpy as np
        >>> from kernsemble.inspection import EnsembleView
        >>> from kernsemble.svm import InfiniteEnsembleClassifier
        >>> X = np.random.default_rng(0).normal(size=(600, 4))
        >>> y = X[:, 0] * X[:, 1] > 0.0
        >>> settings = {"scaling": "learned", "loss": "squared"}
        >>> model = InfiniteEnsembleClassifier("laplacian", **settings).fit(X, y)
        >>> shares = EnsembleView.from_estimator(model).learned_measure().shares
        >>> shares["x0"] + shares["x1"] > 0.9
        True
        """
        learned = self.model.learned_scalings
        if not learned:
            raise ValueError(
                f"{type(self.model.fitted).__name__} has no learned measure over features: use "
                "scaling='learned', or importances()"
            )
        n = len(self.feature_names)
        shares = sum(share * scaling.feature_shares(n) for share, scaling in learned)
        method = "share of the hypotheses on each feature, learned"
        return Importances.from_sizes(self.feature_names, np.asarray(shares), method)

    def explain(
        self,
        X: ArrayLike,
        *,
        method: Method = "auto",
        n_background: int = 50,
        n_permutations: int = 200,
        random_state: int | None = 0,
    ) -> Explanation:
        """Return the contributions of the features to the decision values of rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows to explain.
        method : {"auto", "exact", "sampled"}, default="auto"
            Method for interactions: exact, by the factors of a kernel or all coalitions of
            columns; or sampled, from random orders of the columns. "auto" is exact where that is
            cheap. Additive terms are always exact and cost a look-up, as do pairs, whose value is
            divided equally: their Shapley values for independent columns.
        n_background : int, default=50
            Number of background rows, drawn at random, for interactions.
        n_permutations : int, default=200
            Minimum number of random orders of the columns; rounded up to two per background row.
        random_state : int or None, default=0
            Random seed for background rows and orders.

        Returns
        -------
        Explanation
            Contributions, and the method used.
        """
        values = self.model.values(X)[:, self.machine]
        rows, background = self.model.encode(X), np.empty((0, 0))
        if self.decomposition.interactions:
            check_count("n_background", n_background)
            background = random_rows(self._known_background(), n_background, random_state)
        return self._explained(rows, values, background, method, n_permutations, random_state)

    def _explained(
        self,
        rows: FloatArray,
        values: FloatArray,
        background: FloatArray,
        method: Method = "auto",
        n_permutations: int = 200,
        random_state: int | None = 0,
    ) -> Explanation:
        contributions = np.column_stack(
            [shape(rows[:, d]) for d, shape in enumerate(self.shapes.values())]
        )
        intercept, errors = self.intercept, np.zeros_like(contributions)
        for pair in self.decomposition.pairs:
            contributions[:, list(pair.columns)] += 0.5 * pair(rows)[:, np.newaxis]
        methods = ["exact, additive"] if self.decomposition.additive or self.is_additive else []
        rng = as_generator(random_state)
        for each in self.decomposition.interactions:
            found, how = interaction_contributions(
                each, rows, background, method, n_permutations, rng
            )
            contributions[:, each.columns] += found.values
            errors[:, each.columns] = np.hypot(errors[:, each.columns], found.standard_error)
            intercept += found.base
            methods.append(how)
        return Explanation(
            intercept,
            contributions,
            values,
            rows,
            tuple(self.feature_names),
            joined(methods),
            errors,
        )

    def margins(self, X: ArrayLike, y: ArrayLike) -> Margins:
        """Return the margins of rows.

        A machine for a pair of classes leaves out the rows of other classes. For a boosted ensemble
        the margin is the vote for the class of the row minus the largest vote for another class.
        """
        norm, name = self.model.norm(self.decomposition)
        return Margins(self.model.margins(X, y, self.machine), norm, name)
