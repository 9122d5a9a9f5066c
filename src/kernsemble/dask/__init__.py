"""Estimators on a Dask cluster: the local ones, for rows that stay on the workers.

Workers read their partitions twice, and keep codes of one byte per entry. A step of the solver
sends tables to the workers and sums back, whose size does not depend on the number of rows. If
a worker is lost, Dask reads its partitions again, and they continue where they were.
"""

from kernsemble.dask.estimators import (
    DaskInfiniteEnsembleClassifier,
    DaskInfiniteEnsembleClassifierCV,
    DaskInfiniteEnsembleRegressor,
    DaskInfiniteEnsembleRegressorCV,
)

__all__ = [
    "DaskInfiniteEnsembleClassifier",
    "DaskInfiniteEnsembleClassifierCV",
    "DaskInfiniteEnsembleRegressor",
    "DaskInfiniteEnsembleRegressorCV",
]
