"""Solvers: functions of arrays that return a solution, its duality gap and its status.

Support vector machines on a kernel matrix
    smo : the dual problem, by `pairs` and `newton` steps; `folds` : cross-validation over C;
    regularization_path : the solution at every C; matrix : the kernel matrix, in memory or by rows;
    optimality : bias, objective and duality gap; perceptron : the kernel perceptron.
Additive machines on tables
    additive : quantised columns, losses, Newton's method and coordinate descent.
Boosting
    stump_search : the best decision stump, and AdaBoost on stumps; linear_program,
    column_generation and dual_simplex : LPBoost; kernel_boosting and eigenvector : KernelBoost.
Multiplicative updates
    multiplicative and projection : the ρ-SVM; products and low_rank : products with its matrix.
Variable selection and detection
    subsets and likelihoods : models on subsets of columns; kernel_sums : sums of local kernels.
Shared
    result : `Solution` and `Status`; interrupts : watching and stopping runs.
"""

from kernsemble.solvers.folds import Fold, solve_folds, solve_path
from kernsemble.solvers.result import Solution, Status
from kernsemble.solvers.smo import solve_dual

__all__ = ["Fold", "Solution", "Status", "solve_dual", "solve_folds", "solve_path"]
