"""An infinite ensemble for numbers that chooses its settings."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from numpy.typing import ArrayLike
from sklearn.metrics import get_scorer

from kernsemble._arguments import check_not_negative
from kernsemble._model_selection import as_grid, read_splits
from kernsemble._progress import Task, with_callbacks
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import Kind
from kernsemble.svm.cross_validation import ForeseenNumbers
from kernsemble.svm.losses import LossOfNumbers, Solver
from kernsemble.svm.problem import Problem, TargetScale
from kernsemble.svm.regressor import InfiniteEnsembleRegressor
from kernsemble.svm.selection import Selection, Variant

GRID = tuple(2.0**power for power in range(-11, 8, 2))


class InfiniteEnsembleRegressorCV(Selection, InfiniteEnsembleRegressor):
    r"""An infinite ensemble of numbers whose C and epsilon are chosen by cross-validation.

    Every C and every fold is solved on one kernel matrix, once for each epsilon, as
    `InfiniteEnsembleClassifierCV` does. Of equally good settings the smallest C is taken,
    then the smallest epsilon.

    Parameters
    ----------
    kernel : str, Kernel or list of those, default="stump"
        What the ensemble is made of, or the choices; "auto" as for
        `InfiniteEnsembleClassifierCV`, at the smallest epsilon.
    Cs : sequence of float, optional
        The values of C to choose from, in standard deviations of y. By default 2**-11, 2**-9,
        ..., 2**7; with ``kernel="auto"`` or the additive solver multiples of ``C="scale"``.
    epsilons : sequence of float, default=(0.01, 0.1)
        The values of epsilon to choose from, in standard deviations of y; the squared loss has
        none.
    cv : int, splitter or iterable, default=5
        The folds, as everywhere in scikit-learn. Folds of rows that are sorted are poor ones:
        give ``KFold(5, shuffle=True, random_state=0)``.
    scoring : str, callable or None, default=None
        What is best, as everywhere in scikit-learn; None is :math:`R^2`.
    scaling : {"range", "rank", "distinct"}, None, list of those or "auto", default="auto"
        The scale on which features are compared, or the choices; "auto" is "range", but with
        ``kernel="auto"`` any.
    tol, max_iter, cache_size
        As for `InfiniteEnsembleRegressor`.
    random_state : int, RandomState or None, default=None
        What the samples of a race, or directions and grids, are drawn with; an int makes it
        repeat exactly.
    solver, loss, max_levels, n_slices, n_grids
        As for `InfiniteEnsembleRegressor`.

    Attributes
    ----------
    C_, epsilon_ : float
        What was chosen, in units of y, as `InfiniteEnsembleRegressor` takes them.
    kernel_, scaling_
        What was chosen, bound to all training rows.
    best_score_, best_params_, best_index_, cv_results_, race_results_
        As for `InfiniteEnsembleClassifierCV`; C and epsilon are those of the grids.
    solver_, tables_, sampling_error_, mixed_table_
        As for `InfiniteEnsembleClassifier`.
    support_, support_vectors_, dual_coef_, intercept_, objective_, duality_gap_
        As for `InfiniteEnsembleClassifier`.
    n_iter_, n_features_in_, feature_names_in_
        As for `InfiniteEnsembleClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from kernsemble.svm import InfiniteEnsembleRegressorCV
    >>> X, y = make_friedman1(100, noise=1.0, random_state=0)
    >>> X_test, y_test = make_friedman1(1000, noise=1.0, random_state=1)
    >>> machine = InfiniteEnsembleRegressorCV().fit(X, y)
    >>> machine.best_params_
    {'kernel': 'stump', 'scaling': 'range', 'epsilon': 0.1, 'C': 0.5}
    >>> machine.C_, machine.epsilon_
    (2.67, 0.53)
    >>> machine.score(X_test, y_test)
    0.80
    """

    usual_grid = GRID

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        kernel: str | Kernel | Sequence[str | Kernel] = "stump",
        Cs: Sequence[float] | None = None,
        epsilons: Sequence[float] = (0.01, 0.1),
        cv: Any = 5,
        scoring: Any = None,
        scaling: Kind | Literal["auto"] | Sequence[Kind | None] | None = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        random_state: Any = None,
        solver: Solver = "auto",
        loss: LossOfNumbers = "epsilon_insensitive",
        max_levels: int = 256,
        n_slices: int | None = None,
        n_grids: int = 512,
    ) -> None:
        self.kernel = kernel  # type: ignore[assignment]
        self.Cs = Cs
        self.epsilons = epsilons
        self.cv = cv
        self.scoring = scoring
        self.scaling = scaling  # type: ignore[assignment]
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
            The numbers to fit.
        sample_weight : array-like of shape (n,), optional
            How often each row counts in the machines and in the scores; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        epsilons = as_grid("epsilons", self.epsilons, check_not_negative)
        if self.loss == "squared":
            epsilons = [0.0]
        rows, target, weight = self._read(X, y, sample_weight)
        splits = read_splits(self.cv, X, target, weight, is_classifier=False)
        r2 = get_scorer("r2")
        validation = self._validation(rows, target, weight, splits, r2, ForeseenNumbers)
        scale = TargetScale.of(target, weight)
        variants = [
            Variant({"epsilon": each}, [Problem.of_numbers(target, weight, each, scale)])
            for each in epsilons
        ]
        with Task.of_fit(self, 2, X, y, sample_weight) as task:
            choice = self._fit_best(validation, variants, task)
            self.epsilon_ = choice.settings["epsilon"] * scale.spread
        return self
