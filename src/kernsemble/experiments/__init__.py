"""The papers' experiments: computed cell by cell, stored on disk, compared with the papers."""

from kernsemble.experiments.records import Cell, Record, Store
from kernsemble.experiments.runner import run_cells
from kernsemble.experiments.verdicts import Mean, PublishedComparison, Verdict

__all__ = ["Cell", "Mean", "PublishedComparison", "Record", "Store", "Verdict", "run_cells"]
