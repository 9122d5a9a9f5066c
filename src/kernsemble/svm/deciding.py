"""How classes are decided by what machines of two sides say."""

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from kernsemble._typing import FloatArray
from kernsemble.svm.multiclass import Reduction, Shape


class DecidesByMachines:
    """A classifier whose machines, each of two sides, are combined by a reduction."""

    classes_: Any
    reduction_: Reduction
    decision_function_shape: Shape
    _values: Callable[[ArrayLike], FloatArray]  # of every machine (columns) at every row

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the value of the machine at each row; with several classes, one for each.

        With more than two classes and one-vs-one it is the number of pairs that a class
        wins, and less than a half for how clearly; or, if `decision_function_shape` is "ovo",
        the value for each pair, in which positive numbers are for the first of the two.
        """
        return self._decisions(self._values(X))

    def predict(self, X: ArrayLike) -> Any:
        """Return the class of each row."""
        return self._winners(self._values(X))

    def _decisions(self, values: FloatArray) -> FloatArray:
        if self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            return values
        return self.reduction_.decisions(values)

    def _winners(self, values: FloatArray) -> Any:
        return self.classes_[self.reduction_.winners(values)]
