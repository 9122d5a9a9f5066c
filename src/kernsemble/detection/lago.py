"""LAGO, the detector of rare classes of Zhu et al. (2006, 2008)."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_choice, check_count, check_positive
from kernsemble._calibration_curves import Isotonic, Sigmoid
from kernsemble._conditional_methods import available_if
from kernsemble._folds import as_grid
from kernsemble._jobs import within_n_jobs
from kernsemble._last_fit import restoring_last_fit
from kernsemble._model_cards import CardMixin
from kernsemble._progress import CallbackSupportMixin, Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._validation import read_classes, read_weights, refuse_one_class, validated
from kernsemble.detection.decision_threshold import check_threshold, tune_threshold
from kernsemble.detection.held_out_scores import (
    LocalKernelSettings,
    RareClassProblem,
    leave_one_out_scores,
)
from kernsemble.detection.local_kernels import LocalKernels
from kernsemble.detection.neighbours import Algorithm, KernelShape, Neighbours, NeighbourSearch
from kernsemble.detection.probabilities import calibrate, class_probabilities
from kernsemble.detection.rare_classes import rare_class_codes, stratified_folds
from kernsemble.preprocessing import FeatureScaling, ScalingKind
from kernsemble.solvers.kernel_sums import Profile

ALPHAS = tuple(2.0 ** (0.5 * power) for power in range(-8, 11))  # from 1/16 to 32
ACCEPTED = {"dtype": (np.float64, np.float32), "order": "C"}


def _check_probabilities(machine: "LagoClassifier") -> None:
    """Raise an AttributeError unless there are held-out scores to calibrate on."""
    is_fitted = hasattr(machine, "calibration_")
    if not (machine.calibration_ if is_fitted else machine._is_tuned):
        raise AttributeError(
            f"alpha = {machine.alpha!r} and threshold = {machine.threshold!r} do not support "
            "predict_proba, which is calibrated on held-out scores: use alpha='cv' or "
            "threshold='f1', and fit again"
        )


class LagoClassifier(CardMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc,valid-type]
    r"""LAGO classifier, which ranks rows by how likely they belong to a rare class.

    Every row :math:`x_i` of the rare class :math:`C_1` is the centre of a kernel, whose width is
    the mean distance to the K nearest rows of the background :math:`C_0`:

    .. math:: f(x) = \sum_{x_i \in C_1} |R_i|\, \varphi(x; x_i, \alpha R_i)
              \;\propto\; \sum_{x_i \in C_1} w_i\, k(u_i(x)/\alpha),
              \qquad k(u) = e^{-u^2/2}

    Spherical (sLAGO): :math:`u_i(x) = d(x, x_i)/r_i` with :math:`r_i` the mean distance to those
    neighbours. Elliptical (eLAGO): :math:`u_i(x)^2 = \sum_j ((x_j - x_{ij})/r_{ij})^2` with
    :math:`r_{ij}` their mean :math:`|x_{ij} - w_j|`. The height :math:`|R_i|` cancels against
    the density's :math:`1/|R_i|`, so that nothing overflows with many features. f is approximately
    the density of the rare class divided by that of the background.

    Parameters
    ----------
    shape : {"spherical", "elliptical"}, default="spherical"
        One radius per rare row, or one per rare row and feature.
    alpha : "cv" or float, default="cv"
        Factor of all radii; "cv": the value of `alphas` with the best cross-validated average
        precision.
    n_neighbors : int, default=5
        Number K of background rows that a radius is averaged over; all, if there are fewer.
    kernel : {"gaussian", "uniform", "triangular"}, default="gaussian"
        The kernel, :math:`e^{-u^2/2}`, :math:`[u \le 1]` or :math:`\max(1 - u, 0)`.
        The last two are zero, and so give no ranking, far from every rare row.
    rare : label, list of labels or None, default=None
        The rare classes; None: the smaller of two classes (if equal, the second), or all but
        the largest of several. Each rare class is detected against all other rows.
    threshold : "f1", tuple or float, default="f1"
        The score above which `predict` returns the rare class. It is tuned on held-out scores:
        "f1" for the largest F1; ("recall", p) for the largest recall with a precision of at least
        p; ("precision", r) for the largest precision with a recall of at least r; ("top", n) to
        select about n of the training rows, or a fraction n of them. A number is the score itself.
    scaling : {"range", "rank", "distinct"} or None, default="range"
        Feature scaling, see `InfiniteEnsembleClassifier`; None: no scaling.
    metric : str, default="euclidean"
        A metric of scikit-learn's `NearestNeighbors`. Spherical kernels also measure :math:`d` by
        it; elliptical ones use it for the neighbours only.
    algorithm : {"auto", "kd_tree", "ball_tree", "brute", "approximate"}, default="auto"
        Nearest-neighbour search: exact by scikit-learn, or approximate by pynndescent, which
        must be installed.
    alphas : sequence of float or None, default=None
        Values of alpha to select from; None: :math:`2^{-4}, 2^{-3.5}, \dots, 2^5`.
    cv : int, splitter or iterable, default=5
        The folds, for alpha="cv" and for tuned thresholds. An int is lowered to the number of
        rows of the rarest class.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of scores; −1 is all cores. None is all cores, and one for
        the nearest-neighbour search, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Random seed of pynndescent; all else is deterministic.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    classes_, rare_classes_ : arrays
        All classes, and the rare ones.
    alpha_, threshold_ : arrays of shape (n_rare_classes,)
        The tuned or given values, for each rare class.
    kernels_ : tuple of LocalKernels
        For each rare class its scaled rows, with their radii (``widths``) and weights.
    support_ : list of arrays
        For each rare class, the indices of these rows among the training rows.
    cv_results_ : list of dicts
        For each rare class, the average precision of every alpha on every fold that tests a rare
        row, as in GridSearchCV. Empty if neither alpha nor threshold was tuned.
    best_score_ : array of shape (n_rare_classes,)
        The mean cross-validated average precision of the selected alpha, NaN without folds.
    calibration_ : tuple of Sigmoid
        For each rare class the curve from scores to probabilities. Empty if neither alpha nor
        threshold was tuned, and there are no held-out scores.
    out_of_fold_scores_ : array of shape (n,) or (n, n_rare_classes)
        Scores of the training rows by folds that did not train on them: the mean if several folds
        test a row, NaN if none does.
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
    are such. If elliptical, a feature in which it equals them gets the smallest positive radius,
    or the standard deviation if there is none; constant features are ignored. Background rows at
    equal distance share their places among the K, so the order of rows does not matter.

    `sample_weight` means repetition: rare rows multiply their kernels, background rows are repeated
    among the K neighbours. The kernels other than Gaussian are functions of the distance
    u as well, not products over features, so that one search serves all.

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
        shape: KernelShape = "spherical",
        alpha: Any = "cv",
        n_neighbors: int = 5,
        kernel: Profile = "gaussian",
        rare: Any = None,
        threshold: Any = "f1",
        scaling: ScalingKind | None = "range",
        metric: str = "euclidean",
        algorithm: Algorithm = "auto",
        alphas: Sequence[float] | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
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
        self.verbose = verbose

    @restoring_last_fit
    @with_callbacks
    @within_n_jobs
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the radii, and tune alpha and the threshold.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows of numbers.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        alphas = self._checked_alphas()
        rows, y = validated(self, X, y, **ACCEPTED)
        self.classes_, codes = read_classes(y)
        counts = read_weights(sample_weight, len(rows))
        totals: FloatArray = np.bincount(codes, counts)  # type: ignore[assignment]
        refuse_one_class(self.classes_[totals > 0.0])
        rare = rare_class_codes(self.rare, self.classes_, totals)
        self.rare_classes_ = self.classes_[rare]
        self.scaling_ = FeatureScaling.from_rows(rows, self.scaling, counts)
        scaled = np.ascontiguousarray(self.scaling_.transform(rows))
        splits = (
            stratified_folds(self.cv, scaled, codes, counts, self.classes_, rare)
            if self._is_tuned
            else []
        )
        self._begin(len(rows), counts, totals, rare)
        with Task.of_fit(self, len(rare), X, y, sample_weight) as task:
            for place, code in enumerate(rare):
                with task.part("class", place, len(splits)) as part:
                    problem = RareClassProblem(
                        scaled, codes == code, counts, splits, self._kernel_settings
                    )
                    self._fit_class(problem, place, alphas, part)
        return self

    def _checked_alphas(self) -> FloatArray:
        """Check the parameters, and return the values of alpha to select from."""
        check_choice("shape", self.shape, get_args(KernelShape))
        check_choice("kernel", self.kernel, get_args(Profile))
        check_choice("algorithm", self.algorithm, get_args(Algorithm))
        check_count("n_neighbors", self.n_neighbors)
        check_threshold(self.threshold)
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, ("cv",))
            values = ALPHAS if self.alphas is None else self.alphas
            return np.array(as_grid("alphas", values, check_positive))
        check_positive("alpha", self.alpha)
        return np.array([float(self.alpha)])

    @property
    def _is_tuned(self) -> bool:
        return self.alpha == "cv" or not isinstance(self.threshold, Real)

    @property
    def _kernel_settings(self) -> LocalKernelSettings:
        search = NeighbourSearch(self.metric, self.algorithm, self.n_jobs, self.random_state)
        return LocalKernelSettings(self.shape, self.kernel, self.n_neighbors, search)

    def _begin(self, n: int, counts: FloatArray, totals: FloatArray, rare: IntArray) -> None:
        """Initialise the attributes that have an entry per rare class."""
        n_rare = len(rare)
        self._rare_codes, self._counts = rare, counts
        others = np.delete(np.arange(len(totals)), rare)
        self._background = int(others[np.argmax(totals[others])])
        self._totals = totals
        self.kernels_: tuple[LocalKernels, ...] = ()
        self.calibration_: tuple[Sigmoid | Isotonic, ...] = ()
        self._neighbours: tuple[Neighbours, ...] = ()
        self.support_: list[IntArray] = []
        self.cv_results_: list[dict[str, Any]] = []
        self.alpha_, self.threshold_ = np.zeros(n_rare), np.zeros(n_rare)
        self.best_score_ = np.full(n_rare, np.nan)
        self._out_of_fold = np.full((n, n_rare), np.nan)

    def _fit_class(
        self, problem: RareClassProblem, place: int, alphas: FloatArray, task: Task
    ) -> None:
        """Fit the kernels of one rare class, and tune its alpha and threshold."""
        neighbours = problem.neighbours()
        kernels, best = problem.kernels(neighbours), 0
        if problem.splits:
            held_out = problem.held_out(neighbours, alphas, task)
            best = held_out.best()
            scores = held_out.scores[:, best]
            self._out_of_fold[:, place] = scores
            self.best_score_[place] = held_out.precision[best].mean()
            self.cv_results_.append(held_out.results(alphas))
            scored = np.isfinite(scores) & (problem.counts > 0.0)
            held = scores[scored], problem.is_rare[scored], problem.counts[scored]
            self.calibration_ += (calibrate(*held),)
        self.threshold_[place] = (
            self.threshold
            if isinstance(self.threshold, Real)
            else tune_threshold(
                self.threshold, problem.is_rare[scored], scores[scored], problem.counts[scored]
            )
        )
        self.alpha_[place] = alphas[best]
        self.kernels_ += (kernels,)
        self._neighbours += (neighbours,)
        self.support_.append(neighbours.with_positive_weight(problem.counts).centres)

    @property
    def out_of_fold_scores_(self) -> FloatArray:
        """The scores of training rows by folds that did not train on them."""
        return _flat(self._out_of_fold)

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Return the score of each row, high for rows likely to be rare.

        It is the logarithm of the mean of the Gaussians at the row; with the other kernels, which
        are zero far away, the mean itself.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n,) or (n, n_rare_classes)
            The scores, with a column per rare class if there are several.
        """
        return _flat(self._scores(X))

    @within_n_jobs
    def _scores(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        rows = self._scaled(X)
        each = zip(self.kernels_, self.alpha_, strict=True)
        found = [kernels.sums(rows, np.array([alpha]))[:, 0] for kernels, alpha in each]
        scores = np.column_stack(found)
        return np.maximum(scores, -np.finfo(scores.dtype).max)  # of rows beyond all distances

    def _scaled(self, X: ArrayLike) -> FloatArray:
        rows = validated(self, X, reset=False, **ACCEPTED)
        return np.ascontiguousarray(self.scaling_.transform(rows))

    @within_n_jobs
    def leave_one_out_scores(self, X: ArrayLike) -> FloatArray:
        """Return the score of each training row by the model fitted without it.

        Alpha and scaling are not refitted, and a row is left out with all its repetitions. The
        cost is that of scoring the rows: only kernels near a row change.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            The training rows.

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
                raise ValueError("X differs from the training rows: pass them in the same order")
            if len(kernels.centres) < 2:
                raise ValueError(
                    "there is only one training row of a rare class, which cannot be left out: "
                    "fit on more"
                )
            columns.append(
                leave_one_out_scores(
                    rows, self._counts, neighbours, kernels, self._kernel_settings, alpha
                )
            )
        return _flat(np.column_stack(columns))

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values: the scores minus the thresholds.

        With two classes there is one value per row, positive for the second class:
        ``score_samples`` minus the threshold, or its negative if the first class is rare. With more
        there is a column per class: 0 for the largest class of the background, −1 for its other
        classes, which are never predicted.

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

    @available_if(_check_probabilities)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class, calibrated on held-out scores by Platt's sigmoid.

        It increases with the score. `predict` compares scores with the threshold, not
        probabilities with a half, and may return a rare class that is less likely than not. The
        classes of the background share its probability as they share its training rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows.

        Returns
        -------
        array of shape (n, n_classes)
            Probabilities, in the order of `classes_`.
        """
        scores = self._scores(X)
        return class_probabilities(self.calibration_, scores, self._rare_codes, self._totals)

    @available_if(_check_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithm of the probability of each class; −inf for classes without rows."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: ArrayLike) -> Any:
        """Return the predicted class: the rare one whose score exceeds its threshold most.

        If no score does, the largest class of the background is predicted.

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
