"""What the fuzzer found: calls that raised other errors, warned, or answered with infinities."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from kernsemble.boosting import AdaBoostClassifier, KernelBoost
from kernsemble.datasets import load, make_sparse_sum, make_twonorm, make_xor
from kernsemble.detection import LagoClassifier, average_precision
from kernsemble.detection.probabilities import calibrate
from kernsemble.export import from_json, to_json, to_sql
from kernsemble.inspection import EnsembleView, StumpDensity, TrainingCurves, compare_ensembles
from kernsemble.inspection.shapley import permutation_values
from kernsemble.kernels import (
    Category,
    HistogramIntersection,
    Laplacian,
    Linear,
    Mixed,
    Perceptron,
    Polynomial,
    Stump,
    StumpRegion,
    alignment,
    centre,
    definiteness,
)
from kernsemble.learners import C45Tree, DecisionStump, RCDPerceptron
from kernsemble.learners.hypothesis_search import Cases
from kernsemble.preprocessing import FeatureScaling, TableEncoder
from kernsemble.report.association import correlation, correlation_ratio
from kernsemble.report.readable_axis import readable_axis
from kernsemble.selection import ParallelEvolutionSelector, largest_gap, stepwise_search
from kernsemble.solvers.ridge import Ridge
from kernsemble.streaming import Blocks
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
    KernelPerceptron,
    MultiplicativeSVC,
    SVMPath,
)
from kernsemble.svm.problem import TargetScale

X, y = make_twonorm(20, n_features=2, random_state=0)
BOTH_ENDS = np.array([[np.inf], [-np.inf]])  # whose sum is NaN
LISTS = pd.DataFrame({"a": [[1], [2, 3]] * 10})
MIXED = pd.DataFrame({"a": X[:, 0], "b": ["red", "blue"] * 10})
ONE = pd.DataFrame({"a": [1.0]})
MODEL = InfiniteEnsembleClassifier(solver="additive", loss="logistic").fit(X, y)
VIEW = EnsembleView.from_estimator(MODEL)

REGRESSION = from_json(to_json(InfiniteEnsembleRegressor(HistogramIntersection()).fit(X, X[:, 0])))
SELECTED = ParallelEvolutionSelector(n_universes=2, n_generations=2, random_state=0).fit(X, y)
LINEAR = RCDPerceptron(n_epochs=2, random_state=0).fit(X, y)


def changing_blocks():
    """Return a function that reads a column less each time."""
    widths = iter([2, 1])
    return lambda: iter([(X[:, : next(widths)], X[:, 0])])


REFUSED = {
    "infinities of both signs": (lambda: DecisionStump().fit(BOTH_ENDS, [0, 1]), "infinity"),
    "the same to predict": (lambda: MODEL.predict(np.hstack([BOTH_ENDS] * 2)), "infinity"),
    "complex columns": (lambda: MODEL.fit(pd.DataFrame(X + 1j), y), "Complex data"),
    "complex rows of a kernel": (lambda: Linear()(X + 1j), "Complex data"),
    "whole numbers beyond floats": (lambda: Linear()([[10**400]]), "cannot be read as rows"),
    "a factor beyond floats": (lambda: 10**400 * Linear(), "use a positive, finite number"),
    "an empty list": (lambda: SVMPath("stump").fit(X, y).predict([]), "array|empty"),
    "an array as a name": (lambda: Stump(np.ones(2)), "measure = .*use one of"),
    "a list as a data set": (lambda: load(["iris"]), "no such data set"),
    "text as a seed": (lambda: make_xor(4, random_state="x"), "random_state = 'x'"),
    "a negative seed": (lambda: make_twonorm(4, random_state=-1), "random_state = -1"),
    "a large diagonal": (lambda: Linear().diagonal([[1e300]]), "outside the range"),
    "a large power": (lambda: Polynomial(30)([[1e300]]), "outside the range"),
    "a large intersection": (
        lambda: HistogramIntersection().bind([[0.0], [1.0]]).diagonal([[1.7e308]]),
        "outside the range",
    ),
    "a float32 place": (
        lambda: Linear()([[1e30]], out=np.empty((1, 1), "f4")),
        "outside the range of float32",
    ),
    "negative distances": (lambda: Laplacian(1.0).from_distances([[-1e9]]), "not distances"),
    "categories that are no codes": (lambda: Mixed(Stump(), (0,)).bind([[0.5]]), "codes from 0"),
    "huge codes": (lambda: Mixed(Stump(), (0,)).bind([[1e16]]), "codes from 0"),
    "a column that does not exist": (lambda: Mixed(Stump(), (3,)).bind(X), "columns 0 to 1"),
    "a position as categories": (lambda: Mixed(Stump(), 0).bind(X), "tuple of positions"),
    "eigenvalues beyond floats": (
        lambda: definiteness(np.full((3, 3), -1.7e308)),
        "eigenvalue exceeds the range",
    ),
    "objects as a matrix": (lambda: definiteness([["a"]]), "could not convert"),
    "text as a tolerance": (lambda: definiteness([[1.0]], "x"), "tol = 'x'"),
    "matrices of two sizes": (lambda: alignment(np.eye(2), np.eye(3)), "same rows"),
    "a centred matrix beyond floats": (
        lambda: centre(1.7e308 * (2.0 * np.eye(3) - 1.0)),
        "outside the range",
    ),
    "scores of text": (lambda: average_precision([0, 1], ["a", "b"]), "could not convert"),
    "complex scores": (lambda: average_precision([0, 1], np.array([1j, 2j])), "Complex data"),
    "classes of mixed types": (lambda: average_precision([None, "a"], [0.0, 1.0]), "label|class"),
    "an array as a class": (lambda: average_precision(y, y, pos_label=[1]), r"pos_label = \[1\]"),
    "importances of text": (lambda: largest_gap(["a"]), "could not convert"),
    "no importances": (lambda: largest_gap([]), "one share between 0 and 1"),
    "importances that are no shares": (lambda: largest_gap([1e300, 0.0]), "one share"),
    "lists as categories": (lambda: MODEL.fit(LISTS, y), "contains list"),
    "lists to encode": (lambda: TableEncoder().fit(LISTS), "contains list"),
    "text among numbers": (
        lambda: (
            TableEncoder().fit(pd.DataFrame({"a": [1.0]})).transform(pd.DataFrame({"a": ["x"]}))
        ),
        "not numbers",
    ),
    "margins of other rows": (
        lambda: AdaBoostClassifier(n_estimators=2).fit(X, y).margins(X, y[:3]),
        "inconsistent numbers",
    ),
    "no blocks": (
        lambda: InfiniteEnsembleRegressor().fit(Blocks(lambda: None)),
        "return an iterator of blocks",
    ),
    "blocks that are tables and arrays": (  # which read memory out of range
        lambda: InfiniteEnsembleRegressor(loss="squared").fit(
            Blocks([(pd.DataFrame(X), X[:, 0]), (X, X[:, 0])])
        ),
        "a table in block 0 and an array in block 1",
    ),
    "blocks whose columns change": (
        lambda: InfiniteEnsembleRegressor(loss="squared").fit(Blocks(changing_blocks())),
        "other columns in a block than when it was read first",
    ),
    "a block that is no table": (
        lambda: InfiniteEnsembleRegressor().fit(Blocks([(object(), y)])),
        "block 0 has X of shape",
    ),
    "complex blocks": (
        lambda: InfiniteEnsembleRegressor(loss="squared").fit(Blocks([(X + 1j, X[:, 0])])),
        "Complex data",
    ),
    "objects in a block": (
        lambda: InfiniteEnsembleRegressor(loss="squared").fit(Blocks([([[pd.NaT]], [1.0])])),
        "X contains values that are not numbers",
    ),
    "blocks of a target of infinite variance": (
        lambda: InfiniteEnsembleRegressor(loss="squared").fit(
            Blocks([([[0.0]], [1e300]), ([[1.0]], [0.5])])
        ),
        "variance of y exceeds",
    ),
    "bytes as a flag": (lambda: C45Tree(subtree_raising=b"x").fit(X, y), "use True or False"),
    "text as a date": (
        lambda: (
            TableEncoder()
            .fit(pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}))
            .transform(pd.DataFrame({"a": ["blue"]}))
        ),
        "a column of dates contains something else",
    ),
    "no rates": (lambda: TrainingCurves.from_data(X, y, rates=None), "rates = None"),
    "a number as columns": (lambda: make_sparse_sum(informative=np.nan), "informative = nan"),
    "text as columns": (lambda: make_sparse_sum(informative="ab"), "informative = 'ab'"),
    "a missing class": (
        lambda: (
            AdaBoostClassifier(n_estimators=2)
            .fit(X, y)
            .margins(X, pd.Series([pd.NA, *y[1:]], dtype="object"))
        ),
        "contains the class <NA>",
    ),
    "a logistic loss of huge strengths": (
        lambda: InfiniteEnsembleClassifier(loss="logistic", C=1e300).fit(X, y, np.full(20, 1e299)),
        "a strength C is not finite",
    ),
    "strengths whose squares are infinite": (
        lambda: InfiniteEnsembleClassifier(solver="additive", loss="logistic", C=1e300).fit(X, y),
        "use a smaller C",
    ),
    "coefficients beyond floats": (
        lambda: InfiniteEnsembleRegressor("linear", loss="squared", C=10.0).fit(
            [[True]] * 8, 1.7e308 * np.tile([1.0, -1.0], 4)
        ),
        "solution exceeds",
    ),
    "text as a target": (lambda: InfiniteEnsembleRegressor().fit(X, ["a"] * 20), "not numbers"),
    "True as a number": (lambda: make_twonorm(True), "n_samples = True"),
    "weights of classes as a list": (
        lambda: InfiniteEnsembleClassifier(class_weight=[1.0]).fit(X, y),
        "class_weight = .*dict",
    ),
    "sparse rows of a learned scaling": (
        lambda: InfiniteEnsembleClassifier(scaling="learned").fit(X, y).predict(csr_array(X)),
        "needs dense rows",
    ),
    "distances beyond floats": (
        lambda: LINEAR.predict(1.7e308 * np.sign(LINEAR.coef_)),
        "the decision function has values outside the range",
    ),
    "decision values beyond floats": (
        lambda: KernelPerceptron(random_state=0).fit([[1.3e154], [0.0]], [0, 1]).predict([[1e300]]),
        "the decision function has values outside the range",
    ),
    "infinity in a table": (lambda: TableEncoder().fit(ONE.assign(a=np.inf)), "infinity"),
    "regions of a high level": (
        lambda: StumpRegion(10**6).bind(X).level_constant,
        "exceeds the range of floats",
    ),
    "ragged distances": (lambda: Laplacian(1.0).from_distances([[1], [1, 2]]), "inhomogeneous"),
    "a long direction": (
        lambda: EnsembleView.from_estimator(
            InfiniteEnsembleClassifier("perceptron").fit(X, y)
        ).perceptron_density([1e300, 1e300]),
        "direction = ",
    ),
    "the sign of a regression": (lambda: REGRESSION.decision_function(X), "use predict"),
    "missing values of a document": (
        lambda: REGRESSION.predict([[np.nan, 0.0]]),
        "has missing values",
    ),
    "margins of a view": (lambda: VIEW.margins(X, y[:3]), "inconsistent numbers"),
    "a kernel whose sums are infinite": (
        lambda: InfiniteEnsembleClassifier(scaling=None).fit([[-1e308], [0.0]], [0, 1]),
        "sums exceed the range|distance of rows",
    ),
    "a target of infinite variance": (
        lambda: stepwise_search(X, X[:, 0] * 1e300),
        "variance of y exceeds",
    ),
    "an infinite conditional eigenvalue": (
        lambda: definiteness(np.array([[1.7e308, -1.7e308], [-1.7e308, 1.7e308]])),
        "eigenvalue exceeds the range",
    ),
    "an array as a flag": (
        lambda: AdaBoostClassifier(warm_start=np.zeros(2)).fit(X, y),
        "warm_start = .*use True or False",
    ),
    "text as a flag": (
        lambda: InfiniteEnsembleClassifier(warm_start="x").fit(X, y),
        "warm_start = 'x'",
    ),
    "a penalty beyond floats in the unit of y": (
        lambda: InfiniteEnsembleRegressor(solver="additive", n_pairs=1, C=1e300).fit(
            X, 1e-300 * X[:, 0]
        ),
        "C in the unit of y exceeds",
    ),
    "residuals beyond floats": (
        lambda: InfiniteEnsembleRegressor(C=1e-9, epsilon=0.0, solver="exact").fit(
            X, 1.7e308 * np.where(np.arange(20) < 19, -1.0, 1.0)
        ),
        "solution exceeds the range",
    ),
    "perceptrons beyond floats": (
        lambda: Perceptron().bind([[-8.9e307], [8.9e307]]),
        "range of X exceeds",
    ),
    "features whose squares are beyond floats": (
        lambda: KernelBoost(Linear(), n_rounds=2).fit(1e-160 * X, y),
        "longest row of the features",
    ),
    "values of one place beyond floats": (
        lambda: MODEL.fit(csr_array(([1e308] * 2, [0, 0], [0, 2, 2]), shape=(2, 1)), [0, 1]),
        "sum exceeds the range",
    ),
    "complex columns to select from": (
        lambda: SELECTED.transform(pd.DataFrame(X + 1j)),
        "Complex data",
    ),
    "a sum of weights beyond floats": (
        lambda: StumpDensity.from_intervals([0.0, 1.0], [1.0, 2.0], [1.0, 1.0], [1e308, 1e308]),
        "or their sum are not finite",
    ),
    "a rate beyond floats": (
        lambda: TrainingCurves.from_data(
            1e18 * X, y, MultiplicativeSVC("stump"), rates=[1e300], n_steps=1
        ),
        "rate = .*steps exceed",
    ),
    "an array as a threshold": (
        lambda: LagoClassifier(threshold=np.zeros(2)).fit(X, y),
        "threshold = .*use 'f1'",
    ),
    "a table that is not collected": (
        lambda: InfiniteEnsembleRegressor().fit(pl.LazyFrame({"a": [1.0, 2.0]}), [0.0, 1.0]),
        r"LazyFrame has no rows yet: pass its collect\(\)",
    ),
    "neighbours beyond floats": (
        lambda: LagoClassifier(scaling=None, cv=2).fit(1e308 * np.sign(X), y),
        "distance of rows exceeds",
    ),
    "tables beyond floats": (
        lambda: InfiniteEnsembleRegressor(
            loss="squared", scaling=None, solver="additive", C=1e-6
        ).fit(1e300 * X, X[:, 0]),
        "(coefficients|curvature) exceeds? the range",
    ),
    "lists where numbers were": (
        lambda: (
            InfiniteEnsembleClassifier()
            .fit(MIXED, y)
            .predict(pl.DataFrame({"a": [{"b": 1}], "b": ["red"]}))
        ),
        "column .*held numbers in training",
    ),
    "labels beyond floats": (
        lambda: KernelBoost(n_rounds=2).fit(X, np.where(X[:, 0] > 0, 1.7e308, -1.7e308)),
        "range of y exceeds",
    ),
    "a block that is not collected": (
        lambda: InfiniteEnsembleRegressor(solver="additive").fit(
            Blocks(lambda: iter([(pl.LazyFrame({"a": [1.0]}), [1.0])]))
        ),
        "LazyFrame has no rows",
    ),
    "pairs at strengths near zero": (
        lambda: InfiniteEnsembleClassifier(solver="additive", C=1e-300, n_pairs="auto").fit(X, y),
        "C in the unit of y exceeds",
    ),
    "complex targets of a block": (
        lambda: InfiniteEnsembleRegressor(solver="additive").fit(
            Blocks(lambda: iter([(X, X[:, 0] + 1j)]))
        ),
        "contains no numbers .they are complex",
    ),
    "targets that are missing": (
        lambda: InfiniteEnsembleRegressor().fit(X, np.full(20, None)),
        "y contains missing values",
    ),
    "a hard margin by tables": (
        lambda: InfiniteEnsembleClassifier(
            C=np.inf, loss="squared_hinge", solver="additive", calibration="isotonic"
        ).fit(X, y),
        "hard margin",
    ),
    "an array as a number of generations": (
        lambda: ParallelEvolutionSelector(n_generations=np.ones(2)).fit(X, y),
        "n_generations = ",
    ),
    "None as a feature": (lambda: VIEW.shape(None), "feature None: use an index"),
    "infinite weights of stumps": (
        lambda: StumpDensity.from_intervals([0.0], [1.0], [1e300], [1e300]),
        "not finite floats",
    ),
    "a number as a table": (lambda: to_sql(MODEL, table=3), "table = .*names"),
    "one name to keep": (lambda: to_sql(MODEL, keep="id"), "keep = 'id'"),
    "no JSON": (lambda: from_json("{"), "no JSON"),
    "None as a document": (lambda: from_json(None), "document = None"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_input_is_refused(case):
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.large  # NumPy warns of overflows that compiled code checks
def test_a_path_that_starts_beyond_floats_is_refused():
    with pytest.raises(ValueError, match=r"smallest_C = 1e.300"):
        SVMPath("stump", C=1e300, smallest_C=1e300).fit(X, y)
    with pytest.raises(ValueError, match="weights that sum to 2e-299"):
        SVMPath("stump").fit(X, y, sample_weight=np.full(20, 1e-300))


@pytest.mark.parametrize("document", ["null", "", "\0", 5_000 * "x"])
def test_a_document_that_is_no_file_is_refused(document):
    with pytest.raises(FileNotFoundError, match="neither a file nor a document"):
        from_json(document)


DAMAGES = {
    "machines[0] is": lambda plain: plain["machines"][0]["functions"].pop(),
    "machines": lambda plain: plain["machines"].append(plain["machines"][0]),
    "functions[0].knots": lambda plain: plain["machines"][0]["functions"][0]["knots"].reverse(),
    "functions[0].values": lambda plain: plain["machines"][0]["functions"][0]["values"].pop(),
    "intercept": lambda plain: plain["machines"][0].update(intercept="0"),
    "columns[0].kind": lambda plain: plain["columns"][0].update(kind="date"),
    "columns[1] is": lambda plain: plain["columns"][1].update(part="year", part_of="x0"),
    "classes": lambda plain: plain.update(classes=None),
    "link": lambda plain: plain.pop("link"),
    "combination": lambda plain: plain.update(combination="one per class"),
    "columns is damaged: expected a list": lambda plain: plain.update(columns={}),
}


@pytest.mark.parametrize("place", DAMAGES)
def test_a_damaged_document_is_refused_with_the_place(place):
    plain = json.loads(to_json(MODEL))
    DAMAGES[place](plain)
    with pytest.raises(ValueError, match=re.escape(place)):
        from_json(json.dumps(plain))


UNFITTED = [
    AdaBoostClassifier(n_estimators=2),
    C45Tree(),
    DecisionStump(),
    KernelBoost(n_rounds=2),
    KernelPerceptron(),
    LagoClassifier(cv=2),
    MultiplicativeSVC(tol=0.5),
    ParallelEvolutionSelector(n_universes=2, n_generations=2),
    RCDPerceptron(n_epochs=2),
    SVMPath("stump"),
    TableEncoder(),
    InfiniteEnsembleClassifier(),
]


@pytest.mark.parametrize("estimator", UNFITTED, ids=lambda each: type(each).__name__)
def test_a_failed_fit_leaves_an_estimator_as_it_was(estimator):
    new = clone(estimator)
    method = "predict" if hasattr(new, "predict") else "transform"
    rows = [[1.0, 2.0, 3.0], [np.inf, 0.0, 1.0]]
    with pytest.raises(ValueError, match="infinity"):
        new.fit(rows, [0, 1])
    assert not hasattr(new, "n_features_in_")
    with pytest.raises(NotFittedError):
        getattr(new, method)(X)
    before = getattr(new.fit(X, y), method)(X)
    with pytest.raises(ValueError, match="infinity"):
        new.fit(rows, [0, 1])
    assert_array_equal(getattr(new, method)(X), before)


def test_extreme_columns_are_scaled_to_finite_numbers():
    for rows in ([[-1.7e308], [1.7e308]], [[0.0], [5e-324]], [[1e-320], [1.0]]):
        scaling = FeatureScaling.from_rows(np.array(rows), "range", np.ones(2))
        assert np.isfinite(scaling.transform(np.array([[1.7e308], [0.0], [-1e300]]))).all()
    wide = FeatureScaling.from_rows(np.array([[-1.7e308], [1.7e308]]), "range", np.ones(2))
    assert_allclose(wide.transform(np.array([[-1.7e308], [0.0]])), [[-1.0], [0.0]])


@pytest.mark.parametrize("kind", ["rank", "distinct"])
def test_ranks_of_extreme_columns_are_finite(kind):
    sample = np.array([[0.0], [5e-324], [1.0]])
    scaling = FeatureScaling.from_rows(sample, kind, np.ones(3))
    ranks = scaling.transform(np.array([[-1e300], [0.0], [5e-324], [0.5], [1.0], [1.7e308]]))
    assert np.isfinite(ranks).all()
    assert (np.diff(ranks[:, 0]) >= 0.0).all()


def test_definiteness_and_alignment_do_not_depend_on_the_scale():
    K = np.array([[2.0, 1.0], [1.0, 2.0]])
    for scale in (1e300, 1e-300):
        assert definiteness(scale * K).kind == definiteness(K).kind
        assert_allclose(definiteness(scale * K).smallest_eigenvalue, scale, rtol=1e-12)
        assert_allclose(alignment(scale * K, np.eye(2)), alignment(K, np.eye(2)), rtol=1e-14)
        assert_allclose(centre(scale * K), scale * centre(K), rtol=1e-12)


def test_rows_whose_categories_are_all_missing_are_bound():
    kernel = Mixed(Stump(), (0,)).bind([[np.nan, 1.0], [np.nan, 2.0]])
    assert np.isfinite(kernel([[0.0, 1.0]])).all()


def test_regions_of_a_constant_column_are_drawn_without_warnings():
    hypotheses = Laplacian(1.0).bind([[1.0], [1.0]]).hypotheses
    assert_array_equal(hypotheses.sample(3, 0).vote(np.array([[2.0]])), [[1.0, 1.0, 1.0]])


def test_scores_far_away_are_finite():
    model = LagoClassifier(cv=2).fit(X, y)
    assert np.isfinite(model.score_samples(X * 1e300)).all()


def test_targets_of_any_unit_are_fitted():
    for unit in (1e200, 1e-200):
        model = InfiniteEnsembleRegressor(solver="additive").fit(X, unit * X[:, 0])
        expected = InfiniteEnsembleRegressor(solver="additive").fit(X, X[:, 0]).predict(X)
        assert_allclose(model.predict(X) / unit, expected, rtol=1e-6)


def test_the_scale_of_the_largest_targets_is_finite():
    targets = np.where(X[:, 0] > 0, 1.7e308, -1.7e308)
    scale = TargetScale.from_targets(targets, np.ones(len(X)))
    assert_allclose(scale.standardise(targets).std(), 1.0)


def test_matrices_near_the_range_of_floats_are_factored():
    rows = np.diag([1e308, 1e308, 1.0])
    beta, bias = Ridge.from_matrix(rows, np.ones(3)).solve(np.ones((3, 1)))
    assert_allclose(beta, 0.0, atol=1e-12)
    assert_allclose(bias, 1.0)


def test_pairs_of_columns_are_fitted_to_each_pair_of_many_classes():
    rng = np.random.default_rng(0)
    rows = rng.random((200, 3))
    classes = (rows[:, 0] > 0.5) + 2 * (rows[:, 1] > 0.5) + 4 * (rows[:, 2] > 0.5)
    model = InfiniteEnsembleClassifier(solver="additive", loss="hinge", n_pairs=1)
    assert model.fit(rows, classes).score(rows, classes) > 0.9


def test_a_category_of_long_doubles_is_equal_after_pickling():
    bound = Category().bind(np.arange(3, dtype=np.longdouble)[:, np.newaxis])
    assert pickle.loads(pickle.dumps(bound)) == bound


def test_curves_of_tiny_weights_are_calibrated():
    counts = np.full(len(y), 5e-320)
    found = calibrate(X[:, 0], y > 0, counts)
    assert_allclose(found(X[:, 0]), calibrate(X[:, 0], y > 0, np.ones(len(y)))(X[:, 0]))


def test_ensembles_of_large_values_are_compared():
    first, second = (
        EnsembleView.from_estimator(
            InfiniteEnsembleRegressor("linear", scaling=None).fit(X, targets), X
        )
        for targets in (X[:, 0], X[:, 0] + 0.5 * X[:, 1] ** 2)
    )
    far, near = (compare_ensembles(first, second, size * X) for size in (1e200, 1.0))
    for name in ("correlation", "distance", "value_correlation", "value_distance"):
        assert_allclose(getattr(far, name), getattr(near, name), rtol=1e-6)


def test_rows_of_strengths_near_zero_are_left_out():
    strengths = np.array([1.0, 1.0, 5e-320])
    K, targets = np.eye(3), np.array([[1.0], [0.0], [1e3]])
    beta, bias = Ridge.from_matrix(K, strengths).solve(targets)
    expected = Ridge.from_matrix(K[:2, :2], strengths[:2]).solve(targets[:2])
    assert_allclose(beta[:2], expected[0])
    assert_allclose(bias, expected[1])


def test_a_path_over_all_floats_is_followed():
    model = InfiniteEnsembleClassifierCV(
        "stump", loss="hinge", solver="additive", Cs=[1e-300, 1e3], cv=2
    )
    assert model.fit(X, y).score(X, y) > 0.5


def test_rows_far_away_are_projected_without_differences_of_infinities():
    kernel = Stump() + Perceptron()
    rows = np.random.default_rng(0).normal(size=(20, 8))
    model = InfiniteEnsembleRegressor(kernel, solver="additive", random_state=0).fit(rows, X[:, 0])
    far = 1.7e308 * np.sign(rows)
    assert np.isfinite(model.predict(far)).all()


def test_targets_that_hardly_differ_are_constant():
    model = InfiniteEnsembleRegressor(100.0 * Stump(), solver="additive", n_pairs="auto")
    targets = 5e-324 * np.random.default_rng(0).integers(-2, 3, size=len(X))
    assert_allclose(model.fit(X, targets).predict(X), 0.0, atol=1e-300)


def test_pairs_of_an_exact_fit_have_bounded_weights():
    rng = np.random.default_rng(0)
    rows, targets = rng.random((8, 3)), rng.normal(size=8)
    model = InfiniteEnsembleRegressorCV(
        "stump", solver="additive", n_pairs="auto", Cs=[0.1, 1.0], scaling="range", cv=2, tol=1.0
    )
    model.fit(rows, targets)  # without a warning of a run that did not converge
    assert np.isfinite(model.predict(rows)).all()


def test_a_learner_finds_hypotheses_without_gains():
    cases = Cases.present(X, (y > 0).astype(int), np.array([0, 1]), np.ones(len(y)))[0]
    _, _, weight = cases.weighted(np.zeros((len(y), 2)))
    assert_allclose(weight, weight.mean())


def test_large_values_are_described():
    large = 1e200 * np.exp(2.0 * X[:, 0])
    assert readable_axis(large).kind == readable_axis(1e-200 * large).kind == "log"
    assert_allclose(correlation(large, -large), -1.0)
    assert_allclose(
        correlation_ratio((large > 1e200).astype(int), large),
        correlation_ratio((large > 1e200).astype(int), 1e-200 * large),
    )


def test_errors_of_contributions_grow_with_them():
    rows, errors = np.random.default_rng(0).normal(size=(8, 3)), []
    for size in (1.0, 1e200):
        found = permutation_values(
            lambda Z, size=size: size * Z.prod(axis=1),
            rows[:2],
            rows[2:],
            np.arange(3),
            12,
            np.random.default_rng(0),
        )
        errors.append(found.standard_error / size)
    assert (errors[0] > 0.0).all()
    assert_allclose(*errors)


def test_scores_of_stages_do_not_warn_of_large_targets():
    model = AdaBoostClassifier(n_estimators=2).fit(X, y.astype(float))
    with pytest.raises(ValueError, match="mix of continuous and binary"):
        list(model.staged_score(X, np.where(y > 0, 1e300, 0.5)))


@pytest.mark.parametrize("kernel", ["stump", "laplacian"])
def test_a_tolerance_below_rounding_errors_is_reached(kernel):
    model = InfiniteEnsembleRegressor(kernel, solver="exact", tol=1e-320).fit(X, X[:, 0])
    expected = InfiniteEnsembleRegressor(kernel, solver="exact", tol=1e-10).fit(X, X[:, 0])
    assert_allclose(model.predict(X), expected.predict(X), atol=1e-7)


@pytest.mark.large  # NumPy warns of overflows that compiled code checks
@pytest.mark.parametrize("alpha", [1e-300, 1e-160, 1e300])
def test_scores_of_extreme_widths_are_finite(alpha):
    model = LagoClassifier(alpha=alpha, threshold=0.0, cv=2).fit(X, y)
    assert np.isfinite(model.decision_function(np.vstack([X, 1e300 * X]))).all()


def test_the_score_of_an_exact_fit_is_finite():
    rows = np.random.default_rng(0).standard_normal((8, 2))
    search = stepwise_search(rows, 5e-324 * np.tile([0.0, 1.0], 4), criterion="bic")
    assert np.isfinite(search.score)


def test_a_hard_margin_of_squared_errors_is_fitted():
    model = InfiniteEnsembleRegressor(loss="squared", C=np.inf).fit(X, X[:, 0])
    assert_allclose(model.predict(X), X[:, 0], atol=1e-8)


@pytest.mark.filterwarnings("ignore")  # of polars and of scikit-learn, about names of columns
def test_a_table_that_is_not_collected_and_sparse_rows_of_a_table_are_refused():
    with pytest.raises(ValueError, match="LazyFrame"):
        Stump().on([0]).bind(X)(pl.LazyFrame({"a": [1.0], "b": [1.0]}))
    with pytest.raises(ValueError, match="X is sparse: pass a DataFrame"):
        InfiniteEnsembleRegressor().fit(MIXED, X[:, 0]).predict(csr_array(X))
