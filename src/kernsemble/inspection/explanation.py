"""Contributions of features to the decision values of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from kernsemble._arguments import check_choice, check_count
from kernsemble._typing import FloatArray
from kernsemble._value_object import Value
from kernsemble.inspection.dataframes import as_frame
from kernsemble.inspection.decomposition import Interaction, ProductForm
from kernsemble.inspection.shapley import (
    Contributions,
    coalition_values,
    permutation_values,
    product_points,
    product_values,
)

Method: TypeAlias = Literal["auto", "exact", "sampled"]

MAX_COLUMNS = 16  # maximum number of columns for all coalitions
CHEAP_COLUMNS = 8  # number of columns up to which "auto" takes all coalitions
CHEAP_PRODUCTS = 2e8  # multiplications per row up to which "auto" uses the factors of a kernel


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Value):
    r"""Contributions of features to rows: :math:`f(x) = b + \sum_d \phi_d(x)`.

    Contributions are Shapley values; for an additive machine these are its centred shape functions.

    Attributes
    ----------
    intercept : float
        Base value b, the mean over the background rows.
    contributions : array of shape (n, n_features)
        Contributions :math:`\phi`.
    values : array of shape (n,)
        Decision values of the model.
    rows : array of shape (n, n_features)
        Rows, categories as codes.
    feature_names : tuple of str
        Names of the features.
    method : str
        Method by which the contributions were computed.
    standard_error : array of shape (n, n_features)
        Standard errors of sampled contributions; zero for exact ones.
    """

    intercept: float
    contributions: FloatArray
    values: FloatArray
    rows: FloatArray
    feature_names: tuple[str, ...]
    method: str
    standard_error: FloatArray

    @property
    def is_exact(self) -> bool:
        """Whether all contributions are exact."""
        return not self.standard_error.any()

    def row(self, index: int) -> dict[str, float]:
        """Return the contributions to one row, the largest first."""
        mine = self.contributions[index]
        order = np.argsort(-np.abs(mine), kind="stable")
        return {self.feature_names[d]: float(mine[d]) for d in order}

    def to_frame(self) -> Any:
        """Return a DataFrame with the intercept, contributions and value of each row."""
        columns: dict[str, Any] = {"intercept": np.full(len(self.values), self.intercept)}
        columns |= dict(zip(self.feature_names, self.contributions.T, strict=True))
        return as_frame(columns | {"value": self.values})


def interaction_contributions(
    interaction: Interaction,
    X: FloatArray,
    background: FloatArray,
    method: Method,
    n_permutations: int,
    rng: np.random.Generator,
) -> tuple[Contributions, str]:
    """Return the contributions of the columns of an interaction, and the method used."""
    check_choice("method", method, ("auto", "exact", "sampled"))
    check_count("n_permutations", n_permutations)
    m, n_background = len(interaction.columns), len(background)
    background_text = f"{n_background} background rows"
    if _uses_product(interaction.product, method, m, n_background):
        assert interaction.product is not None
        found = _product_contributions(interaction, interaction.product, X, background)
        return found, f"exact, kernel factors, {background_text}"
    if method == "exact" and m > MAX_COLUMNS:
        raise ValueError(
            f"method = 'exact': {interaction.name} depends on {m} columns, and all coalitions are "
            f"computed for at most {MAX_COLUMNS}: use method='sampled'"
        )
    arguments = interaction.values, X, background, interaction.columns
    if method == "exact" or (method == "auto" and m <= CHEAP_COLUMNS):
        return coalition_values(*arguments), f"exact, all coalitions, {background_text}"
    found = permutation_values(*arguments, n_permutations, rng)
    return found, f"sampled, random orders, {background_text}"


def _uses_product(product: ProductForm | None, method: Method, m: int, n_background: int) -> bool:
    if product is None or method == "sampled":
        return False
    cost = len(product.known) * n_background * (len(product.group) + m * product_points(m))
    return method == "exact" or cost <= CHEAP_PRODUCTS


def _product_contributions(
    interaction: Interaction, product: ProductForm, X: FloatArray, background: FloatArray
) -> Contributions:
    values = product_values(
        product.embed(X),
        product.embed(background),
        product.known,
        product.coefficients,
        product.rate,
        product.power,
        product.group,
    )
    base = float(interaction.values(background).mean())
    return Contributions(values, base, np.zeros_like(values))


def joined(methods: Sequence[str]) -> str:
    """Return the distinct methods as one text."""
    return "; ".join(dict.fromkeys(methods))
