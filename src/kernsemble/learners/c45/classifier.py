"""Quinlan's C4.5 as a scikit-learn classifier."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_count, check_flag, check_positive, check_share
from kernsemble._last_fit import restoring_last_fit
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._validation import read_classes, read_weights, validated
from kernsemble.learners.c45.growth import grow
from kernsemble.learners.c45.pruning import prune
from kernsemble.learners.c45.sorted_rows import SortedRows
from kernsemble.learners.c45.tree import Tree
from kernsemble.learners.hypothesis_search import Cases, CodedSearch, SearchingLearner

ACCEPTED: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}


class C45Tree(SearchingLearner, ClassifierMixin, BaseEstimator):
    r"""Quinlan's C4.5, Release 8: a decision tree for numbers, grown by gain ratio and pruned.

    Among cases with class entropy H a test :math:`x_d \le t` that sends shares :math:`p_1, p_2`
    of them to branches with entropies :math:`H_1, H_2` has the

    .. math:: \text{gain}\quad G = H - p_1 H_1 - p_2 H_2 - \tfrac1N \log_2 T, \qquad
              \text{gain ratio}\quad \frac{G}{-p_1 \log_2 p_1 - p_2 \log_2 p_2},

    all in bits, where T is the number of candidate thresholds and N the number of cases. Each
    feature has a threshold of largest gain, halfway between two neighbouring values. Among the
    features whose gain is at least the average (of the positive gains, less 0.001), the
    one with the largest gain ratio is tested, the first of ties. Cases whose value is missing
    (NaN) are a third branch in the denominator, the gain is that of the others times their
    fraction, and each missing case goes down both branches, in the proportions of the others.

    Each branch gets cases of weight at least :math:`\max(m, \min(25, N/10K))`, where m is
    `min_cases` and there are K classes. Splits whose branches make no fewer training errors
    than a leaf are undone. Then every node, from the leaves upwards, is replaced by a leaf, or
    by its larger branch, if that does not increase the expected errors (by more than 0.1 cases).
    For N cases, E of which are of other classes, the expected errors of a leaf are
    :math:`N\,U_c(E, N)`, where :math:`U_c` is the upper confidence limit of the error rate:

    .. math:: U_c(0, N) = 1 - c^{1/N}, \qquad
              U_c(E, N) = \frac{E' + z^2/2 + z\sqrt{E'(1 - E'/N) + z^2/4}}{N + z^2},
              \quad E' = E + \tfrac12,

    with the normal deviate z of c, 0.6925 for 0.25 in C4.5's table.

    Growing costs O(D n log n) to sort the columns and O(D n) per level of the tree.

    Parameters
    ----------
    min_cases : float, default=2
        Minimum weight m of the cases in each branch.
    confidence : float, default=0.25
        Confidence c of the error limit, between 0 and 1; smaller values prune more.
    prune : bool, default=True
        Whether to prune the tree.
    max_depth : int or None, default=None
        Maximum depth of the tree; None: unlimited.
    subtree_raising : bool, default=True
        Whether pruning may replace a node by its larger branch, and not only by a leaf.
    threshold_penalty : bool, default=True
        Whether gains are reduced by :math:`\tfrac1N\log_2 T`, as since Release 8.

    Attributes
    ----------
    classes_ : array
        The classes.
    tree_ : Tree
        The nodes: `feature`, `threshold`, `left`, `right` and the `distribution` of the weight
        of the training cases among the classes; a leaf has feature −1.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Weights are numbers of cases: a row of weight 2 is two rows, which matters for `min_cases` and
    for the error limits. Weights that sum to 1, as from scikit-learn's boosters, are multiplied by
    the number of rows with positive weight; the boosters of this package scale them themselves.

    Differences from Quinlan's program: all features are numbers; thresholds are halfway between
    values (there: the largest value in the training set below that); values that differ by less
    than 0.00001 are different; numbers are in double precision, and equal if they differ by
    rounding only; and K is the number of classes present.

    References
    ----------
    J. R. Quinlan, *C4.5: Programs for Machine Learning*, Morgan Kaufmann, 1993.

    J. R. Quinlan, *Improved Use of Continuous Attributes in C4.5*, Journal of Artificial
    Intelligence Research 4, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernsemble.learners import C45Tree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> print(C45Tree().fit(X, y).export_text())
    petal width (cm) <= 0.8 : 0 (50.0)
    petal width (cm) > 0.8 :
    |   petal width (cm) <= 1.75 :
    |   |   petal length (cm) <= 4.95 : 1 (48.0/1.0)
    |   |   petal length (cm) > 4.95 :
    |   |   |   petal width (cm) <= 1.55 : 2 (3.0)
    |   |   |   petal width (cm) > 1.55 : 1 (3.0/1.0)
    |   petal width (cm) > 1.75 : 2 (46.0/1.0)
    """

    def __init__(
        self,
        min_cases: float = 2,
        confidence: float = 0.25,
        prune: bool = True,
        max_depth: int | None = None,
        subtree_raising: bool = True,
        threshold_penalty: bool = True,
    ) -> None:
        self.min_cases = min_cases
        self.confidence = confidence
        self.prune = prune
        self.max_depth = max_depth
        self.subtree_raising = subtree_raising
        self.threshold_penalty = threshold_penalty

    @restoring_last_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow and prune the tree.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows of numbers; NaN is a missing value.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            Number of cases of each row; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        self.check_settings()
        X, y = validated(self, X, y, **ACCEPTED)
        self.classes_, codes = read_classes(y)
        weight = read_weights(sample_weight, len(X))
        if np.isclose(weight.sum(), 1.0):
            weight = weight * np.count_nonzero(weight)
        self.tree_ = self.learn(SortedRows.from_rows(X), codes, weight, len(self.classes_))
        return self

    def check_settings(self) -> None:
        """Raise an error for invalid parameters."""
        check_positive("min_cases", self.min_cases)
        check_share("confidence", self.confidence)
        check_flag("prune", self.prune)
        check_flag("subtree_raising", self.subtree_raising)
        if self.max_depth is not None:
            check_count("max_depth", self.max_depth, minimum=0)

    def learn(self, rows: SortedRows, codes: IntArray, weight: FloatArray, n_classes: int) -> Tree:
        """Return the tree for sorted rows, class codes and weights, without input validation."""
        tree = grow(
            rows, codes, weight, n_classes, self.min_cases, self.max_depth, self.threshold_penalty
        )
        if not self.prune:
            return tree
        return prune(tree, rows, codes, weight, self.confidence, self.subtree_raising)

    def predict(self, X: ArrayLike) -> Any:
        """Return the predicted class of each row, the first of equally probable ones."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def codes(self, X: FloatArray) -> IntArray:
        """Return predictions as indices into `classes_`, without input validation."""
        return self.tree_.codes(X)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return class probabilities: the class frequencies in the leaf of each row."""
        check_is_fitted(self)
        return self.tree_.shares(validated(self, X, reset=False, **ACCEPTED))

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithms of the class probabilities, −inf for zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def get_depth(self) -> int:
        """Return the depth of the tree: the largest number of tests from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def export_text(self, feature_names: Sequence[str] | None = None) -> str:
        """Return the tree as text, as C4.5 prints it.

        There is one line per branch; leaves show the weight of their training cases and, after a
        slash, of the misclassified ones.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names of the features; by default the column names of the training data, or
            x0, x1, ….

        Returns
        -------
        str
        """
        check_is_fitted(self)
        names = feature_names
        if names is None:
            default = [f"x{d}" for d in range(self.n_features_in_)]
            names = getattr(self, "feature_names_in_", default)
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"feature_names has {len(names)} names: pass {self.n_features_in_}, one per feature"
            )
        return self.tree_.text(names, self.classes_)

    def search(self, cases: Cases, rng: np.random.RandomState) -> "TreeSearch":
        """Return a hypothesis search on these rows, for boosting."""
        self.check_settings()
        return TreeSearch(self, cases, rng)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class TreeSearch(CodedSearch):
    """Search for trees on rows sorted once, without the checks of `fit`."""

    def __init__(self, tree: C45Tree, cases: Cases, rng: np.random.RandomState) -> None:
        super().__init__(tree, cases, rng)
        self._sorted = SortedRows.from_rows(cases.X)

    def _learn(self, found: C45Tree, rows: IntArray, codes: IntArray, weight: FloatArray) -> None:
        X, n_classes = self.cases.X, self.cases.n_classes
        ordered = self._sorted if len(rows) == len(X) else SortedRows.from_rows(X[rows])
        found.tree_ = found.learn(ordered, codes, weight, n_classes)
