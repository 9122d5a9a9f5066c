"""Column generation against SciPy's solution over all enumerated hypotheses."""

import signal
import threading
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from kernsemble.datasets import make_threenorm
from kernsemble.solvers.column_generation import Ending, generate_columns, generate_path
from kernsemble.solvers.linear_program import Form, Master, _DenseProgram, _HighsProgram

N_ROWS = 40
PENALTIES = [2.0**-17, 0.03, 0.1, 1.0, 8.0, 1e6]


def stump_votes(X, n_classes):
    """The votes of all middle stumps, for all classes left and right, and of the constants."""
    votes = [np.full(len(X), k) for k in range(n_classes)]
    for x in X.T:
        values = np.unique(x)
        for threshold in 0.5 * (values[1:] + values[:-1]):
            votes += [np.where(x < threshold, *pair) for pair in permutations(range(n_classes), 2)]
    return np.unique(votes, axis=0)


class Everything:
    """All hypotheses on some data, as columns, and an exhaustive base learner."""

    def __init__(self, X, y, n_classes=2, n_offered=1):
        pairs = [(i, k) for i in range(len(y)) for k in range(n_classes) if k != y[i]]
        self.rows, wrong = np.array(pairs).T
        votes = stump_votes(X, n_classes)[:, self.rows]
        self.columns = (votes == y[self.rows]).astype(int) - (votes == wrong)
        self.n_rows, self.n_offered = len(y), n_offered

    def __call__(self, U):
        best = np.argsort(-(self.columns @ U), kind="stable")[: self.n_offered]
        return [(int(t), self.columns[t]) for t in best]

    def optimum(self, upper, form):
        """SciPy's optimum of the primal problem."""
        T, n = len(self.columns), self.n_rows
        if form is Form.SOFT:
            finite = np.isfinite(upper)
            cost = np.concatenate([np.ones(T), np.where(finite, upper, 0.0)])
            slack = np.eye(n)[self.rows]
            bounds = [(0, None)] * T + [(0, None if f else 0) for f in finite]
            found = linprog(
                cost,
                A_ub=-np.hstack([self.columns.T, slack]),
                b_ub=-np.ones(len(self.rows)),
                bounds=bounds,
                method="highs",
            )
            return found.fun if found.status == 0 else np.inf
        bounds = [(0, None)] * T + [(0, None if np.isfinite(c) else 0) for c in upper]
        found = linprog(
            np.concatenate([np.zeros(T), np.where(np.isfinite(upper), upper, 0.0), [-1.0]]),
            A_ub=-np.hstack([self.columns.T, np.eye(n)[self.rows], -np.ones((len(self.rows), 1))]),
            b_ub=np.zeros(len(self.rows)),
            A_eq=np.concatenate([np.ones(T), np.zeros(n + 1)])[None],
            b_eq=[1.0],
            bounds=[*bounds, (None, None)],
            method="highs",
        )
        return -found.fun


def draw(n_classes=2, n_rows=N_ROWS, n_features=4, **options):
    X, y = make_threenorm(n_rows, n_features, random_state=0)
    codes = (y > 0).astype(int)
    if n_classes == 3:
        codes = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-0.7, 0.7])
    return Everything(X, codes, n_classes, **options)


TWO, THREE = draw(), draw(3, n_rows=25, n_features=3)
TWENTY_A_TIME = draw(n_offered=20)
XOR = Everything(np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0]))


def limits(problem, form, strength):
    n = problem.n_rows
    return np.full(n, strength if form is Form.SOFT else 1.0 / (strength * n))


def master_of(problem, form, strength):
    return Master(limits(problem, form, strength), problem.rows, form=form)


CASES = [
    *((Form.SOFT, C) for C in PENALTIES),
    (Form.SOFT, np.inf),
    *((Form.MARGIN, nu) for nu in (0.05, 0.3, 1.0)),
    (Form.MARGIN, 0.0),
]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(("form", "strength"), CASES)
@pytest.mark.parametrize("problem", [TWO, TWENTY_A_TIME, THREE], ids=["2", "2 x 20", "3"])
def test_generated_columns_attain_the_optimum_over_all_hypotheses(problem, form, strength):
    upper = np.array(limits(problem, form, np.float64(strength)))
    found = generate_columns(Master(upper, problem.rows, form=form), problem, tol=1e-9)
    expected = problem.optimum(upper, form)
    assert found.objective == pytest.approx(expected, rel=1e-7, abs=1e-9)
    if np.isinf(expected):
        assert found.status is Ending.INSEPARABLE
    else:
        assert found.status in (Ending.OPTIMAL, Ending.NO_NEW_COLUMN)
        assert found.lower == pytest.approx(expected, rel=1e-7, abs=1e-9)
        assert found.upper == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("problem", [TWO, THREE], ids=["2", "3"])
@pytest.mark.parametrize("C", PENALTIES)
def test_the_distribution_is_feasible_for_all_hypotheses_and_strong_duality_holds(problem, C):
    found = generate_columns(master_of(problem, Form.SOFT, C), problem, tol=1e-7)
    U = found.distribution
    assert U.min() >= 0.0
    assert np.bincount(problem.rows, U).max() <= C * (1.0 + 1e-12)
    assert (problem.columns @ U).max() <= 1.0 + 1e-7
    assert (problem.columns @ U).max() - 1.0 == pytest.approx(found.violation, abs=1e-9)
    margins = found.weights @ problem.columns[found.hypotheses] if found.hypotheses else 0.0 * U
    slack = np.zeros(problem.n_rows)
    np.maximum.at(slack, problem.rows, 1.0 - margins)
    assert found.weights.min(initial=0.0) >= 0.0
    assert found.weights.sum() + C * slack.sum() == pytest.approx(U.sum(), rel=1e-7)


@pytest.mark.parametrize("problem", [TWO, THREE], ids=["2", "3"])
def test_a_path_is_a_problem_at_every_penalty_with_columns_kept(problem):
    Cs = [2.0**-17, 0.03, 0.1, 1.0, 0.1, np.inf, 1.0]
    uppers = [np.full(problem.n_rows, C) for C in Cs]
    path = list(generate_path(Master(uppers[0], problem.rows), problem, uppers, tol=1e-8))
    for upper, found in zip(uppers, path, strict=True):
        fresh = generate_columns(Master(upper, problem.rows), problem, tol=1e-8)
        assert found.objective == pytest.approx(fresh.objective, rel=1e-7)
        assert found.status is fresh.status
    assert path[4].n_rounds < path[2].n_rounds  # most of what it needs is there
    sizes = [len(found.weights) for found in path]
    assert sizes == sorted(sizes)


def test_the_margin_falls_as_fewer_rows_are_given_up():
    uppers = [limits(TWO, Form.MARGIN, nu) for nu in (1.0, 0.5, 0.2, 0.1)]
    master = Master(uppers[0], form=Form.MARGIN)
    objectives = [found.objective for found in generate_path(master, TWO, uppers, tol=1e-8)]
    assert_allclose(objectives, [TWO.optimum(upper, Form.MARGIN) for upper in uppers], rtol=1e-7)
    assert objectives == sorted(objectives, reverse=True)


def test_a_hard_margin_is_the_inverse_of_the_largest_one():
    upper = np.full(TWO.n_rows, np.inf)
    hard = generate_columns(Master(upper), TWO)
    largest = generate_columns(Master(upper, form=Form.MARGIN), TWO)
    assert hard.objective == pytest.approx(1.0 / largest.objective)
    assert hard.weights.sum() == pytest.approx(hard.objective)
    assert hard.distribution.sum() == pytest.approx(hard.objective)
    assert (hard.weights @ TWO.columns[hard.hypotheses]).min() == pytest.approx(1.0)


def test_no_vote_of_stumps_separates_the_exclusive_or():
    hard = generate_columns(Master(np.full(4, np.inf)), XOR)
    assert hard.status is Ending.INSEPARABLE
    assert hard.objective == hard.lower == hard.upper == np.inf
    largest = generate_columns(Master(np.full(4, np.inf), form=Form.MARGIN), XOR)
    assert largest.status is Ending.OPTIMAL
    assert largest.objective == pytest.approx(0.0, abs=1e-9)


def test_contradicting_rows_are_inseparable_once_columns_show_it():
    x = np.append(np.arange(20.0), 7.0)[:, None]
    problem = Everything(x, np.append(np.arange(20) // 5 % 2, 0))
    found = generate_columns(Master(np.full(21, np.inf)), problem)
    assert found.status is Ending.INSEPARABLE
    assert len(found.weights) > 0


@pytest.mark.parametrize(("form", "strength"), [(Form.SOFT, 1.0), (Form.MARGIN, 0.2)])
def test_bounds_enclose_the_optimum_when_columns_are_used_up(form, strength):
    optimum = TWO.optimum(limits(TWO, form, strength), form)
    for max_columns in range(12):
        found = generate_columns(master_of(TWO, form, strength), TWO, max_columns=max_columns)
        assert found.status is Ending.COLUMNS_USED_UP
        assert len(found.weights) == max_columns
        assert found.lower <= optimum <= found.upper
        assert found.objective in (found.lower, found.upper)
        assert found.violation > 0.0


def test_bounds_of_a_hard_margin_enclose_it_when_columns_are_used_up():
    upper = np.full(TWO.n_rows, np.inf)
    optimum = TWO.optimum(upper, Form.SOFT)
    for max_columns in (0, 3, 30):
        found = generate_columns(Master(upper), TWO, max_columns=max_columns)
        assert found.status is Ending.COLUMNS_USED_UP
        assert found.lower <= optimum <= found.upper


def test_a_weight_is_a_repetition():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, TWO.n_rows)
    weighted = generate_columns(Master(0.3 * counts), TWO, tol=1e-8)

    def price(U):
        return TWO(np.bincount(np.repeat(np.arange(TWO.n_rows), counts), U, TWO.n_rows))

    def repeated(U):
        return [(t, np.repeat(column, counts)) for t, column in price(U)]

    other = generate_columns(Master(np.full(counts.sum(), 0.3)), repeated, tol=1e-8)
    assert other.objective == pytest.approx(weighted.objective, rel=1e-7)


def test_all_weights_are_zero_at_a_tiny_penalty():
    for problem in (TWO, THREE):
        found = generate_columns(master_of(problem, Form.SOFT, 2.0**-17), problem)
        assert found.status is Ending.OPTIMAL
        assert len(found.weights) == 0
        assert_allclose(np.bincount(problem.rows, found.distribution), 2.0**-17)


@pytest.mark.parametrize("C", [0.5, 2.0, np.inf])
def test_one_row_needs_one_hypothesis_or_none(C):
    found = generate_columns(Master(np.array([C])), lambda U: [("right", np.ones(1))])
    assert found.objective == pytest.approx(min(C, 1.0))
    assert_allclose(found.weights, [1.0] if C > 1.0 else [])


def test_rows_of_weight_zero_are_absent():
    for C, form in ((1.0, Form.SOFT), (np.inf, Form.SOFT), (0.1, Form.MARGIN)):
        upper = np.where(np.arange(TWO.n_rows) % 3 == 0, 0.0, C)
        found = generate_columns(Master(upper, form=form), TWO, tol=1e-8)
        part = Everything.__new__(Everything)
        part.columns, part.n_offered = TWO.columns[:, upper > 0.0], 1
        alone = generate_columns(Master(upper[upper > 0.0], form=form), part, tol=1e-8)
        assert found.objective == pytest.approx(alone.objective, rel=1e-7)
        assert_allclose(found.distribution[upper == 0.0], 0.0)


def test_a_hypothesis_that_is_present_ends_the_search():
    same = TWO(np.ones(TWO.n_rows))
    found = generate_columns(Master(np.ones(TWO.n_rows)), lambda U: [(0, same[0][1])])
    assert found.status is Ending.OPTIMAL  # as far as this base learner can tell
    assert len(found.weights) == 1
    master = Master(np.ones(2))
    assert master.add(np.array([1, -1]))
    assert not master.add(np.array([1.0, -1.0]))


def test_without_tolerance_the_search_still_ends():
    found = generate_columns(master_of(TWO, Form.SOFT, 1.0), TWO, tol=0.0)
    assert found.status in (Ending.OPTIMAL, Ending.NO_NEW_COLUMN)
    expected = TWO.optimum(np.ones(TWO.n_rows), Form.SOFT)
    assert found.objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("form", Form)
def test_a_base_learner_that_guesses_ends_above_the_optimum(form):
    rng = np.random.default_rng(0)

    def guess(U):
        t = int(rng.integers(len(TWO.columns)))
        return [(t, TWO.columns[t])]

    found = generate_columns(master_of(TWO, form, 0.5), guess)
    assert found.status in (Ending.OPTIMAL, Ending.NO_NEW_COLUMN)
    assert found.lower <= found.objective <= found.upper
    nothing = generate_columns(master_of(TWO, form, 0.5), lambda U: [])
    assert nothing.status is Ending.NO_NEW_COLUMN
    assert len(nothing.weights) == 0


def test_start_columns_need_not_be_found():
    cold = generate_columns(Master(np.ones(TWO.n_rows)), TWO)
    start = [(t, TWO.columns[t]) for t in cold.hypotheses]
    warm = generate_columns(Master(np.ones(TWO.n_rows)), TWO, start_columns=start)
    assert warm.n_rounds == 1
    assert warm.hypotheses == cold.hypotheses
    assert warm.objective == pytest.approx(cold.objective)


def test_an_interrupt_returns_the_current_solution():
    seen = []

    def stop_at_seven(n_columns, violation):
        seen.append((n_columns, violation))
        if n_columns == 7:
            raise KeyboardInterrupt

    uppers = [np.ones(TWO.n_rows), np.full(TWO.n_rows, 2.0)]
    (found,) = generate_path(Master(uppers[0]), TWO, uppers, on_round=stop_at_seven)
    assert found.status is Ending.INTERRUPTED
    assert [n for n, _ in seen] == list(range(8))
    assert len(found.weights) == len(found.hypotheses) == 7
    assert found.violation == seen[-1][1]
    assert found.lower <= TWO.optimum(uppers[0], Form.SOFT) <= found.upper
    before = generate_columns(Master(uppers[0]), TWO, max_columns=7)
    assert found.objective == pytest.approx(before.objective)


def test_an_interrupted_base_learner_leaves_the_solution_before():
    def price(U):
        if len(asked) == 5:
            raise KeyboardInterrupt
        asked.append(U)
        return TWO(U)

    for form in Form:
        asked = []
        found = generate_columns(master_of(TWO, form, 0.5), price)
        assert found.status is Ending.INTERRUPTED
        optimum = TWO.optimum(limits(TWO, form, 0.5), form)
        assert found.lower - 1e-12 <= optimum <= found.upper + 1e-12


@pytest.fixture
def without_dense(monkeypatch):
    """A dense solver that always fails, so that HiGHS takes over."""
    monkeypatch.setattr(_DenseProgram, "solve", lambda self, columns: None)


@pytest.mark.parametrize("n_failures", [1, 2, 3])
def test_a_failed_solution_is_tried_again_without_the_basis_and_from_scratch(
    n_failures, monkeypatch, without_dense
):
    run, runs = _HighsProgram._run, []

    def fail_for_a_while(self):
        runs.append(run(self))
        return runs[-1] and not 5 <= len(runs) < 5 + n_failures

    monkeypatch.setattr(_HighsProgram, "_run", fail_for_a_while)
    found = generate_columns(Master(np.ones(TWO.n_rows)), TWO, tol=1e-8)
    expected = TWO.optimum(np.ones(TWO.n_rows), Form.SOFT)
    assert found.status is Ending.OPTIMAL
    assert found.objective == pytest.approx(expected, rel=1e-7)


def test_a_program_that_stays_unsolved_is_reported(monkeypatch, without_dense):
    run, runs = _HighsProgram._run, []

    def fail_in_the_end(self):
        runs.append(run(self))
        return len(runs) < 5

    monkeypatch.setattr(_HighsProgram, "_run", fail_in_the_end)
    found = generate_columns(Master(np.ones(TWO.n_rows)), TWO)
    assert found.status is Ending.FAILED
    assert found.lower <= TWO.optimum(np.ones(TWO.n_rows), Form.SOFT) <= found.upper
    assert len(found.weights) == 5  # the last without weight
    assert found.weights[-1] == 0.0


@pytest.mark.parametrize(
    ("upper", "form", "message"),
    [
        ([1.0, -1.0], Form.SOFT, "0 or above"),
        ([1.0, np.nan], Form.SOFT, "0 or above"),
        ([1.0, np.inf], Form.SOFT, "pass only one kind"),
        ([0.3, 0.3], Form.MARGIN, "lower nu"),
    ],
)
def test_invalid_limits_are_refused(upper, form, message):
    with pytest.raises(ValueError, match=message):
        Master(np.array(upper), form=form)


def test_a_column_needs_an_entry_for_every_pair():
    with pytest.raises(ValueError, match="2 entries"):
        Master(np.ones(3)).add(np.ones(2))


@pytest.mark.parametrize("C", [8.0, 1e3, 1e6, 1e9])
def test_large_penalties_of_inseparable_rows_are_solved_within_rounding(C):
    X, y = make_threenorm(40, 3, random_state=1)
    codes = (y > 0).astype(int)
    problem = Everything(np.vstack([X, X[:5]]), np.append(codes, 1 - codes[:5]))
    upper = np.full(45, C)
    found = generate_columns(Master(upper), problem, tol=1e-9)
    assert found.status in (Ending.OPTIMAL, Ending.NO_NEW_COLUMN)
    assert found.objective == pytest.approx(problem.optimum(upper, Form.SOFT), rel=1e-7)


def test_a_level_that_is_missed_by_rounding_ends_the_search(monkeypatch):
    solve = _DenseProgram.solve

    def inexact(self, columns):
        weights, U, level = solve(self, columns)
        return weights, (1.0 + 1e-6) * U, level

    monkeypatch.setattr(_DenseProgram, "solve", inexact)
    upper = np.full(TWO.n_rows, 100.0)  # which no U attains
    found = generate_columns(Master(upper), TWO, tol=1e-9)
    assert found.status is Ending.NO_NEW_COLUMN
    assert found.lower <= TWO.optimum(upper, Form.SOFT) * (1.0 + 1e-9) <= found.upper * (1 + 2e-9)


def test_stages_are_the_optima_on_the_way():
    found = generate_columns(Master(np.ones(TWO.n_rows)), TWO)
    assert found.stages.shape == (found.n_rounds - 1, len(found.weights))
    assert_allclose(found.stages[-1].toarray()[0], found.weights)
    fifth = generate_columns(Master(np.ones(TWO.n_rows)), TWO, max_columns=5)
    assert_allclose(found.stages[4].toarray()[0, :5], fifth.weights)
    nothing = generate_columns(master_of(TWO, Form.SOFT, 1e-6), TWO)
    assert nothing.stages.shape == (0, 0)


def test_an_interrupt_ends_a_run_of_highs():
    rng, n, n_steps = np.random.default_rng(0), 300, []
    program = _HighsProgram(np.full(n, 50.0 / n), np.arange(n), maximises_margin=False)
    columns = [rng.choice([-1, 1], size=n).astype(np.int8) for _ in range(150)]

    def interrupt(_):
        n_steps.append(len(n_steps))
        if len(n_steps) == 5:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            program.stop.wait(10.0)

    program.model.cbSimplexInterrupt.subscribe(interrupt)
    with pytest.raises(KeyboardInterrupt):
        program.solve(columns)
    assert len(n_steps) < 10
