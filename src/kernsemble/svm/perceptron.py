"""The kernel perceptron."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_choice, check_count
from kernsemble._jobs import within_n_jobs
from kernsemble._last_fit import restoring_last_fit
from kernsemble._memory import Budget
from kernsemble._model_cards import CardMixin
from kernsemble._progress import CallbackSupportMixin, Task, with_callbacks
from kernsemble._threads import blocks
from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble._validation import accuracy, validated
from kernsemble.kernels import Boosted, Kernel, Linear
from kernsemble.kernels.gram import finite_values
from kernsemble.solvers.kernel_matrix import Matrix
from kernsemble.solvers.perceptron import (
    Mistakes,
    mistakes_on_demand,
    mistakes_on_features,
    mistakes_on_matrix,
)
from kernsemble.svm.backends.matrix import matrix_within
from kernsemble.svm.columns import Columns
from kernsemble.svm.multiclass import DecisionShape, Multiclass, MulticlassMixin, check_shape

Variant: TypeAlias = Literal["last", "averaged", "voted"]

ACCEPTED = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}
MAX_KERNEL_ENTRIES = 5_000_000  # maximum number of kernel values computed at a time for new rows


class KernelPerceptron(
    CardMixin,
    CallbackSupportMixin,  # type: ignore[misc,valid-type]
    ClassifierMixin,
    MulticlassMixin,
    BaseEstimator,
):
    r"""Rosenblatt's perceptron with any kernel: the last, the averaged or the voted perceptron.

    Rows are visited one by one, in several epochs. Starting from :math:`f_0 = 0`, each row with
    :math:`y_i f(x_i) \le 0` is a mistake, and updates the function,

    .. math:: f_{k+1} = f_k + y_i K(x_i, \cdot) .

    With :math:`c_k` the number of visits that :math:`f_k` lasts, a row is predicted by the sign of

    .. math:: f_M(x), \qquad \textstyle\sum_k c_k f_k(x) \qquad\text{or}\qquad
              \sum_k c_k\,\mathrm{sign} f_k(x)

    for the last function, the average and the vote (Freund and Schapire 1999). There is no bias
    and nothing to tune, and the number of mistakes is at most :math:`(R/\gamma)^2` if a function
    of norm 1 has margin γ and :math:`K(x_i, x_i) \le R^2`. This makes it a simple measure of how
    well a kernel suits the classes, as used by Crammer, Keshet and Singer.

    Parameters
    ----------
    kernel : str or Kernel, default="linear"
        The kernel, which must be definite; it is bound to the training rows.
    variant : {"averaged", "voted", "last"}, default="averaged"
        The function that predicts.
    n_epochs : int, default=10
        Number of passes over the rows.
    shuffle : bool, default=True
        Whether to shuffle the rows in every epoch.
    multiclass : {"one-vs-one", "one-vs-rest"}, default="one-vs-one"
        Reduction of more than two classes.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of `decision_function`: one value per class or one per pair of classes.
    cache_size : float or None, default=None
        Memory for the kernel matrix in megabytes, by default half of what is available. If it
        does not fit, its rows are computed on demand.
    random_state : int, RandomState or None, default=None
        Random seed of the order of rows.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of predictions; −1 is all cores, −2 all but one. None is
        all cores, or the number in the environment variable NUMBA_NUM_THREADS.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    classes_ : array
        The classes.
    kernel_ : Kernel
        The kernel bound to the training rows.
    reduction_ : Reduction
        The classes on the two sides of each machine.
    support_, support_vectors_ : arrays
        The training rows that some machine mistook.
    dual_coef_ : array of shape (n_machines, n_support)
        The coefficients of the last function or of the average, also for a vote.
    mistakes_ : list of arrays
        The mistakes of each machine, as indices of rows in order.
    mistake_steps_ : list of arrays
        The number of rows that the machine had visited before each mistake.
    n_mistakes_ : array of shape (n_epochs, n_machines)
        The number of mistakes in each epoch: the online errors.
    separated_after_ : array of shape (n_machines,)
        The number of visits until the training rows were separated; infinity if the last epoch
        had a mistake.
    n_iter_ : int
        The number of epochs.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    kernsemble.boosting.KernelBoost : Learns a kernel with which few mistakes are made.

    Notes
    -----
    A mistake costs a row of the kernel matrix, :math:`O(n)`; other visits are free. If the kernel
    has an explicit map with T features (`Boosted`, `Linear` on dense rows), there is no matrix,
    and a visit and a prediction cost :math:`O(T)`; a vote costs :math:`O(MT)` for M mistakes.

    References
    ----------
    F. Rosenblatt, "The perceptron", Psychological Review 65, 1958. Y. Freund and R. E. Schapire,
    "Large margin classification using the perceptron algorithm", Machine Learning 37, 1999.

    Examples
    --------
    >>> from kernsemble.boosting import KernelBoost
    >>> from kernsemble.datasets import make_rotated_gaussians
    >>> from kernsemble.svm import KernelPerceptron
    >>> reading = {"sigma": "deviation", "long_axis": "across"}
    >>> X, y = make_rotated_gaussians(300, **reading, random_state=0)
    >>> X_test, y_test = make_rotated_gaussians(3000, **reading, random_state=1)
    >>> plain = KernelPerceptron(random_state=0).fit(X, y)
    >>> learned = KernelBoost(step="line-search").fit(X, y).kernel_
    >>> boosted = KernelPerceptron(learned, random_state=0).fit(X, y)
    >>> plain.score(X_test, y_test), boosted.score(X_test, y_test)
    (0.956, 0.997)
    >>> int(plain.n_mistakes_[0, 0]), int(boosted.n_mistakes_[0, 0])
    (63, 1)
    """

    def __init__(
        self,
        kernel: str | Kernel = "linear",
        variant: Variant = "averaged",
        n_epochs: int = 10,
        shuffle: bool = True,
        multiclass: Multiclass = "one-vs-one",
        decision_function_shape: DecisionShape = "ovr",
        cache_size: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.variant = variant
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @restoring_last_fit
    @with_callbacks
    @within_n_jobs
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the perceptron.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Training rows of numbers.
        y : array-like of shape (n,)
            Classes.

        Returns
        -------
        self
        """
        check_choice("variant", self.variant, get_args(Variant))
        check_shape(self.decision_function_shape, self.multiclass)
        check_count("n_epochs", self.n_epochs)
        rows, y = validated(self, X, y, **ACCEPTED)
        codes = self._read_labels(y)
        self.kernel_ = self._bound_kernel(rows)
        sides = self._signs(codes)
        with Task.of_fit(self, len(sides), X, y, None) as task:
            visited, order = self._among(rows), self._order(len(codes))
            found = []
            for signs in sides:
                found.append(_mistakes(visited, signs, order[signs[order] != 0.0]))
                task.note("machine")
        self._store(rows, sides, found)
        return self

    def _bound_kernel(self, X: Rows) -> Kernel:
        kernel = Columns.from_fitted(self).kernel(self.kernel)
        return kernel.require_definite("a perceptron").bind(X)

    def _among(self, X: Rows) -> "FloatArray | Matrix | _Features":
        """Return the kernel between training rows: as features, or as a matrix."""
        features = _features(self.kernel_, X)
        if features is not None:
            return _Features(features)
        return matrix_within(Budget.from_megabytes(self.cache_size), self.kernel_, X)

    def _order(self, n: int) -> IntArray:
        """Return the rows in the order of their visits, one epoch after another."""
        rng = check_random_state(self.random_state)
        epochs = range(self.n_epochs)
        return np.concatenate(
            [rng.permutation(n) if self.shuffle else np.arange(n) for _ in epochs]
        )

    def _store(self, X: Rows, sides: list[FloatArray], found: list[Mistakes]) -> None:
        """Store the mistakes, and the attributes that follow from them."""
        self.mistakes_ = [each.rows for each in found]
        self.mistake_steps_ = [each.steps for each in found]
        self.support_ = np.unique(np.concatenate(self.mistakes_))
        self.support_vectors_ = X[self.support_]
        self._support_signs = [signs[self.support_] for signs in sides]
        self._n_visits = np.array([np.count_nonzero(signs) for signs in sides])
        ends = np.arange(self.n_epochs + 1)[:, np.newaxis] * self._n_visits
        counts = [np.searchsorted(each.steps, end) for each, end in zip(found, ends.T, strict=True)]
        self.n_mistakes_ = np.diff(np.transpose(counts), axis=0)
        last = np.array([each.steps[-1] + 1.0 for each in found])  # the first visit is a mistake
        self.separated_after_ = np.where(self.n_mistakes_[-1] == 0, last, np.inf)
        self.n_iter_ = self.n_epochs
        self.dual_coef_ = self._coefficients(self.n_epochs)

    def _path(self, machine: int, epoch: int) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the support indices, signs and survivals of the mistakes until an epoch."""
        all_of_them = Mistakes(self.mistakes_[machine], self.mistake_steps_[machine])
        n_steps = epoch * int(self._n_visits[machine])
        mistakes = all_of_them.before(n_steps)
        places = np.searchsorted(self.support_, mistakes.rows)
        return places, self._support_signs[machine][places], mistakes.survivals(n_steps)

    def _coefficients(self, epoch: int) -> FloatArray:
        """Return the coefficients of the last functions or the averages, after an epoch."""
        coefficients = np.zeros((self.reduction_.n_machines, len(self.support_)))
        for machine, row in enumerate(coefficients):
            places, signs, survivals = self._path(machine, epoch)
            shares = 1.0
            if self.variant != "last":
                shares = np.cumsum(survivals[::-1])[::-1] / survivals.sum()
            np.add.at(row, places, signs * shares)
        return coefficients

    def _votes(self, compared: FloatArray, epoch: int) -> FloatArray:
        """Return the votes of all functions until an epoch, given kernel values to the support."""
        votes = np.empty((len(compared), self.reduction_.n_machines))
        for machine in range(votes.shape[1]):
            places, signs, survivals = self._path(machine, epoch)
            values = np.cumsum(compared[:, places] * signs, axis=1)
            votes[:, machine] = np.sign(values) @ survivals / survivals.sum()
        return votes

    def _values(self, X: ArrayLike) -> FloatArray:
        """Return the value of every machine (columns) at every row."""
        (values,) = self._values_after(X, [self.n_epochs])
        return values

    @within_n_jobs
    def _values_after(
        self, X: ArrayLike, epochs: list[int], max_entries: int = MAX_KERNEL_ENTRIES
    ) -> FloatArray:
        """Return the value of every machine at every row, after each of some epochs."""
        check_is_fitted(self, "support_")
        rows = validated(self, X, reset=False, **ACCEPTED)
        values = np.empty((len(epochs), rows.shape[0], self.reduction_.n_machines))
        n_numbers = max(map(len, self.mistakes_))
        for span in blocks(rows.shape[0], max(max_entries // n_numbers, 1)):
            values[:, span] = finite_values(
                lambda few: np.array(self._values_of_few(few, epochs)),
                rows[span],
                name="the decision function",
            )
        return values

    def _values_of_few(self, X: Rows, epochs: list[int]) -> list[FloatArray]:
        """Return the values at a block of rows, from features if the kernel has them."""
        known, features = (_features(self.kernel_, rows) for rows in (self.support_vectors_, X))
        if known is None or features is None:
            compared = self.kernel_(X, self.support_vectors_)
        elif self.variant == "voted":
            compared = features @ known.T
        else:
            return [features @ (self._coefficients(epoch) @ known).T for epoch in epochs]
        if self.variant == "voted":
            return [self._votes(compared, epoch) for epoch in epochs]
        return [compared @ self._coefficients(epoch).T for epoch in epochs]

    def staged_decision_function(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield `decision_function` after each epoch."""
        for values in self._values_after(X, list(range(1, self.n_epochs + 1))):
            yield self._decisions(values)

    def staged_predict(self, X: ArrayLike) -> Iterator[Any]:
        """Yield `predict` after each epoch."""
        for values in self._values_after(X, list(range(1, self.n_epochs + 1))):
            yield self._winners(values)

    def staged_score(self, X: ArrayLike, y: ArrayLike) -> Iterator[float]:
        """Yield the accuracy after each epoch."""
        for predicted in self.staged_predict(X):
            yield accuracy(y, predicted)


class _Features(NamedTuple):
    """The explicit map of a kernel at rows."""

    Z: FloatArray


def _features(kernel: Kernel, X: Rows) -> FloatArray | None:
    """Return the explicit features of a kernel, None if it has infinitely many."""
    if isinstance(kernel, Boosted):
        return kernel.features(X)
    if isinstance(kernel, Linear) and not sparse.issparse(X):
        return X
    return None


def _mistakes(
    visited: "FloatArray | Matrix | _Features", signs: FloatArray, order: IntArray
) -> Mistakes:
    """Return the mistakes of one machine."""
    if isinstance(visited, _Features):
        return mistakes_on_features(visited.Z, signs, order)
    if isinstance(visited, np.ndarray):
        return mistakes_on_matrix(visited, signs, order)
    return mistakes_on_demand(visited, signs, order)
