"""Training curves of `MultiplicativeSVC`: the objective after every step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from kernsemble._arguments import check_count, check_positive
from kernsemble._axes import one_axes
from kernsemble._typing import ArrayLike, FloatArray
from kernsemble._validation import checked_rows, class_codes
from kernsemble._value_object import short_repr
from kernsemble.exceptions import ArgumentError
from kernsemble.solvers.kernel_products import DenseProducts
from kernsemble.solvers.multiplicative import solve_multiplicative, solve_multiplicative_fixed
from kernsemble.svm import MultiplicativeSVC

PAPERS_RATES = (0.005, 0.01, 0.02, 0.04)


@dataclass(frozen=True, eq=False)
class TrainingCurves:
    r"""The objective :math:`\alpha^\top\tilde K\alpha` by step, for adaptive and fixed rates.

    Figure 1 of Tsang and Kwok (2007). Fixed rates multiply gradients of coefficients that sum to
    the number m of rows, as in Cristianini et al. (1999), and are therefore m times as large on
    the simplex; read this way, the rates of the paper's figure overshoot where the paper reports.

    Attributes
    ----------
    adaptive : array of shape (n_iter + 1,)
        Objective of `MultiplicativeSVC` before the first step and after each step.
    fixed : dict of float to array of shape (n_steps + 1,)
        Objective for each fixed rate.

    Examples
    --------
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.inspection import TrainingCurves
    >>> X, y = make_threenorm(200, random_state=0)
    >>> curves = TrainingCurves.from_data(X, y, rates=[0.01, 0.2], n_steps=100)
    >>> [curves.overshot_at(rate) for rate in curves.fixed]
    [None, 2]
    """

    adaptive: FloatArray
    fixed: dict[float, FloatArray]

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        machine: MultiplicativeSVC | None = None,
        rates: Sequence[float] = PAPERS_RATES,
        n_steps: int = 1000,
    ) -> Self:
        """Train with every rate on rows of two classes.

        Parameters
        ----------
        X, y : array-likes of shape (n, n_features) and (n,)
            Rows and their classes, two of them.
        machine : MultiplicativeSVC, optional
            Unfitted machine with the kernel, scaling and `tol` to use.
        rates : sequence of float
            Fixed rates.
        n_steps : int
            Number of steps with each fixed rate, O(n²) per step.
        """
        check_count("n_steps", n_steps)
        if not isinstance(rates, Iterable):
            raise ArgumentError("rates", rates, "use a sequence of numbers")
        machine = MultiplicativeSVC() if machine is None else clone(machine)
        window = machine.set_params(hypothesis="first", rank=None).fit(X, y)
        if len(window.classes_) != 2:
            raise ValueError(
                f"y has {len(window.classes_)} classes: pass rows of two of them at a time"
            )
        rows = window.scaling_.transform(checked_rows(X, dtype=np.float64))
        signs = np.where(class_codes(y, window.classes_) == 1, 1.0, -1.0)
        products = DenseProducts(window.kernel_(rows))
        adaptive = solve_multiplicative(products, signs, tol=machine.tol)
        history = adaptive.history
        fixed = {}
        for rate in rates:
            check_positive("rates", rate)
            steps = solve_multiplicative_fixed(products, signs, rate * len(signs), n_steps)
            fixed[float(rate)] = np.append(steps.history.objective, steps.last.objective)
        accepted = history.objective[history.is_accepted]
        return cls(np.append(accepted, adaptive.last.objective), fixed)

    def overshot_at(self, rate: float) -> int | None:
        """Return the first step of a fixed rate that raises the objective, None if none does."""
        rises = np.flatnonzero(np.diff(self.fixed[rate]) > 0.0)
        return int(rises[0]) + 1 if len(rises) else None


class TrainingCurvesDisplay:
    """Plot of training curves; vertical lines mark where a fixed rate first overshoots.

    Parameters
    ----------
    curves : TrainingCurves
        Curves to plot.

    Attributes
    ----------
    ax_, figure_, lines_
        Axes, figure, and the lines: the adaptive curve, then the fixed ones in order.
    """

    def __init__(self, curves: TrainingCurves) -> None:
        self.curves = curves

    @classmethod
    def from_data(cls, X: ArrayLike, y: ArrayLike, ax: Any = None, **settings: Any) -> Self:
        """Compute `TrainingCurves.from_data` and plot them."""
        return cls(TrainingCurves.from_data(X, y, **settings)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on the given axes or on new ones."""
        self.ax_ = one_axes(ax)
        self.figure_ = self.ax_.figure
        labelled = {"adaptive": self.curves.adaptive} | {
            f"η = {rate:g}": curve for rate, curve in self.curves.fixed.items()
        }
        self.lines_ = [
            self.ax_.plot(np.arange(1, len(curve) + 1), curve, label=label)[0]
            for label, curve in labelled.items()
        ]
        for rate, line in zip(self.curves.fixed, self.lines_[1:], strict=True):
            step = self.curves.overshot_at(rate)
            if step is not None:
                self.ax_.axvline(step + 1, color=line.get_color(), linestyle=":")
        self.ax_.set(xscale="log", yscale="log", xlabel="steps", ylabel="objective")
        self.ax_.legend()
        return self
