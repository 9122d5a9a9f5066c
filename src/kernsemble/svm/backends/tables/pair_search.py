r"""The search for pairs of columns: which pairs have a table, and the weights of all tables.

1. The machine without pairs is fitted, and the weights of its columns are learned: the prior is
   fitted to the rows as in `evidence`, so neither C nor the scale of a column matters.
2. A screen of all pairs (`pair_screen`) returns candidates, and the weights of all tables are
   learned together. Candidates are ranked by the variance of their functions.
3. ``n_pairs = "auto"`` does this on some of the rows first. The loss of the others selects the
   number of pairs, how far weights are shrunk towards a common one, and the order of the prior of
   pairs: how smooth their functions are.

Weights are those of a prior, which does not depend on the number of rows: they are learned from at
most 50,000 of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from kernsemble._threads import run
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive import AdditiveSolution, Tables, solve_additive
from kernsemble.solvers.additive.evidence import learned_weights
from kernsemble.solvers.additive.pair_screen import Forces, best_pairs
from kernsemble.solvers.losses import Loss, Smooth
from kernsemble.solvers.result import Status
from kernsemble.svm.backends.base import SolverSettings
from kernsemble.svm.backends.tables.blocks import Block
from kernsemble.svm.backends.tables.pairs import (
    CoarseColumn,
    PairBlock,
    cells,
    coarse_codes,
    coarse_columns,
    pair_tables,
    variances_of_slices,
)
from kernsemble.svm.backends.tables.slices import Slicing

NumberOfPairs: TypeAlias = int | Literal["auto"]

MAX_ROWS = 50_000  # maximum number of rows that pairs and weights are learned from
AUTO_PAIRS = 40  # maximum number of pairs for n_pairs = "auto"
CANDIDATES = 1.5  # number of candidates per pair
MORE_CANDIDATES = 8  # number of candidates besides
TRIED = (0, 1, 2, 3, 5, 8, 12, 18, 27, 40)  # numbers of pairs that are compared for "auto"
N_SHARED = 2.0  # number of parameters with the common weight
SHARED = (0.0, N_SHARED, np.inf)  # numbers of these that are compared for "auto"
ORDER = 1.5  # order of the prior of pairs: functions as rough as those of single columns
ORDERS = (1.25, ORDER, 2.0)  # orders that are compared for "auto"
N_FOLDS = 3  # number of folds that settings are compared on
N_PARTS = 8  # number of parts of the rows of a fold, for the standard error of a difference
STANDARD_ERRORS = 0.5  # fewer pairs are preferred within this distance of the smallest loss
ENTRIES_FOR_FOLDS = 300_000  # maximum number of entries of the table for all folds; one of more
ROWS_PER_PAIR = 10  # minimum number of rows for each pair that "auto" tries
MACHINES_FOR_FOLDS = 5  # maximum number of machines for all folds
START = 10.0  # variance of the machine without pairs at which learning starts
START_OF_PAIR = 0.05  # and that of a pair
N_UPDATES = 4  # updates of the weights of columns, and then of all tables
SEED = 0  # random seed of the rows that they are learned from
BYTES_PER_CELL = 6  # bytes of a cell: its own, a copy among all codes, and of some rows
TOL = 1e-3  # relative duality gap while weights are learned


def blocks_with_pairs(
    blocks: Sequence[Block],
    tables: Tables,
    losses: Sequence[Loss],
    units: Sequence[float],
    settings: SolverSettings,
) -> tuple[list[Block], list[AdditiveSolution | None]]:
    """Return blocks with learned weights and pairs, and solutions to start each machine from.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks of a kernel, slices first.
    tables : Tables
        Their tables.
    losses, units
        For each machine its loss, and the strength of a row of weight 1.
    settings : SolverSettings
        The number of pairs, or the columns of pairs that are taken in any case.
    """
    slicing = blocks[0] if isinstance(blocks[0], Slicing) else None
    columns = [] if slicing is None else coarse_columns(slicing)
    if slicing is None or len(columns) < 2:
        raise ValueError(
            "pairs need a kernel with functions of two columns at least, and this one has "
            f"{len(columns)}: use n_pairs=0, or add Stump() to the kernel"
        )
    named = _named_pairs(settings.pairs, columns)
    most = AUTO_PAIRS if settings.n_pairs == "auto" else max(settings.n_pairs, len(named))
    settings.budget.check(
        bytes_of_codes(tables.n_rows, tables.n_tables + most),
        f"the codes of {tables.n_rows:,} rows with {most} pairs of columns take",
        "reduce n_pairs, fit fewer rows",
    )
    codes = coarse_codes(slicing, columns)
    others = [np.empty(0)] * (tables.n_tables - len(slicing.codes))
    variances = [*variances_of_slices(slicing), *others]
    search = PairSearch(tables, losses, units, variances, columns, codes, named)
    found = search.run(settings.n_pairs)
    views = replace(slicing.views, factors=found.weights[: len(slicing.codes)])
    weighted: list[Block] = [replace(slicing, views=views), *blocks[1:]]
    if len(found.pairs) > 0:
        weighted.append(
            PairBlock.from_codes(columns, codes, found.pairs, found.pair_weights, found.order)
        )
    starts = [
        each if isinstance(loss, Smooth) or len(each.beta) == tables.n_rows else None
        for loss, each in zip(losses, found.solutions, strict=True)
    ]
    return weighted, starts


def bytes_of_codes(n_rows: int, n_tables: int) -> int:
    """Return the bytes of the codes of a search, with the tables of pairs."""
    return BYTES_PER_CELL * n_rows * n_tables


def _named_pairs(pairs: Sequence[tuple[int, int]], columns: Sequence[CoarseColumn]) -> IntArray:
    """Return pairs of columns as indices of `columns`."""
    places = {each.column: k for k, each in enumerate(columns)}
    missing = [column for pair in pairs for column in pair if column not in places]
    if missing:
        raise ValueError(
            f"pairs contains the column {missing[0]}, of which the kernel has no function: "
            "leave the pair out, or add Stump() or Category() on the column"
        )
    found = [[places[column] for column in pair] for pair in pairs]
    return np.array(found, dtype=np.intp).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Found:
    """Pairs and weights.

    Attributes
    ----------
    weights : array of shape (n_tables,)
        Weights of the tables without pairs.
    pairs : array of shape (n_pairs, 2)
        Indices of the columns of each pair.
    pair_weights : array of shape (n_pairs,)
        Weights of their tables.
    order : float
        Order of their prior.
    solutions : list of AdditiveSolution
        The machines on the rows that were used, from which others can start.
    """

    weights: FloatArray
    pairs: IntArray
    pair_weights: FloatArray
    order: float
    solutions: list[AdditiveSolution]


@dataclass(frozen=True, eq=False)
class PairSearch:
    """The search for pairs on some rows.

    Attributes
    ----------
    tables : Tables
        The tables without pairs, with weight 1 each.
    losses : sequence of Loss
        The losses of all machines.
    units : sequence of float
        The strength of a row of weight 1 in each.
    variances : sequence of arrays
        Variances of the features of each table; empty for tables whose weight is 1.
    columns : sequence of CoarseColumn
        The columns that can be paired.
    codes : array of shape (n_columns, n)
        The coarse level of every row in each.
    named : array of shape (n_named, 2)
        Indices of the columns of pairs that are taken in any case.
    n_shared : float
        Number of parameters with the common weight; see `evidence`.
    order : float
        Order of the isotropic prior of pairs; see `pair_tables`.
    """

    tables: Tables
    losses: Sequence[Loss]
    units: Sequence[float]
    variances: Sequence[FloatArray]
    columns: Sequence[CoarseColumn]
    codes: IntArray
    named: IntArray
    n_shared: float = N_SHARED
    order: float = ORDER

    def run(self, n_pairs: NumberOfPairs) -> Found:
        """Return the pairs and the weights of all tables."""
        rng = np.random.default_rng(SEED)
        search = self._among(rng)
        if n_pairs == "auto":
            most = search.tables.n_rows // ROWS_PER_PAIR
            numbers = sorted({max(n, len(self.named)) for n in TRIED if n <= most})
            search, n_pairs = search._best_setting(numbers, rng)
        return search._found(n_pairs, search._without_pairs())

    def _among(self, rng: np.random.Generator) -> "PairSearch":
        """Return the search on at most `MAX_ROWS` of the rows that are present."""
        present = np.flatnonzero(np.any([loss.strengths > 0.0 for loss in self.losses], axis=0))
        if len(present) == self.tables.n_rows and len(present) <= MAX_ROWS:
            return self
        if len(present) > MAX_ROWS:
            present = np.sort(rng.choice(present, MAX_ROWS, replace=False))
        return replace(
            self,
            tables=self.tables.among(present),
            losses=[loss.among(present) for loss in self.losses],
            codes=self.codes[:, present],
        )

    def _best_setting(
        self, numbers: Sequence[int], rng: np.random.Generator
    ) -> tuple["PairSearch", int]:
        """Return the settings and the number of pairs with the smallest loss of held-out rows.

        Every row is held out once; in large tables a share of them is. Fewer pairs are taken if
        their loss is within `STANDARD_ERRORS` of the smallest one; the order is selected last.
        """
        dealt = deal_out(self.losses, self.units, rng)
        searches = [replace(self, n_shared=n_shared) for n_shared in SHARED]
        losses = np.array([each._losses(dealt, numbers) for each in searches])
        totals = losses.sum(axis=1)
        best, number = np.unravel_index(np.argmin(totals), totals.shape)
        excess = losses - losses[best, :, number, np.newaxis]
        with np.errstate(over="ignore"):  # errors beyond floats let the fewest pairs win
            errors = excess.std(axis=1, ddof=1) * np.sqrt(excess.shape[1])
        is_close = excess.sum(axis=1) <= STANDARD_ERRORS * errors
        fewest = int(np.argmax(is_close.any(axis=0)))
        search, n_pairs = searches[int(np.argmin(totals[:, fewest]))], numbers[fewest]
        if n_pairs > 0:
            searches = [replace(search, order=order) for order in ORDERS]
            by_order = [each._losses(dealt, [n_pairs]).sum() for each in searches]
            search = searches[int(np.argmin(by_order))]
        return search, n_pairs

    def _losses(self, dealt: FloatArray, numbers: Sequence[int]) -> FloatArray:
        """Return the loss of each part of all folds with each number of pairs."""
        is_quick = self.codes.size <= ENTRIES_FOR_FOLDS and len(self.losses) <= MACHINES_FOR_FOLDS
        folds = range(N_FOLDS if is_quick else 1)
        return np.concatenate(
            [self._held_out_losses(dealt[:, fold::N_FOLDS], numbers) for fold in folds]
        )

    def _held_out_losses(self, dealt: FloatArray, numbers: Sequence[int]) -> FloatArray:
        """Return the loss of each part of a fold with each number of pairs, fitted to the rest."""
        kept = np.maximum(1.0 - dealt.sum(axis=1), 0.0)
        rest = replace(self, losses=[loss.times(kept) for loss in self.losses])
        state = first = rest._without_pairs()
        found = rest._found(max(numbers), first)
        totals = np.zeros((N_PARTS, len(numbers)))
        parts = [np.flatnonzero(share) for share in dealt.T]
        for place, n in enumerate(numbers):
            if n > 0 and (place == 0 or numbers[place - 1] < len(found.pairs)):
                some = replace(found, pairs=found.pairs[:n], pair_weights=found.pair_weights[:n])
                state = rest._fitted(rest._start(some, state))
            for k, rows in enumerate(parts):
                totals[k, place] = sum(
                    loss.among(rows).times(dealt[rows, k]).value(each.decisions[rows])
                    for loss, each in zip(self.losses, state.solutions, strict=True)
                )
        return totals

    @cached_property
    def _start_weights(self) -> FloatArray:
        """The weights at which learning starts, with the variance `START` of all tables."""
        total = sum(float(each.sum()) for each in self.variances)
        weight = START / total / np.mean(self.units) if total > 0.0 else 1.0
        return np.where([len(each) > 0 for each in self.variances], weight, 1.0)

    def _without_pairs(self) -> Found:
        """Return the machines without pairs, with learned weights."""
        none = np.empty((0, 2), dtype=np.intp)
        start = Found(self._start_weights, none, np.empty(0), self.order, [])
        return self._learned(self._fitted(start))

    def _found(self, n_pairs: int, first: Found) -> Found:
        """Return the best pairs and the weights of all tables."""
        n_more = max(n_pairs - len(self.named), 0)
        pairs = self._candidates(first, int(CANDIDATES * n_more) + MORE_CANDIDATES * (n_more > 0))
        if len(pairs) == 0:
            return first
        weights = np.full(len(pairs), START_OF_PAIR / np.mean(self.units))
        found = self._learned(
            self._fitted(self._start(replace(first, pairs=pairs, pair_weights=weights), first))
        )
        sizes, n_named = self._sizes(found), len(self.named)
        others = n_named + np.argsort(-sizes[n_named:], kind="stable")
        kept = np.concatenate([np.arange(n_named), others[:n_more]])
        some = replace(found, pairs=found.pairs[kept], pair_weights=found.pair_weights[kept])
        if len(kept) == len(pairs):
            return self._fitted(self._start(some, found))
        return self._learned(self._fitted(self._start(some, found)), n_updates=2)

    def _candidates(self, first: Found, n: int) -> IntArray:
        """Return the named pairs, and candidates from the screen."""
        if n == 0:
            return self.named
        machines = [
            Forces(solution.beta, loss.strengths, unit, START_OF_PAIR / unit)
            for solution, loss, unit in zip(first.solutions, self.losses, self.units, strict=True)
        ]
        axes = [each.axis for each in self.columns]
        pairs, _ = best_pairs(self.codes, axes, machines, n + len(self.named))
        known = {frozenset(pair) for pair in self.named.tolist()}
        new = [pair for pair in pairs.tolist() if frozenset(pair) not in known][:n]
        return np.concatenate([self.named, np.array(new, dtype=np.intp).reshape(-1, 2)])

    def _tables(self, found: Found) -> Tables:
        """Return the tables with weights."""
        mains = self.tables.weighted(found.weights)
        if len(found.pairs) == 0:
            return mains
        tables = pair_tables(self.columns, found.pairs, found.pair_weights, found.order)
        return mains.with_pairs(cells(self.columns, self.codes, found.pairs), tables)

    def _variances_of_pairs(self, found: Found) -> list[FloatArray]:
        """Return the variances of the features of each pair with weight 1."""
        ones = np.ones(len(found.pairs))
        tables = pair_tables(self.columns, found.pairs, ones, found.order)
        return [each.variances() for each in tables]

    def _start(self, found: Found, last: Found) -> Found:
        """Return pairs and weights with starts from other solutions, where tables are shared."""
        before, after = self._spans(last), self._spans(found)
        size = self._n_levels(found)
        solutions = []
        for each in last.solutions:
            z = np.zeros(size)
            for key, (span, weight) in after.items():
                if key in before:
                    known, was = before[key]
                    z[span] = each.z[known] * np.sqrt(was / weight if weight > 0.0 else 0.0)
            solutions.append(replace(each, z=z))
        return replace(found, solutions=solutions)

    def _spans(self, found: Found) -> dict[int | tuple[int, int], tuple[slice, float]]:
        """Return the levels and the weight of every table, by its number or its pair."""
        offsets = self.tables.offsets
        spans: dict[int | tuple[int, int], tuple[slice, float]] = {
            k: (slice(a, b), weight)
            for k, (a, b, weight) in enumerate(
                zip(offsets, offsets[1:], found.weights, strict=False)
            )
        }
        start = int(offsets[-1])
        for (a, b), weight in zip(found.pairs.tolist(), found.pair_weights, strict=True):
            stop = start + self.columns[a].n_groups * self.columns[b].n_groups
            spans[a, b] = slice(start, stop), weight
            start = stop
        return spans

    def _n_levels(self, found: Found) -> int:
        return max(span.stop for span, _ in self._spans(found).values())

    def _fitted(self, found: Found) -> Found:
        """Return the machines with these pairs and weights."""
        tables = replace(self._tables(found), has_threads=len(self.losses) == 1)
        starts: Sequence[AdditiveSolution | None] = found.solutions or [None] * len(self.losses)

        def solve(k: int) -> AdditiveSolution:
            solution = solve_additive(tables, self.losses[k], tol=TOL, start=starts[k])
            if solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            return solution

        return replace(found, solutions=run(solve, range(len(self.losses)), fewest=2))

    def _learned(self, found: Found, n_updates: int = N_UPDATES) -> Found:
        """Return the machines after some updates of the weights."""
        variances = [*self.variances, *self._variances_of_pairs(found)]
        is_learned = np.array([len(each) > 0 for each in variances])
        for _ in range(n_updates):
            old = np.concatenate([found.weights, found.pair_weights])
            new = learned_weights(
                self._tables(found),
                old,
                variances,
                found.solutions,
                self.losses,
                self.units,
                self.n_shared,
            )
            new = np.where(is_learned, new, old)
            n = len(found.weights)
            updated = replace(found, weights=new[:n], pair_weights=new[n:])
            found = self._fitted(self._start(updated, found))
        return found

    def _sizes(self, found: Found) -> FloatArray:
        """Return the variance of the function of each pair, for independent columns."""
        spans, sizes = self._spans(found), np.zeros(len(found.pairs))
        pairs = zip(found.pairs.tolist(), self._variances_of_pairs(found), strict=True)
        for k, ((a, b), variances) in enumerate(pairs):
            span, weight = spans[a, b]
            sizes[k] = sum(weight * variances @ each.z[span] ** 2 for each in found.solutions)
        return sizes


def deal_out(
    losses: Sequence[Loss], units: Sequence[float], rng: np.random.Generator
) -> FloatArray:
    """Return the share of every row that belongs to each part, of shape (n, n_parts).

    A row of weight w is dealt out as w equal rows. Neighbours in the order of targets have
    different parts, so that every part has its share of a rare class.
    """
    n_parts = N_FOLDS * N_PARTS
    weights = [loss.strengths / unit for loss, unit in zip(losses, units, strict=True)]
    copies = np.maximum(np.rint(np.max(weights, axis=0)).astype(np.intp), 1)
    rows = rng.permutation(len(copies))
    rows = rows[np.lexsort([loss.targets[rows] for loss in losses])]
    rows = np.repeat(rows, copies[rows] % n_parts)
    blocks = np.tile(np.arange(n_parts), (-(-len(rows) // n_parts), 1))
    parts = rng.permuted(blocks, axis=1).ravel()[: len(rows)]
    dealt = np.repeat(copies[:, np.newaxis] // n_parts, n_parts, axis=1)
    np.add.at(dealt, (rows, parts), 1)
    shares: FloatArray = dealt / copies[:, np.newaxis]
    return shares
