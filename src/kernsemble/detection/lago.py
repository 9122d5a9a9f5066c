"""The detector of rare classes of Zhu et al. (2006, 2008)."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kernsemble._arguments import check_choice, check_count, check_positive
from kernsemble._model_selection import Split, as_grid, check_classes, read_splits
from kernsemble._progress import CallbackSupportMixin, Task, with_callbacks
from kernsemble._typing import FloatArray, IntArray
from kernsemble._validation import read_classes, read_weights, refuse_one_class
from kernsemble.detection.local_kernels import LocalKernels
from kernsemble.detection.neighbours import Algorithm, Neighbours, Search, Shape
from kernsemble.detection.thresholds import check_threshold, choose_threshold
from kernsemble.detection.tuning import Detection, Form, leave_one_out
from kernsemble.preprocessing import FeatureScaling, Kind
from kernsemble.solvers.kernel_sums import Profile

ALPHAS = tuple(2.0 ** (0.5 * power) for power in range(-8, 11))  # from 1/16 to 32
ACCEPTED = {"dtype": (np.float64, np.float32), "order": "C"}


class LagoClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc,valid-type]
    r"""Ranks rows by how likely they are of a rare class (LAGO), without training.

    Every row :math:`x_i` of the rare class :math:`C_1` has a kernel, as wide as the K nearest
    rows of the background :math:`C_0` are far:

    .. math:: f(x) = \sum_{x_i \in C_1} |R_i|\, \varphi(x; x_i, \alpha R_i)
              \;\propto\; \sum_{x_i \in C_1} w_i\, k(u_i(x)/\alpha),
              \qquad k(u) = e^{-u^2/2}

    Spherical (sLAGO): :math:`u_i(x) = d(x, x_i)/r_i` with :math:`r_i` the mean distance to those
    neighbours. Elliptical (eLAGO): :math:`u_i(x)^2 = \sum_j ((x_j - x_{ij})/r_{ij})^2` with
    :math:`r_{ij}` their mean :math:`|x_{ij} - w_j|`. The height :math:`|R_i|` cancels against
    the density's :math:`1/|R_i|`, so that nothing overflows with many features. It is the
    density of the rare class divided, roughly, by that of the background.

    Parameters
    ----------
    shape : {"spherical", "elliptical"}, default="spherical"
        One radius for each rare row, or one for each of its features.
    alpha : "cv" or float, default="cv"
        What multiplies all radii; "cv": the value of `alphas` with the best average precision on
        held-out rows.
    n_neighbors : int, default=5
        How many background rows K a radius is the mean over. If there are fewer, all of them.
    kernel : {"gaussian", "uniform", "triangular"}, default="gaussian"
        The shape of kernels, :math:`e^{-u^2/2}`, :math:`[u \le 1]` or :math:`\max(1 - u, 0)`.
        The last two are zero, and so do not rank, far from every rare row.
    rare : label, list of labels or None, default=None
        What is rare; None: of two classes the smaller (if equal, the second), of several all but
        the largest. Each rare class is detected against all other rows.
    threshold : "f1", tuple or float, default="f1"
        The score above which `predict` says rare. On scores of held-out rows: "f1" the largest
        F1; ("recall", p) the largest recall with a precision of at least p; ("precision", r) the
        largest precision with a recall of at least r; ("top", n) about so many of the training
        rows, or such a share of them. A number is the score itself.
    scaling : {"range", "rank", "distinct"} or None, default="range"
        The scale on which rows are compared, see `InfiniteEnsembleClassifier`; None leaves
        features as they are.
    metric : str, default="euclidean"
        A metric of scikit-learn's `NearestNeighbors`. Spherical kernels measure :math:`d` with it
        also; for elliptical ones it only tells who is nearest.
    algorithm : {"auto", "kd_tree", "ball_tree", "brute", "approximate"}, default="auto"
        How neighbours are found: by scikit-learn exactly, or approximately by pynndescent, which
        must be installed.
    alphas : sequence of float or None, default=None
        The values to choose from; None: :math:`2^{-4}, 2^{-3.5}, \dots, 2^5`.
    cv : int, splitter or iterable, default=5
        The folds, for "cv" and for thresholds that are chosen. An int is lowered to the number of
        rows of the rarest class.
    n_jobs : int or None, default=None
        How many jobs look for neighbours.
    random_state : int, RandomState or None, default=None
        What pynndescent is seeded with; all else is determined.

    Attributes
    ----------
    classes_, rare_classes_ : arrays
        The classes, and those that are detected.
    alpha_, threshold_ : arrays of shape (n_rare_classes,)
        What was chosen or given, for each rare class.
    kernels_ : tuple of LocalKernels
        For each rare class its rows, on the scale on which they are compared, with their radii
        (``widths``) and weights.
    support_ : list of arrays
        For each rare class, the places of these rows among the training rows.
    cv_results_ : list of dicts
        For each rare class, the average precision of every alpha on every fold that tests a rare
        row, as in GridSearchCV. Empty if neither alpha nor threshold was to be chosen.
    best_score_ : array of shape (n_rare_classes,)
        The mean average precision of the chosen alpha on held-out rows, not a number if there
        were none.
    out_of_fold_scores_ : array of shape (n,) or (n, n_rare_classes)
        What `score_samples` would say of training rows by folds that did not learn from them; not
        a number where no fold tests a row. Their mean, where several do.
    scaling_ : FeatureScaling
        The scaling of the training rows.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    The neighbours of :math:`n_1` rare rows among n are searched once for all folds and values of
    alpha; scores take :math:`O(n\, n_1 (d + A))` for d features and A values. Features are scaled
    once, by all rows.

    A rare row that equals its K neighbours has height :math:`|R_i| = 0` and is left out, unless all
    are so. A feature in which it equals them, if elliptical, has the smallest radius that is not
    zero, else the standard deviation; constant features are not compared. Background rows that are
    equally far share a place among the K, so the order of rows does not matter.

    `sample_weight` means repetition: rare rows multiply their kernels, background rows count so
    often among the K neighbours. The kernels other than Gaussian are functions of the distance
    u as well, not products of one for each feature, so that one search serves all.

    References
    ----------
    M. Zhu, W. Su and H. A. Chipman, "LAGO: A Computationally Efficient Approach for Statistical
    Detection", Technometrics 48, 2006. M. Zhu, "Kernels and Ensembles: Perspectives on
    Statistical Learning", The American Statistician 62, 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from kernsemble.detection import LagoClassifier, average_precision
    >>> X, y = make_classification(
    ...     4000, 6, n_informative=4, n_clusters_per_class=1, weights=[0.98], random_state=0
    ... )
    >>> machine = LagoClassifier().fit(X[:2000], y[:2000])
    >>> average_precision(y[2000:], machine.score_samples(X[2000:]))
    0.754
    >>> machine.alpha_, machine.rare_classes_
    (array([0.35]), array([1]))
    """

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        shape: Shape = "spherical",
        alpha: Any = "cv",
        n_neighbors: int = 5,
        kernel: Profile = "gaussian",
        rare: Any = None,
        threshold: Any = "f1",
        scaling: Kind | None = "range",
        metric: str = "euclidean",
        algorithm: Algorithm = "auto",
        alphas: Sequence[float] | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.shape = shape
        self.alpha = alpha
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.rare = rare
        self.threshold = threshold
        self.scaling = scaling
        self.metric = metric
        self.algorithm = algorithm
        self.alphas = alphas
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the radii, and choose alpha and the threshold.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows of numbers.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts; zero is absence.

        Returns
        -------
        self
        """
        alphas = self._checked_alphas()
        rows, y = validate_data(self, X, y, **ACCEPTED)
        self.classes_, codes = read_classes(y)
        counts = read_weights(sample_weight, len(rows))
        totals: FloatArray = np.bincount(codes, counts)  # type: ignore[assignment]
        refuse_one_class(self.classes_[totals > 0.0])
        detected = self._detected(totals)
        self.rare_classes_ = self.classes_[detected]
        self.scaling_ = FeatureScaling.of(rows, self.scaling, counts)
        scaled = np.ascontiguousarray(self.scaling_.transform(rows))
        splits = self._splits(scaled, codes, counts, detected)
        self._begin(len(rows), counts, totals, detected)
        with Task.of_fit(self, len(detected), X, y, sample_weight) as task:
            for place, code in enumerate(detected):
                with task.part("class", place, len(splits)) as part:
                    case = Detection(scaled, codes == code, counts, splits, self._form)
                    self._detect(case, place, alphas, part)
        return self

    def _checked_alphas(self) -> FloatArray:
        """Check the settings, and return the values of alpha to choose from."""
        check_choice("shape", self.shape, get_args(Shape))
        check_choice("kernel", self.kernel, get_args(Profile))
        check_choice("algorithm", self.algorithm, get_args(Algorithm))
        check_count("n_neighbors", self.n_neighbors)
        check_threshold(self.threshold)
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, ("cv",))
            asked = ALPHAS if self.alphas is None else self.alphas
            return np.array(as_grid("alphas", asked, check_positive))
        check_positive("alpha", self.alpha)
        return np.array([float(self.alpha)])

    @property
    def _chooses(self) -> bool:
        return self.alpha == "cv" or not isinstance(self.threshold, Real)

    @property
    def _form(self) -> Form:
        search = Search(self.metric, self.algorithm, self.n_jobs, self.random_state)
        return Form(self.shape, self.kernel, self.n_neighbors, search)

    def _detected(self, totals: FloatArray) -> IntArray:
        """Return the codes of the rare classes."""
        present = np.flatnonzero(totals)
        if self.rare is None:
            return np.delete(present, np.argmax(totals[present]))
        asked = np.atleast_1d(np.asarray(self.rare))
        detected = np.flatnonzero(np.isin(self.classes_, asked))
        if len(detected) < len(asked) or not totals[detected].all():
            raise ValueError(
                f"rare = {self.rare!r}: y holds rows of the classes "
                f"{self.classes_[present].tolist()}; name one or several of them"
            )
        if len(detected) == len(present):
            raise ValueError(f"rare = {self.rare!r}: leave a class for the background")
        return detected

    def _splits(
        self, X: FloatArray, codes: IntArray, counts: FloatArray, detected: IntArray
    ) -> list[Split]:
        """Return the folds, none if nothing is to be chosen."""
        if not self._chooses:
            return []
        sides = np.where(np.isin(codes, detected), codes, -1)
        found, places = np.unique(sides, return_inverse=True)
        fewest, cv = np.bincount(places[counts > 0.0]).min(), self.cv
        if isinstance(cv, Integral):
            check_count("cv", cv, 2)
            if fewest < 2:
                raise ValueError(
                    "y holds one row of a rare class or of the background only, and none can be "
                    "held out: give more, or numbers for alpha and threshold"
                )
            cv = min(int(cv), int(fewest))
        names = ["background" if code < 0 else self.classes_.tolist()[code] for code in found]
        splits = read_splits(cv, X, places, counts, is_classifier=True)
        check_classes(splits, places, counts, names)
        return splits

    def _begin(self, n: int, counts: FloatArray, totals: FloatArray, detected: IntArray) -> None:
        """Prepare the attributes that each rare class adds to."""
        n_detected = len(detected)
        self._rare_codes, self._counts = detected, counts
        others = np.delete(np.arange(len(totals)), detected)
        self._background = int(others[np.argmax(totals[others])])
        self.kernels_: tuple[LocalKernels, ...] = ()
        self._neighbours: tuple[Neighbours, ...] = ()
        self.support_: list[IntArray] = []
        self.cv_results_: list[dict[str, Any]] = []
        self.alpha_, self.threshold_ = np.zeros(n_detected), np.zeros(n_detected)
        self.best_score_ = np.full(n_detected, np.nan)
        self._out_of_fold = np.full((n, n_detected), np.nan)

    def _detect(self, case: Detection, place: int, alphas: FloatArray, task: Task) -> None:
        """Find the kernels of one rare class, and choose for it."""
        neighbours = case.neighbours()
        kernels, best = case.kernels(neighbours), 0
        if case.splits:
            held_out = case.held_out(neighbours, alphas, task)
            best = held_out.best()
            scores = held_out.scores[:, best]
            self._out_of_fold[:, place] = scores
            self.best_score_[place] = held_out.precision[best].mean()
            self.cv_results_.append(held_out.results(alphas))
            told = np.isfinite(scores) & (case.counts > 0.0)
        self.threshold_[place] = (
            self.threshold
            if isinstance(self.threshold, Real)
            else choose_threshold(
                self.threshold, case.is_rare[told], scores[told], case.counts[told]
            )
        )
        self.alpha_[place] = alphas[best]
        self.kernels_ += (kernels,)
        self._neighbours += (neighbours,)
        self.support_.append(neighbours.of_those_present(case.counts).centres)

    @property
    def out_of_fold_scores_(self) -> FloatArray:
        """The scores of training rows by folds that did not learn from them."""
        return _flat(self._out_of_fold)

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Return the score of each row, high where it is likely to be rare.

        It is the logarithm of the mean of the Gaussians at the row; with the other kernels, which
        are zero far away, their mean itself.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,) or (n, n_rare_classes)
            Of several rare classes, the score of each.
        """
        return _flat(self._scores(X))

    def _scores(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        rows = self._scaled(X)
        each = zip(self.kernels_, self.alpha_, strict=True)
        return np.column_stack(
            [kernels.sums(rows, np.array([alpha]))[:, 0] for kernels, alpha in each]
        )

    def _scaled(self, X: ArrayLike) -> FloatArray:
        rows = validate_data(self, X, reset=False, **ACCEPTED)
        return np.ascontiguousarray(self.scaling_.transform(rows))

    def leave_one_out_scores(self, X: ArrayLike) -> FloatArray:
        """Return what `score_samples` would say of each training row, had it been left out.

        Alpha and scaling stay as they are, and a row is left out with all its repetitions. It
        costs no more than to score the rows: only kernels near a row change.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            The rows that `fit` was given.

        Returns
        -------
        array of shape (n,) or (n, n_rare_classes)
            Their scores.
        """
        check_is_fitted(self)
        rows = self._scaled(X)
        columns = []
        for kernels, neighbours, alpha, support in zip(
            self.kernels_, self._neighbours, self.alpha_, self.support_, strict=True
        ):
            if len(rows) != len(self._counts) or not np.array_equal(rows[support], kernels.centres):
                raise ValueError("X: give the rows that fit was given, in the same order")
            if len(kernels.centres) < 2:
                raise ValueError(
                    "y held one row of a rare class, and without it there is nothing to score by: "
                    "fit on more"
                )
            columns.append(
                leave_one_out(rows, self._counts, neighbours, kernels, self._form, alpha)
            )
        return _flat(np.column_stack(columns))

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return how far the score of each row is above the threshold, for each class.

        Of two classes it is one number, positive for the second: ``score_samples`` less the
        threshold, or the opposite if the first is the rare one. With more there is a column for
        each class: 0 for the largest of the background, −1 for others that are not rare, which
        are never predicted.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,) or (n, n_classes)
            Decision values.
        """
        excess = self._scores(X) - self.threshold_
        if len(self.classes_) == 2:
            return excess[:, 0] if self._rare_codes[0] == 1 else -excess[:, 0]
        decisions = np.full((len(excess), len(self.classes_)), -1.0)
        decisions[:, self._background] = 0.0
        decisions[:, self._rare_codes] = excess
        return decisions

    def predict(self, X: ArrayLike) -> Any:
        """Return the class of each row: the rare one whose score is most above its threshold.

        Where none is above it, it is the largest class of the background.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,)
            Classes.
        """
        decisions = self.decision_function(X)
        if decisions.ndim == 1:
            return self.classes_[(decisions > 0.0).astype(np.intp)]
        return self.classes_[decisions.argmax(axis=1)]


def _flat(columns: FloatArray) -> FloatArray:
    """Return one column as a vector, and several as they are."""
    return columns[:, 0] if columns.shape[1] == 1 else columns
