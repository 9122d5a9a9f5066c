"""Comparison of `MultiplicativeSVC`, which has no parameter to tune, with ν-SVMs."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.svm import NuSVC

from kernsemble._axes import several_axes
from kernsemble._typing import ArrayLike
from kernsemble._value_object import short_repr
from kernsemble.kernels import Gaussian
from kernsemble.svm import MultiplicativeSVC

PAPERS_NUS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)


class TimedFit(NamedTuple):
    """Test error, fit time in seconds and number of support vectors of a machine."""

    error: float
    seconds: float
    n_support: int

    @classmethod
    def measure(cls, machine: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Self:
        """Fit a machine and test it."""
        start = time.perf_counter()
        machine.fit(X, y)
        seconds = time.perf_counter() - start
        error = float(np.mean(machine.predict(X_test) != y_test))
        return cls(error, seconds, len(machine.support_))


@dataclass(frozen=True, eq=False)
class NuComparison:
    r"""Test error and fit time of the ensemble, and of a ν-SVM for several ν.

    Figure 2 of Tsang and Kwok (2007). The ν-SVM is LIBSVM's, with exactly the same kernel.

    Attributes
    ----------
    ensemble : TimedFit
        Result of `MultiplicativeSVC`.
    rivals : dict of float to TimedFit
        Results of `sklearn.svm.NuSVC`, by ν.

    Examples
    --------
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.inspection import NuComparison
    >>> train, test = make_threenorm(300, random_state=0), make_threenorm(3000, random_state=1)
    >>> comparison = NuComparison.from_data(*train, *test, nus=[0.1, 0.3, 0.5])
    >>> comparison.best_nu, comparison.rivals[0.5].error, comparison.ensemble.error
    (0.5, 0.132, 0.137)
    """

    ensemble: TimedFit
    rivals: dict[float, TimedFit]

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike,
        y_test: ArrayLike,
        machine: MultiplicativeSVC | None = None,
        nus: Sequence[float] = PAPERS_NUS,
        cache_size: float = 2000.0,
    ) -> Self:
        """Fit all machines to training rows and test them on test rows.

        Parameters
        ----------
        X, y : array-likes of shape (n, n_features) and (n,)
            Training rows and their classes.
        X_test, y_test : array-likes
            Test rows and their classes.
        machine : MultiplicativeSVC, optional
            Ensemble, which is fitted; set its `rank` for many rows.
        nus : sequence of float
            Values of ν, an upper bound on the share of training rows within the margin.
        cache_size : float
            Kernel cache of LIBSVM in megabytes.
        """
        machine = MultiplicativeSVC() if machine is None else machine
        parts = X, y, X_test, y_test
        ensemble = TimedFit.measure(machine, *parts)
        kernel = machine.kernel_
        if machine.scaling is not None or not isinstance(kernel, Gaussian):
            raise ValueError(
                f"kernel = {kernel}, scaling = {machine.scaling!r}: NuSVC needs a Gaussian "
                "kernel on unscaled rows: use kernel='gaussian' and scaling=None"
            )
        rivals = {
            float(nu): TimedFit.measure(
                NuSVC(nu=nu, gamma=kernel.rate, cache_size=cache_size), *parts
            )
            for nu in nus
        }
        return cls(ensemble, rivals)

    @property
    def best_nu(self) -> float:
        """The smallest ν with the lowest test error."""
        return min(self.rivals, key=lambda nu: (self.rivals[nu].error, nu))


class NuComparisonDisplay:
    """Plot of test error and fit time against ν, with the ensemble as a horizontal line.

    Parameters
    ----------
    comparison : NuComparison
        Results to plot.

    Attributes
    ----------
    axes_, figure_
        Axes of error and fit time, and their figure.
    """

    def __init__(self, comparison: NuComparison) -> None:
        self.comparison = comparison

    def plot(self, axes: Any = None) -> Self:
        """Plot on a pair of axes or on new ones."""
        axes = several_axes(axes, 2)
        self.axes_, self.figure_ = axes, axes[0].figure
        nus = sorted(self.comparison.rivals)
        rivals = [self.comparison.rivals[nu] for nu in nus]
        for ax, quantity, scale, label in (
            (axes[0], "error", 100.0, "test error, %"),
            (axes[1], "seconds", 1.0, "fit time, s"),
        ):
            ax.plot(nus, [scale * getattr(each, quantity) for each in rivals], "o-", label="ν-SVM")
            level = scale * getattr(self.comparison.ensemble, quantity)
            ax.axhline(level, color="C1", label="ensemble")
            ax.set(xlabel="ν", ylabel=label)
        axes[1].set_yscale("log")
        axes[0].legend()
        return self
