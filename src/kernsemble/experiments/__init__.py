"""The papers' experiments: cells computed once, kept on disk, told beside what was published."""

from kernsemble.experiments.cells import Cell, Record
from kernsemble.experiments.running import run_cells
from kernsemble.experiments.store import Store
from kernsemble.experiments.verdicts import Comparison, Mean, Verdict

__all__ = ["Cell", "Comparison", "Mean", "Record", "Store", "Verdict", "run_cells"]
