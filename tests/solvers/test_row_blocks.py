"""Rows in blocks give the solution of rows in memory, also if blocks are lost."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.datasets import make_threenorm
from kernsemble.solvers import Status
from kernsemble.solvers.additive import Tables, solve_additive_path
from kernsemble.solvers.additive.folds import solve_path_on_blocks
from kernsemble.solvers.additive.quantise import quantise
from kernsemble.solvers.additive.row_blocks import (
    BlockRows,
    LocalEngine,
    RowBlock,
    answer,
    forget,
)
from kernsemble.solvers.additive.rows import MemoryRows
from kernsemble.solvers.additive.solve import solve_on_rows
from kernsemble.solvers.losses import LOSSES, Kinked, Smooth

LOSS_NAMES = [
    "logistic",
    "squared",
    "squared_hinge",
    "hinge",
    pytest.param("epsilon_insensitive", marks=pytest.mark.large),
]


@dataclass
class Part:
    """The loss of the rows of a block."""

    loss: object


@dataclass(frozen=True)
class MakeRows:
    tables: Tables

    def __call__(self, block):
        return MemoryRows(replace(self.tables, codes=block.codes), block.content.loss)


class PerBlockEngine(LocalEngine):
    """Blocks that answer one by one, as those of several workers do."""

    def ask(self, function, *arguments):
        message = pickle.dumps(arguments)  # workers see copies
        return [function([block], *pickle.loads(message)) for block in self.blocks]


class FaultyEngine(PerBlockEngine):
    """Blocks that are lost now and then, and read again: they have no state then."""

    def __init__(self, blocks, every):
        super().__init__(blocks)
        self.every, self.n_asked, self.n_lost = every, 0, 0

    def ask(self, function, *arguments):
        self.n_asked += 1
        if self.n_asked % self.every == 0:
            lost = self.n_asked // self.every % len(self.blocks)
            self.blocks[lost] = pickle.loads(pickle.dumps(self.blocks[lost]))
            self.n_lost += 1
        return super().ask(function, *arguments)


def problem(name, n=240, seed=0, with_weights=True):
    """Tables of numbers, categories and missing values, and a loss on them."""
    rng = np.random.default_rng(seed)
    X, y = make_threenorm(n, n_features=5, random_state=seed)
    X = np.round(X, 1)
    X[:, 1] = rng.integers(0, 4, n)
    X[rng.random(n) < 0.1, 2] = np.nan
    is_category = np.arange(5) == 1
    levels, codes = quantise(X, max_levels=20, is_category=is_category)
    measures = [np.diff(e.values) if not e.holds_categories else np.empty(0) for e in levels]
    loose = [np.full(each.n_loose, 1.5) for each in levels]
    tables = Tables.from_measures(codes, measures, loose, [each.middle for each in levels])
    weight = rng.integers(0, 3, n).astype(float) if with_weights else np.ones(n)
    target = y.astype(float) if LOSSES[name].task == "classification" else np.nan_to_num(X).sum(1)
    return tables, LOSSES[name].from_targets(target, weight, 0.1)


def split(tables, loss, ends):
    rows = np.split(np.arange(tables.n_rows), ends)
    return [RowBlock(tables.codes_of(each), Part(loss.among(each))) for each in rows]


def on_blocks(engine, tables, loss):
    has_corners = isinstance(loss, Smooth) and loss.has_corners
    return BlockRows(engine, tables, MakeRows(tables), isinstance(loss, Kinked), has_corners)


@pytest.mark.parametrize("name", LOSS_NAMES)
@given(ends=st.lists(st.integers(0, 240), max_size=6), seed=st.integers(0, 100))
@settings(max_examples=6)
def test_the_solution_on_blocks_is_that_on_all_rows_along_c(name, ends, seed):
    tables, loss = problem(name, seed=seed)
    Cs = [0.01, 0.1, 1.0]
    expected = list(solve_additive_path(tables, loss, Cs, tol=1e-12, method="newton"))
    rows = on_blocks(PerBlockEngine(split(tables, loss, sorted(ends))), tables, loss)
    found = list(solve_path_on_blocks(rows, Cs, tol=1e-12))
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.status is Status.CONVERGED
        atol = 1e-8 * max(np.abs(theirs.z).max(), 1.0)
        assert_allclose(mine.z, theirs.z, atol=atol)
        assert mine.bias == pytest.approx(theirs.bias, abs=1e-8)
        assert mine.primal == pytest.approx(theirs.primal, rel=1e-10)
        assert mine.dual == pytest.approx(theirs.dual, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_blocks_that_were_lost_replay_to_the_same_bits(name, every):
    tables, loss = problem(name)
    blocks = split(tables, loss, [50, 120, 200])
    expected = list(
        solve_path_on_blocks(on_blocks(PerBlockEngine(blocks), tables, loss), [0.1, 0.3])
    )
    engine = FaultyEngine(split(tables, loss, [50, 120, 200]), every=every)
    found = list(solve_path_on_blocks(on_blocks(engine, tables, loss), [0.1, 0.3]))
    assert engine.n_lost >= 2
    for mine, theirs in zip(found, expected, strict=True):
        assert_array_equal(mine.z, theirs.z)
        assert (mine.bias, mine.primal, mine.n_iter) == (theirs.bias, theirs.primal, theirs.n_iter)


def test_a_request_that_is_repeated_changes_nothing():
    tables, loss = problem("logistic")
    (block,) = split(tables, loss, [])
    rows = on_blocks(PerBlockEngine([block]), tables, loss)
    rows.set_stage(1.0)
    rows.place(np.zeros(tables.n_levels), 0.5)
    message = rows.run, 0, rows.record, None
    assert answer([block], *message) == answer([block], *message)
    decisions = block.runs[rows.run].rows.decisions
    assert_array_equal(decisions, np.full(tables.n_rows, 0.5))
    rows.close()
    assert not block.runs
    forget([block], rows.run)  # of a run that the block does not know


def test_a_bias_that_an_interval_minimises_is_the_middle():
    """Without features no coefficient is free; both ends of the interval are kinks."""
    codes = np.zeros((1, 6), dtype=np.uint8)
    tables = Tables.from_measures(codes, [np.empty(0)], [np.empty(0)], [0])
    target = np.array([0.0, 0.0, 0.0, 4.0, 4.0, 4.0])
    loss = LOSSES["epsilon_insensitive"].from_targets(target, np.ones(6), 0.0)
    assert loss.best_bias(np.zeros(6)) == pytest.approx(2.0)
    for ends in ([], [1], [3], [2, 4]):
        rows = on_blocks(PerBlockEngine(split(tables, loss, ends)), tables, loss)
        rows.set_stage(1.0)
        bias, value = rows.finish(np.zeros(1), 0.3)
        assert bias == pytest.approx(2.0, abs=1e-10)
        assert value == pytest.approx(12.0)


def test_the_traffic_of_a_step_does_not_depend_on_the_rows():
    bytes_of_rounds = []
    for n in (200, 2_000):
        tables, loss = problem("logistic", n=200)
        codes = np.tile(tables.codes, n // 200)
        loss = loss.among(np.tile(np.arange(200), n // 200))
        tables = replace(tables, codes=codes)
        engine = PerBlockEngine(split(tables, loss, [n // 2]))
        rows = on_blocks(engine, tables, loss)
        solve_on_rows(rows)
        bytes_of_rounds.append(engine.traffic.n_bytes / engine.traffic.n_rounds)
    small, large = bytes_of_rounds
    assert large == pytest.approx(small, rel=0.5)


def test_the_size_of_a_block_is_that_of_its_arrays():
    codes = np.zeros((3, 10), dtype=np.uint8)
    block = RowBlock(codes, Part(np.zeros(10)))
    assert (block.n_rows, block.__sizeof__()) == (10, 110)
