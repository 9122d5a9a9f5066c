"""Views: machines, margins, hypotheses, comparisons and errors."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from kernsemble.boosting import AdaBoostClassifier, LPBoostClassifier
from kernsemble.datasets import make_twonorm
from kernsemble.inspection import EnsembleView, compare_ensembles
from kernsemble.kernels import Category, Laplacian, Linear, Perceptron, Stump
from kernsemble.learners import C45Tree, RCDPerceptron
from kernsemble.persistence import load, save
from kernsemble.preprocessing.scaling import FeatureScaling
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor, MultiplicativeSVC

X, y = load_iris(return_X_y=True, as_frame=True)
X, y = X.iloc[::3], y.iloc[::3].map({0: "setosa", 1: "versicolor", 2: "virginica"})


@pytest.mark.parametrize(
    ("model", "labels", "one_for"),
    [
        (
            InfiniteEnsembleClassifier(),
            ["setosa vs versicolor", "setosa vs virginica", "versicolor vs virginica"],
            "each pair of classes",
        ),
        (
            MultiplicativeSVC(Stump(), multiclass="one-vs-rest"),
            ["setosa vs rest", "versicolor vs rest", "virginica vs rest"],
            "each class",
        ),
        (
            AdaBoostClassifier(n_estimators=5),
            ["setosa", "versicolor", "virginica"],
            "the votes for each class",
        ),
    ],
    ids=["pairs", "classes", "votes"],
)
def test_there_is_a_view_for_each_machine(model, labels, one_for):
    views = EnsembleView.each(model.fit(X, y))
    assert list(views) == labels
    assert {view.one_for for view in views.values()} == {one_for}
    with pytest.raises(ValueError, match=f"there are 3 machines, one for {one_for}"):
        EnsembleView.from_estimator(model)
    assert EnsembleView.from_estimator(model, machine=labels[2]).label == labels[2]
    assert EnsembleView.from_estimator(model, machine=1).label == labels[1]
    for wrong in (3, -1, "setosa vs nothing"):
        with pytest.raises(ValueError, match="machine = "):
            EnsembleView.from_estimator(model, machine=wrong)


def test_positive_values_are_for_the_class_named_first():
    views = EnsembleView.each(InfiniteEnsembleClassifier(C=1e3).fit(X, y), X)
    for label, view in views.items():
        first, second = label.split(" vs ")
        values = view.explain(X).values
        assert (values[y == first] > 0.0).all()
        assert (values[y == second] < 0.0).all()
    two = y != "setosa"
    (label,) = EnsembleView.each(InfiniteEnsembleClassifier().fit(X[two], y[two]))
    assert label == "virginica vs versicolor"


def test_margins_of_support_vector_machines():
    rows, signs = make_twonorm(80, random_state=0)
    for kernel in (Stump(), Laplacian()):
        model = InfiniteEnsembleClassifier(kernel).fit(rows, signs)
        found = EnsembleView.from_estimator(model).margins(rows, signs)
        assert_allclose(found.margins, signs * model.decision_function(rows))
        beta, known = model.dual_coef_[0], model.scaling_.transform(model.support_vectors_)
        norm = np.sqrt(beta @ model.kernel_(known) @ beta)
        assert_allclose(found.normalised, found.margins / norm)
        assert found.norm_name == "‖w‖"


def test_margins_of_a_pair_are_of_its_rows():
    model = InfiniteEnsembleClassifier().fit(X, y)
    found = EnsembleView.from_estimator(model, machine="setosa vs virginica").margins(X, y)
    assert len(found.margins) == (y != "versicolor").sum()
    with pytest.raises(ValueError, match="y contains the class 'rose'"):
        EnsembleView.from_estimator(model, machine=0).margins(X, ["rose"] * len(X))


def test_margins_of_boosted_ensembles_are_those_of_the_estimator():
    for target in (y, y == "setosa"):
        model = AdaBoostClassifier(n_estimators=20).fit(X, target)
        view = next(iter(EnsembleView.each(model).values()))
        found = view.margins(X, target)
        assert_allclose(found.normalised, model.margins(X, target), atol=1e-12)
        ordered, share = found.distribution()
        assert (np.diff(ordered) >= 0.0).all()
        assert share[-1] == 1.0
        assert_allclose(found.to_frame()["normalised"], found.normalised)


def test_regressors_have_no_margins():
    view = EnsembleView.from_estimator(InfiniteEnsembleRegressor().fit(X, X.iloc[:, 0]))
    assert view.label == "prediction"
    with pytest.raises(ValueError, match="only classifiers have margins"):
        view.margins(X, X.iloc[:, 0])


def test_equal_stumps_are_listed_once():
    model = AdaBoostClassifier(n_estimators=60).fit(X, y == "virginica")
    found = EnsembleView.from_estimator(model).hypotheses()
    assert len(found.weights) == len(set(found.texts)) == model.n_voters_
    assert found.weights.sum() == pytest.approx(model.estimator_weights_.sum())
    assert (np.diff(found.weights) <= 0.0).all()
    assert all(" if petal" in text or " if sepal" in text for text in found.texts)
    votes = np.where([each.predict(X.to_numpy()) for each in found.estimators], 1.0, -1.0)
    assert_allclose(found.weights @ votes, model.decision_function(X), atol=1e-9)
    assert list(found.to_frame().columns) == ["hypothesis", "weight"]


def test_hypotheses_of_trees_and_perceptrons():
    trees = AdaBoostClassifier(C45Tree(max_depth=2), n_estimators=3).fit(X, y == "virginica")
    assert "leaves on petal" in EnsembleView.from_estimator(trees).hypotheses().texts[0]
    planes = AdaBoostClassifier(RCDPerceptron(n_epochs=20), n_estimators=3, random_state=0)
    text = EnsembleView.from_estimator(planes.fit(X, y == "versicolor")).hypotheses().texts[0]
    assert text.count("(cm)") == 3
    assert " … > " in text
    several = EnsembleView.from_estimator(planes.fit(X, y), machine=0).hypotheses()
    assert several.texts[0].startswith("RCDPerceptron")
    with pytest.raises(ValueError, match="infinitely many"):
        EnsembleView.from_estimator(InfiniteEnsembleClassifier().fit(X, y == "setosa")).hypotheses()


def test_a_constant_stump_is_the_intercept():
    target = np.arange(len(X)) % 5 == 0
    model = AdaBoostClassifier().fit(np.zeros((len(X), 1)), target)
    view = EnsembleView.from_estimator(model)
    assert view.hypotheses().texts == ["False"]
    assert view.importances().shares == {"x0": 0.0}
    assert_allclose(view.explain(np.zeros((3, 1))).contributions, 0.0)
    assert_allclose(view.explain(np.zeros((3, 1))).intercept, view.explain([[0.0]]).values[0])


def test_contributions_of_trees_need_background_rows():
    model = AdaBoostClassifier(C45Tree(max_depth=2), n_estimators=3).fit(X, y == "virginica")
    assert np.isnan(EnsembleView.from_estimator(model).decomposition.squared_norm)
    with pytest.raises(ValueError, match=r"pass some, EnsembleView.from_estimator\(model, X\)"):
        EnsembleView.from_estimator(model).explain(X)
    with pytest.raises(ValueError, match="n_background = 0"):
        EnsembleView.from_estimator(model, X).explain(X.head(1), n_background=0)
    with pytest.raises(ValueError, match="method = 'quick'"):
        EnsembleView.from_estimator(model, X).explain(X.head(1), method="quick")


def test_an_ensemble_compares_with_itself_and_with_others():
    rows, signs = make_twonorm(100, n_features=3, random_state=0)
    every = EnsembleView.from_estimator(InfiniteEnsembleClassifier().fit(rows, signs), rows)
    same = compare_ensembles(every, every, rows)
    assert_allclose(same.correlation, 1.0)
    assert_allclose(same.distance, 0.0, atol=1e-12)
    assert same.value_distance == 0.0
    assert same.agreement == 1.0
    some = EnsembleView.from_estimator(LPBoostClassifier().fit(rows, signs), rows)
    other = compare_ensembles(every, some, rows)
    a, b = every.explain(rows), some.explain(rows)
    for d in range(3):
        expected = np.corrcoef(a.contributions[:, d], b.contributions[:, d])[0, 1]
        assert other.correlation[d] == pytest.approx(expected)
    assert other.value_correlation == pytest.approx(np.corrcoef(a.values, b.values)[0, 1])
    frame = other.to_frame()
    assert list(frame.index) == ["x0", "x1", "x2"]
    assert_allclose(frame["first"], a.contributions.std(axis=0) / a.values.std())
    smooth = EnsembleView.from_estimator(
        InfiniteEnsembleClassifier(Perceptron()).fit(rows, signs), rows
    )
    assert compare_ensembles(every, smooth, rows, n_background=20).value_correlation > 0.9
    with pytest.raises(ValueError, match="same columns"):
        compare_ensembles(
            every, EnsembleView.from_estimator(AdaBoostClassifier().fit(X, y == "setosa")), rows
        )


def test_tables_of_all_features():
    people = pd.DataFrame(
        {"age": [25, 40, None, 61, 33], "city": ["Bern", "Rome", "Rome", None, "Bern"]}
    )
    view = EnsembleView.from_estimator(
        InfiniteEnsembleClassifier().fit(people, [0, 1, 1, 0, 0]), people
    )
    shapes = view.shape_frame()
    assert list(shapes.columns) == ["feature", "knot", "category", "value", "value_above"]
    assert shapes.loc[shapes["feature"] == "age", "knot"].tolist() == [25.0, 33.0, 40.0, 61.0]
    assert shapes.loc[shapes["feature"] == "city", "category"].tolist() == [
        "Bern",
        "Rome",
        "missing",
    ]
    densities = view.density_frame()
    assert list(densities.columns) == ["feature", "lower", "upper", "measure", "density", "weight"]
    assert set(densities["feature"]) == {"age"}
    shares = view.importances().to_frame()
    assert shares["share"].is_monotonic_decreasing
    with pytest.raises(ValueError, match="feature 'town'"):
        view.shape("town")
    with pytest.raises(ValueError, match="feature 2"):
        view.shape(2)


def test_pandas_is_imported_on_demand(monkeypatch):
    view = EnsembleView.from_estimator(InfiniteEnsembleClassifier().fit(X, y == "setosa"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert sum(view.importances().shares.values()) == pytest.approx(1.0)
    with pytest.raises(ImportError, match="need pandas"):
        view.shape_frame()


def test_views_are_of_fitted_models_of_the_library():
    with pytest.raises(NotFittedError):
        EnsembleView.from_estimator(InfiniteEnsembleClassifier())
    with pytest.raises(NotFittedError):
        EnsembleView.from_estimator(AdaBoostClassifier())
    with pytest.raises(TypeError, match=r"fitted model of kernsemble.svm or kernsemble.boosting"):
        EnsembleView.from_estimator(SVC().fit(X, y))


def test_interactions_are_named():
    model = InfiniteEnsembleClassifier(Stump() + Laplacian(0.5)).fit(X, y == "virginica")
    view = EnsembleView.from_estimator(model, X)
    assert not view.is_additive
    assert view.interactions == ["Laplacian(gamma=0.5).bind(X)"]
    assert view.explain(X.head(1)).method.startswith("exact, additive; exact, kernel factors")


def test_sparse_rows_beyond_the_memory_budget_are_refused():
    from scipy import sparse

    rows = sparse.random_array((50, 2_000), density=0.01, format="csr", rng=0)
    signs = np.arange(50) % 2
    model = InfiniteEnsembleClassifier(Stump(), cache_size=0.1).fit(rows, signs)
    with pytest.raises(MemoryError, match="pass fewer rows"):
        EnsembleView.from_estimator(model, rows)


@pytest.mark.parametrize("kind", ["range", "rank", "distinct", None])
def test_scales_can_be_restored_column_by_column(kind):
    rows = np.round(np.random.default_rng(0).normal(size=(30, 3)), 1) * [1.0, 10.0, 0.0] + 3.0
    scaling = FeatureScaling.from_rows(rows, kind, np.ones(30))
    scaled = scaling.transform(rows)
    for d in range(3):
        alone = scaling.of_column(d).transform(rows[:, [d]])[:, 0]
        assert_allclose(alone, scaled[:, d], rtol=0, atol=0)
        assert_allclose(scaling.restored(d, scaled[:, d]), rows[:, d], atol=1e-12)
        bends = scaling.bends(d)
        between = np.linspace(rows[:, d].min(), rows[:, d].max(), 50)
        expected = scaling.of_column(d).transform(between[:, np.newaxis])[:, 0]
        if len(bends) > 1:
            found = np.interp(between, bends, scaling.of_column(d).transform(bends[:, None])[:, 0])
            assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("kernel", [Stump(), Laplacian(), Category(), Linear()], ids=str)
def test_a_machine_without_support_vectors_is_its_intercept(kernel):
    model = InfiniteEnsembleRegressor(kernel, solver="exact").fit(X, np.full(len(X), 3.0))
    assert len(model.support_) == 0
    view = EnsembleView.from_estimator(model, X)
    found = view.explain(X.head(2))
    assert_allclose(found.contributions, 0.0)
    assert_allclose(found.intercept, 3.0)
    assert set(view.importances().shares.values()) == {0.0}


def test_equal_names_of_columns_are_numbered():
    model = InfiniteEnsembleClassifier().fit(X.to_numpy(), y == "virginica")
    model.feature_names_in_ = np.array(["size", "size", "width", "size"])
    view = EnsembleView.from_estimator(model)
    assert list(view.shapes) == ["size", "size (2)", "width", "size (3)"]


@pytest.mark.parametrize(
    "model",
    [
        InfiniteEnsembleClassifier(),
        InfiniteEnsembleClassifier(solver="additive"),
        AdaBoostClassifier(n_estimators=5),
    ],
    ids=["exact", "additive", "boosted"],
)
def test_a_loaded_model_has_the_same_view(model, tmp_path):
    model.fit(X, y == "virginica")
    save(model, tmp_path / "model.skops")
    again = EnsembleView.from_estimator(load(tmp_path / "model.skops"), X)
    expected = EnsembleView.from_estimator(model, X)
    assert_allclose(again.explain(X).contributions, expected.explain(X).contributions)
    assert again.importances() == expected.importances()


def test_views_accept_polars_tables():
    rows = pl.DataFrame({name: X[name].to_numpy() for name in X.columns})
    model = InfiniteEnsembleClassifier().fit(rows, (y == "virginica").to_numpy())
    found = EnsembleView.from_estimator(model, rows).explain(rows[:5])
    together = found.intercept + found.contributions.sum(axis=1)
    assert_allclose(together, model.decision_function(rows[:5]), atol=1e-9)
