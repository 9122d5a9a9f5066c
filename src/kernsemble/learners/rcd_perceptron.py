"""Perceptrons with few training errors, by random coordinate descent on the 0/1 loss."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_choice, check_count
from kernsemble._last_fit import restoring_last_fit
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._validation import read_classes, read_weights, validated
from kernsemble.kernels.gram import finite_values
from kernsemble.learners.hypothesis_search import Cases, CodedSearch, SearchingLearner
from kernsemble.learners.zero_one_descent import Projections, minimise_error

__all__ = ["RCDPerceptron", "draw_directions", "fisher_discriminant", "minimise_error"]

DescentVariant: TypeAlias = Literal["random-bias", "random", "coordinate"]
Start: TypeAlias = Literal["zero", "fisher"]

RIDGE = 1e-6  # ridge penalty of Fisher's discriminant, relative to the mean variance within classes


class RCDPerceptron(SearchingLearner, ClassifierMixin, BaseEstimator):
    r"""A perceptron with few training errors, by random coordinate descent on the 0/1 loss.

    .. math:: \min_{\theta, \alpha}\; \textstyle\sum_i v_i\,
              [\,\mathrm{sign}(\theta^\top x_i - \alpha) \ne y_i\,]

    Finding the minimum is hard; an epoch finds it exactly along one direction, by sorting
    the steps at which rows change sides. The training error never rises. With more than
    two classes there is one perceptron per class, against the rest, and the largest
    signed distance from its hyperplane wins.

    Parameters
    ----------
    variant : {"random-bias", "random", "coordinate"}, default="random-bias"
        The directions: the rows of a random rotation of the D features and then the bias by
        itself ("RCD-bias" in [1]_, used for boosting in the papers); the rows of a random rotation
        of features and bias together ("RCD"); or the features and the bias in turn. A new rotation
        is drawn every D + 1 epochs.
    n_epochs : int, default=200
        Number of directions searched; fewer once the training error is zero.
    start : {"zero", "fisher"} or linear classifier, default="zero"
        Initial normal vector: zero, Fisher's linear discriminant, or that of a
        classifier with `coef_` and `intercept_`, such as ``LinearSVC()``, which is cloned and
        fitted for each class against the rest. The bias is then set by a separate line
        search, so the error is never above that of the classifier.
    random_state : int, RandomState or None, default=None
        Random seed of the rotations.

    Attributes
    ----------
    classes_ : array
        The classes.
    coef_ : array of shape (n_machines, n_features)
        The normal vectors :math:`\theta` of unit length, one for two classes; zero if the
        same class is predicted everywhere.
    intercept_ : array of shape (n_machines,)
        The biases :math:`-\alpha`.
    error_path_ : array of shape (n_machines, n_epochs + 1)
        The weighted training error, at the start and after each epoch.
    n_iter_ : int
        The largest number of epochs of a perceptron.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Rows are shifted to the middle of the range of each feature and divided by half of the largest
    range before they are rotated: rows in :math:`[-1, 1]^D`, as in the papers, stay unchanged;
    otherwise features of larger range have more influence. Of equally
    good intervals the widest is selected, other than the present one if possible (see
    :func:`~kernsemble.learners.zero_one_descent.minimise_error`).

    References
    ----------
    .. [1] L. Li and H.-T. Lin, Optimizing 0/1 loss for perceptrons by random coordinate
       descent, International Joint Conference on Neural Networks, 2007.

    Examples
    --------
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.learners.rcd_perceptron import RCDPerceptron
    >>> X, y = make_threenorm(300, random_state=0)
    >>> perceptron = RCDPerceptron(random_state=0).fit(X, y)
    >>> perceptron.error_path_[0, [0, 20, 200]]
    array([0.457, 0.13 , 0.09 ])
    >>> RCDPerceptron(start="fisher", random_state=0).fit(X, y).error_path_[0, [0, 200]]
    array([0.093, 0.07 ])
    """

    def __init__(
        self,
        variant: DescentVariant = "random-bias",
        n_epochs: int = 200,
        start: Start | Any = "zero",
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.n_epochs = n_epochs
        self.start = start
        self.random_state = random_state

    @restoring_last_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the perceptron, or one per class.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, y = validated(self, X, y, dtype=np.float64, order="C")
        self.classes_, codes = read_classes(y)
        weight = read_weights(sample_weight, len(rows))
        present = weight > 0.0
        scaled = ScaledRows.from_rows(rows[present])
        rng = check_random_state(self.random_state)
        return self._descend(scaled, codes[present], weight[present], rng)

    def _check_settings(self) -> None:
        check_choice("variant", self.variant, get_args(DescentVariant))
        check_count("n_epochs", self.n_epochs)
        if not hasattr(self.start, "fit"):
            check_choice("start", self.start, get_args(Start))

    def _descend(
        self, rows: "ScaledRows", codes: IntArray, weight: FloatArray, rng: np.random.RandomState
    ) -> Self:
        """Fit the perceptrons to rows of positive weight, and store them."""
        seeded = np.random.default_rng(rng.randint(2**31))
        D = rows.X.shape[1]
        drawn = draw_directions(self.variant, D, self.n_epochs, seeded)
        directions = np.concatenate([np.eye(1, D + 1, D), drawn])  # the bias comes first
        positive = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.ones(1)
        sides = np.where(codes == positive[:, np.newaxis], 1.0, -1.0)
        descents = [
            rows.projections.minimise_error(
                signs, weight, directions, self._initial(rows, signs, weight)
            )
            for signs in sides
        ]
        hyperplanes = [rows.cube.hyperplane(w) for w, _ in descents]
        self.coef_ = np.array([coef for coef, _ in hyperplanes])
        self.intercept_ = np.array([intercept for _, intercept in hyperplanes])
        self.error_path_ = np.array([errors[1:] for _, errors in descents])
        self.n_iter_ = int(np.count_nonzero(self.error_path_[:, :-1], axis=1).max())
        return self

    def _initial(self, rows: "ScaledRows", signs: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the initial vector; zero if there is one class only."""
        if hasattr(self.start, "fit") and signs.min() < signs.max():
            machine = clone(self.start).fit(rows.X, signs, sample_weight=weight)
            return rows.cube.vector(np.ravel(machine.coef_), np.ravel(machine.intercept_)[0])
        if self.start == "fisher" and signs.min() < signs.max():
            return fisher_discriminant(rows.scaled, signs, weight)
        return np.zeros(rows.X.shape[1] + 1)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return signed distances from the hyperplane; with several classes, from each of them."""
        check_is_fitted(self)
        rows = validated(self, X, reset=False, dtype=np.float64)
        distances = self._distances(rows)
        return distances if len(self.classes_) > 2 else distances[:, 0]

    def _distances(self, X: FloatArray) -> FloatArray:
        """Return signed distances from every hyperplane (columns)."""
        return finite_values(
            lambda rows: rows @ self.coef_.T + self.intercept_, X, name="the decision function"
        )

    def predict(self, X: ArrayLike) -> Any:
        """Return the predicted class of each row; on a hyperplane, the first of two."""
        check_is_fitted(self)
        return self.classes_[self.codes(validated(self, X, reset=False, dtype=np.float64))]

    def codes(self, X: FloatArray) -> IntArray:
        """Return predictions as indices into `classes_`, without input validation."""
        distances = self._distances(X)
        if len(self.classes_) > 2:
            return distances.argmax(axis=1)
        return (distances[:, 0] > 0.0).astype(np.intp)

    def search(self, cases: Cases, rng: np.random.RandomState) -> "PerceptronSearch":
        """Return a hypothesis search on these rows, for boosting."""
        self._check_settings()
        return PerceptronSearch(self, cases, rng)


class PerceptronSearch(CodedSearch):
    """Search for perceptrons on rows scaled once, without the checks of `fit`."""

    def __init__(self, perceptron: RCDPerceptron, cases: Cases, rng: np.random.RandomState) -> None:
        super().__init__(perceptron, cases, rng)
        self._scaled = ScaledRows.from_rows(np.ascontiguousarray(cases.X))

    def _learn(
        self, found: RCDPerceptron, rows: IntArray, codes: IntArray, weight: FloatArray
    ) -> None:
        present = weight > 0.0
        if not present.all():
            rows, codes, weight = rows[present], codes[present], weight[present]
        found._descend(self._scaled.take(rows), codes, weight, self._rng)


def draw_directions(
    variant: DescentVariant, n_features: int, n_epochs: int, rng: np.random.Generator
) -> FloatArray:
    """Return the unit vectors of the line searches, with the bias in the last component.

    The rows of a random rotation are an orthonormal basis without a preferred direction:
    that of Gaussian vectors (up to signs, which do not matter for lines). Only the used rows of the
    last rotation are drawn.

    Parameters
    ----------
    variant : {"random-bias", "random", "coordinate"}
        As for `RCDPerceptron`.
    n_features, n_epochs : int
        Number of components without the bias, and number of vectors.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    array of shape (n_epochs, n_features + 1)
    """
    D = n_features
    directions = np.tile(np.eye(D + 1), (n_epochs // (D + 1) + 1, 1))[:n_epochs]
    if variant == "coordinate":
        return directions
    rotated = D if variant == "random-bias" else D + 1
    n_rotations, n_left = divmod(n_epochs, D + 1)
    whole = directions[: n_rotations * (D + 1)].reshape(n_rotations, D + 1, D + 1)
    whole[:, :rotated, :rotated] = _orthonormal_rows(rng, n_rotations, rotated, rotated)
    n_last = min(n_left, rotated)
    last = _orthonormal_rows(rng, 1, n_last, rotated)[0]
    directions[len(directions) - n_left :][:n_last, :rotated] = last
    return directions


def _orthonormal_rows(rng: np.random.Generator, n: int, m: int, D: int) -> FloatArray:
    basis, _ = np.linalg.qr(rng.standard_normal((n, D, m)))
    return basis.transpose(0, 2, 1)


def fisher_discriminant(X: FloatArray, signs: FloatArray, weight: FloatArray) -> FloatArray:
    r"""Return Fisher's linear discriminant as a vector of D + 1, the bias last.

    .. math:: \theta = (S + \lambda I)^{-1} (m_+ - m_-), \qquad
              \alpha = \tfrac12 \theta^\top (m_+ + m_-)

    with the weighted means of both classes, the weighted covariance S within classes and
    :math:`\lambda` a millionth of the mean variance.

    Parameters
    ----------
    X : array of shape (n, D)
        Rows of about unit size.
    signs : array of shape (n,)
        Their classes, −1 or +1, both present.
    weight : array of shape (n,)
        Positive weights of the rows.

    Returns
    -------
    array of shape (D + 1,)
    """
    D, is_plus = X.shape[1], signs > 0.0
    plus = weight[is_plus] @ X[is_plus] / weight[is_plus].sum()
    minus = weight[~is_plus] @ X[~is_plus] / weight[~is_plus].sum()
    deviation = X - np.where(is_plus[:, np.newaxis], plus, minus)
    S = (deviation.T * (weight / weight.sum())) @ deviation
    ridge = RIDGE * np.trace(S) / D
    S.flat[:: D + 1] += ridge if ridge > 0.0 else 1.0  # two points: any value works
    theta = np.linalg.solve(S, plus - minus)
    return np.append(theta, -0.5 * theta @ (plus + minus))


@dataclass(frozen=True)
class Cube:
    """The smallest cube around rows; scaling makes the largest range of a feature [−1, 1]."""

    centre: FloatArray
    scale: float

    @classmethod
    def around(cls, X: FloatArray) -> Self:
        """Return the cube around rows; it does not depend on weights and repetitions."""
        low, high = X.min(axis=0), X.max(axis=0)
        half_range = 0.5 * high - 0.5 * low
        return cls(low + half_range, float(half_range.max()) or 1.0)

    def scale_rows(self, X: FloatArray) -> FloatArray:
        """Return rows in the coordinates of the cube."""
        return (X - self.centre) / self.scale

    def vector(self, coef: FloatArray, intercept: float) -> FloatArray:
        """Return a hyperplane as a vector in the coordinates of the cube."""
        return np.append(self.scale * coef, intercept + coef @ self.centre)

    def hyperplane(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return the unit normal and the bias, in original units, of a vector in the cube.

        If the normal is zero, the bias is the largest distance of two points of the cube, as
        if the hyperplane were beyond all rows.
        """
        length = np.sqrt(w[:-1] @ w[:-1])
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            if length == 0.0:
                coef, bias = np.zeros(len(w) - 1), 2.0 * np.sqrt(len(w)) * self.scale
                bias = bias if w[-1] > 0.0 else -bias
            else:
                coef = w[:-1] / length
                bias = self.scale * (w[-1] / length) - coef @ self.centre
        if not np.isfinite(bias):
            raise ValueError(
                f"columns of X have ranges up to {2.0 * self.scale:.3g}, and the distances of rows "
                "exceed the range of floats: scale the columns"
            )
        return coef, bias


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Rows, the cube around them, and the rows scaled to it."""

    X: FloatArray
    cube: Cube
    scaled: FloatArray
    projections: Projections

    @classmethod
    def from_rows(cls, X: FloatArray) -> Self:
        """Scale rows to the cube around them."""
        cube = Cube.around(X)
        scaled = cube.scale_rows(X)
        return cls(X, cube, scaled, Projections.from_rows(scaled))

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows, scaled to the cube around all."""
        if len(rows) == len(self.X) and (rows == np.arange(len(rows))).all():
            return self
        scaled = self.scaled[rows]
        return replace(
            self, X=self.X[rows], scaled=scaled, projections=Projections.from_rows(scaled)
        )
