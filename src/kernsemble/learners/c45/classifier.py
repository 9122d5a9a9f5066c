"""Quinlan's C4.5 as a classifier of scikit-learn's kind."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kernsemble._arguments import check_count, check_positive, check_share
from kernsemble._typing import FloatArray, IntArray
from kernsemble._validation import read_classes, read_weights
from kernsemble.learners.c45.growth import grow
from kernsemble.learners.c45.pruning import prune
from kernsemble.learners.c45.rows import SortedRows
from kernsemble.learners.c45.tree import Tree
from kernsemble.learners.search import Cases, CodedSearch

ACCEPTED: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}


class C45Tree(ClassifierMixin, BaseEstimator):
    r"""Quinlan's C4.5, Release 8: a decision tree for numbers, grown by gain ratio and pruned.

    Among cases with class entropy H a test :math:`x_d \le t` that sends shares :math:`p_1, p_2`
    of them to branches with entropies :math:`H_1, H_2` has the

    .. math:: \text{gain}\quad G = H - p_1 H_1 - p_2 H_2 - \tfrac1N \log_2 T, \qquad
              \text{gain ratio}\quad \frac{G}{-p_1 \log_2 p_1 - p_2 \log_2 p_2},

    all in bits, where T thresholds could be chosen among and N is the number of cases. Each
    feature offers the threshold of largest gain, halfway between two neighbouring values. Of the
    features whose gain is at least the average one (of those that gain anything, less 0.001) the
    one with the largest gain ratio is tested, the first of equal ones. Cases whose value is missing
    (NaN) count as a third branch in the denominator, the gain is that of the others times their
    share, and each goes down both branches, in parts as large as those of the others.

    Each branch gets cases of weight :math:`\max(m, \min(25, N/10K))` at least, where m is
    `min_cases` and there are K classes. Branches that make no fewer errors on the training cases
    than a leaf are taken back. Then every node, from the leaves upwards, is replaced by a leaf, or
    by its larger branch, if that is expected to err no more (within 0.1 cases). Of N cases, of
    which E are of other classes, a leaf is expected to err on :math:`N\,U_c(E, N)`, where
    :math:`U_c` is the upper limit, at confidence c, of the error rate:

    .. math:: U_c(0, N) = 1 - c^{1/N}, \qquad
              U_c(E, N) = \frac{E' + z^2/2 + z\sqrt{E'(1 - E'/N) + z^2/4}}{N + z^2},
              \quad E' = E + \tfrac12,

    with the normal deviate z of c, 0.6925 for 0.25 in C4.5's table.

    Growing costs O(D n log n) to sort the columns and O(D n) for each level of the tree.

    Parameters
    ----------
    min_cases : float, default=2
        The weight m of the cases that each branch gets at least.
    confidence : float, default=0.25
        The confidence c of the limit, between 0 and 1: the smaller, the more is pruned.
    prune : bool, default=True
        Whether the tree is pruned.
    max_depth : int or None, default=None
        At most so many tests from the root to a leaf; None: as many as it takes.
    subtree_raising : bool, default=True
        Whether pruning may put a branch in the place of its node, and not just a leaf.
    threshold_penalty : bool, default=True
        Whether gains are less by :math:`\tfrac1N\log_2 T`, as since Release 8.

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
    Weights count cases: a row of weight 2 is two rows, and what is too few for a branch, or for
    sure, depends on them. Weights that sum to 1 are a distribution, such as scikit-learn's boosters
    give, and are multiplied by the number of rows that count; boosters here do that themselves.

    It differs from Quinlan's program in that all features are numbers; that thresholds are
    halfway between values (there: the largest value in the training set below that); that
    values which differ by less than 0.00001 are different; that numbers are in double
    precision, and equal if they differ by no more than rounding makes them; and that K counts
    the classes that occur.

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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree, and prune it.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows of numbers; NaN is a missing value.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How many cases each row is; zero is absence.

        Returns
        -------
        self
        """
        self.check_settings()
        X, y = validate_data(self, X, y, **ACCEPTED)
        self.classes_, codes = read_classes(y)
        weight = read_weights(sample_weight, len(X))
        if np.isclose(weight.sum(), 1.0):
            weight = weight * np.count_nonzero(weight)
        self.tree_ = self.learn(SortedRows.of(X), codes, weight, len(self.classes_))
        return self

    def check_settings(self) -> None:
        """Refuse settings that make no sense."""
        check_positive("min_cases", self.min_cases)
        check_share("confidence", self.confidence)
        if self.max_depth is not None:
            check_count("max_depth", self.max_depth, minimum=0)

    def learn(self, rows: SortedRows, codes: IntArray, weight: FloatArray, n_classes: int) -> Tree:
        """Return the tree for rows sorted before, codes of classes and weights, unchecked."""
        tree = grow(
            rows, codes, weight, n_classes, self.min_cases, self.max_depth, self.threshold_penalty
        )
        if not self.prune:
            return tree
        return prune(tree, rows, codes, weight, self.confidence, self.subtree_raising)

    def predict(self, X: ArrayLike) -> Any:
        """Return the class of each row, the first of equally frequent ones."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def codes(self, X: FloatArray) -> IntArray:
        """Return the place of the class of each row among `classes_`, without any check."""
        return self.tree_.codes(X)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the share of each class among the training cases at the leaf of each row."""
        check_is_fitted(self)
        return self.tree_.shares(validate_data(self, X, reset=False, **ACCEPTED))

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithm of the share of each class, −inf for none."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def get_depth(self) -> int:
        """Return the most tests from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def export_text(self, feature_names: Sequence[str] | None = None) -> str:
        """Return the tree as C4.5 prints it.

        There is a line for each branch, and leaves tell the weight of their training cases and,
        behind a stroke, of those of other classes.

        Parameters
        ----------
        feature_names : sequence of str, optional
            What to call the features; the column names of the training data, or x0, x1, …,
            unless given.

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
                f"feature_names holds {len(names)} names: give {self.n_features_in_}, one for each "
                "feature"
            )
        return self.tree_.text(names, self.classes_)

    def search(self, cases: Cases, rng: np.random.RandomState) -> "TreeSearch":
        """Return a search of these rows, for boosting."""
        self.check_settings()
        return TreeSearch(self, cases, rng)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class TreeSearch(CodedSearch):
    """Grows trees on rows sorted once, without the checks of `fit`."""

    def __init__(self, tree: C45Tree, cases: Cases, rng: np.random.RandomState) -> None:
        super().__init__(tree, cases, rng)
        self._sorted = SortedRows.of(cases.X)

    def _learn(self, found: C45Tree, rows: IntArray, codes: IntArray, weight: FloatArray) -> None:
        X, n_classes = self.cases.X, self.cases.n_classes
        ordered = self._sorted if len(rows) == len(X) else SortedRows.of(X[rows])
        found.tree_ = found.learn(ordered, codes, weight, n_classes)
