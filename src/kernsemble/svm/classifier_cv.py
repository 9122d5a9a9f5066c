"""An infinite ensemble whose settings are selected by cross-validation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from kernsemble._calibration_curves import CurveKind
from kernsemble._folds import (
    PAPERS_PENALTIES,
    FoldRows,
    check_classes,
    fold_of_rows,
    read_splits,
    share_right,
)
from kernsemble._jobs import within_n_jobs
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble.kernels import Kernel
from kernsemble.streaming import Blocks
from kernsemble.svm.backends.base import SolverSettings, TrainingRows
from kernsemble.svm.calibration import Calibration, MultinomialLink
from kernsemble.svm.classifier import EnsembleClassifier
from kernsemble.svm.model_selection.cross_validation import (
    HeldOutVotes,
    held_out_predictions,
)
from kernsemble.svm.model_selection.grid import Selection, Variant
from kernsemble.svm.model_selection.out_of_fold import OutOfFold, cross_fitted_probabilities
from kernsemble.svm.model_selection.selecting_estimator import SelectsSettings
from kernsemble.svm.multiclass import (
    DecisionShape,
    Multiclass,
    as_reduction,
)
from kernsemble.svm.streams.selection import select_on_blocks
from kernsemble.svm.streams.sources import local_source
from kernsemble.svm.vote.problem import VoteProblem


class InfiniteEnsembleClassifierCV(SelectsSettings, EnsembleClassifier):
    r"""An infinite ensemble whose C, kernel and scaling are selected by cross-validation.

    Every C and every fold is solved on the kernel matrix of the whole sample: nothing is copied,
    each C starts from the solution of the one before, and the folds share the cores. The
    constants of the kernel and of the scaling are computed from all training rows, as in the
    papers, which scale the data first. Of equal scores the smallest C wins, then the kernel that
    comes first.

    The decision values of held-out rows calibrate the probabilities, without another fit.

    Parameters
    ----------
    kernel : str, Kernel or list of those, default="auto"
        Kernel, an unbound expression or a name, or a list to select from. Radial kernels that
        differ in gamma only share their distances. With "auto", machines of several kernels and
        scalings vote: trees, polytopes, Gaussians and stumps, on given and learned scales, with
        weights that minimise the log-loss of held-out predictions; on more than 10,000 rows, or
        if memory is short, machines on leaves and an additive one, in time linear in the rows.
        With ``loss="hinge"`` kernels race instead, many on few rows, few on many, and one is
        selected. With ``solver="additive"`` or another loss, "auto" is stumps on every scale.
    Cs : sequence of float, optional
        Values of C to select from. By default those of the papers, 2**-17, 2**-15, ..., 2**3; in
        a race multiples of ``C="scale"`` from a quarter to 64, and with the additive solver from
        a sixteenth to 65,536.
    cv : int, splitter or iterable, default=5
        Cross-validation folds, as everywhere in scikit-learn; `fit` takes the `groups` of
        splitters such as `GroupKFold`.
    scoring : str, callable or None, default=None
        Score to maximise, as everywhere in scikit-learn, of decision values or classes, or with
        ``loss="logistic"`` of probabilities; None is the accuracy.
    calibration : {"sigmoid", "isotonic"} or None, default="sigmoid"
        Calibration of probabilities: Platt's sigmoid, or any non-decreasing curve, which needs
        many rows. None for no probabilities. The logistic loss needs no calibration, nor does a
        vote, whose values are log-odds, unless the curve is isotonic.
    scaling : str, None, list of those or "auto", default="auto"
        Scaling of the features, or a list to select from: "range" to [−1, 1] as in the papers,
        "rank" to their distribution function, "distinct" to equal steps between neighbouring
        values; "learned", "learned-range", "learned-distinct", "learned-directions", "effects",
        "learned-effects" and "learned-indicators" are learned from the targets, for the exact and
        local solvers. "auto" is "range", and for ``kernel="auto"`` all that suit the rows.
    multiclass : {"auto", "one-vs-one", "one-vs-rest"}, default="auto"
        Reduction of more than two classes: a vote of one machine per pair of classes, as in
        LIBSVM, or the largest value of one machine per class. "auto" is one-vs-one for up to 20
        classes, and one-vs-rest for more, since the number of pairs grows with the square.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of `decision_function`: one value per class or, for one-vs-one only, one value per
        pair of classes. Two classes have a single value in any case.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class.
    tol : float, default=1e-3
        Largest violation of the optimality (KKT) conditions at which to stop; for the additive
        solver, the duality gap relative to the objective.
    max_iter : int or None, default=None
        Maximum number of iterations per machine.
    cache_size : float or None, default=None
        Memory for kernel matrices in megabytes, by default half of what is available. If a
        matrix does not fit, its rows are computed on demand, with a warning.
    random_state : int, RandomState or None, default=None
        Random seed of the samples of a race, of directions and grids.
    solver : {"auto", "exact", "additive", "local", "cuda"}, default="auto"
        Backend: "exact" uses the kernel matrix between all rows, for any kernel; "additive" uses
        tables of codes, at a cost linear in the number of rows, for kernels that are sums over
        columns, directions or grids (stumps, categories, perceptrons, `Laplacian`,
        `DecisionTree` and sums of them); "local" fits the squared loss on the leaves of
        partitions of the rows, for any kernel, at a cost linear in the number of rows; "cuda" has
        the result of "exact" from a GPU, for the hinge, the squared and the epsilon-insensitive
        loss and kernels of distances and inner products, in the precision of the rows: pass
        float32 rows for speed (needs ``kernsemble[cuda]``). "auto" is exact while the matrix is
        cheap, and additive for more rows, losses other than the hinge, missing values, and
        categories if the kernel is such a sum; from 10,000 rows on it is "cuda" where there is a
        GPU that has the kernel. A vote is exact, local or on the GPU.
    loss : {"auto", "hinge", "logistic", "squared_hinge", "squared"}, default="auto"
        Loss function. "auto" is the squared loss for a vote, else the papers' hinge if the exact
        solver is used, and the logistic loss if the additive one is, where it is as accurate and
        faster, and needs no calibration. The logistic loss and the squared hinge need the
        additive solver.
    max_levels : int, default=256
        Maximum number of levels per column to which the additive solver rounds numbers (at most
        65,535). Columns with fewer distinct values are not rounded.
    n_slices : int or None, default=None
        Number of directions in which the additive solver samples perceptrons; by default 26 per
        feature, at least 512 and at most 2,048.
    n_grids : int, default=512
        Number of random grids, whose cells are leaves of trees, that the additive solver samples
        for each `Laplacian` or `DecisionTree`.
    n_pairs : int or "auto", default=0
        Number of pairs of columns with a function of their own, for which the most promising of
        all pairs are searched: a readable model of interactions, by the additive solver, in which
        the weights of all functions are learned, so that C has little effect. "auto" selects the
        number, at most 40, by the loss of held-out rows. Numbers have up to 32 levels in a pair.
    pairs : sequence of pairs of columns or None, default=None
        Pairs that have a function in any case, by name or position, `[("age", "job")]`; they
        count towards `n_pairs`.
    max_members : int, default=6
        Maximum number of machines that vote for ``kernel="auto"``.
    time_budget : float or None, default=None
        Approximate number of seconds for the vote of ``kernel="auto"``, checked between machines:
        fewer candidates are compared, and the best vote so far is returned. None for no limit.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of predictions; −1 is all cores, −2 all but one. None is
        all cores, or the number in the environment variable NUMBA_NUM_THREADS.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    C_, kernel_, scaling_
        The selected settings, the last two bound to all training rows. After a vote there are
        none.
    members_ : tuple of VoteMember
        The machines that vote, with their `name`, `weight`, `share`, `kernel`, `scaling` and `C`,
        after a vote only.
    best_score_ : float
        The mean cross-validated score of the selected settings. Optimistic: it is the best of
        several settings.
    best_params_, best_index_ : dict, int
        The selected settings, and their place in `cv_results_`.
    cv_results_ : dict
        All scores, in the form of scikit-learn's GridSearchCV; without times, since the problems
        of a path share theirs. After a vote or a race those of the finalists; the last row is that
        of the vote, and `weight` that of each finalist.
    race_results_ : dict
        The number of rows, best C and left-out error of every candidate of a vote; or mean and
        standard deviation of the scores of every candidate in every round of a race, which are
        comparable within a round only.
    search_summary_ : SearchSummary
        What was compared, what was left out and why; ``str`` of it is one line.
    calibration_ : Calibration or MultinomialLink
        The calibration curve of each machine, or the link of a vote; None if `calibration` is.
    out_of_fold_ : OutOfFold
        Predictions of training rows by machines that were fitted without them: `rows`,
        `folds`, `predicted`, `values` and `probabilities`.
    solver_, loss_ : str
        The solver and the loss that were used.
    machines_ : Machines
        The fitted machines, as the solver returns them.
    tables_ : FittedTables
        The function of each column, direction or grid as a table of its levels or cells.
        Additive solver only.
    partitions_ : tuple of Partition
        The leaves of the training rows. Local solver only, not after a vote.
    pairs_ : tuple of pairs of int
        The columns of the pairs that have a function, by position. Additive solver only.
    sampling_error_ : float
        Root mean square error due to sampled hypotheses: of distances by directions, relative to
        them, or of the kernel by grids, relative to its weight. The larger of the two, 0 if
        nothing is sampled. Additive solver only.
    mixed_table_ : MixedTable or None
        The categories of each column of a table with categories; None for numbers.
    classes_ : array
        The classes.
    reduction_ : Reduction
        The classes on the two sides of each machine.
    support_, support_vectors_ : arrays
        The rows with a nonzero coefficient in some machine. Exact solver only.
    dual_coef_ : array of shape (n_machines, n_support)
        The signed coefficients :math:`\beta`. Exact solver only.
    intercept_, objective_, duality_gap_ : arrays of shape (n_machines,)
        The bias and the dual objective of each machine, and a bound on the excess of the primal
        objective.
    n_iter_ : int
        The number of iterations of the machine that took most.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

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

    default_grid = PAPERS_PENALTIES

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        kernel: str | Kernel | Sequence[str | Kernel] = "auto",
        Cs: Sequence[float] | None = None,
        cv: Any = 5,
        scoring: Any = None,
        calibration: CurveKind | None = "sigmoid",
        scaling: str | Sequence[str | None] | None = "auto",
        multiclass: Multiclass = "auto",
        decision_function_shape: DecisionShape = "ovr",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        random_state: Any = None,
        solver: str = "auto",
        loss: str = "auto",
        max_levels: int = 256,
        n_slices: int | None = None,
        n_grids: int = 512,
        n_pairs: int | Literal["auto"] = 0,
        pairs: Sequence[tuple[Any, Any]] | None = None,
        max_members: int = 6,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.calibration = calibration
        self.scaling = scaling
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
        self.n_pairs = n_pairs
        self.pairs = pairs
        self.max_members = max_members
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @within_n_jobs
    def fit(
        self,
        X: ArrayLike | Blocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Select the settings by cross-validation, then fit the ensemble on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features), or Blocks
            Training rows; `kernsemble.streaming.Blocks` reads rows, targets and weights from
            files or an iterator, block by block, for the additive solver. Their folds are
            random, `cv` is the number of them, and `scoring` the name of a score.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            Weights in the machines, the scores and the calibration; a weight of 2 is the same as
            two equal rows, 0 as no row.
        groups : array-like of shape (n,), optional
            Group of each row, for a `cv` that keeps groups together, such as `GroupKFold`.

        Returns
        -------
        self
        """
        self._check_settings()
        with self._replace_last_fit():
            if isinstance(X, Blocks):
                select_on_blocks(self, local_source(X, y, sample_weight, groups))
                return self
            self._fit(X, y, sample_weight, groups)
        return self

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> None:
        rows, codes, weight = self._read(X, y, sample_weight)
        labels = self.classes_[codes]
        splits = read_splits(self.cv, X, labels, rows.weight, is_classifier=True, groups=groups)
        check_classes(splits, codes, rows.weight, self.classes_)
        rows = replace(rows, parts=fold_of_rows(splits, rows.n_rows))
        backend = self._choose_backend(rows)
        settings = self._solver_settings(backend)
        if self._votes:
            with Task.of_fit(self, 2, X, y, sample_weight) as task:
                self._fit_vote(rows, codes, weight, splits, settings, task)
            return
        predictions = held_out_predictions(self.classes_, self.reduction_, self.loss_)
        validation = self._validation(rows, labels, splits, share_right, predictions, settings)
        variant = Variant({}, self._problems(codes, weight))
        with Task.of_fit(self, 2, X, y, sample_weight) as task:
            selection = self._select(validation, backend, [variant], task)
            tested = selection.tested
            held_out = codes[tested], rows.weight[tested]
            self.calibration_ = self._calibrate(lambda: (selection.values, *held_out))
            self.out_of_fold_ = self._out_of_fold(selection, *held_out)
            self._refit(selection, settings, task)

    def _can_vote(self, rows: TrainingRows) -> bool:
        is_by_class = self.multiclass != "one-vs-one" and self.decision_function_shape == "ovr"
        has_one_machine = len(self.classes_) == 2
        return super()._can_vote(rows) and (is_by_class or has_one_machine)

    def _fit_vote(
        self,
        rows: TrainingRows,
        codes: IntArray,
        weight: FloatArray,
        splits: list[FoldRows],
        settings: SolverSettings,
        task: Task,
    ) -> None:
        """Fit machines that vote, one value per class; its values are log-odds."""
        self.reduction_ = as_reduction("one-vs-rest", len(self.classes_))
        link = MultinomialLink(self.reduction_)
        labels, signs = self.classes_[codes], self._signs(codes)
        validation = self._validation(
            rows,
            labels,
            splits,
            share_right,
            lambda values: HeldOutVotes(self.classes_, self.reduction_, values),
            settings,
        )
        problem = VoteProblem.of_classes(signs, codes, weight, len(self.classes_))
        vote = self._vote(validation, problem, True, task)
        tested = np.concatenate([split.tested for split in vote.splits])
        held_out = vote.values, codes[tested], rows.weight[tested]
        probabilities: FloatArray | None = None
        if self.calibration == "isotonic":
            self.calibration_ = Calibration.from_held_out("isotonic", self.reduction_, *held_out)
            probabilities = cross_fitted_probabilities(
                "isotonic", self.reduction_, vote.splits, *held_out
            )
        elif self.calibration is not None:
            self.calibration_, probabilities = link, link.probabilities(vote.values)
        else:
            self.calibration_ = None
        known = self.classes_, self.reduction_, probabilities
        self.out_of_fold_ = OutOfFold.of_classes(vote.splits, vote.values, *known)
        vote.check_not_interrupted()

    def _out_of_fold(self, selection: Selection, codes: IntArray, weight: FloatArray) -> OutOfFold:
        """Return the predictions of held-out rows, with probabilities if there are any."""
        values, probabilities = selection.values, None
        if self._loss.has_probabilities:
            assert self.calibration_ is not None
            probabilities = self.calibration_.probabilities(values)
        elif self.calibration is not None:
            probabilities = cross_fitted_probabilities(
                self.calibration, self.reduction_, selection.splits, values, codes, weight
            )
        known = self.classes_, self.reduction_, probabilities
        return OutOfFold.of_classes(selection.splits, values, *known)

    def _strata(self, y: Any) -> IntArray:
        return np.unique(y, return_inverse=True)[1]
