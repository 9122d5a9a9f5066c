"""A vote of infinite ensembles is an infinite ensemble: its parts add with the weights."""

from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from kernsemble.datasets import make_mixed_table
from kernsemble.inspection import EnsembleView, by_class, feature_importances
from kernsemble.inspection.additive_model import additive_model
from kernsemble.inspection.fitted_models import VoteModel, as_fitted_model
from kernsemble.inspection.vote_members import vote_in_words, vote_members
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)

pytestmark = pytest.mark.large  # too slow without compilation

SINGLE = 1e-4  # relative tolerance of kernels in single precision
FEW = {"n_background": 6, "n_permutations": 12}


def steps(n=120):
    """Return rows, and a sum of steps in two of three columns."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 4))
    return X, 3.0 * (X[:, 0] > 0.5) + 2.0 * (X[:, 1] > 0.3) * (X[:, 2] > 0.5)


def with_gaps(n=150):
    """Return a mixed table with missing values, and its classes."""
    X, y = make_mixed_table(n, random_state=1)
    number = X.select_dtypes("number").columns[0]
    X.loc[::7, number] = np.nan
    return X, y


def table(several=False):
    X, y = with_gaps()
    if several:
        rng = np.random.default_rng(0)
        y = np.where(rng.random(len(y)) < 0.3, "other", np.asarray(y).astype(str))
    return X, y


@cache
def votes():
    """Return votes by name, with rows and targets."""
    settings = {"cv": 3, "random_state": 0}
    iris = tuple(each[::3] for each in load_iris(return_X_y=True))
    learned = ["learned", "learned-range"]
    made = {
        "two classes": (InfiniteEnsembleClassifierCV(**settings), iris[0], iris[1] == 1),
        "several classes": (InfiniteEnsembleClassifierCV(**settings), *iris),
        "numbers": (InfiniteEnsembleRegressorCV(**settings), *steps()),
        "learned": (InfiniteEnsembleRegressorCV(scaling=learned, **settings), *steps()),
        "directions": (
            InfiniteEnsembleRegressorCV(scaling=["learned-directions"], **settings),
            *steps(),
        ),
        "effects": (
            InfiniteEnsembleClassifierCV(scaling=["effects", "learned-effects"], **settings),
            *table(),
        ),
        "effects of several": (
            InfiniteEnsembleClassifierCV(scaling=["effects", "learned-effects"], **settings),
            *table(several=True),
        ),
        "mixed": (InfiniteEnsembleClassifierCV(**settings), *table()),
        "mixed trees": (InfiniteEnsembleClassifierCV(scaling=["rank"], **settings), *table()),
    }
    return {name: (model.fit(X, y), X, y) for name, (model, X, y) in made.items()}


NAMES = [
    "two classes", "several classes", "numbers", "learned", "directions", "effects",
    "effects of several", "mixed", "mixed trees",
]  # fmt: skip

PRODUCTS = ["numbers", "learned", "effects", "effects of several", "mixed trees"]


def head(X, n=4):
    return X.iloc[:n] if hasattr(X, "iloc") else X[:n]


@pytest.mark.parametrize("name", NAMES)
def test_contributions_add_up_to_the_values_of_the_vote(name):
    model, X, _ = votes()[name]
    labels = by_class(model).labels
    values = model.machines_.values(model._read_again(X), model._budget)
    assert len(labels) == values.shape[1]
    spread = max(float(np.abs(values).max()), 1.0)
    for k, view in enumerate(EnsembleView.each(model).values()):
        found = view.explain(head(X), **FEW)
        assert_allclose(found.values, values[: len(head(X)), k], atol=SINGLE * spread)
        total = found.intercept + found.contributions.sum(axis=1)
        assert_allclose(total, found.values, atol=1e-6 * spread)


@pytest.mark.parametrize("name", NAMES)
def test_the_decomposition_is_the_weighted_sum_of_those_of_the_members(name):
    model, X, _ = votes()[name]
    fitted = as_fitted_model(model)
    assert isinstance(fitted, VoteModel)
    rows = fitted.encode(X)
    for machine in range(len(fitted.labels)):
        whole = fitted.decompose(machine)
        total = np.full(len(rows), model.intercept_[machine])
        for member in model.members_:
            part = fitted.decompose_member(member, machine)
            alone = model.machines_.machines_of(member)
            found = values_of(part, rows)
            expected = alone.values(model._read_again(X), model._budget)[:, machine]
            if not member.has_tables:
                expected = expected - alone.intercept[machine]
            scale = member.weight * max(float(np.abs(expected).max()), 1.0)
            assert_allclose(found, member.weight * expected, atol=1e-7 * scale)
            total += found
        assert_allclose(values_of(whole, rows), total, atol=1e-7 * np.abs(total).max())


def values_of(decomposition, rows):
    """Return the sum of all terms at rows."""
    total = np.full(len(rows), decomposition.intercept)
    for term in decomposition.additive:
        total += term.shape(rows[:, term.column])
    for each in decomposition.interactions:
        total += each.values(rows)
    return total


@pytest.mark.parametrize("name", PRODUCTS)
def test_factors_of_a_kernel_lead_to_the_shapley_values_of_all_coalitions(name):
    model, X, _ = votes()[name]
    view = EnsembleView.from_estimator(model, head(X, 3), 0)
    products = [each for each in view.decomposition.interactions if each.product is not None]
    assert products
    exact = view.explain(head(X, 2), method="exact")
    without = [each for each in view.decomposition.interactions if each.product is None]
    for each in products:
        object.__setattr__(each, "product", None)
    slow = EnsembleView.from_estimator(model, head(X, 3), 0)
    slow.decomposition.interactions[:] = [*products, *without]
    assert_allclose(
        exact.contributions, slow.explain(head(X, 2), method="exact").contributions, atol=1e-8
    )


@pytest.mark.parametrize("name", NAMES)
def test_importances_are_shares_for_every_class(name):
    model, _, _ = votes()[name]
    found = feature_importances(model)
    assert list(found) == by_class(model).labels
    for each in found.values():
        assert sum(each.shares.values()) == pytest.approx(1.0)
    if name == "numbers":
        shares = found["prediction"].shares
        assert shares["x3"] < min(shares[each] for each in ("x0", "x1", "x2"))


def test_the_learned_measure_is_the_mean_of_the_members():
    model, _, _ = votes()["learned"]
    members = model.members_
    shares = np.array([each.share for each in members])
    measures = np.array([each.scaling.feature_shares(4) for each in members])
    found = EnsembleView.from_estimator(model).learned_measure()
    assert_allclose(list(found.shares.values()), shares @ measures / shares.sum())
    assert found.is_exact


def test_a_single_machine_has_a_learned_measure():
    X, y = steps()
    model = InfiniteEnsembleRegressor("laplacian", scaling="learned", loss="squared").fit(X, y)
    view = EnsembleView.from_estimator(model)
    expected = model.scaling_.feature_shares(4)
    assert_allclose(list(view.learned_measure().shares.values()), expected)
    plain = EnsembleView.from_estimator(InfiniteEnsembleRegressor().fit(X, y))
    with pytest.raises(ValueError, match="has no learned measure"):
        plain.learned_measure()


@pytest.mark.parametrize("loss", ["squared", "hinge"])
@pytest.mark.parametrize(
    ("kernel", "scaling", "is_additive"),
    [
        ("stump", "learned", True),
        ("middle-stump", "learned", True),
        ("linear", "learned-range", True),
        ("laplacian", "learned-effects", False),
        ("stump", "effects", False),
        ("exponential", "learned-directions", False),
        ("perceptron", "learned-range", False),
    ],
)
def test_single_machines_on_learned_scalings_have_views(kernel, scaling, is_additive, loss):
    X, y = steps(90)
    X[:, 3] = 1.0
    model = InfiniteEnsembleClassifier(kernel, scaling=scaling, loss=loss).fit(X, y > 2.5)
    view = EnsembleView.from_estimator(model)
    assert view.is_additive == is_additive
    found = view.explain(X[:4], **FEW)
    assert_allclose(found.values, model.decision_function(X[:4]), atol=1e-9)
    total = found.intercept + found.contributions.sum(axis=1)
    assert_allclose(total, found.values, atol=1e-8)
    assert_allclose(found.contributions[:, 3], 0.0, atol=1e-12)


def test_a_vote_has_a_norm_margins_and_log_odds():
    model, X, y = votes()["two classes"]
    view = EnsembleView.from_estimator(model)
    margins = view.margins(X, y)
    signs = np.where(y, 1.0, -1.0)
    assert_allclose(margins.margins, signs * view.model.values(X)[:, 0])
    squares = sum(view.model.decompose_member(each, 0).squared_norm for each in model.members_)
    assert margins.norm == pytest.approx(np.sqrt(squares))
    with pytest.raises(ValueError, match="perceptron"):
        view.perceptron_density([1.0, 0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="stumps only"):
        view.averaged_stumps()


def test_a_vote_of_additive_machines_is_additive():
    model, X, _ = votes()["mixed"]
    tables = tuple(each for each in model.members_ if each.has_tables)
    assert tables
    model = clone_with(model, replace(model.machines_, members=tables))
    (view,) = EnsembleView.each(model, X).values()
    assert view.is_additive
    found = view.explain(X)
    assert_allclose(found.intercept + found.contributions.sum(axis=1), model.decision_function(X))
    plain = additive_model([view])
    assert (plain["combination"], plain["link"]) == ("one machine", "curves")
    assert plain["machines"][0]["curve"]["kind"] == "logistic"
    assert view.importances().is_exact


def clone_with(model, machines):
    """Return a copy of a fitted vote with other machines."""
    other = copy(model)
    other.machines_, other.members_ = machines, machines.members
    return other


@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_members_has_their_scores_alone(name):
    model, _, _ = votes()[name]
    found, params = vote_members(model), model.cv_results_["params"]
    assert [each.share for each in found] == sorted((e.share for e in found), reverse=True)
    for each in found:
        (place,) = (k for k, some in enumerate(params) if some["weight"] == each.weight)
        assert (each.kernel, each.scaling) == (
            str(params[place]["kernel"]),
            str(params[place]["scaling"]),
        )
        assert each.score.value == pytest.approx(model.cv_results_["mean_test_score"][place])
    words = vote_in_words(model)
    assert all(each.name in words for each in model.members_)
    assert vote_members(InfiniteEnsembleClassifier()) == []
    assert vote_in_words(InfiniteEnsembleClassifier()) == ""
