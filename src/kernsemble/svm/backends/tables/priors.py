"""The prior of blocks with learned weights, and blocks with the prior of other rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kernsemble._memory import Budget
from kernsemble._typing import FloatArray, IntArray
from kernsemble.svm.backends.table_prior import TablePrior
from kernsemble.svm.backends.tables.blocks import Block
from kernsemble.svm.backends.tables.pair_search import AUTO_PAIRS, ORDER, bytes_of_codes
from kernsemble.svm.backends.tables.pairs import PairBlock, coarse_codes, coarse_columns
from kernsemble.svm.backends.tables.slices import Slicing


def has_room_for_pairs(n_rows: int, n_columns: int, budget: Budget) -> bool:
    """Return whether a search for pairs of columns is possible within the budget."""
    return n_columns > 1 and bytes_of_codes(n_rows, n_columns + AUTO_PAIRS) <= budget.n_bytes


def prior_of(blocks: Sequence[Block]) -> TablePrior:
    """Return the weights and the pairs of blocks from `blocks_with_pairs`."""
    slicing = blocks[0]
    assert isinstance(slicing, Slicing)
    weights = slicing.views.factors
    assert weights is not None
    pairs, pair_weights, order = np.empty((0, 2), dtype=np.intp), np.empty(0), ORDER
    for block in blocks:
        if isinstance(block, PairBlock):
            pairs = np.array([each.column for each in block.columns])[block.indices]
            pair_weights, order = block.weights, block.order
    return TablePrior(slicing.views.columns_seen, weights, pairs, pair_weights, order)


def with_prior(blocks: Sequence[Block], prior: TablePrior) -> list[Block]:
    """Return blocks, slices first, with the weights and the pairs of a prior.

    A table that the prior does not know has the mean weight; pairs of unknown columns are left out.
    """
    slicing = blocks[0]
    assert isinstance(slicing, Slicing)
    factors = _weights_of(slicing.views.columns_seen, prior)
    views = replace(slicing.views, factors=factors)
    weighted: list[Block] = [replace(slicing, views=views), *blocks[1:]]
    columns = coarse_columns(slicing)
    places = {each.column: k for k, each in enumerate(columns)}
    known = np.array([a in places and b in places for a, b in prior.pairs.tolist()], dtype=bool)
    if known.any():
        indices = np.array([[places[a], places[b]] for a, b in prior.pairs[known].tolist()])
        codes = coarse_codes(slicing, columns)
        weights = prior.pair_weights[known]
        weighted.append(PairBlock.from_codes(columns, codes, indices, weights, prior.order))
    return weighted


def _weights_of(columns: IntArray, prior: TablePrior) -> FloatArray:
    """Return the weights of tables of these columns."""
    found = np.full(len(columns), prior.weights.mean())
    for column in np.unique(prior.columns).tolist():
        mine, known = np.flatnonzero(columns == column), prior.weights[prior.columns == column]
        n = min(len(mine), len(known))
        found[mine[:n]] = known[:n]
    return found
