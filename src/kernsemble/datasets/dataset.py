"""A named data set as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kernsemble._typing import FloatArray, IntArray
from kernsemble.datasets.catalogue import Task


class Split(NamedTuple):
    """Two disjoint sets of row numbers: train on one, test on the other.

    Parameters
    ----------
    train, test : ndarray of int
        Row numbers of the whole sample, counted from 0.
    """

    train: IntArray
    test: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    r"""A labelled sample with its customary training and test splits.

    The whole sample :math:`(x_i, y_i)_{i \le n}` is always in ``X`` and ``y``. A given
    training and test set is a split, a pair of row numbers; so are the realizations of
    the IDA collection. Many data sets have no splits: draw your own.

    Parameters
    ----------
    name, title : str
        Name for :func:`load`, and title.
    X : ndarray or scipy.sparse.csr_array of shape (n_samples, n_features)
        Examples, in double precision and unscaled; missing values are NaN. The training
        part, if any, is before the test part.
    y : ndarray of shape (n_samples,)
        Labels: -1 and +1 for two classes, small integers otherwise; floating-point numbers
        for regression.
    splits : tuple of Split
        Given splits; there may be none.
    target_names : mapping of int to str
        Meaning of each label, where it is known.
    source : str
        Source of this copy.
    feature_names : tuple of str or None
        Names of the columns, where they are known.
    categories : mapping of str to tuple of str
        Categories of each column of category codes, in the order of the codes; an empty
        tuple where their names are unknown.
    groups : ndarray of shape (n_samples,) or None
        Group of each example, where examples of one group belong together.
    task : {"classification", "regression"}
        Kind of target: class labels or numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.datasets import Dataset, Split
    >>> dataset = Dataset(
    ...     name="steps",
    ...     title="Three steps",
    ...     X=np.array([[0.0], [1.0], [2.0]]),
    ...     y=np.array([-1, -1, 1]),
    ...     splits=(Split(train=np.array([0, 2]), test=np.array([1])),),
    ...     target_names={-1: "low", 1: "high"},
    ...     source="this page",
    ... )
    >>> dataset
    Dataset('steps', 3 x 1, 2 classes, 1 split, from this page)
    >>> X_train, X_test, y_train, y_test = dataset.parts()
    >>> X_train
    array([[0.], [2.]])
    """

    name: str
    title: str
    X: FloatArray | Any
    y: IntArray | FloatArray
    splits: tuple[Split, ...]
    target_names: Mapping[int, str]
    source: str
    feature_names: tuple[str, ...] | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: IntArray | None = None
    task: Task = "classification"

    @property
    def is_categorical(self) -> npt.NDArray[np.bool_]:
        """Mask of the columns that are known to hold category codes."""
        mask = np.zeros(self.X.shape[1], dtype=bool)
        if self.feature_names is not None:
            mask[:] = [feature in self.categories for feature in self.feature_names]
        return mask

    def parts(self, split: int = 0) -> tuple[Any, Any, Any, Any]:
        """Return ``X_train, X_test, y_train, y_test`` of a given split.

        Parameters
        ----------
        split : int, default=0
            Index of the split in ``splits``.

        Returns
        -------
        X_train, X_test, y_train, y_test : arrays
            In the order of :func:`sklearn.model_selection.train_test_split`.
        """
        if not 0 <= split < len(self.splits):
            raise IndexError(
                f"split = {split!r}: {self.name} has {len(self.splits)} given splits; "
                "draw one with sklearn.model_selection.train_test_split(dataset.X, dataset.y)"
            )
        train, test = self.splits[split]
        return self.X[train], self.X[test], self.y[train], self.y[test]

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        n_splits = len(self.splits)
        is_regression = self.task == "regression"
        target = "regression" if is_regression else f"{len(np.unique(self.y))} classes"
        return (
            f"{type(self).__name__}({self.name!r}, {n_samples} x {n_features}, "
            f"{target}, {n_splits} split{'s' * (n_splits != 1)}, from {self.source})"
        )
