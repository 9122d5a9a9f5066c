"""An infinite ensemble for classes that chooses its settings and tells probabilities."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from kernsemble._model_selection import PAPERS_PENALTIES, check_classes, read_splits, share_right
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import FloatArray, IntArray
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import Kind
from kernsemble.svm.calibration import Calibration, Kind as CurveKind, check_calibration
from kernsemble.svm.cross_validation import (
    ForeseenClasses,
    ForeseenProbabilities,
)
from kernsemble.svm.infinite_ensemble import InfiniteEnsembleClassifier
from kernsemble.svm.losses import LossOfClasses, Solver
from kernsemble.svm.multiclass import Multiclass, Shape
from kernsemble.svm.selection import Selection, Variant


def _tells_probabilities(machine: "InfiniteEnsembleClassifierCV") -> bool:
    is_calibrated = machine.calibration is not None
    is_calibrated &= getattr(machine, "calibration_", ...) is not None
    if not is_calibrated and machine.loss != "logistic":
        raise AttributeError(
            "calibration = None: give 'sigmoid' or 'isotonic', or loss='logistic', and fit again, "
            "to have probabilities"
        )
    return True


class InfiniteEnsembleClassifierCV(Selection, InfiniteEnsembleClassifier):
    r"""An infinite ensemble whose C is chosen by cross-validation on one kernel matrix.

    Every C and every fold is solved on the matrix of the whole sample: nothing is copied,
    each C starts from the solution before it, and the folds share the cores. The constants
    of the kernel and of the scaling come from all training rows, as in the papers, which
    scale the data first. Of equally good settings the smallest C is taken, and the kernel
    that was named first.

    What the machines of the folds said of the rows that they did not know calibrates
    probabilities, without another fit.

    Parameters
    ----------
    kernel : str, Kernel or list of those, default="stump"
        What the ensemble is made of, as for `InfiniteEnsembleClassifier`, or the choices.
        Radial kernels that differ in gamma only share their distances. With "auto" stumps,
        perceptrons, trees and polytopes race on all scales: many on few rows, few on many, so
        that for two classes and a thousand rows or more the search costs some twenty fits.
    Cs : sequence of float, optional
        The values of C to choose from. By default the papers', 2**-17, 2**-15, ..., 2**3; with
        ``kernel="auto"`` multiples of ``C="scale"`` from a quarter to 64, and with the additive
        solver from a sixteenth to 65,536.
    cv : int, splitter or iterable, default=5
        The folds, as everywhere in scikit-learn; for groups give the pairs of indices,
        ``list(GroupKFold().split(X, y, groups))``.
    scoring : str, callable or None, default=None
        What is best, as everywhere in scikit-learn, from decision values or classes, or with
        ``loss="logistic"`` from probabilities; None is the share of right classes.
    calibration : {"sigmoid", "isotonic"} or None, default="sigmoid"
        How the value of a machine becomes a probability: by Platt's sigmoid, or by any curve
        that never falls, which needs many rows. None for none. With ``loss="logistic"`` values
        are logits, and need none of that.
    scaling : {"range", "rank", "distinct"}, None, list of those or "auto", default="auto"
        The scale on which features are compared, or the choices; "auto" is "range", but with
        ``kernel="auto"`` any.
    multiclass, decision_function_shape, class_weight, tol, max_iter, cache_size
        As for `InfiniteEnsembleClassifier`.
    random_state : int, RandomState or None, default=None
        What the samples of a race, or directions and grids, are drawn with; an int makes it
        repeat exactly.
    solver, loss, max_levels, n_slices, n_grids
        As for `InfiniteEnsembleClassifier`. The additive solver tries every C and every fold
        on one set of codes; ``kernel="auto"`` is for the exact one.

    Attributes
    ----------
    C_, kernel_, scaling_
        What was chosen, the last two bound to all training rows.
    best_score_ : float
        The mean score of the choice over the folds.
    best_params_, best_index_ : dict, int
        The choice as it was given, and its place in `cv_results_`.
    cv_results_ : dict
        All scores, in the form of scikit-learn's GridSearchCV; but no times, since the
        problems of a path share theirs.
    race_results_ : dict
        With ``kernel="auto"``, how every candidate fared in every round.
    calibration_ : Calibration
        The curve of each machine; None if `calibration` is.
    solver_, tables_, sampling_error_, mixed_table_
        As for `InfiniteEnsembleClassifier`.
    classes_, reduction_, support_, support_vectors_, dual_coef_, intercept_, objective_
        As for `InfiniteEnsembleClassifier`.
    duality_gap_, n_iter_, n_features_in_, feature_names_in_
        As for `InfiniteEnsembleClassifier`.

    Examples
    --------
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.svm import InfiniteEnsembleClassifierCV
    >>> X, y = make_threenorm(300, random_state=0)
    >>> X_test, y_test = make_threenorm(3000, random_state=1)
    >>> machine = InfiniteEnsembleClassifierCV(["stump", "perceptron"]).fit(X, y)
    >>> machine.kernel_, machine.C_
    (Perceptron().bind(X), 0.5)
    >>> machine.score(X_test, y_test)
    0.860
    >>> machine.predict_proba(X_test[:2])
    array([[0.990, 0.010],
           [0.003, 0.997]])
    """

    usual_grid = PAPERS_PENALTIES

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        kernel: str | Kernel | Sequence[str | Kernel] = "stump",
        Cs: Sequence[float] | None = None,
        cv: Any = 5,
        scoring: Any = None,
        calibration: CurveKind | None = "sigmoid",
        scaling: Kind | Literal["auto"] | Sequence[Kind | None] | None = "auto",
        multiclass: Multiclass = "one-vs-one",
        decision_function_shape: Shape = "ovr",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        random_state: Any = None,
        solver: Solver = "auto",
        loss: LossOfClasses = "hinge",
        max_levels: int = 256,
        n_slices: int | None = None,
        n_grids: int = 512,
    ) -> None:
        self.kernel = kernel  # type: ignore[assignment]
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.calibration = calibration
        self.scaling = scaling  # type: ignore[assignment]
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state
        self.solver = solver
        self.loss = loss
        self.max_levels = max_levels
        self.n_slices = n_slices
        self.n_grids = n_grids

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose, then find the ensemble on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts in the machines, in the scores and in the calibration;
            zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, codes, counts, weight = self._read(X, y, sample_weight)
        labels = self.classes_[codes]
        splits = read_splits(self.cv, X, labels, counts, is_classifier=True)
        check_classes(splits, codes, counts, self.classes_)
        foreseen = ForeseenProbabilities if self.loss == "logistic" else ForeseenClasses
        validation = self._validation(
            rows,
            labels,
            counts,
            splits,
            share_right,
            partial(foreseen, self.classes_, self.reduction_),
        )
        variant = Variant({}, self._problems(codes, weight))
        with Task.of_fit(self, 2, X, y, sample_weight) as task:
            choice = self._fit_best(validation, [variant], task)
            self.calibration_ = self._calibrated(
                choice.values, codes[validation.tested], counts[validation.tested]
            )
        return self

    def _calibrated(
        self, values: FloatArray, codes: IntArray, counts: FloatArray
    ) -> Calibration | None:
        """Return the curves of what held-out rows tell, unless values are logits already."""
        if self.loss == "logistic":
            return Calibration.of_logits(self.reduction_)
        if self.calibration is None:
            return None
        return Calibration.of(self.calibration, self.reduction_, values, codes, counts)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_calibration(self.calibration)

    @available_if(_tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class at each row.

        The largest is that of the class which `predict` returns. Where the curves contradict
        the choice, the classes that they put above it share their probability with it.
        """
        values = self._values(X)
        assert self.calibration_ is not None
        return self.calibration_.probabilities(values)

    @available_if(_tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithm of the probability of each class at each row."""
        return np.log(self.predict_proba(X))
