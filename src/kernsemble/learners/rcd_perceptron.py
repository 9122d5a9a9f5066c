"""Perceptrons that err as rarely as random coordinate descent finds."""

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernsemble._arguments import check_choice, check_count
from kernsemble._typing import FloatArray, IntArray
from kernsemble._validation import read_classes, read_weights
from kernsemble.learners.line_search import Projections, minimise_error
from kernsemble.learners.search import Cases, CodedSearch

__all__ = ["RCDPerceptron", "draw_directions", "fisher_discriminant", "minimise_error"]

Variant: TypeAlias = Literal["random-bias", "random", "coordinate"]
Start: TypeAlias = Literal["zero", "fisher"]

RIDGE = 1e-6  # of the mean variance within classes


class RCDPerceptron(ClassifierMixin, BaseEstimator):
    r"""A perceptron that makes few errors on the sample, by random coordinate descent.

    .. math:: \min_{\theta, \alpha}\; \textstyle\sum_i v_i\,
              [\,\mathrm{sign}(\theta^\top x_i - \alpha) \ne y_i\,]

    Finding the minimum is hard; an epoch finds it along one direction, exactly, by sorting
    the steps at which rows change sides. The error never rises, whatever the rows. More than
    two classes are decided by one perceptron a class, against the rest, and the largest
    signed distance from its hyperplane.

    Parameters
    ----------
    variant : {"random-bias", "random", "coordinate"}, default="random-bias"
        The directions: the rows of a random rotation of the D features and then the bias by
        itself ("RCD-bias" in [1]_, and what the papers boost); the rows of a random rotation
        of features and bias together ("RCD"); or the features and the bias in turn. Rotations
        are drawn anew after D + 1 epochs.
    n_epochs : int, default=200
        How many directions are searched, fewer once nothing is wrong.
    start : {"zero", "fisher"} or linear classifier, default="zero"
        The normal vector to start from: zero, Fisher's linear discriminant, or that of a
        classifier with `coef_` and `intercept_`, such as ``LinearSVC()``, which is cloned and
        fitted for each class against the rest. The bias is then set by a line search of its
        own, so the error is never above that of the classifier.
    random_state : int, RandomState or None, default=None
        What rotations are drawn with.

    Attributes
    ----------
    classes_ : array
        The classes.
    coef_ : array of shape (n_machines, n_features)
        The normal vectors :math:`\theta` of unit length, one for two classes; zero where the
        same class is told everywhere.
    intercept_ : array of shape (n_machines,)
        The biases :math:`-\alpha`.
    error_path_ : array of shape (n_machines, n_epochs + 1)
        The share of the sample's weight in errors, at the start and after each epoch.
    n_iter_ : int
        The epochs of the perceptron that took most.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Rotations are of the rows as they are given, shifted to the middle of the range of each
    feature and divided by half of the largest range: rows in :math:`[-1, 1]^D`, as in the
    papers, stay as they are, and features of larger range have more say in others. Of equally
    good intervals the widest is taken, other than the present one if possible (see
    :func:`~kernsemble.learners.line_search.minimise_error`).

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
        variant: Variant = "random-bias",
        n_epochs: int = 200,
        start: Start | Any = "zero",
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.n_epochs = n_epochs
        self.start = start
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Descend.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, y = validate_data(self, X, y, dtype=np.float64, order="C")
        self.classes_, codes = read_classes(y)
        weight = read_weights(sample_weight, len(rows))
        present = weight > 0.0
        view = View.of(rows[present])
        rng = check_random_state(self.random_state)
        return self._descend(view, codes[present], weight[present], rng)

    def _check_settings(self) -> None:
        check_choice("variant", self.variant, get_args(Variant))
        check_count("n_epochs", self.n_epochs)
        if not hasattr(self.start, "fit"):
            check_choice("start", self.start, get_args(Start))

    def _descend(
        self, view: "View", codes: IntArray, weight: FloatArray, rng: np.random.RandomState
    ) -> Self:
        """Find the perceptrons of rows that count, and keep them."""
        seeded = np.random.default_rng(rng.randint(2**31))
        D = view.X.shape[1]
        drawn = draw_directions(self.variant, D, self.n_epochs, seeded)
        directions = np.concatenate([np.eye(1, D + 1, D), drawn])  # the bias comes first
        positive = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.ones(1)
        sides = np.where(codes == positive[:, np.newaxis], 1.0, -1.0)
        descents = [
            view.projections.minimise_error(
                signs, weight, directions, self._first(view, signs, weight)
            )
            for signs in sides
        ]
        hyperplanes = [view.frame.hyperplane(w) for w, _ in descents]
        self.coef_ = np.array([coef for coef, _ in hyperplanes])
        self.intercept_ = np.array([intercept for _, intercept in hyperplanes])
        self.error_path_ = np.array([errors[1:] for _, errors in descents])
        self.n_iter_ = int(np.count_nonzero(self.error_path_[:, :-1], axis=1).max())
        return self

    def _first(self, view: "View", signs: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the vector to start from; zero if no rows are opposed."""
        if hasattr(self.start, "fit") and signs.min() < signs.max():
            machine = clone(self.start).fit(view.X, signs, sample_weight=weight)
            return view.frame.vector(np.ravel(machine.coef_), np.ravel(machine.intercept_)[0])
        if self.start == "fisher" and signs.min() < signs.max():
            return fisher_discriminant(view.inside, signs, weight)
        return np.zeros(view.X.shape[1] + 1)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the signed distance of each row from the hyperplane, or from each of several."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        distances: FloatArray = rows @ self.coef_.T + self.intercept_
        return distances if len(self.classes_) > 2 else distances[:, 0]

    def predict(self, X: ArrayLike) -> Any:
        """Return the class of each row; on a hyperplane it is the first of two."""
        check_is_fitted(self)
        return self.classes_[self.codes(validate_data(self, X, reset=False, dtype=np.float64))]

    def codes(self, X: FloatArray) -> IntArray:
        """Return the place of the class of each row among `classes_`, without any check."""
        distances = X @ self.coef_.T + self.intercept_
        if len(self.classes_) > 2:
            return distances.argmax(axis=1)
        return (distances[:, 0] > 0.0).astype(np.intp)

    def search(self, cases: Cases, rng: np.random.RandomState) -> "PerceptronSearch":
        """Return a search of these rows, for boosting."""
        self._check_settings()
        return PerceptronSearch(self, cases, rng)


class PerceptronSearch(CodedSearch):
    """Descends on rows whose cube is known, without the checks of `fit`."""

    def __init__(self, perceptron: RCDPerceptron, cases: Cases, rng: np.random.RandomState) -> None:
        super().__init__(perceptron, cases, rng)
        self._view = View.of(np.ascontiguousarray(cases.X))

    def _learn(
        self, found: RCDPerceptron, rows: IntArray, codes: IntArray, weight: FloatArray
    ) -> None:
        present = weight > 0.0
        if not present.all():
            rows, codes, weight = rows[present], codes[present], weight[present]
        found._descend(self._view.of_rows(rows), codes, weight, self._rng)


def draw_directions(
    variant: Variant, n_features: int, n_epochs: int, rng: np.random.Generator
) -> FloatArray:
    """Return the unit vectors that epochs descend along, the bias in the last component.

    The rows of a random rotation are an orthonormal basis that no direction is preferred by:
    that of Gaussian vectors (up to signs, which lines do not have). No more of the last
    rotation is drawn than is used.

    Parameters
    ----------
    variant : {"random-bias", "random", "coordinate"}
        As for `RCDPerceptron`.
    n_features, n_epochs : int
        How many components less one, and how many vectors.
    rng : numpy.random.Generator
        What they are drawn with.

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

    with the weighted means of both classes, the weighted covariance S within them and a
    millionth of the mean variance for :math:`\lambda`.

    Parameters
    ----------
    X : array of shape (n, D)
        Rows of about unit size.
    signs : array of shape (n,)
        Their sides, −1 or +1, both of them.
    weight : array of shape (n,)
        How often each counts, positive.

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
    S.flat[:: D + 1] += ridge if ridge > 0.0 else 1.0  # two points: any would do
    theta = np.linalg.solve(S, plus - minus)
    return np.append(theta, -0.5 * theta @ (plus + minus))


@dataclass(frozen=True)
class Frame:
    """The cube that rows are seen in: the largest range of a feature becomes [−1, 1]."""

    centre: FloatArray
    scale: float

    @classmethod
    def around(cls, X: FloatArray) -> Self:
        """Return the cube around rows; weights and repetitions do not change it."""
        low, high = X.min(axis=0), X.max(axis=0)
        half_range = 0.5 * high - 0.5 * low
        return cls(low + half_range, float(half_range.max()) or 1.0)

    def inside(self, X: FloatArray) -> FloatArray:
        """Return rows as they are in the cube."""
        return (X - self.centre) / self.scale

    def vector(self, coef: FloatArray, intercept: float) -> FloatArray:
        """Return the vector in the cube of a hyperplane outside."""
        return np.append(self.scale * coef, intercept + coef @ self.centre)

    def hyperplane(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return the unit normal and the bias outside of a vector in the cube.

        Where the normal is zero the bias is the largest distance of two points of the cube, as
        if the hyperplane were beyond all rows.
        """
        length = np.sqrt(w[:-1] @ w[:-1])
        if length == 0.0:
            beyond = 2.0 * np.sqrt(len(w)) * self.scale
            return np.zeros(len(w) - 1), beyond if w[-1] > 0.0 else -beyond
        coef = w[:-1] / length
        return coef, self.scale * (w[-1] / length) - coef @ self.centre


@dataclass(frozen=True, eq=False)
class View:
    """Rows, the cube around them, and the rows inside it."""

    X: FloatArray
    frame: Frame
    inside: FloatArray
    projections: Projections

    @classmethod
    def of(cls, X: FloatArray) -> Self:
        """Return rows in the cube around them."""
        frame = Frame.around(X)
        return cls._in(frame, X, frame.inside(X))

    @classmethod
    def _in(cls, frame: Frame, X: FloatArray, inside: FloatArray) -> Self:
        return cls(X, frame, inside, Projections.of(inside))

    def of_rows(self, rows: IntArray) -> Self:
        """Return some rows, in the cube around all."""
        if len(rows) == len(self.X) and (rows == np.arange(len(rows))).all():
            return self
        return self._in(self.frame, self.X[rows], self.inside[rows])
