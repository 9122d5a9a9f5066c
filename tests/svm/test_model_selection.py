"""Model selection: against grid searches, on folds of every kind, on bad input."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import ArgumentError, RowsOnDemandWarning
from kernsemble.kernels import Exponential, Gaussian, Laplacian, Perceptron, Stump
from kernsemble.kernels.radial import Radial
from kernsemble.solvers import folds, solve_dual
from kernsemble.solvers.newton import Newton
from kernsemble.solvers.smo import DualTuning
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)
from kernsemble.svm.model_selection.cross_validation import Trial
from kernsemble.svm.model_selection.grid import PenaltyGrid, RankedTrials

X, y = make_threenorm(120, random_state=0)
R, target = (part[:150] for part in load_diabetes(return_X_y=True))
SHUFFLED = KFold(4, shuffle=True, random_state=0)


def grid_search(rows, classes, Cs, cv):
    K = Perceptron().bind(rows)(rows)
    return GridSearchCV(SVC(kernel="precomputed", tol=1e-5), {"C": Cs}, cv=cv).fit(K, classes)


# -- selected settings


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(4, shuffle=True, random_state=0),
        ShuffleSplit(3, train_size=0.5, test_size=0.2, random_state=0),
    ],
    ids=["all rows", "some rows"],
)
def test_selection_is_that_of_a_grid_search(n_classes, cv):
    rows, classes = (X, y) if n_classes == 2 else load_iris(return_X_y=True)
    Cs = 2.0 ** np.arange(-7, 4, 2)
    ours = InfiniteEnsembleClassifierCV("perceptron", Cs=Cs, cv=cv, scaling=None, tol=1e-5)
    ours.fit(rows, classes)
    theirs = grid_search(rows, classes, Cs, cv)
    expected = theirs.cv_results_["mean_test_score"]
    assert_allclose(ours.cv_results_["mean_test_score"], expected, atol=1e-9)
    assert theirs.best_params_["C"] == ours.C_ == ours.best_params_["C"]
    assert ours.best_score_ == pytest.approx(theirs.best_score_)


@pytest.mark.large
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_selection_of_a_regression_is_that_of_a_grid_search(unit):
    spread = target.std()
    Cs, epsilons = [0.125, 0.5, 2.0], [0.05, 0.2]
    ours = InfiniteEnsembleRegressorCV(
        "perceptron", Cs=Cs, epsilons=epsilons, cv=SHUFFLED, scaling=None, tol=1e-6
    ).fit(R, unit * target)
    bound = Perceptron().bind(R)
    grid = {"epsilon": spread * np.array(epsilons), "C": spread * np.array(Cs)}
    search = GridSearchCV(SVR(kernel="precomputed", tol=1e-3), grid, cv=SHUFFLED)
    theirs = search.fit(bound(R), target)
    expected = theirs.cv_results_["mean_test_score"].reshape(3, 2).T.ravel()
    assert_allclose(ours.cv_results_["mean_test_score"], expected, atol=1e-4)
    assert pytest.approx(unit * theirs.best_params_["C"]) == ours.C_
    assert ours.epsilon_ == pytest.approx(unit * theirs.best_params_["epsilon"])
    assert_allclose(ours.predict(R), unit * theirs.predict(bound(R)), rtol=1e-3)
    assert ours.best_params_["epsilon"] in epsilons


@pytest.mark.large
def test_a_selected_regressor_equals_the_plain_one():
    chosen = InfiniteEnsembleRegressorCV("stump", cv=SHUFFLED, tol=1e-8).fit(R, target)
    plain = InfiniteEnsembleRegressor(C=chosen.C_, epsilon=chosen.epsilon_, tol=1e-8)
    assert_allclose(plain.fit(R, target).predict(R), chosen.predict(R), rtol=1e-5)
    assert len(chosen.duality_gap_) == 1


def test_selection_among_kernels_and_scalings():
    machine = InfiniteEnsembleClassifierCV(
        [Stump(), "perceptron"], Cs=(0.1, 1.0), scaling=["range", "rank"], cv=3
    ).fit(X, y)
    results = machine.cv_results_
    assert [(each["scaling"], each["C"]) for each in results["params"][:4]] == [
        ("range", 0.1),
        ("range", 1.0),
        ("rank", 0.1),
        ("rank", 1.0),
    ]
    assert results["params"][4]["kernel"] == "perceptron"
    assert machine.best_params_ == results["params"][machine.best_index_]
    assert results["mean_test_score"].max() == machine.best_score_
    assert results["mean_test_score"][machine.best_index_] == machine.best_score_
    assert results["rank_test_score"][machine.best_index_] == 1
    assert machine.best_params_["C"] == machine.C_
    assert machine.scaling_.kind == machine.best_params_["scaling"]


def test_ties_go_to_the_smallest_penalty_then_to_the_first_kernel():
    rows, classes = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]), [0, 0, 0, 1, 1, 1]
    machine = InfiniteEnsembleClassifierCV(["perceptron", "stump"], Cs=(4.0, 1.0, 2.0), cv=3)
    machine.fit(rows, classes)
    assert set(machine.cv_results_["mean_test_score"]) == {1.0}
    assert machine.best_params_ == {"kernel": "perceptron", "scaling": "range", "C": 1.0}


@pytest.mark.large
def test_kernels_that_share_distances_equal_those_computed_alone():
    kernels = [Laplacian(0.1), Gaussian(0.01), Stump(), Laplacian(), Exponential(0.1), Gaussian()]
    settings = {"Cs": (0.5, 2.0), "cv": 3, "tol": 1e-8}
    together = InfiniteEnsembleClassifierCV(kernels, **settings).fit(X, y)
    scores = together.cv_results_["mean_test_score"].reshape(6, 2)
    for kernel, row in zip(kernels, scores, strict=True):
        alone = InfiniteEnsembleClassifierCV(kernel, **settings).fit(X, y)
        assert_allclose(alone.cv_results_["mean_test_score"], row)
        if kernel == together.best_params_["kernel"]:
            assert_allclose(alone.decision_function(X), together.decision_function(X), atol=1e-6)


def test_distances_are_computed_once_for_each_scaling(monkeypatch):
    calls = []
    distances = Radial.distances

    def counted(kernel, rows):
        calls.append(type(kernel).__name__)
        return distances(kernel, rows)

    monkeypatch.setattr(Radial, "distances", counted)
    kernels = [kind(gamma) for gamma in (0.01, 0.1, 1.0) for kind in (Laplacian, Gaussian)]
    InfiniteEnsembleClassifierCV(kernels, Cs=(1.0,), scaling=["range", "rank"], cv=3).fit(X, y)
    assert sorted(calls) == ["Gaussian", "Gaussian", "Laplacian", "Laplacian"]


def test_selection_on_little_memory_is_the_same():
    kernels, size = [Laplacian(0.1), Laplacian(0.5)], 8 * 120**2 / 2**20
    machine = InfiniteEnsembleClassifierCV(kernels, Cs=(0.5, 2.0), cv=3, tol=1e-6).fit(X, y)
    for n_matrices in (1.5, 0.9):  # no room for distances, none for a matrix
        little = clone(machine).set_params(cache_size=n_matrices * size)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RowsOnDemandWarning)
            little.fit(X, y)
        assert bool(caught) == (n_matrices < 1.0)
        for name in ("mean_test_score", "rank_test_score"):
            assert_allclose(little.cv_results_[name], machine.cv_results_[name])
        assert_allclose(little.decision_function(X), machine.decision_function(X), atol=1e-3)


def test_selection_by_another_score():
    machine = InfiniteEnsembleClassifierCV("stump", Cs=(0.1, 1.0), scoring="roc_auc", cv=3).fit(
        X, y
    )
    theirs = GridSearchCV(
        SVC(kernel=machine.kernel_, tol=1e-5), {"C": [0.1, 1.0]}, scoring="roc_auc", cv=3
    ).fit(machine.scaling_.transform(X), y)
    found, expected = (each.cv_results_["mean_test_score"] for each in (machine, theirs))
    assert_allclose(found, expected, atol=2e-3)


def test_the_default_score_is_the_accuracy():
    weight = np.random.default_rng(0).integers(0, 3, size=120)
    machine = InfiniteEnsembleClassifierCV("stump", Cs=(0.01, 0.1, 1.0), cv=3)
    plain = machine.fit(X, y, sample_weight=weight).cv_results_
    named = machine.set_params(scoring="accuracy").fit(X, y, sample_weight=weight).cv_results_
    assert_allclose(plain["mean_test_score"], named["mean_test_score"], rtol=1e-12)


def test_selection_by_a_custom_scorer():
    seen = []

    def rank_correlation(truth, predicted):
        seen.append(len(truth))
        return spearmanr(truth, predicted).statistic

    machine = InfiniteEnsembleRegressorCV(
        "stump", Cs=(0.1, 1.0), epsilons=(0.1,), scoring=make_scorer(rank_correlation), cv=3
    ).fit(R, target)
    assert sum(seen) == 2 * len(R)
    assert 0.3 < machine.best_score_ < 1.0


def test_scorers_are_given_the_rows():
    def worst_on_the_left(machine, rows, truth):
        assert rows.shape == (40, 20)
        return np.mean(machine.predict(rows)[rows[:, 0] < 0] == truth[rows[:, 0] < 0])

    scoring = worst_on_the_left
    machine = InfiniteEnsembleClassifierCV("stump", Cs=(0.1,), scoring=scoring, cv=3).fit(X, y)
    assert 0.5 < machine.best_score_ < 1.0


def test_zero_weight_rows_are_not_scored():
    weight = np.ones(120)
    weight[::3] = 0.0
    wrong = np.where(weight > 0, y, -y)
    machine = InfiniteEnsembleClassifierCV("perceptron", Cs=(1.0,), cv=StratifiedKFold(3))
    honest = machine.fit(X, wrong, sample_weight=weight).best_score_
    assert honest > machine.fit(X, wrong).best_score_ + 0.1


# -- cv_results_


def test_results_have_the_form_of_a_grid_search():
    Cs, kernels = [0.1, 1.0], ["linear", "rbf"]
    grid = {"C": Cs, "kernel": kernels, "gamma": ["scale"]}
    theirs = GridSearchCV(SVC(), grid, cv=3).fit(X, y).cv_results_
    theirs["param_scaling"] = theirs.pop("param_gamma")
    machine = InfiniteEnsembleClassifierCV(["stump", "perceptron"], Cs=Cs, cv=3).fit(X, y)
    ours = machine.cv_results_
    times = {f"{kind}_{step}_time" for kind in ("mean", "std") for step in ("fit", "score")}
    assert set(ours) == set(theirs) - times
    for name in set(ours) - {"params"}:
        assert type(ours[name]) is type(theirs[name])
        assert ours[name].dtype == theirs[name].dtype
        assert ours[name].shape == theirs[name].shape
        if isinstance(ours[name], np.ma.MaskedArray):
            assert_array_equal(ours[name].mask, theirs[name].mask)
    scores = np.array([ours[f"split{fold}_test_score"] for fold in range(3)])
    assert_allclose(ours["mean_test_score"], scores.mean(axis=0))
    assert_allclose(ours["std_test_score"], scores.std(axis=0))
    for name in ("kernel", "scaling", "C"):
        assert [each[name] for each in ours["params"]] == list(ours[f"param_{name}"])


def test_results_of_a_regression_contain_the_epsilons():
    machine = InfiniteEnsembleRegressorCV("stump", Cs=(1.0,), epsilons=(0.2, 0.1), cv=3).fit(
        R, target
    )
    assert machine.cv_results_["param_epsilon"].tolist() == [0.1, 0.2]


# -- folds


def test_folds_may_be_masks_and_groups():
    groups = np.arange(120) % 6
    pairs = list(GroupKFold(3).split(X, y, groups))
    masks = [tuple(np.isin(np.arange(120), part) for part in pair) for pair in pairs]
    found = [
        InfiniteEnsembleClassifierCV("stump", Cs=(0.1, 1.0), cv=cv).fit(X, y).cv_results_
        for cv in (pairs, iter(pairs), masks)
    ]
    for other in found[1:]:
        assert_array_equal(other["split2_test_score"], found[0]["split2_test_score"])


def test_time_series_folds_train_on_the_past_only():
    cv = TimeSeriesSplit(3)
    Cs = [0.1, 1.0]
    machine = InfiniteEnsembleClassifierCV("perceptron", Cs=Cs, cv=cv, scaling=None, tol=1e-5)
    found = machine.fit(X, y).cv_results_
    expected = grid_search(X, y, Cs, cv).cv_results_
    for fold in range(3):
        name = f"split{fold}_test_score"
        assert_allclose(found[name], expected[name], atol=1e-9)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "cv has no folds"),
        ([(np.arange(100), np.arange(90, 120))], "fold 0 tests on row 90, which it trains on"),
        ([(np.r_[0:100, 7], np.arange(100, 120))], "fold 0 trains on row 7 2 times"),
        ([(np.arange(100), np.arange(0))], "fold 0 tests on no row of positive weight"),
        ([(np.arange(0), np.arange(100))], "fold 0 trains on no row of positive weight"),
    ],
)
def test_invalid_folds_are_refused(cv, message):
    for machine in (
        InfiniteEnsembleClassifierCV("stump", cv=cv),
        InfiniteEnsembleRegressorCV("stump", cv=cv),
    ):
        with pytest.raises(ValueError, match=message):
            machine.fit(X, y)


def test_folds_without_a_class_are_refused():
    rare = np.where(np.arange(120) == 0, 2, y)
    with (
        pytest.warns(UserWarning, match="The least populated class in y has only 1 member"),
        pytest.raises(ValueError, match=r"no training row of class .*2.*, which has 1 rows"),
    ):
        InfiniteEnsembleClassifierCV("stump").fit(X, rare)


def test_classes_of_fewer_rows_than_folds_warn_as_in_scikit_learn():
    rare = np.where(np.arange(120) < 3, 2, y)
    with pytest.warns(UserWarning, match="The least populated class in y has only 3 members"):
        machine = InfiniteEnsembleClassifierCV("stump", Cs=(1.0,)).fit(X, rare)
    assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("machine", [InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV])
def test_fewer_rows_than_folds_are_refused(machine):
    with pytest.raises(ValueError, match="n_splits=5"):
        machine().fit(X[:4], [0, 1, 0, 1])


# -- bad settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"Cs": ()}, r"Cs = \(\): use a list of at least one number"),
        ({"Cs": 1.0}, "Cs = 1.0: use a list"),
        ({"Cs": (-1.0,)}, "Cs = -1.0: use a positive"),
        ({"Cs": (1.0, np.inf)}, "Cs = inf: use a positive"),
        ({"scoring": "neg_log_loss"}, "needs probabilities"),
        ({"scoring": "best"}, "'best' is not a valid scoring value"),
        ({"kernel": ["stump", "stumpp"]}, "did you mean 'stump'"),
        ({"kernel": []}, "kernel = []: use at least one"),
        ({"scaling": []}, "scaling = []: use at least one"),
        ({"scaling": ["range", "log"]}, "scaling = 'log'"),
        ({"cv": 1}, "n_splits=1"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message.replace("[]", r"\[\]")):
        InfiniteEnsembleClassifierCV(**{"kernel": "stump", **settings}).fit(X, y)


def test_bad_epsilons_are_refused():
    for epsilons, message in (((), "epsilons = "), ((-0.1,), "epsilons = -0.1: use a finite")):
        with pytest.raises(ValueError, match=message):
            InfiniteEnsembleRegressorCV("stump", epsilons=epsilons).fit(R, target)


def test_scores_that_are_nan_lose_and_are_an_error_if_all_are():
    def no_number_at_large_penalties(machine, rows, truth):
        is_large = np.ptp(machine.decision_function(rows)) > 1.0
        return np.nan if is_large else np.mean(machine.predict(rows) == truth)

    scoring = no_number_at_large_penalties
    machine = InfiniteEnsembleClassifierCV("stump", Cs=(0.001, 1.0), scoring=scoring, cv=3).fit(
        X, y
    )
    assert np.isnan(machine.cv_results_["mean_test_score"]).tolist() == [False, True]
    assert machine.cv_results_["rank_test_score"].tolist() == [1, 2]
    assert machine.C_ == 0.001
    with pytest.raises(ValueError, match="is NaN for every setting"):
        machine.set_params(Cs=(1.0,)).fit(X, y)


def test_a_stopped_selection_warns():
    with pytest.warns(ConvergenceWarning) as caught:
        InfiniteEnsembleClassifierCV("stump", Cs=(1.0, 2.0), cv=3, max_iter=5).fit(X, y)
    messages = [str(each.message) for each in caught]
    assert any("by 6 of 6 machines of the cross-validation" in each for each in messages)
    assert any("was reached at violation" in each for each in messages)


def test_an_interrupt_ends_a_selection(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    tuning = DualTuning(entries_per_call=0, entries_before_newton=0, cubes_per_entry=np.inf)
    monkeypatch.setattr(folds, "solve_dual", partial(solve_dual, tuning=tuning))
    monkeypatch.setattr(Newton, "step", interrupted)
    for cv in (3, 5):
        machine = InfiniteEnsembleClassifierCV("stump", Cs=(100.0,), cv=cv, tol=1e-9)
        with pytest.raises(KeyboardInterrupt):
            machine.fit(X, y)
        assert not hasattr(machine, "support_")


def test_trials_with_different_grids_rank_by_score_then_penalty_then_order():
    def trial(*scores):
        return Trial(np.arange(len(scores)), np.array(scores)[:, np.newaxis], np.empty(0), ())

    settings, grids = (
        [{"kernel": "a"}, {"kernel": "b"}],
        [PenaltyGrid((1.0, 2.0, 4.0)), PenaltyGrid((2.0, 4.0))],
    )
    for trials, index in (
        ([trial(0.1, 0.5, 0.2), trial(0.6, 0.1)], 3),
        ([trial(0.1, 0.5, 0.2), trial(0.5, 0.5)], 1),
        ([trial(0.1, 0.2, 0.5), trial(0.5, 0.5)], 3),
    ):
        ranked = RankedTrials.from_trials(settings, trials, grids, "accuracy")
        assert ranked.index == index
        assert ranked.place == (index >= 3)
        assert ranked.params["kernel"] == "ab"[ranked.place]


@pytest.mark.large
def test_by_default_machines_vote_and_with_the_hinge_kernels_race():
    for family in (InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV):
        defaults = family().get_params()
        assert (defaults["kernel"], defaults["loss"]) == ("auto", "auto")
    machine = InfiniteEnsembleClassifierCV(cv=2, random_state=0).fit(X, y)
    voted = InfiniteEnsembleClassifierCV("auto", cv=2, loss="squared", random_state=0).fit(X, y)
    raced = InfiniteEnsembleClassifierCV("auto", cv=2, loss="hinge", random_state=0).fit(X, y)
    assert (machine.loss_, raced.loss_) == ("squared", "hinge")
    assert machine.race_results_["kernel"] == voted.race_results_["kernel"]
    assert [each.weight for each in machine.members_] == [each.weight for each in voted.members_]
    assert machine.best_params_["kernel"] == "vote"
    assert raced.best_params_["kernel"] in raced.race_results_["kernel"]
    assert not hasattr(raced, "members_")


@pytest.mark.parametrize("family", [InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV])
def test_groups_stay_together_in_the_folds_and_are_routed(family):
    groups = np.arange(len(y)) % 7
    machine = family("stump", Cs=(1.0,), cv=GroupKFold(3))
    with pytest.raises(ValueError, match="groups"):
        machine.fit(X, y)
    machine.fit(X, y, groups=groups)
    found = machine.out_of_fold_
    for fold in range(3):
        tested = set(groups[found.rows[found.folds == fold]])
        assert tested.isdisjoint(groups[found.rows[found.folds != fold]])
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), clone(machine).set_fit_request(groups=True))
        pipeline.fit(X, y, groups=groups)
    assert_array_equal(pipeline[-1].out_of_fold_.rows, found.rows)


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (InfiniteEnsembleClassifierCV("autoo"), "kernel = 'autoo': did you mean 'auto'"),
        (InfiniteEnsembleRegressorCV("forest"), "kernel = 'forest': use one of 'auto', 'category'"),
        (InfiniteEnsembleClassifierCV(["auto", "stump"]), "use 'auto' alone, not in a list"),
        (InfiniteEnsembleClassifier("auto"), "only classes ending in CV select a kernel"),
    ],
    ids=str,
)
def test_unknown_kernels_list_auto_where_it_is_one(machine, message):
    with pytest.raises(ArgumentError, match=message):
        machine.fit(X, y)
