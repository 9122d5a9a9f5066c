"""The ensemble of partially trained machines beside single ν-SVMs, as Figure 2 of the paper."""

from collections.abc import Iterator

from sklearn.base import clone

from kernsemble.experiments.methods.measures import Method, Values
from kernsemble.experiments.problems import Problem
from kernsemble.inspection import NuComparison
from kernsemble.inspection.nu_comparison import TimedFit
from kernsemble.svm import MultiplicativeSVC

RANK = 300  # of the kernel of the ensemble, as a factor of low rank
NUS = (0.05, 0.15, 0.25, 0.35, 0.45)
N_WARMING = 500
FEW_ROWS = 10_000  # of more rows a single ν-SVM takes more than a minute
NUS_OF_MANY_ROWS = (0.05, 0.35)
ENSEMBLE, RIVAL = "ensemble", "nu-SVM"


def nu_comparison(problem: Problem, seed: int) -> Values:
    """Fit the ensemble and a ν-SVM for each of several ν, of many rows for two of them.

    Told are errors in per cent, seconds and numbers of support vectors.
    """
    machine = MultiplicativeSVC(rank=RANK, random_state=seed)
    clone(machine).fit(problem.X[:N_WARMING], problem.y[:N_WARMING])  # compiled before it is timed
    nus = NUS if len(problem.y) <= FEW_ROWS else NUS_OF_MANY_ROWS
    found = NuComparison.from_data(*problem[:4], machine=machine, nus=nus)
    trials = {ENSEMBLE: found.ensemble}
    trials |= {f"{RIVAL}@{nu:g}": trial for nu, trial in found.rivals.items()}
    return {name: value for key, trial in trials.items() for name, value in _told(key, trial)}


def as_nu_comparison(values: dict[str, float]) -> NuComparison:
    """Return the comparison that was told; seconds that were not kept are not numbers."""
    prefix = f"error, {RIVAL}@"
    nus = [name.removeprefix(prefix) for name in values if name.startswith(prefix)]
    return NuComparison(
        _trial(values, ENSEMBLE), {float(nu): _trial(values, f"{RIVAL}@{nu}") for nu in nus}
    )


def _told(key: str, trial: TimedFit) -> Iterator[tuple[str, float]]:
    yield f"error, {key}", 100.0 * trial.error
    yield f"fit, {key}", trial.seconds
    yield f"support vectors, {key}", float(trial.n_support)


def _trial(values: dict[str, float], key: str) -> TimedFit:
    seconds = values.get(f"fit, {key}", float("nan"))
    return TimedFit(
        values[f"error, {key}"] / 100.0, seconds, int(values[f"support vectors, {key}"])
    )


METHODS: dict[str, Method] = {"nu comparison": nu_comparison}
