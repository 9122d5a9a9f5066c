"""The values of machines as ONNX operators."""

from collections.abc import Iterator

import numpy as np

from kernsemble.export.machine_terms import DirectionTables, KernelExpansion, MachineTerms
from kernsemble.export.onnx.graph import Tensor, in_tiles, total
from kernsemble.export.onnx.kernels import kernel_matrix
from kernsemble.export.onnx.look_up import look_up
from kernsemble.export.onnx.scalings import scaled
from kernsemble.export.pair_terms import PairTerms
from kernsemble.export.refusals import import_extra
from kernsemble.export.voter_terms import PlaneVotes, TreeVotes

ENTRIES_OF_A_TILE = 2**18  # numbers that fit into the cache


def column_contributions(terms: MachineTerms, rows: Tensor) -> Tensor:
    """Return the contributions of columns, of shape (n, n_columns, n_machines)."""
    found = look_up(rows, terms.functions)
    if terms.pairs is None:
        return found
    halves = terms.pairs.halves(len(terms.functions))
    return found + rows.graph.tensor(halves) @ _pair_values(terms.pairs, rows)


def _pair_values(pairs: PairTerms, rows: Tensor) -> Tensor:
    """Return the functions of pairs, of shape (n, n_pairs, n_machines)."""
    columns = rows.at(np.array(pairs.columns), axis=1)
    levels = look_up(columns, pairs.levels).sum(2).as_integer()
    first, second = (levels.at(np.array(each), axis=1) for each in zip(*pairs.shares, strict=True))
    shapes = np.array([each.heights.shape for each in pairs.tables])
    starts = np.concatenate([[0], np.cumsum(shapes[:, 0] * shapes[:, 1])[:-1]])
    heights = np.concatenate([each.heights.reshape(-1, shapes[0, 2]) for each in pairs.tables])
    return rows.graph.tensor(heights).at(first * shapes[:, 1] + second + starts)


def values(
    terms: MachineTerms, rows: Tensor, n_columns: int, max_entries: int = ENTRIES_OF_A_TILE
) -> Tensor:
    """Return the value of every machine (columns) at rows.

    Terms of several columns are computed for a few rows at a time, so that a tensor of them has
    at most `max_entries` numbers, or those of one row.
    """
    parts = []
    if terms.functions:
        parts.append(column_contributions(terms, rows).sum(1))
    if not terms.is_additive:
        height = max(max_entries // max(_widths(terms)), 1)
        parts.append(
            in_tiles(rows, n_columns, height, lambda tile: total(list(_terms(terms, tile))))
        )
    return total(parts) + terms.intercept


def _widths(terms: MachineTerms) -> Iterator[int]:
    """Yield the numbers that the terms of several columns compute for a row."""
    for expansion in terms.expansions:
        n_known, n_columns = expansion.known.shape
        yield max(n_known * n_columns, 1)
    for each in terms.directions:
        yield len(each.directions) * len(each.tables[0].missing)
    if terms.trees is not None:
        yield len(terms.trees.roots) * terms.trees.votes.shape[1]
    if terms.planes is not None:
        yield len(terms.planes.coef)


def _terms(terms: MachineTerms, rows: Tensor) -> Iterator[Tensor]:
    for expansion in terms.expansions:
        yield _expansion_values(expansion, rows)
    for each in terms.directions:
        yield _direction_values(each, rows)
    if terms.trees is not None:
        yield _tree_votes(terms.trees, rows)
    if terms.planes is not None:
        yield _plane_votes(terms.planes, rows)


def _expansion_values(expansion: KernelExpansion, rows: Tensor) -> Tensor:
    is_used = expansion.coefficients.any(axis=0)
    known, beta = expansion.known[is_used], expansion.coefficients[:, is_used]
    matrix = kernel_matrix(expansion.kernel, scaled(expansion.scaling, rows), known)
    return matrix @ np.ascontiguousarray(beta.T)


def _direction_values(each: DirectionTables, rows: Tensor) -> Tensor:
    towards = np.ascontiguousarray(each.directions.T)
    columns = scaled(each.scaling, rows).at(np.asarray(each.columns, dtype=np.int64), axis=1)
    projected = columns @ towards - each.centre @ towards
    return look_up(projected, each.tables).sum(1)


def _tree_votes(trees: TreeVotes, rows: Tensor) -> Tensor:
    """Return the votes of trees, which all take one step after another."""
    single = import_extra("onnx").TensorProto.FLOAT
    compared = rows.to("Cast", to=single).as_double() if trees.is_single else rows
    feature, threshold, left, right, votes = map(rows.graph.tensor, trees[:5])
    node = rows.between(0, 1, 1).to("IsNaN").where(0, 0) + trees.roots
    for _ in range(trees.depth):
        entries = compared.to("GatherElements", feature.at(node), axis=1)
        is_right = entries > threshold.at(node)
        node = is_right.where(right.at(node), left.at(node))
    is_unknown = rows.to("IsNaN").as_double().sum(1, keep=True) > 0.0  # a missing value
    return is_unknown.where(np.nan, votes.at(node).sum(1))


def _plane_votes(planes: PlaneVotes, rows: Tensor) -> Tensor:
    is_above = (rows @ planes.coef.T + planes.intercept > 0.0).as_double()
    return is_above @ (planes.above - planes.below) + planes.below.sum(axis=0)
