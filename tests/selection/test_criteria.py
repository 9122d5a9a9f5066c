"""Criteria agree with their definitions, computed by other libraries."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import gammaln
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from kernsemble.selection.criteria import ScoreCache, bind_criterion
from kernsemble.solvers.subsets import SubsetMemory


def draw_data(rng):
    """Draw rows and their responses: numbers, two classes, counts, survival times and events."""
    X = rng.normal(size=(40, 6)) * [1.0, 10.0, 0.1, 1.0, 1.0, 1.0] + [0.0, 5.0, 0.0, -3.0, 0.0, 0.0]
    linear = X[:, 0] - 0.2 * X[:, 1] + rng.normal(size=40)
    classes = np.where(np.median(linear) < linear, "yes", "no")
    classes[:6] = ["no", "yes"] * 3
    counts = rng.poisson(np.exp(0.3 * X[:, 0] - 0.05 * X[:, 1]))
    times = np.ceil(10.0 * rng.exponential(np.exp(-0.5 * X[:, 0])))  # with ties
    events = (rng.random(40) < 0.7).astype(float)
    return X, linear, classes, counts, times, events


def draw_subsets(rng):
    subsets = rng.random((30, 6)) < 0.5
    subsets[0] = False
    return subsets


X, LINEAR, CLASSES, COUNTS, TIMES, EVENTS = draw_data(np.random.default_rng(0))
SURVIVAL = np.column_stack([TIMES, EVENTS])
SUBSETS = draw_subsets(np.random.default_rng(1))
TARGETS = {
    "aic": LINEAR,
    "bic": LINEAR,
    "gcv": LINEAR,
    "logistic-aic": CLASSES,
    "logistic-bic": CLASSES,
    "poisson-aic": COUNTS,
    "poisson-bic": COUNTS,
    "cox-aic": SURVIVAL,
    "cox-bic": SURVIVAL,
}


def scores(criterion, subsets=SUBSETS, X=X, y=None, weight=None):
    y = TARGETS[criterion] if y is None else y
    scoring = bind_criterion(criterion, X, y, weight)
    return scoring.scores(subsets, scoring.start())


def residual_sum(subset, X=X, y=LINEAR):
    design = np.column_stack([np.ones(len(X)), X[:, subset]])
    return np.sum((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2)


def linear_score(criterion, subset, X=X, y=LINEAR):
    n, k, rss = len(X), subset.sum(), residual_sum(subset, X, y)
    if criterion == "gcv":
        return n * rss / (n - k - 1) ** 2
    return n * np.log(rss / n) + k * (2.0 if criterion == "aic" else np.log(n))


@pytest.mark.parametrize("criterion", ["aic", "bic", "gcv"])
def test_linear_criteria_are_those_of_least_squares_fits(criterion):
    expected = [linear_score(criterion, subset) for subset in SUBSETS]
    assert_allclose(scores(criterion), expected, rtol=1e-10)


def logistic_likelihood(subset):
    y = (CLASSES == "yes").astype(float)
    if not subset.any():
        return len(y) * (y.mean() * np.log(y.mean()) + (1 - y.mean()) * np.log(1 - y.mean()))
    rows = X[:, subset] / X[:, subset].std(axis=0)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(rows, y)
    return np.sum(np.log(model.predict_proba(rows)[np.arange(len(y)), y.astype(int)]))


def poisson_likelihood(subset):
    if not subset.any():
        mean = np.full(len(COUNTS), COUNTS.mean())
    else:
        rows = X[:, subset] / X[:, subset].std(axis=0)
        mean = (
            PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=10_000).fit(rows, COUNTS).predict(rows)
        )
    return np.sum(COUNTS * np.log(mean) - mean - gammaln(COUNTS + 1.0))


def cox_likelihood(subset):
    rows = X[:, subset] / X[:, subset].std(axis=0)

    def minus(beta):
        eta = rows @ beta
        at_risk = [np.log(np.sum(np.exp(eta[time <= TIMES]))) for time in TIMES]
        return -np.sum(EVENTS * (eta - at_risk))

    start = np.zeros(rows.shape[1])
    return -minus(start) if not subset.any() else -minimize(minus, start, tol=1e-10).fun


@pytest.mark.parametrize(
    ("family", "likelihood"),
    [
        ("logistic", logistic_likelihood),
        ("poisson", poisson_likelihood),
        ("cox", cox_likelihood),
    ],
)
def test_likelihood_criteria_are_those_of_other_optimisers(family, likelihood):
    largest = np.array([likelihood(subset) for subset in SUBSETS])
    k, n = SUBSETS.sum(axis=1), EVENTS.sum() if family == "cox" else len(X)
    assert_allclose(scores(f"{family}-aic"), 2.0 * k - 2.0 * largest, rtol=1e-6)
    assert_allclose(scores(f"{family}-bic"), np.log(n) * k - 2.0 * largest, rtol=1e-6)


@pytest.mark.parametrize("criterion", list(TARGETS))
def test_weights_are_repetitions(criterion):
    times = np.random.default_rng(0).integers(0, 4, size=40)
    y = TARGETS[criterion]
    weighted = scores(criterion, weight=times.astype(float))
    repeated = scores(criterion, X=np.repeat(X, times, axis=0), y=np.repeat(y, times, axis=0))
    assert_allclose(weighted, repeated, rtol=1e-8)


@pytest.mark.parametrize("criterion", list(TARGETS))
def test_the_order_of_subsets_does_not_matter_where_fits_start_warm(criterion):
    assert_allclose(scores(criterion, SUBSETS[::-1])[::-1], scores(criterion), rtol=1e-8)


@pytest.mark.parametrize("criterion", list(TARGETS))
def test_scales_shifts_and_the_order_of_rows_do_not_matter(criterion):
    moved = X * [1e9, 1e-9, 3.0, -2.0, 1e150, 1.0] + [1e10, 0.0, 7.0, 0.0, 0.0, -1.0]
    order = np.random.default_rng(0).permutation(len(X))
    again = scores(criterion, X=moved[order], y=TARGETS[criterion][order])
    assert_allclose(again, scores(criterion), rtol=1e-7)


@pytest.mark.parametrize("criterion", list(TARGETS))
def test_constant_and_collinear_columns_only_cost_their_penalty(criterion):
    more = np.column_stack([X[:, :3], np.full(40, 7.0), X[:, 0], X[:, 0] - 2.0 * X[:, 2]])
    plain, burdened = np.zeros((1, 6), dtype=bool), np.ones((1, 6), dtype=bool)
    plain[0, :3] = True
    base = scores(criterion, plain, X=more)[0]
    n = EVENTS.sum() if criterion.startswith("cox") else 40
    if criterion == "gcv":
        expected = base * ((40 - 3 - 1) / (40 - 6 - 1)) ** 2
    else:
        expected = base + 3 * (2.0 if criterion.endswith("aic") else np.log(n))
    assert_allclose(scores(criterion, burdened, X=more), expected, rtol=1e-7)


@pytest.mark.parametrize("criterion", ["aic", "bic", "gcv"])
def test_subsets_without_degrees_of_freedom_have_the_score_infinity(criterion):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(8, 12))
    sizes = np.tri(13, 12, -1, dtype=bool)
    found = scores(criterion, sizes, X=wide, y=wide[:, 0] + rng.normal(size=8))
    assert_array_equal(np.isinf(found), sizes.sum(axis=1) > 6)


def test_a_perfect_fit_prefers_fewer_columns():
    y = X[:, 0] + X[:, 3]
    exact = np.array([[1, 0, 0, 1, 0, 0], [1, 0, 1, 1, 1, 0], [1, 0, 0, 0, 0, 0]], dtype=bool)
    found = scores("aic", exact, y=y)
    assert np.argmin(found) == 0
    assert_allclose(found[1] - found[0], 4.0, atol=1e-6)


def test_a_constant_response_prefers_no_columns():
    assert np.argmin(scores("aic", y=np.full(40, 3.0))) == 0


def test_separable_classes_have_finite_scores():
    y = np.where(X[:, 0] > 0, 1, 0)
    found = scores("logistic-aic", y=y)
    assert np.isfinite(found).all()
    assert_allclose(found[SUBSETS[:, 0]], 2.0 * SUBSETS.sum(axis=1)[SUBSETS[:, 0]], atol=1e-6)


@given(
    n_columns=st.sampled_from([1, 7, 8, 9, 64, 65, 200]),
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(1, 300), min_size=1, max_size=4),
)
def test_the_memory_finds_the_subsets_stored_before(n_columns, seed, sizes):
    rng = np.random.default_rng(seed)
    pool = rng.random((40, n_columns)) < 0.3
    memory, known = SubsetMemory(n_columns), {}
    for size in sizes:
        asked = pool[rng.integers(40, size=size)]
        if size % 2:
            asked = rng.random(asked.shape) < 0.5
        places, new = memory.places(asked)
        names = [row.tobytes() for row in asked]
        assert {names[place] for place in new} == set(names) - set(known)
        assert len({names[place] for place in new}) == len(new)
        for place in new:
            known[names[place]] = rng.random()
            memory.scores[places[place]] = known[names[place]]
        assert_array_equal(memory.scores[places], [known[name] for name in names])
    assert len(memory) == len(known)


def test_no_subset_is_scored_twice():
    scored = []

    def size(columns, y):
        scored.append(columns.tobytes())
        return float(columns.shape[1])

    scoring = bind_criterion(size, X, LINEAR)
    cache = ScoreCache(scoring)
    for subsets in (SUBSETS, SUBSETS[::-1], np.vstack([SUBSETS, ~SUBSETS])):
        expected = np.where(subsets.any(axis=1), subsets.sum(axis=1), np.inf)
        assert_array_equal(cache.scores(scoring, subsets), expected)
    assert len(scored) == len(set(scored))


def test_a_criterion_of_nan_is_taken_as_infinity():
    scoring = bind_criterion(lambda columns, y: np.nan, X, LINEAR)
    assert np.isinf(scoring.scores(SUBSETS, scoring.start())).all()


def test_survival_is_also_read_from_structured_arrays():
    structured = np.array(
        [(bool(event), time) for time, event in SURVIVAL], dtype=[("event", "?"), ("time", "f8")]
    )
    assert_array_equal(scores("cox-aic", y=structured), scores("cox-aic"))


@pytest.mark.parametrize(
    ("criterion", "y", "message"),
    [
        ("logistic-aic", np.arange(40) % 3, "y has 3 classes"),
        ("poisson-aic", np.arange(40) - 5.0, "needs counts"),
        ("poisson-aic", np.zeros(40), "at least one of them positive"),
        ("cox-aic", TIMES, "pass two columns"),
        ("cox-aic", np.column_stack([TIMES, TIMES]), "pass 0 and 1 only"),
        ("cox-aic", np.column_stack([TIMES, 0 * TIMES]), "all rows are censored"),
        ("cox-aic", np.column_stack([TIMES * np.inf, EVENTS]), "not finite"),
        ("mallows", LINEAR, "criterion = 'mallows'"),
    ],
)
def test_wrong_responses_are_refused(criterion, y, message):
    with pytest.raises(ValueError, match=message):
        bind_criterion(criterion, X, y)
