"""The ensemble of partially trained machines and single ν-SVMs (Tsang and Kwok, Figure 2)."""

from collections.abc import Iterator

from sklearn.base import clone

from kernsemble.experiments.methods.measures import Method, Values
from kernsemble.experiments.paper_data import TrainTestData
from kernsemble.inspection import NuComparison
from kernsemble.inspection.nu_comparison import TimedFit
from kernsemble.svm import MultiplicativeSVC

RANK = 300  # rank of the low-rank factor of the ensemble's kernel matrix
NUS = (0.05, 0.15, 0.25, 0.35, 0.45)
N_WARMING = 500
FEW_ROWS = 10_000  # number of rows up to which all ν are run; a ν-SVM of more takes minutes
NUS_OF_MANY_ROWS = (0.05, 0.35)
ENSEMBLE, RIVAL = "ensemble", "nu-SVM"


def nu_comparison(data: TrainTestData, seed: int) -> Values:
    """Fit the ensemble and a ν-SVM for each of several ν, or two if there are many rows.

    Return errors in per cent, seconds and numbers of support vectors.
    """
    machine = MultiplicativeSVC(rank=RANK, random_state=seed)
    clone(machine).fit(data.X[:N_WARMING], data.y[:N_WARMING])  # compile before timing
    nus = NUS if len(data.y) <= FEW_ROWS else NUS_OF_MANY_ROWS
    found = NuComparison.from_data(*data[:4], machine=machine, nus=nus)
    trials = {ENSEMBLE: found.ensemble}
    trials |= {f"{RIVAL}@{nu:g}": trial for nu, trial in found.rivals.items()}
    return {name: value for key, trial in trials.items() for name, value in _values(key, trial)}


def as_nu_comparison(values: dict[str, float]) -> NuComparison:
    """Return the comparison of stored values; seconds that were not stored are NaN."""
    prefix = f"error, {RIVAL}@"
    nus = [name.removeprefix(prefix) for name in values if name.startswith(prefix)]
    return NuComparison(
        _trial(values, ENSEMBLE), {float(nu): _trial(values, f"{RIVAL}@{nu}") for nu in nus}
    )


def _values(key: str, trial: TimedFit) -> Iterator[tuple[str, float]]:
    yield f"error, {key}", 100.0 * trial.error
    yield f"fit, {key}", trial.seconds
    yield f"support vectors, {key}", float(trial.n_support)


def _trial(values: dict[str, float], key: str) -> TimedFit:
    seconds = values.get(f"fit, {key}", float("nan"))
    return TimedFit(
        values[f"error, {key}"] / 100.0, seconds, int(values[f"support vectors, {key}"])
    )


METHODS: dict[str, Method] = {"nu comparison": nu_comparison}
