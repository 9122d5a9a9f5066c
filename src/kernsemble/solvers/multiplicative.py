r"""The ρ-SVM by multiplicative updates, and the ensemble of partially trained machines.

The hyperplane through the origin of largest margin, :math:`\max_{w,\rho} 2\rho - \|w\|^2` with
:math:`y_i w^\top\varphi(x_i) \ge \rho`, has the dual

.. math:: \rho^* = \min_\alpha \alpha^\top\tilde K\alpha
          \quad\text{s.t.}\quad \alpha \ge 0,\; \textstyle\sum_i \alpha_i = 1,
          \qquad \tilde K_{ij} = y_i y_j K_{ij} ,

the squared distance of the origin from the hull of the :math:`y_i\varphi(x_i)`. A distribution
defines a machine :math:`f(x) = \sum_i \alpha_i y_i K(x_i, x)` whose squared norm is
:math:`\bar\rho = \alpha^\top\tilde K\alpha`; the uniform one is the Parzen window classifier. Tsang
and Kwok (2007) project :math:`\alpha_t`, by relative entropy, on the distributions with
:math:`\alpha^\top\tilde K\alpha_t \le \rho_t = \bar\rho_t / (1 + \varepsilon_t)`:

.. math:: \alpha_{t+1,i} = \alpha_{t,i}\, e^{-\eta_t y_i f_t(x_i)} / Z_t(\eta_t), \qquad
          \eta_t = \arg\min_{\eta\ge 0} \ln Z_t(\eta) + \rho_t\eta ,

which is AdaBoost's update with :math:`f_t` as the hypothesis and :math:`\eta_t` as its weight.
So there is a vote, :math:`\sum_t \eta_t f_t / \sum_t \eta_t`; as every :math:`f_t` is linear in
:math:`\alpha_t` it is itself a machine, that of :math:`\bar\alpha = \sum_t \eta_t\alpha_t /
\sum_t \eta_t`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, TypeAlias

import numpy as np

from kernsemble._arguments import check_count, check_positive
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.solvers.kernel_products import Products
from kernsemble.solvers.projection import inner, projection_rate

ROUNDING = 1e-12  # objective that counts as zero, relative to the largest diagonal entry


class UpdateStatus(Enum):
    """Reason why multiplicative updates ended; the value is the message for users."""

    CONVERGED = "the last objective is at most (1 + 2 tol)² times the optimum"
    OVERSHOT = (
        "steps of tol raise the objective, so the updates end before the optimum, as Algorithm 1 "
        "of the paper does: lower tol for a better last machine"
    )
    INSEPARABLE = (
        "the classes are not separable with this kernel, so the last machine is nearly zero: "
        "use the vote, or a kernel with more hypotheses"
    )
    INDEFINITE = "a squared norm is negative: use a kernel that is positive semidefinite"
    STOPPED = "stopped early: raise max_iter, or tol"
    INTERRUPTED = "interrupted: the machines are those reached so far"
    STEPS_TAKEN = "all steps were taken"


@dataclass(frozen=True, eq=False)
class PartialMachine:
    r"""The machine of a distribution over the rows.

    Attributes
    ----------
    alpha : array of shape (n,)
        Distribution :math:`\alpha`.
    decisions : array of shape (n,)
        Decision values :math:`f(x_i)`, also of absent rows.
    objective : float
        Its squared norm :math:`\bar\rho \ge \rho^*`.
    margin : float
        Smallest :math:`y_i f(x_i)` of a row that is present; at most
        :math:`\sqrt{\rho^*\bar\rho}`.
    """

    alpha: FloatArray
    decisions: FloatArray
    objective: float
    margin: float

    @property
    def bound(self) -> float:
        r"""The largest ρ of a multiple of the machine, margin²/ρ̄, at most :math:`\rho^*`.

        For the machine times s, :math:`2\rho - \|w\|^2` is :math:`2 s\,\mathrm{margin} - s^2
        \bar\rho`, with the maximum at s = margin/ρ̄.
        """
        if not self.margin > 0.0 < self.objective:
            return 0.0
        return self.margin * (self.margin / self.objective)


@dataclass(frozen=True, eq=False)
class History:
    """The steps that were tried, in order; arrays with one entry per step.

    Attributes
    ----------
    objective : array
        Objective before the step.
    epsilon, target : arrays
        Share to lower the objective by, and the target; NaN if the rate is fixed.
    rate : array
        Rate η; infinite if no distribution meets the target.
    is_accepted : boolean array
        Whether the step was taken.
    """

    objective: FloatArray
    epsilon: FloatArray
    target: FloatArray
    rate: FloatArray
    is_accepted: BoolArray


@dataclass(frozen=True, eq=False)
class MultiplicativeSolution:
    r"""The machines trained by multiplicative updates, and the evidence for them.

    Attributes
    ----------
    first, last, ensemble : PartialMachine
        Machine of the starting distribution, the Parzen window classifier; machine of the last
        iterate, the ρ-SVM; and the vote of all before the last, weighted by their rates.
    lower, upper : float
        Bounds on the optimum :math:`\rho^*`, proved by the last machine and the vote.
    history : History
        Steps that were tried.
    n_iter : int
        Number T of steps taken.
    n_products : int
        Number of products with the kernel matrix.
    status : UpdateStatus
        Reason why the run ended.
    """

    first: PartialMachine
    last: PartialMachine
    ensemble: PartialMachine
    lower: float
    upper: float
    history: History
    n_iter: int
    n_products: int
    status: UpdateStatus


class UpdateStep(NamedTuple):
    """A step that was tried, passed to `on_step`; its distribution must not be changed."""

    n_iter: int  # number of steps taken, including this one
    alpha: FloatArray  # distribution before the step
    objective: float  # objective before the step
    epsilon: float
    target: float
    rate: float
    is_accepted: bool


OnStep: TypeAlias = Callable[[UpdateStep], None]


def solve_multiplicative(
    products: Products,
    y: FloatArray,
    *,
    start: FloatArray | None = None,
    tol: float = 0.005,
    first_epsilon: float = 0.1,
    max_iter: int | None = None,
    on_step: OnStep | None = None,
) -> MultiplicativeSolution:
    r"""Train the ρ-SVM by multiplicative updates with adaptive rates.

    Parameters
    ----------
    products : Products
        Kernel matrix K, positive semidefinite.
    y : array of shape (n,)
        Classes −1 and 1.
    start : array of shape (n,), optional
        Starting distribution, up to a factor; uniform by default. Rows of weight zero are
        absent, but have decision values. Two equal rows are equivalent to one of twice the weight.
    tol : float
        Value of :math:`\varepsilon` below which updates end.
    first_epsilon : float
        First :math:`\varepsilon`; it is halved when no distribution meets the target, or
        when the step raises the objective, which is then discarded.
    max_iter : int, optional
        Maximum number of steps.
    on_step : callable, optional
        Called with a `UpdateStep` after each step that was tried; an exception ends the run, a
        KeyboardInterrupt with the machines reached so far.

    Returns
    -------
    MultiplicativeSolution
        If no distribution meets the last target then :math:`\bar\rho \le (1 + 2\,\mathrm{tol})^2
        \rho^*`; if it was overshot, only `lower` and `upper` are guaranteed.

    Notes
    -----
    A step costs a product and O(n). As long as :math:`\rho_t \ge \alpha^{*\top}\tilde K\alpha_t`,
    for which :math:`\bar\rho_t(1 - \varepsilon_t)/(1 + \varepsilon_t) \ge \rho^*` suffices, the
    relative entropy from the optimum falls by that between the iterates at least, so that there
    are at most :math:`2 \ln n / \nu^2` such steps, :math:`\nu = \min_t \varepsilon_t \bar\rho_t /
    (1 + \varepsilon_t)` in units of the largest :math:`K_{ii}`. Multiplying K by c multiplies
    objectives by c, rates by 1/c and changes no distribution.
    """
    check_positive("tol", tol)
    check_positive("first_epsilon", first_epsilon)
    if max_iter is not None:
        check_count("max_iter", max_iter, 0)
    run = _UpdateRun(products, y, start, on_step)
    try:
        status = run.adapt(tol, first_epsilon, np.inf if max_iter is None else max_iter)
    except KeyboardInterrupt:
        status = UpdateStatus.INTERRUPTED
    solution = run.solution(status)
    is_near = solution.last.objective <= (1.0 + 2.0 * tol) ** 2 * solution.lower
    if status is UpdateStatus.OVERSHOT and is_near:
        return replace(solution, status=UpdateStatus.CONVERGED)
    return solution


def solve_multiplicative_fixed(
    products: Products,
    y: FloatArray,
    rate: float,
    n_steps: int,
    *,
    start: FloatArray | None = None,
    on_step: OnStep | None = None,
) -> MultiplicativeSolution:
    r"""Take steps of the same rate η, as Cristianini, Campbell and Shawe-Taylor (1999) do.

    Every step is taken, whether the objective falls or not; the vote is the unweighted mean of
    the machines. The other arguments are those of `solve_multiplicative`.
    """
    check_positive("rate", rate)
    check_count("n_steps", n_steps, 0)
    run = _UpdateRun(products, y, start, on_step)
    try:
        for _ in range(n_steps):
            run.move(run.after(rate), np.nan, np.nan, rate, is_accepted=True)
        status = UpdateStatus.STEPS_TAKEN
    except KeyboardInterrupt:
        status = UpdateStatus.INTERRUPTED
    return run.solution(status)


class _Place(NamedTuple):
    """An iterate, with logarithms of the weights of the rows that are present."""

    log_alpha: FloatArray
    alpha: FloatArray
    decisions: FloatArray
    objective: float


class _Vote(NamedTuple):
    """The sum of the previous iterates, weighted by their rates."""

    alpha: FloatArray
    decisions: FloatArray
    rate: float

    def with_one(self, place: _Place, rate: float) -> "_Vote":
        return _Vote(
            self.alpha + rate * place.alpha,
            self.decisions + rate * place.decisions,
            self.rate + rate,
        )


class _UpdateRun:
    """Multiplicative updates in progress."""

    def __init__(
        self, products: Products, y: FloatArray, start: FloatArray | None, on_step: OnStep | None
    ) -> None:
        self.products, self.on_step = products, on_step
        self.y = _checked_signs(y, products.n)
        weight = _checked_weights(start, products.n)
        present = np.flatnonzero(weight)
        self.rows: IntArray | slice = present if len(present) < products.n else slice(None)
        self.n_products = 0
        self.first = self.place = self._at(np.log(weight[present]))
        if not np.isfinite(self.place.objective):
            raise ValueError("the kernel has NaN or infinite values: check the features")
        self.vote = _Vote(np.zeros(products.n), np.zeros(products.n), 0.0)
        self.tries: list[tuple[float, float, float, float, bool]] = []
        self.n_iter = 0

    def _at(self, log_weight: FloatArray) -> _Place:
        """Return the iterate with these weights, up to a factor, by one product."""
        log_alpha = log_weight - log_weight.max()
        log_alpha -= np.log(np.exp(log_alpha).sum())
        alpha = np.zeros(self.products.n)
        alpha[self.rows] = np.exp(log_alpha)
        signed = self.y * alpha
        decisions = self.products.times(signed)
        self.n_products += 1
        return _Place(log_alpha, alpha, decisions, inner(signed, decisions))

    def after(self, rate: float) -> _Place:
        """Return the iterate after a step."""
        with np.errstate(over="ignore"):  # checked
            steps = rate * self.margins(self.place.decisions)
        if not np.isfinite(steps).all():
            raise ValueError(f"rate = {rate:g}: the steps exceed the range of floats; use less")
        return self._at(self.place.log_alpha - steps)

    def margins(self, decisions: FloatArray) -> FloatArray:
        return (self.y * decisions)[self.rows]

    def adapt(self, tol: float, epsilon: float, max_iter: float) -> UpdateStatus:
        """Take steps with adaptive rates (Algorithm 1); return the reason to end."""
        least = ROUNDING * self.products.largest
        while epsilon >= tol:
            objective = self.place.objective
            if objective <= least:
                is_zero = objective >= -least
                return UpdateStatus.INSEPARABLE if is_zero else UpdateStatus.INDEFINITE
            if self.n_iter >= max_iter:
                return UpdateStatus.STOPPED
            target = objective / (1.0 + epsilon)
            rate = projection_rate(
                self.place.log_alpha, self.margins(self.place.decisions) - target
            )
            place = None if rate == np.inf else self.after(rate)
            if place is not None and place.objective < -least:
                return UpdateStatus.INDEFINITE
            is_accepted = place is not None and place.objective <= objective
            self.move(place, epsilon, target, rate, is_accepted=is_accepted)
            if not is_accepted:
                epsilon /= 2.0
        return UpdateStatus.OVERSHOT

    def move(
        self, place: _Place | None, epsilon: float, target: float, rate: float, *, is_accepted: bool
    ) -> None:
        """Record a step, and take it if it is accepted."""
        before = self.place
        self.tries.append((before.objective, epsilon, target, rate, is_accepted))
        if place is not None and is_accepted:
            self.vote, self.place = self.vote.with_one(before, rate), place
            self.n_iter += 1
        if self.on_step is not None:
            self.on_step(
                UpdateStep(
                    self.n_iter, before.alpha, before.objective, epsilon, target, rate, is_accepted
                )
            )

    def solution(self, status: UpdateStatus) -> MultiplicativeSolution:
        first, last = (
            self._machine(place.alpha, place.decisions) for place in (self.first, self.place)
        )
        alpha, decisions, total = self.vote
        ensemble = self._machine(alpha / total, decisions / total) if total > 0.0 else first
        upper = min(last.objective, ensemble.objective)
        objective, epsilon, target, rate, is_accepted = np.array(self.tries).reshape(-1, 5).T
        return MultiplicativeSolution(
            first=first,
            last=last,
            ensemble=ensemble,
            lower=min(max(last.bound, ensemble.bound), upper),
            upper=upper,
            history=History(objective, epsilon, target, rate, is_accepted.astype(bool)),
            n_iter=self.n_iter,
            n_products=self.n_products,
            status=status,
        )

    def _machine(self, alpha: FloatArray, decisions: FloatArray) -> PartialMachine:
        objective = inner(self.y * alpha, decisions)
        return PartialMachine(alpha, decisions, objective, float(self.margins(decisions).min()))


def _checked_signs(y: FloatArray, n: int) -> FloatArray:
    y = np.asarray(y, dtype=np.float64)
    if y.shape != (n,) or not (np.abs(y) == 1.0).all():
        raise ValueError(f"y has shape {y.shape}: pass the class, -1 or 1, of {n} rows")
    return y


def _checked_weights(start: FloatArray | None, n: int) -> FloatArray:
    """Return the starting distribution, up to a factor."""
    if start is None:
        return np.ones(n)
    weight = np.asarray(start, dtype=np.float64)
    if weight.shape != (n,) or not (np.isfinite(weight).all() and weight.min() >= 0.0):
        raise ValueError(
            f"start has shape {weight.shape} and the smallest value "
            f"{weight.min(initial=np.inf):.3g}: pass {n} finite weights of 0 or above"
        )
    if not weight.any():
        raise ValueError("start has no positive weight: pass at least one")
    return weight
