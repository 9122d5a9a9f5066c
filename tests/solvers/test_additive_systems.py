"""The Newton system by products and by factors of levels and rows, against a dense one."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from kernsemble.solvers import Status
from kernsemble.solvers.additive import Tables, solve_additive
from kernsemble.solvers.additive.conjugate_gradients import solve_by_products
from kernsemble.solvers.additive.gram import RowProducts, solve_by_rows
from kernsemble.solvers.additive.hessian import hessian, solve_by_factor, solve_definite
from kernsemble.solvers.additive.newton_system import NewtonSystem
from kernsemble.solvers.additive.rows import MemoryRows, WeightedRows
from kernsemble.solvers.additive.stages import SmoothRun
from kernsemble.solvers.additive.tables import LEVELS_WORTH_COPIES
from kernsemble.solvers.losses import Logistic


def random_tables(rng, n, n_tables):
    """Tables with ordered and loose levels, edges without measure, and roots anywhere."""
    measures = [rng.integers(0, 3, rng.integers(0, 6)).astype(float) for _ in range(n_tables)]
    weights = [rng.integers(0, 3, rng.integers(0, 4)).astype(float) for _ in range(n_tables)]
    sizes = [len(m) + 1 + len(v) for m, v in zip(measures, weights, strict=True)]
    codes = np.array([rng.integers(0, size, n) for size in sizes], dtype=np.uint8)
    roots = [int(rng.integers(0, len(m) + 1)) for m in measures]
    return Tables.from_measures(codes, measures, weights, roots)


@pytest.mark.parametrize("n", [3, 50])
@pytest.mark.parametrize("n_tables", [1, 3, 4, 9])
def test_look_ups_and_sums_are_those_of_each_table(n, n_tables):
    rng = np.random.default_rng(n)
    sizes = [LEVELS_WORTH_COPIES + 5 if d == 1 else 6 for d in range(n_tables)]
    codes = np.array([rng.integers(0, size, n) for size in sizes], dtype=np.uint16)
    tables = Tables.from_measures(
        codes, [np.ones(size - 1) for size in sizes], [np.empty(0)] * n_tables, [0] * n_tables
    )
    values, g = rng.normal(size=n), rng.normal(size=tables.n_levels)
    sums = [np.bincount(row, values, size) for row, size in zip(codes, sizes, strict=True)]
    assert_allclose(tables.sums(values), np.concatenate(sums), atol=1e-12)
    heights = [g[row] for g, row in zip(tables.split(g), codes, strict=True)]
    assert_allclose(tables.at_rows(g), np.sum(heights, axis=0), atol=1e-12)


def dense_solution(tables, weight, right, right_bias):
    phi = np.array([tables.at_rows(tables.levels_of(e)) for e in np.eye(tables.n_levels)]).T
    design = np.column_stack([phi, np.ones(tables.n_rows)])
    ridge = np.diag(np.append(np.ones(tables.n_levels), 0.0))
    matrix = design.T @ (weight[:, np.newaxis] * design) + ridge
    solution = np.linalg.solve(matrix, np.append(right, right_bias))
    return solution[:-1], solution[-1]


@given(
    seed=st.integers(0, 2**31),
    n_tables=st.integers(1, 5),
    entries_in_cache=st.sampled_from([1, 40, 10_000]),
)
@settings(max_examples=30)
def test_all_ways_solve_the_newton_system(seed, n_tables, entries_in_cache):
    rng = np.random.default_rng(seed)
    tables, weight = random_tables(rng, 30, n_tables), rng.uniform(0.1, 9.0, 30)
    right, right_bias = tables.edges_of(rng.normal(size=tables.n_levels)), rng.normal()
    expected = dense_solution(tables, weight, right, right_bias)
    matrix = hessian(tables, tables.codes, weight, entries_in_cache)
    z, bias = solve_by_factor(matrix, right, right_bias)
    assert_allclose(z, expected[0], atol=1e-8)
    assert bias == pytest.approx(expected[1], abs=1e-8)
    z, bias = solve_by_rows(RowProducts(tables), np.arange(30), weight, right, right_bias)
    assert_allclose(z, expected[0], atol=1e-8)
    assert bias == pytest.approx(expected[1], abs=1e-8)
    curved = WeightedRows(tables, tables.codes, weight)
    z, bias, _, is_enough = solve_by_products(tables, curved, right, right_bias, 1e-10, 500)
    assert is_enough
    assert_allclose(z, expected[0], atol=1e-7)
    assert bias == pytest.approx(expected[1], abs=1e-7)


@pytest.mark.parametrize("n", [40, 700])
def test_products_of_rows_are_those_of_their_features(n):
    rng = np.random.default_rng(n)
    tables = random_tables(rng, n, 4)
    phi = np.array([tables.at_rows(tables.levels_of(e)) for e in np.eye(tables.n_levels)]).T
    products = RowProducts(tables)
    assert_allclose(products.among(np.arange(n)), np.tril(phi @ phi.T), atol=1e-12)
    some = np.sort(rng.permutation(n)[:20])
    assert products.n_new(some) == 0
    assert_allclose(np.tril(products.among(some)), np.tril(phi[some] @ phi[some].T), atol=1e-12)
    products = RowProducts(tables)
    products.among(some)
    assert products.n_new(np.arange(n)) == n


@given(seed=st.integers(0, 2**31))
@settings(max_examples=20)
def test_one_table_is_solved_by_one_product(seed):
    rng = np.random.default_rng(seed)
    tables, weight = random_tables(rng, 30, 1), rng.uniform(0.1, 9.0, 30)
    right = tables.edges_of(rng.normal(size=tables.n_levels))
    curved = WeightedRows(tables, tables.codes, weight)
    *_, n_products, is_enough = solve_by_products(tables, curved, right, 0.0, 1e-6, 2)
    assert is_enough
    assert n_products <= 1


def test_without_curvature_the_system_is_the_identity():
    tables = random_tables(np.random.default_rng(0), 20, 3)
    right = tables.edges_of(np.ones(tables.n_levels))
    nothing = WeightedRows(tables, tables.codes[:, :0], np.empty(0))
    assert_allclose(solve_by_factor(nothing.hessian(), right, 0.0)[0], right)
    assert_allclose(solve_by_products(tables, nothing, right, 0.0, 1e-9, 9)[0], right)


def test_a_factor_that_rounding_makes_indefinite_is_corrected():
    nearly = np.array([[1.0, 0.0], [1.0, 1.0]])
    found = solve_definite(nearly, np.array([1.0, 1.0 - 1e-15]), np.array([1.0, 1.0]))
    assert np.isfinite(found).all()


def logistic_problem(C):
    rng = np.random.default_rng(1)
    tables, y = random_tables(rng, 80, 4), rng.choice([-1.0, 1.0], 80)
    return tables, Logistic(y, np.full(80, C))


def solve_with(system, tables, loss):
    """Solve with another class of Newton systems."""
    rows = MemoryRows(tables, loss)
    run = SmoothRun(rows, 1e-12, 500, None, None)
    run.system = system(rows)
    return run.finish()


class FixedCosts(NewtonSystem):
    """A Newton system with a fixed worth of products, and one factor of infinite cost."""

    n_worth, dear = 1, ""

    def _products_worth(self, factor, n):
        return self.n_worth

    def _cost_by_rows(self, rows):
        return np.inf if self.dear == "rows" else super()._cost_by_rows(rows)

    def _cost_by_levels(self, n):
        return np.inf if self.dear == "levels" else super()._cost_by_levels(n)


@pytest.mark.parametrize("dear", ["rows", "levels"])
@pytest.mark.parametrize(("n_worth", "has_factors"), [(0, True), (300, False)])
def test_products_and_factors_lead_to_the_same_solution(n_worth, has_factors, dear):
    tables, loss = logistic_problem(1.0)
    expected = solve_additive(tables, loss, tol=1e-12)

    def system(rows):
        made = FixedCosts(rows)
        made.n_worth, made.dear = n_worth, dear
        return made

    solution = solve_with(system, tables, loss)
    assert (solution.n_factors > 0) == has_factors
    assert (solution.n_products > 0) != has_factors
    assert_allclose(solution.decisions, expected.decisions, atol=1e-5)


def test_products_that_were_not_enough_are_followed_by_factors():
    tables, loss = logistic_problem(100.0)
    solution = solve_with(partial(FixedCosts, fewest_products=1.0), tables, loss)
    assert solution.status is Status.CONVERGED
    assert 1 <= solution.n_products < solution.n_iter
    assert solution.n_factors == solution.n_iter
