r"""Quantisation of columns into levels and codes, so that a function of a feature is a table.

A numeric column becomes at most `max_levels` ordered levels. With no more distinct values than
that every value is a level and nothing is lost; otherwise levels are quantiles of the sample, and
the value of a level is the mean of its members. A missing value is a level of its own, outside
the order. A column of categories (whole numbers from 0) has one unordered level per category, and
level 0 for categories that are not in the sample.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from kernsemble._arguments import check_count
from kernsemble._jit import jit
from kernsemble._threads import blocks, run
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.solvers.additive.levels import MAX_LEVELS, Levels, code_type
from kernsemble.solvers.additive.look_up import ROWS_PER_TASK, Encoder

QUANTILE_ROWS = 50_000  # number of rows that quantiles are computed from: about 200 per level
HEAVY = 4.0  # weight of a value with a level of its own, over the mean weight of a level


def quantise(
    X: FloatArray,
    *,
    max_levels: int = 256,
    is_category: BoolArray | None = None,
    weight: FloatArray | None = None,
    max_quantile_rows: int = QUANTILE_ROWS,
    rows_per_task: int = ROWS_PER_TASK,
) -> tuple[list[Levels], IntArray]:
    """Return the levels of every column, and the codes of every entry.

    Parameters
    ----------
    X : array of shape (n, D)
        Numbers, NaN where missing. Columns of categories contain whole numbers from 0, and
        anything else (negative, NaN) where the category is unknown.
    max_levels : int
        Maximum number of levels of a numeric column, including that of missing values; up to
        65,535.
    is_category : boolean array of shape (D,), optional
        Whether each column contains categories.
    weight : array of shape (n,), optional
        Weights of the rows; a row of weight zero is absent, but encoded.
    max_quantile_rows : int
        Maximum number of rows that quantiles are computed from.
    rows_per_task : int
        Number of rows that a thread encodes at a time.

    Returns
    -------
    levels : list of D Levels
    codes : array of shape (D, n)
        One contiguous row per column; uint8 if every column has at most 256 levels, else uint16.

    Notes
    -----
    Quantiles are computed from at most 50,000 rows, drawn with a fixed seed; values and weights
    of levels from all rows. Columns with at most `max_levels` distinct values are exact for
    any n. Costs O(D (m log m + n log max_levels)) with m = min(n, 50,000).

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.solvers.additive.quantise import quantise
    >>> (levels,), codes = quantise(np.array([[3.0], [1.0], [np.nan], [3.0]]))
    >>> levels.values, codes
    (array([1., 3.]), array([[1, 0, 2, 1]], dtype=uint8))
    """
    check_count("max_levels", max_levels, 2)
    if max_levels > MAX_LEVELS:
        raise ValueError(f"max_levels = {max_levels}: use at most {MAX_LEVELS:,}")
    n, D = X.shape
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    is_category = np.zeros(D, dtype=bool) if is_category is None else is_category
    first = _first_guess(X, weight, is_category, max_levels, max_quantile_rows)
    codes: IntArray = np.empty((D, n), dtype=code_type(first))
    levels, is_right = _encoded(X, weight, first, codes, rows_per_task)
    wrong = np.flatnonzero(~is_right)
    if len(wrong) > 0:  # values that were not among the rows drawn
        columns = X[:, wrong]
        second = run(
            partial(_column_levels, columns, weight, is_category[wrong], max_levels),
            range(len(wrong)),
        )
        widest = code_type([*levels, *second])
        codes, again = codes.astype(widest, copy=False), np.empty((len(wrong), n), dtype=widest)
        again_levels, _ = _encoded(columns, weight, second, again, rows_per_task)
        for d, each in zip(wrong, again_levels, strict=True):
            levels[d] = each
        codes[wrong] = again
    return levels, codes


def _first_guess(
    X: FloatArray,
    weight: FloatArray,
    is_category: BoolArray,
    max_levels: int,
    max_quantile_rows: int,
) -> list[Levels]:
    present = np.flatnonzero(weight > 0.0)
    if len(present) == 0:
        raise ValueError("weight is zero everywhere: pass at least one positive weight")
    if len(present) > max_quantile_rows:
        rng = np.random.default_rng(0)
        present = np.sort(rng.choice(present, max_quantile_rows, replace=False))
    if len(present) < len(X):
        X, weight = X[present], weight[present]
    work = partial(_column_levels, X, weight, is_category, max_levels)
    return run(work, range(len(is_category)))


def _column_levels(
    X: FloatArray, weight: FloatArray, is_category: BoolArray, max_levels: int, d: int
) -> Levels:
    column = X[:, d].astype(np.float64)
    return (
        category_levels(column, weight)
        if is_category[d]
        else number_levels(column, weight, max_levels)
    )


def category_levels(column: FloatArray, weight: FloatArray) -> Levels:
    """Return the levels of weighted categories, without members."""
    known = column[(weight > 0.0) & (column >= 0.0)]
    n_categories = int(known.max()) + 1 if len(known) > 0 else 0
    one = np.ones(1, dtype=np.intp)
    return Levels(np.full(1, np.nan), np.empty(0), n_categories, np.empty(0), one, 0)


def number_levels(column: FloatArray, weight: FloatArray, max_levels: int) -> Levels:
    """Return the levels of weighted numbers, without members."""
    is_missing = np.isnan(column)
    holds_missing = bool((weight[is_missing] > 0.0).any())
    is_present = ~is_missing & (weight > 0.0)
    if not is_present.all():
        column, weight = column[is_present], weight[is_present]
    if len(column) == 0:
        column, weight = np.zeros(1), np.ones(1)  # a level without members
    if (weight == weight[0]).all():
        column = np.sort(column)
    else:
        order = np.argsort(column)
        column, weight = column[order], weight[order]
    if np.isinf(column[[0, -1]]).any():
        raise ValueError("X contains infinite values: replace them by NaN or finite numbers")
    lowest, highest, distinct = _groups(column, weight, max_levels - holds_missing)
    middles = 0.5 * lowest[1:] + 0.5 * highest[:-1]
    cuts = np.where(middles < lowest[1:], np.maximum(middles, highest[:-1]), highest[:-1])
    return Levels(lowest, cuts, int(holds_missing), np.empty(0), distinct, 0)


def grouped(weight: FloatArray, max_groups: int) -> IntArray:
    """Return the group of each of some neighbouring levels; groups have about equal weights."""
    places = np.arange(float(len(weight)))
    distinct = _groups(places, np.maximum(weight, np.finfo(float).tiny), max_groups)[2]
    return np.repeat(np.arange(len(distinct)), distinct)


def grouped_weights(groups: IntArray, weight: FloatArray) -> FloatArray:
    """Return the weight of each group of levels."""
    return np.bincount(groups, weight).astype(np.float64)


def merged(levels: Levels, groups: IntArray) -> Levels:
    """Return the levels of a column of numbers with neighbouring ones merged into groups."""
    m, weight = levels.n_ordered, grouped_weights(groups, levels.weight)
    ordered = groups[:m]
    mass = np.maximum(levels.weight[:m], np.finfo(np.float64).tiny)
    total: FloatArray = np.bincount(ordered, mass)  # type: ignore[assignment]
    with np.errstate(over="ignore"):
        values: FloatArray = np.bincount(ordered, mass * levels.values) / total
    if not np.isfinite(values).all():
        values = np.bincount(ordered, mass / total[ordered] * levels.values) / 1.0
    last = np.flatnonzero(np.diff(ordered))
    distinct = np.bincount(ordered, levels.distinct).astype(np.intp)
    middle = int(groups[levels.middle])
    return replace(
        levels, values=values, cuts=levels.cuts[last], weight=weight, distinct=distinct,
        middle=middle,
    )  # fmt: skip


@jit
def _groups(
    column: FloatArray, weight: FloatArray, max_levels: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return lowest, highest and number of distinct values of the levels of a sorted column.

    Values with more than `HEAVY` times the mean weight of a level have a level of their own; the
    others share the remaining levels equally, as far as ties allow.
    """
    n, n_distinct, total = len(column), 0, 0.0
    for t in range(n):
        total += weight[t]
        n_distinct += t == n - 1 or column[t + 1] != column[t]
    values, mass = np.empty(n_distinct), np.zeros(n_distinct)
    k = 0
    for t in range(n):
        values[k] = column[t]
        mass[k] += weight[t]
        k += t == n - 1 or column[t + 1] != column[t]
    if n_distinct <= max_levels:
        return values, values.copy(), np.ones(n_distinct, dtype=np.intp)
    is_heavy = mass >= HEAVY * total / max_levels
    shared, n_shared = total - mass[is_heavy].sum(), max_levels - 2 * is_heavy.sum()
    group, n_groups, below, last = np.empty(n_distinct, dtype=np.intp), -1, 0.0, -1
    for k in range(n_distinct):
        mine = -2  # heavy: none of the shared levels
        if not is_heavy[k]:
            mine = min(int((below + 0.5 * mass[k]) / shared * n_shared), n_shared - 1)
            below += mass[k]
        if is_heavy[k] or mine != last:
            n_groups += 1
        group[k], last = n_groups, mine
    lowest, highest = np.empty(n_groups + 1), np.empty(n_groups + 1)
    distinct = np.zeros(n_groups + 1, dtype=np.intp)
    for k in range(n_distinct):
        if distinct[group[k]] == 0:
            lowest[group[k]] = values[k]
        highest[group[k]] = values[k]
        distinct[group[k]] += 1
    return lowest, highest, distinct


def _encoded(
    X: FloatArray,
    weight: FloatArray,
    levels: Sequence[Levels],
    codes: IntArray,
    rows_per_task: int,
) -> tuple[list[Levels], BoolArray]:
    """Encode all rows; return levels with values and weights of all rows, and which are exact."""
    tally, is_right = encode_and_tally(X, weight, levels, codes, rows_per_task)
    return finished(levels, tally), is_right


def encode_and_tally(
    X: FloatArray,
    weight: FloatArray,
    levels: Sequence[Levels],
    codes: IntArray,
    rows_per_task: int = ROWS_PER_TASK,
) -> tuple[FloatArray, BoolArray]:
    """Encode rows; return sums and weights of the members of all levels, and which are exact."""
    encoder = Encoder.from_levels(levels)

    def work(rows: slice) -> tuple[FloatArray, FloatArray, BoolArray]:
        encoder.encode(X[rows], codes[:, rows])
        return encoder.tally(X[rows], codes[:, rows], weight[rows])

    if len(X) == 0:
        return np.zeros((2, len(encoder.columns.values))), np.ones(len(levels), dtype=bool)
    totals, masses, rights = zip(*run(work, blocks(len(X), rows_per_task)), strict=True)
    return np.array([np.sum(totals, axis=0), np.sum(masses, axis=0)]), np.all(rights, axis=0)


def finished(levels: Sequence[Levels], tally: FloatArray) -> list[Levels]:
    """Return levels with the values and weights of their members, from the tallies of all rows."""
    ends = np.cumsum([each.n_levels for each in levels])
    tallies = np.split(tally, ends[:-1], axis=1)
    return [_with_members(each, *mine) for each, mine in zip(levels, tallies, strict=True)]


def _with_members(levels: Levels, total: FloatArray, mass: FloatArray) -> Levels:
    """Return the levels with the means of their members as values."""
    values, m = levels.values, levels.n_ordered
    if not (levels.is_exact or levels.holds_categories):
        shift = np.divide(total[:m], mass[:m], out=np.zeros(m), where=mass[:m] > 0.0)
        low = np.concatenate([[-np.inf], np.nextafter(levels.cuts, np.inf)])
        values = np.clip(values + shift, low, np.concatenate([levels.cuts, [np.inf]]))
    below = np.cumsum(mass[:m])
    middle = int(np.searchsorted(below, 0.5 * below[-1]))
    return replace(levels, values=values, weight=mass, middle=middle)
