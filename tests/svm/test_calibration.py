"""Probabilities agree with the predicted class, sum to one, and are calibrated."""

import pickle
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.ensemble import VotingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold

import kernsemble
from kernsemble._calibration_curves import Isotonic, Sigmoid
from kernsemble.datasets import make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV
from kernsemble.svm.calibration import Calibration, with_largest
from kernsemble.svm.multiclass import OneVersusOne, OneVersusRest

KINDS = ["sigmoid", "isotonic"]
MULTICLASS = ["one-vs-one", "one-vs-rest"]
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def mixture(n, n_classes, seed, noise=0.1):
    return make_classification(
        n,
        8,
        n_informative=5,
        n_classes=n_classes,
        flip_y=noise,
        weights=np.arange(1.0, n_classes + 1.0)[:-1] / (n_classes * (n_classes + 1) / 2),
        class_sep=0.7,
        random_state=seed,
    )


# -- agreement with the predicted class


@pytest.mark.large
@pytest.mark.parametrize("calibration", KINDS)
@pytest.mark.parametrize("multiclass", MULTICLASS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_largest_probability_is_that_of_the_class_predicted(
    calibration, multiclass, n_classes, class_weight
):
    X, y = mixture(600, n_classes, seed=n_classes)
    machine = InfiniteEnsembleClassifierCV(
        "stump",
        Cs=(0.1, 1.0),
        cv=FOLDS,
        calibration=calibration,
        multiclass=multiclass,
        class_weight=class_weight,
    ).fit(X[:150], y[:150])
    p = machine.predict_proba(X)
    assert p.shape == (600, n_classes)
    assert (p > 0.0).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(machine.classes_[p.argmax(axis=1)], machine.predict(X))
    log_p = machine.predict_log_proba(X)
    assert_allclose(log_p, np.log(p))
    assert_array_equal(log_p.argmax(axis=1), p.argmax(axis=1))


@st.composite
def contradictions(draw):
    n_classes = draw(st.integers(2, 6))
    p = draw(arrays(np.float64, (5, n_classes), elements=st.floats(1e-6, 1.0)))
    chosen = draw(arrays(np.intp, 5, elements=st.integers(0, n_classes - 1)))
    return p / p.sum(axis=1, keepdims=True), chosen


@given(contradictions())
def test_probabilities_that_contradict_the_prediction_move_to_the_nearest_that_agree(case):
    p, chosen = case
    q = with_largest(p, chosen)
    rows = np.arange(5)
    assert_array_equal(q.argmax(axis=1), chosen)
    assert_allclose(q.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(np.log(q).argmax(axis=1), chosen)
    agreed = p.argmax(axis=1) == chosen
    assert_allclose(q[agreed], p[agreed], rtol=1e-13)
    loss = -(p * np.log(q)).sum(axis=1)
    for share in (0.5, 0.9, 0.99, 0.999):  # towards others that agree
        for other in (np.eye(p.shape[1])[chosen], np.full_like(p, 1.0 / p.shape[1])):
            between = share * q + (1.0 - share) * other
            assert (between[rows, chosen] >= between.max(axis=1) - 1e-12).all()
            assert (loss <= -(p * np.log(between)).sum(axis=1) + 1e-9).all()


def test_the_nearest_that_agrees_is_that_of_an_optimiser():
    p, chosen = np.array([[0.4, 0.1, 0.35, 0.15]]), np.array([3])
    order = [{"type": "ineq", "fun": lambda q, j=j: q[3] - q[j]} for j in range(3)]
    total = [{"type": "eq", "fun": lambda q: q.sum() - 1.0}]
    found = minimize(
        lambda q: -p[0] @ np.log(q),
        np.full(4, 0.25),
        bounds=[(1e-6, 1.0)] * 4,
        constraints=order + total,
        tol=1e-12,
    )
    assert_allclose(with_largest(p, chosen)[0], found.x, atol=1e-5)
    assert_allclose(with_largest(p, chosen)[0], [0.3, 0.1, 0.3, 0.3])


# -- curves


def test_the_sigmoid_is_the_likeliest():
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=80), rng.integers(1, 4, size=80).astype(float)
    targets = np.where(values + rng.normal(size=80) > 0.3, 0.97, 0.04)

    def loss(point):
        z = point[0] * values + point[1]
        return weight @ (np.logaddexp(0.0, z) - targets * z)

    curve = Sigmoid.through(values, targets, weight)
    best = minimize(loss, [1.0, 0.0], tol=1e-12).x
    assert_allclose([curve.slope, curve.offset], best, rtol=1e-4)


@pytest.mark.parametrize("seed", range(60))
def test_the_sigmoid_is_found_for_any_spread_of_values(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(10, 300)
    values = rng.standard_cauchy(n)
    noise = rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=n)
    targets = np.where(values + noise > rng.normal(), 0.99, 0.02)
    curve = Sigmoid.through(values, targets, np.ones(n))
    error = curve(values) - targets
    unit = np.abs(values).mean()
    assert_allclose([error.mean(), (error * values).mean() / unit], 0.0, atol=1e-8)


def test_curves_never_fall():
    values = np.linspace(-1.0, 1.0, 20)
    falling = np.linspace(0.9, 0.1, 20)
    grid = np.linspace(-2.0, 2.0, 50)
    for kind in (Sigmoid, Isotonic):
        curve = kind.through(values, falling, np.ones(20))
        assert_allclose(curve(grid), 0.5)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_unit_of_the_values_does_not_matter(scale):
    rng = np.random.default_rng(1)
    values, grid = rng.normal(size=40), np.linspace(-3, 3, 30)
    targets = np.where(values + rng.normal(size=40) > 0, 0.95, 0.05)
    for kind in (Sigmoid, Isotonic):
        plain = kind.through(values, targets, np.ones(40))
        scaled = kind.through(scale * values, targets, np.ones(40))
        assert_allclose(scaled(scale * grid), plain(grid), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "values",
    [
        [[-1.0], [1.0]],
        [[-1e9], [-1e9], [1e9], [1e9]],
        [[0.0], [0.0], [0.0]],
        [[-1e-9], [1e-9], [2e-9]],
        [[-1.0], [-1.0], [-1.0], [1e6]],
    ],
)
def test_few_and_separated_values_give_probabilities_short_of_certainty(kind, values):
    values = np.array(values)
    codes = (values[:, 0] > 0).astype(int)
    codes[0] = 0
    calibration = Calibration.from_held_out(
        kind, OneVersusOne(2), values, codes, np.ones(len(values))
    )
    far = np.array([[-1e300], [-1.0], [0.0], [1.0], [1e300]])
    p = calibration.probabilities(np.concatenate([values, far]))
    assert ((p > 0.0) & (p < 1.0)).all()
    assert (np.diff(p[len(values) :, 1]) >= 0.0).all()
    assert (p[: len(values)].max(axis=1) < 0.85).all()  # so few rows prove no more


def test_isotonic_curves_are_those_of_scikit_learn_with_targets_of_platt():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(60, 1))
    codes = (values[:, 0] + rng.normal(size=60) > 0).astype(int)
    n_positive, n_negative = codes.sum(), 60 - codes.sum()
    targets = np.where(codes > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    expected = IsotonicRegression().fit(values[:, 0], targets).predict(values[:, 0])
    calibration = Calibration.from_held_out("isotonic", OneVersusOne(2), values, codes, np.ones(60))
    assert_allclose(calibration.curves[0](values[:, 0]), expected, atol=1e-9)


# -- whole estimators


@pytest.mark.large
def test_the_log_loss_is_near_that_of_a_second_cross_validation():
    X, y = make_threenorm(2300, random_state=0)
    machine = InfiniteEnsembleClassifierCV("perceptron", Cs=(0.1, 0.5), cv=FOLDS)
    machine.fit(X[:300], y[:300])
    plain = InfiniteEnsembleClassifier("perceptron", C=machine.C_)
    theirs = CalibratedClassifierCV(plain, cv=FOLDS, ensemble=False).fit(X[:300], y[:300])
    ours, other = (log_loss(y[300:], each.predict_proba(X[300:])) for each in (machine, theirs))
    assert ours == pytest.approx(other, abs=0.005)
    assert ours < log_loss(y[300:], np.full(2000, 0.5)) / 2


@pytest.mark.large
@pytest.mark.parametrize("calibration", KINDS)
@pytest.mark.parametrize("multiclass", MULTICLASS)
def test_the_log_loss_of_several_classes_is_near_that_of_a_second_cross_validation(
    calibration, multiclass
):
    X, y = mixture(2400, 3, seed=0)
    machine = InfiniteEnsembleClassifierCV(
        "perceptron", Cs=(0.1, 0.5), cv=FOLDS, calibration=calibration, multiclass=multiclass
    ).fit(X[:400], y[:400])
    plain = InfiniteEnsembleClassifier("perceptron", C=machine.C_, multiclass=multiclass)
    theirs = CalibratedClassifierCV(plain, cv=FOLDS, ensemble=False).fit(X[:400], y[:400])
    ours, other = (log_loss(y[400:], each.predict_proba(X[400:])) for each in (machine, theirs))
    assert ours < other + 0.03


@pytest.mark.large
def test_probabilities_are_frequencies():
    X, y = make_threenorm(10_400, random_state=3)
    machine = InfiniteEnsembleClassifierCV("perceptron", Cs=(0.5,)).fit(X[:400], y[:400])
    p, is_positive = machine.predict_proba(X[400:])[:, 1], y[400:] > 0
    for low in np.arange(0.0, 1.0, 0.2):
        inside = (low <= p) & (p < low + 0.2)
        assert is_positive[inside].mean() == pytest.approx(p[inside].mean(), abs=0.08)
    assert brier_score_loss(is_positive, p) < 0.12


def test_calibration_repeats_exactly_and_fits_nothing_more():
    X, y = mixture(120, 3, seed=1)
    machine = InfiniteEnsembleClassifierCV("stump", Cs=(0.1, 1.0), cv=3)
    with_curves = machine.fit(X, y).predict_proba(X)
    assert_array_equal(machine.fit(X, y).predict_proba(X), with_curves)
    without = InfiniteEnsembleClassifierCV("stump", Cs=(0.1, 1.0), cv=3, calibration=None).fit(X, y)
    assert_array_equal(without.decision_function(X), machine.decision_function(X))


def test_weights_that_sum_to_one_are_shares_of_the_rows():
    rng = np.random.default_rng(4)
    values, codes = rng.normal(size=(40, 1)), rng.integers(0, 2, size=40)
    once = Calibration.from_held_out("sigmoid", OneVersusOne(2), values, codes, np.ones(40))
    shares = Calibration.from_held_out(
        "sigmoid", OneVersusOne(2), values, codes, np.full(40, 1 / 40)
    )
    assert_allclose(shares.probabilities(values), once.probabilities(values), rtol=1e-9)


@pytest.mark.parametrize("calibration", KINDS)
@pytest.mark.parametrize("reduction", [OneVersusOne(3), OneVersusRest(3)])
def test_weights_calibrate_as_repetition_does(calibration, reduction):
    rng = np.random.default_rng(4)
    values, codes = rng.normal(size=(40, 3)), rng.integers(0, 3, size=40)
    times = rng.integers(0, 4, size=40)
    weighted = Calibration.from_held_out(calibration, reduction, values, codes, times.astype(float))
    repeated = Calibration.from_held_out(
        calibration,
        reduction,
        values.repeat(times, axis=0),
        codes.repeat(times),
        np.ones(sum(times)),
    )
    grid = rng.normal(size=(100, 3))
    assert_allclose(weighted.probabilities(grid), repeated.probabilities(grid), rtol=1e-7)


@pytest.mark.large
@pytest.mark.parametrize(
    "cv",
    [
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(4, test_size=0.3, random_state=0),
        ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=0),
    ],
    ids=["repeated", "some rows never", "some rows neither"],
)
def test_all_held_out_predictions_are_used_for_calibration(cv):
    X, y = mixture(150, 2, seed=5)
    machine = InfiniteEnsembleClassifierCV("perceptron", Cs=(0.5,), cv=cv, scaling=None, tol=1e-8)
    machine.fit(X, y)
    values, codes = [], []
    for train, test in cv.split(X, y):
        fold = InfiniteEnsembleClassifier(machine.kernel_, C=0.5, scaling=None, tol=1e-8)
        values.append(fold.fit(X[train], y[train]).decision_function(X[test]))
        codes.append(y[test])
    values, codes = np.concatenate(values)[:, np.newaxis], np.concatenate(codes)
    expected = Calibration.from_held_out(
        "sigmoid", OneVersusOne(2), values, codes, np.ones(len(codes))
    )
    decisions = machine.decision_function(X)[:, np.newaxis]
    assert_allclose(machine.predict_proba(X), expected.probabilities(decisions), rtol=1e-4)


@pytest.mark.parametrize("calibration", KINDS)
def test_tiny_and_separable_samples_have_probabilities(calibration):
    rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    classes = np.array(["left", "left", "left", "right", "right", "right"])
    machine = InfiniteEnsembleClassifierCV("stump", cv=3, calibration=calibration).fit(
        rows, classes
    )
    p = machine.predict_proba([[-1e6], [0.1], [5.1], [1e6]])
    assert_array_equal(p.argmax(axis=1), [0, 0, 1, 1])
    assert ((p > 0.05) & (p < 0.95)).all()  # three rows of a class prove no more


def test_without_calibration_there_are_no_probabilities():
    X, y = load_iris(return_X_y=True)
    machine = InfiniteEnsembleClassifierCV("stump", Cs=(1.0,), calibration=None).fit(X, y)
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(machine, method)
    with pytest.raises(AttributeError) as caught:
        machine.predict_proba(X)
    assert "use calibration='sigmoid' or loss='logistic'" in str(caught.value)


def test_unknown_kinds_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="calibration = 'platt': use one of 'sigmoid', 'isotonic'"):
        InfiniteEnsembleClassifierCV("stump", calibration="platt").fit(X, y)


@pytest.mark.parametrize("calibration", KINDS)
@pytest.mark.parametrize("multiclass", MULTICLASS)
def test_probabilities_survive_pickle_and_files(calibration, multiclass, tmp_path):
    X, y = (part[::2] for part in load_wine(return_X_y=True))
    machine = InfiniteEnsembleClassifierCV(
        ["stump", "perceptron"], Cs=(1.0,), cv=3, calibration=calibration, multiclass=multiclass
    ).fit(X, y)
    path = kernsemble.save(machine, tmp_path / "machine.skops")
    for again in (pickle.loads(pickle.dumps(machine)), kernsemble.load(path)):
        assert_array_equal(again.predict_proba(X), machine.predict_proba(X))
        assert again.calibration_ == machine.calibration_
        assert again.best_params_ == machine.best_params_
        for name, column in machine.cv_results_.items():
            assert_array_equal(again.cv_results_[name], column)


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_pairs_that_no_fold_tests_are_undecided(calibration):
    rows, classes = load_iris(return_X_y=True)
    first = np.flatnonzero(classes == 0)
    cv = [(np.r_[np.flatnonzero(classes != 0), first[:10]], first[10:])]
    machine = InfiniteEnsembleClassifierCV("stump", cv=cv, calibration=calibration).fit(
        rows, classes
    )
    assert_allclose(machine.predict_proba(rows).sum(axis=1), 1.0)


def test_probabilities_need_a_fit_with_calibration():
    rows, classes = load_iris(return_X_y=True)
    machine = InfiniteEnsembleClassifierCV("stump", calibration=None).fit(rows, classes)
    machine.set_params(calibration="sigmoid")
    with pytest.raises(AttributeError, match="predict_proba"):
        machine.predict_proba(rows)


# -- probabilities at a given C


@pytest.mark.parametrize("calibration", KINDS)
@pytest.mark.parametrize("multiclass", MULTICLASS)
def test_one_machine_calibrates_as_the_selection_of_its_c(calibration, multiclass):
    X, y = (part[::2] for part in load_wine(return_X_y=True))
    settings = {"calibration": calibration, "multiclass": multiclass, "scaling": "range"}
    machine = InfiniteEnsembleClassifier("stump", C=0.5, **settings).fit(X, y)
    selected = InfiniteEnsembleClassifierCV("stump", Cs=[0.5], cv=5, **settings).fit(X, y)
    assert_allclose(machine.predict_proba(X), selected.predict_proba(X), rtol=1e-10)
    assert_allclose(machine.predict_log_proba(X), np.log(machine.predict_proba(X)))


def test_calibration_does_not_change_the_machine():
    X, y = make_threenorm(60, random_state=0)
    plain = InfiniteEnsembleClassifier().fit(X, y)
    calibrated = InfiniteEnsembleClassifier(calibration="sigmoid").fit(X, y)
    assert plain.calibration_ is None
    assert_array_equal(calibrated.decision_function(X), plain.decision_function(X))


def test_rows_of_weight_zero_are_in_no_fold_of_the_calibration():
    X, y = make_threenorm(60, random_state=0)
    weight = np.r_[np.ones(50), np.zeros(10)]
    machine = InfiniteEnsembleClassifier(C=1.0, scaling=None, calibration="sigmoid", tol=1e-8)
    some = machine.fit(X, y, sample_weight=weight).predict_proba(X)
    assert_allclose(machine.fit(X[:50], y[:50]).predict_proba(X), some, rtol=1e-5)


@pytest.mark.parametrize(
    "settings", [{"C": np.inf}, {"solver": "additive"}, {"kernel": "laplacian"}]
)
def test_probabilities_of_hard_margins_and_tables(settings):
    X, y = load_iris(return_X_y=True)
    machine = InfiniteEnsembleClassifier(calibration="sigmoid", **settings).fit(X[50::2], y[50::2])
    p = machine.predict_proba(X)
    assert_array_equal(machine.classes_[p.argmax(axis=1)], machine.predict(X))


def test_small_classes_have_fewer_folds_and_single_rows_none():
    X, y = load_iris(return_X_y=True)
    few = np.r_[0:30, 50:53]
    machine = InfiniteEnsembleClassifier(calibration="sigmoid").fit(X[few], y[few])
    assert machine.predict_proba(X).shape == (150, 2)
    with pytest.raises(ValueError, match="class 1 has one row of positive weight"):
        machine.fit(X[few[:-2]], y[few[:-2]])
    assert machine.predict_proba(X).shape == (150, 2)  # the last model is as it was


def test_soft_voting_works_and_explains_what_it_needs():
    X, y = make_threenorm(80, random_state=0)
    machine = InfiniteEnsembleClassifier()
    assert not hasattr(machine, "predict_proba")
    vote = VotingClassifier([("ensemble", machine)], voting="soft").fit(X, y)
    remedies = "use calibration='sigmoid' or loss='logistic', or InfiniteEnsembleClassifierCV"
    with pytest.raises(AttributeError, match=remedies):
        vote.predict(X)
    members = [
        (kernel, InfiniteEnsembleClassifier(kernel, calibration="sigmoid"))
        for kernel in ("stump", "perceptron")
    ]
    vote = VotingClassifier(members, voting="soft").fit(X, y)
    mean = np.mean([each.predict_proba(X) for each in vote.estimators_], axis=0)
    assert_allclose(vote.predict_proba(X), mean)
    assert vote.score(X, y) > 0.8


def test_conditional_methods_keep_their_signature():
    method = InfiniteEnsembleClassifier.predict_proba
    assert list(signature(method).parameters) == ["self", "X"]
    assert method.__doc__.startswith("Return the probability")
    X, y = load_iris(return_X_y=True)
    machine = InfiniteEnsembleClassifier(loss="logistic").fit(X, y)
    assert_array_equal(method(machine, X), machine.predict_proba(X))
