"""What errors cost, by name: the losses that machines can be asked to minimise."""

from typing import Literal, TypeAlias, get_args

from kernsemble._arguments import check_choice
from kernsemble.solvers.additive import Kinked, Logistic, Squared, SquaredHinge
from kernsemble.solvers.additive.losses import AnyLoss
from kernsemble.svm.problem import Problem

LossOfClasses: TypeAlias = Literal["hinge", "logistic", "squared_hinge"]
LossOfNumbers: TypeAlias = Literal["epsilon_insensitive", "squared"]
Solver: TypeAlias = Literal["auto", "exact", "additive"]

KINKED = ("hinge", "epsilon_insensitive")  # whose dual has bounds: what the exact solver knows


def check_solver(solver: object, loss: object, is_classifier: bool) -> None:
    """Demand a solver, and a loss that it knows."""
    check_choice("solver", solver, get_args(Solver))  # type: ignore[arg-type]
    losses = get_args(LossOfClasses if is_classifier else LossOfNumbers)
    check_choice("loss", loss, losses)  # type: ignore[arg-type]
    if solver == "exact" and loss not in KINKED:
        raise ValueError(
            f"solver = 'exact' knows no loss = {loss!r}: give loss={losses[0]!r}, or "
            "solver='additive'"
        )


def loss_of(name: str, problem: Problem) -> AnyLoss:
    """Return the loss of a problem at C = 1."""
    if name in KINKED:
        return Kinked(problem.p, problem.low, problem.high, problem.epsilon)
    if name == "squared":
        return Squared(problem.p, problem.high)
    strength = problem.high - problem.low  # one of which is zero
    return (Logistic if name == "logistic" else SquaredHinge)(problem.p, strength)


def penalty_unit(name: str, problem: Problem) -> float:
    r"""Return what C is in units of, where a target has the spread :math:`\sigma`.

    With :math:`y = \sigma y'` a loss that grows as the error has the solution of
    :math:`C = \sigma C'`, one that grows as its square that of :math:`C = C'`.
    """
    return problem.scale.spread if name in KINKED else 1.0
