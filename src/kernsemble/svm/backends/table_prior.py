"""Learned weights of the tables of an additive machine, and its pairs of columns."""

from dataclasses import dataclass

from kernsemble._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TablePrior:
    """Weights of tables, learned from some rows, for machines on others.

    They are variances of a prior, which does not depend on the number of rows.

    Attributes
    ----------
    columns : array of shape (n_slices,)
        The column of each table that is not of a pair, −1 for a sampled direction.
    weights : array of shape (n_slices,)
        The factors of their measures.
    pairs : array of shape (n_pairs, 2)
        The columns of each pair.
    pair_weights : array of shape (n_pairs,)
        The factors of their kernels.
    order : float
        The order of their isotropic prior.
    """

    columns: IntArray
    weights: FloatArray
    pairs: IntArray
    pair_weights: FloatArray
    order: float
