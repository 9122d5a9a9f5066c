"""The targets of KernelBoost: the desired similarity of each pair of rows."""

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np

from kernsemble._arguments import check_choice
from kernsemble._typing import FloatArray
from kernsemble._validation import as_numbers, read_classes, refuse_one_class, target_kind

Target: TypeAlias = Literal["auto", "classes", "numbers"]


@dataclass(frozen=True, eq=False)
class PairTargets:
    r"""Targets :math:`T_{ij} = c_i^\top c_j` of pairs of rows, from their labels y.

    For K classes they are 1 for rows of the same class and :math:`-1/(K - 1)` for others, so
    :math:`y_i y_j` for two classes; for numbers, the product of the deviations from the mean, in
    units of the largest.
    """

    classes: Any = None
    mean: float = 0.0
    scale: float = 1.0

    @classmethod
    def from_labels(cls, y: Any, target: Target, weight: FloatArray) -> Self:
        """Return the targets for the labels of weighted rows."""
        check_choice("target", target, get_args(Target))
        is_present = weight > 0.0
        kind = target_kind(y)
        if target == "classes" or (target == "auto" and not kind.startswith("continuous")):
            classes, _ = read_classes(y[is_present])
            refuse_one_class(classes)
            return cls(classes)
        if np.asarray(y).dtype.kind not in "fiub":
            raise ValueError(
                f"target = {target!r}, but y contains values that are not numbers: "
                "pass numbers, or use target='classes'"
            )
        numbers = as_numbers(y)
        with np.errstate(over="ignore", invalid="ignore"):  # checked
            mean = float(np.average(numbers, weights=weight))
            scale = float(np.abs(numbers[is_present] - mean).max())
        if not np.isfinite(scale):
            raise ValueError("the range of y exceeds that of floats: divide y by a number")
        if scale <= 1e-12 * np.abs(numbers[is_present]).max():
            raise ValueError(
                f"y is {mean:g} for every row (n_samples = {int(is_present.sum())}): pass numbers "
                "that vary"
            )
        return cls(mean=mean, scale=scale)

    def vectors(self, y: Any) -> FloatArray:
        """Return the vectors :math:`c_i` as rows; the last column increases with y."""
        if self.classes is None:
            return ((as_numbers(y) - self.mean) / self.scale)[:, np.newaxis]
        n_classes, codes = len(self.classes), np.searchsorted(self.classes, y)
        if n_classes == 2:
            return (2.0 * codes - 1.0)[:, np.newaxis]
        corners = np.eye(n_classes)[codes] - 1.0 / n_classes  # corners of a simplex
        return corners * np.sqrt(n_classes / (n_classes - 1.0))
