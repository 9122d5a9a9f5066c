"""KernelBoost: a kernel learned from pairs of rows, by boosting."""

from typing import Any, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_choice, check_count, check_share
from kernsemble._jobs import within_n_jobs
from kernsemble._last_fit import restoring_last_fit
from kernsemble._memory import physical_memory
from kernsemble._model_cards import CardMixin
from kernsemble._progress import CallbackSupportMixin, Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._validation import read_weights, validated
from kernsemble.boosting.early_stopping import split_validation
from kernsemble.boosting.kernel_boost_rounds import KernelBoostRounds, TemplateSpan
from kernsemble.boosting.pair_targets import PairTargets, Target
from kernsemble.exceptions import GramTooLargeError
from kernsemble.kernels import Boosted
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.columns import located
from kernsemble.kernels.registry import as_kernel
from kernsemble.solvers.kernel_boosting import PairLoss, Pairs, StepRule
from kernsemble.solvers.low_rank import factored, pivoted_cholesky

NULL_SPACE = 1e-10  # fraction of the trace of the templates' matrix treated as singular


class KernelBoost(
    CardMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    CallbackSupportMixin,  # type: ignore[misc,valid-type]
    BaseEstimator,
):
    r"""Transformer that learns a kernel, and the features whose inner products it is.

    .. math:: K(x, x') = \textstyle\sum_t \alpha_t\, w_t(x)\, w_t(x'), \qquad
              w_t(x) = \sum_r \beta_{tr}\, \kappa(x, \tilde x_r), \qquad \|w_t\| = 1

    Boosting on pairs of rows (Crammer, Keshet and Singer 2002). K should be large and positive for
    pairs of the same class, and large and negative for pairs of different classes. Each round
    weights pairs by their loss, finds the function :math:`w_t` in the span of the templates
    :math:`\tilde x_r` whose products are best aligned with the weighted targets, and adds it with
    a weight that reduces the loss. The loss falls in every round.

    `kernel_` is a kernel like any other, for `InfiniteEnsembleClassifier`, SVC or
    `KernelPerceptron`; `transform` returns the T features :math:`\sqrt{\alpha_t}\, w_t(x)` for
    linear models.

    Parameters
    ----------
    kernel : str or Kernel, default="linear"
        The base kernel :math:`\kappa`, which must be positive definite. It is bound to the
        training rows.
    loss : {"log", "exp"}, default="log"
        The loss of the margin :math:`m = T_{ij} K(x_i, x_j)` of a pair, :math:`\ln(1 + e^{-m})`
        or :math:`e^{-m}`. For two classes, the targets :math:`T_{ij}` are :math:`y_i y_j`.
    n_rounds : int, default=30
        Maximum number of rounds, and so of features. Boosting ends earlier if a base kernel has
        no training pair of the wrong sign, or if none is aligned with the targets.
    templates : array-like of shape (R, n_features) or None, default=None
        Unlabelled rows that span the functions, such as test rows (transduction); None: the
        training rows. Templates given to `fit` take precedence.
    n_templates : int or None, default=None
        Number of templates, drawn at random so that they span most of the space (pivoted Cholesky,
        Nyström); None: all that are not in the span of others.
    step : {"bound", "line-search"}, default="bound"
        The weight :math:`\alpha_t`: the paper's :math:`\frac12\ln(W_+/W_-)`, shortened where a
        base kernel exceeds 1 on the training rows; or the one of least loss, which depends less
        on the scale of :math:`\kappa`.
    target : {"auto", "classes", "numbers"}, default="auto"
        Type of y. For K classes, :math:`T_{ij}` is 1 within and :math:`-1/(K - 1)` between; for
        numbers, the product of deviations from their mean, in units of the largest. "auto" treats
        y as numbers if any is not an integer, else as classes.
    n_iter_no_change : int or None, default=None
        Number of rounds for early stopping: a part of the rows is held out, boosting ends when
        the alignment of the kernel on it has not improved for that many rounds, and the rounds
        after the best are dropped. None: no early stopping.
    validation_fraction : float, default=0.1
        Fraction of the rows to hold out for early stopping.
    random_state : int, RandomState or None, default=None
        Random seed of the templates and of the validation set.
    n_jobs : int or None, default=None
        Number of threads of `fit` and `transform`; −1 is all cores, −2 all but one. None is
        all cores, or the number in the environment variable NUMBA_NUM_THREADS.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    kernel_ : Boosted
        The learned kernel.
    weights_ : array of shape (T,)
        The weights :math:`\alpha_t` of the base kernels.
    scores_ : array of shape (T,)
        The mean over pairs of :math:`D_{ij} T_{ij} w_t(x_i) w_t(x_j)`, with D the weights of
        pairs in that round: the largest eigenvalue.
    loss_path_ : array of shape (T + 1,)
        The mean loss of pairs, before the first round and after each.
    alignment_path_ : array of shape (T + 1,)
        The alignment of :math:`\kappa`, in the span of the templates, and of the learned kernel
        after each round, with the targets of the training rows.
    validation_alignment_path_ : array of shape (T' + 1,)
        The same on held-out rows, including the dropped rounds; only with `n_iter_no_change`.
    n_templates_ : int
        The number of templates used.
    template_error_ : float
        The fraction of the trace of the templates' matrix that is not represented; above rounding
        only with `n_templates`.
    ending_ : str
        The reason why boosting ended.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    kernsemble.kernels.Boosted : The learned kernel.
    kernsemble.svm.KernelPerceptron : The paper's classifier.

    Notes
    -----
    With m rows and R templates, the templates' matrix is factored once, in :math:`O(R^3)`, or in
    :math:`O(R r^2)` with `n_templates` = r. A round weights all pairs, :math:`O(m^2)`, and finds
    its function by Lanczos iterations of :math:`O(m^2 + mR)`, started from the last function: a
    dozen to a few dozen. Two triangles of :math:`m^2/2` numbers are held in memory.

    A pair has the product of the weights of its rows, so a weight of 2 is a repetition.

    References
    ----------
    K. Crammer, J. Keshet and Y. Singer, "Kernel Design Using Boosting", NIPS 2002.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from kernsemble.boosting import KernelBoost
    >>> from kernsemble.datasets import make_rotated_gaussians
    >>> X, y = make_rotated_gaussians(300, sigma="deviation", long_axis="across", random_state=0)
    >>> booster = KernelBoost().fit(X, y)
    >>> booster.alignment_path_[[0, -1]]
    array([0.09, 0.79])
    >>> booster.transform(X).shape
    (300, 30)
    >>> make_pipeline(KernelBoost(n_rounds=5), LinearSVC()).fit(X, y).score(X, y)
    0.967
    """

    def __init__(
        self,
        kernel: str | Kernel = "linear",
        loss: PairLoss = "log",
        n_rounds: int = 30,
        templates: ArrayLike | None = None,
        n_templates: int | None = None,
        step: StepRule = "bound",
        target: Target = "auto",
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.n_rounds = n_rounds
        self.templates = templates
        self.n_templates = n_templates
        self.step = step
        self.target = target
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @restoring_last_fit
    @with_callbacks
    @within_n_jobs
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        templates: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the kernel.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows of numbers.
        y : array-like of shape (n,)
            Their classes, or numbers.
        templates : array-like or DataFrame of shape (R, n_features), optional
            Rows that span the functions; by default the parameter `templates`, or `X`.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, labels = validated(self, X, y, dtype=np.float64)
        weight = read_weights(sample_weight, len(rows))
        given = self.templates if templates is None else templates
        others = None if given is None else self._read_templates(given)
        rng = check_random_state(self.random_state)
        kept, held = self._parts(labels, np.flatnonzero(weight), rng)
        targets = PairTargets.from_labels(labels[kept], self.target, weight[kept])
        with Task.of_fit(self, self.n_rounds, X, y, sample_weight) as task:
            space = self._space(rows[kept], weight[kept], others, rng)
            C = targets.vectors(labels[kept])
            pairs = Pairs(space.F, C, weight[kept], self.loss, self.step)
            boosting = KernelBoostRounds(space, pairs, C, weight[kept])
            if len(held):
                boosting.hold_out(rows[held], targets.vectors(labels[held]), weight[held])
            try:
                boosting.run(self.n_rounds, self.n_iter_no_change, task)
            finally:
                self._store(boosting)
        return self

    def _check_settings(self) -> None:
        check_choice("loss", self.loss, get_args(PairLoss))
        check_choice("step", self.step, get_args(StepRule))
        check_count("n_rounds", self.n_rounds)
        if self.n_templates is not None:
            check_count("n_templates", self.n_templates)
        if self.n_iter_no_change is not None:
            check_count("n_iter_no_change", self.n_iter_no_change)
            check_share("validation_fraction", self.validation_fraction)

    def _read_templates(self, templates: ArrayLike) -> FloatArray:
        try:
            return validated(self, templates, reset=False, dtype=np.float64)
        except ValueError as error:
            raise ValueError(f"templates: {error}") from error

    def _parts(
        self, y: Any, present: IntArray, rng: np.random.RandomState
    ) -> tuple[IntArray, IntArray]:
        """Return the training rows and the held-out rows."""
        if self.n_iter_no_change is None:
            return present, present[:0]
        targets = PairTargets.from_labels(y[present], self.target, np.ones(len(present)))
        strata = None if targets.classes is None else y[present]
        kept, held = split_validation(present, strata, self.validation_fraction, rng)
        return np.sort(kept), np.sort(held)

    def _space(
        self,
        X: FloatArray,
        weight: FloatArray,
        others: FloatArray | None,
        rng: np.random.RandomState,
    ) -> TemplateSpan:
        """Return the span of the templates."""
        names = getattr(self, "feature_names_in_", None)
        unbound = located(
            as_kernel(self.kernel), X.shape[1], None if names is None else list(names)
        )
        kernel = unbound.require_definite("a learned kernel").bind(X, weight)
        templates = X if others is None else others
        self._check_memory(len(X), len(templates))
        n_drawn = self.n_templates
        if n_drawn is None or n_drawn >= len(templates):
            span = factored(kernel(templates), NULL_SPACE)
        else:
            span = pivoted_cholesky(
                lambda rows: kernel(templates[rows], templates),
                kernel.diagonal(templates),
                rank=n_drawn,
                tol=NULL_SPACE,
                method="random",
                rng=np.random.default_rng(rng.randint(2**31)),
            )
        if span.rank == 0:
            raise ValueError(
                f"kernel = {unbound!r} is zero on the templates: use another kernel, or rows that "
                "are not zero"
            )
        space = TemplateSpan(kernel, templates[span.pivots], span, span.G)
        return space if others is None else space._replace(F=space.coordinates(X))

    def _check_memory(self, n: int, n_templates: int) -> None:
        r = n_templates if self.n_templates is None else min(self.n_templates, n_templates)
        needed, present = needed_bytes(n, n_templates, r), physical_memory()
        if needed > present:
            raise GramTooLargeError(
                f"the pairs of {n} rows and the matrix of {n_templates} templates need "
                f"{needed / 2**30:.1f} GiB, but this machine has {present / 2**30:.1f} GiB: use "
                "fewer rows (the others as templates), or fewer templates, such as n_templates=1000"
            )

    def _store(self, boosting: KernelBoostRounds) -> None:
        """Store the learned kernel, if there is any round."""
        if not boosting.rounds:
            return
        rounds, space = boosting.rounds, boosting.space
        self.weights_ = np.array([each.alpha for each in rounds])
        self.scores_ = np.array([each.score for each in rounds])
        functions = np.column_stack([each.q for each in rounds])
        coefficients = space.span.on_pivots(functions * np.sqrt(self.weights_)).T
        self.kernel_ = Boosted(space.kernel, space.templates, coefficients)
        self.loss_path_ = np.array([boosting.first_loss, *(each.loss for each in rounds)])
        self.alignment_path_ = np.array(boosting.alignments[: len(rounds) + 1])
        if boosting.held_out is not None:
            self.validation_alignment_path_ = np.array(boosting.held_out.alignments)
        self.n_templates_, self.template_error_ = len(space.templates), space.span.error
        self.ending_ = boosting.ending.value
        self._n_features_out = len(rounds)

    @within_n_jobs
    def transform(self, X: ArrayLike) -> FloatArray:
        r"""Return the features :math:`\sqrt{\alpha_t}\, w_t(x)`, of shape (n, T)."""
        check_is_fitted(self, "kernel_")
        return self.kernel_.features(validated(self, X, reset=False, dtype=np.float64))


def needed_bytes(n: int, n_templates: int, rank: int) -> float:
    """Return the bytes of a fit to the pairs of n rows.

    They are the kernel and the demand of pairs, the coordinates of rows, the factor of the
    templates and its copy, and the two copies of its pivots that give the coefficients.
    """
    return 8.0 * (2.0 * n * n + n * rank + 2.0 * n_templates * rank + 2.0 * rank * rank)
