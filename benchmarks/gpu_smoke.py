"""Check Gram blocks, products, diagonals and factors of a GPU against the CPU, and time them.

The peak counts instructions: multiprocessors x 128 float32 lanes x clock. A pair of rows needs two
per feature for a distance (subtract, add the size), one per operation of the formula of the kernel,
and one multiply-add per column of a product.

    PYTHONPATH=src python3 benchmarks/gpu_smoke.py [--programs FOLDER]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from kernsemble.devices import device
from kernsemble.devices.cuda_source import SYMMETRIC, CudaSource
from kernsemble.devices.formulas import Formula
from kernsemble.kernels import (
    Category,
    Constant,
    DecisionTree,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    MiddleStump,
    Perceptron,
    Polynomial,
    Stump,
    StumpRegion,
)

KERNELS = {
    "stump": Stump(),
    "empirical stump": Stump("empirical"),
    "middle stump": MiddleStump(),
    "perceptron": Perceptron(),
    "simplified": Perceptron().simplified,
    "category": Category().on([0]),
    "laplacian": Laplacian(),
    "exponential": Exponential(),
    "gaussian": Gaussian(),
    "linear": Linear(),
    "polynomial": Polynomial(degree=3),
    "constant": Constant(2.0) + Constant(1.0),
    "region": StumpRegion(level=3),
    "tree": DecisionTree(gamma=0.01),
    "sum": 2.0 * Laplacian(0.5) + 0.5 * Laplacian(0.1) + Constant(3.0),
    "laplacian + gaussian": Laplacian() + Gaussian(),
    "product": Stump().on([0, 1]) * Gaussian(0.3).on([2, 3]) + Exponential().on([1, 4]),
    "four": Stump() + Stump("empirical") + MiddleStump() * Laplacian() + Perceptron(),
    "and": Stump() & Perceptron(),
    "logic": Stump().logic * Perceptron().logic,
}
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}


def error(found, expected):
    """Return the largest difference relative to the largest value."""
    return float(np.abs(found - expected).max() / (np.abs(expected).max() or 1.0))


def check_kernel(gpu, kernel, dtype, X, Y):
    """Return the errors of a Gram matrix, a block in a larger array, products and the diagonal."""
    bound = kernel.bind(X)
    on_gpu = gpu.kernel(bound, dtype)
    A, B, K = on_gpu.prepare(X), on_gpu.prepare(Y), bound(X, Y)
    larger = gpu.xp.full((len(X) + 3, len(Y) + 5), np.nan, dtype=dtype)
    on_gpu.gram(A, B, out=larger[1:-2, 2:-3])
    square = gpu.to_host(on_gpu.gram(A))
    errors = {
        "gram": error(square, bound(X)),
        "block": error(gpu.to_host(larger)[1:-2, 2:-3], K),
        "symmetry": error(square, square.T),
        "diagonal": error(gpu.to_host(on_gpu.diagonal(A)), bound.diagonal(X)),
        "rows": error(
            gpu.to_host(on_gpu.gram(A[5:101:3], B[np.array([7, 3])])), K[5:101:3, [7, 3]]
        ),
    }
    on_gpu.tiles_worth_symmetry = 0
    Z = np.random.default_rng(2).normal(size=(3_001, X.shape[1]))
    Z[:, 0] = np.round(Z[:, 0])
    v = np.random.default_rng(3).normal(size=len(Z))
    found = gpu.to_host(on_gpu.product(on_gpu.prepare(Z), None, gpu.to_device(v, dtype)))
    errors["symmetric"] = error(found, bound(Z) @ v)
    for k in (1, 3, 16, 40):
        V = np.random.default_rng(k).normal(size=(len(Y), k))
        found = gpu.to_host(on_gpu.product(A, B, gpu.to_device(V, dtype)))
        errors[f"product {k}"] = error(found, K @ V)
    return errors


def check_factor(gpu, dtype):
    """Return the errors of a factor, a solution and an inverse of several blocks."""
    X = np.random.default_rng(0).normal(size=(3_000, 5))
    A = Laplacian(0.3)(X) + 0.1 * np.eye(len(X))
    factor, y = gpu.to_device(A, dtype), np.random.default_rng(1).normal(size=(len(X), 3))
    failed = gpu.factor_in_place(factor)
    U = np.triu(gpu.to_host(factor))
    solution = gpu.to_host(gpu.solve_with_factor(factor, gpu.to_device(y, dtype)))
    one = gpu.to_host(gpu.solve_with_factor(factor, gpu.to_device(y[:, 0], dtype)))
    inverse = np.triu(gpu.to_host(gpu.invert_in_place(factor)))
    broken = np.eye(5)
    broken[3, 3] = -1.0
    return {
        "failed": float(failed),
        "factor": error(U.T @ U, A),
        "solution": error(solution, np.linalg.solve(A, y)),
        "one": error(one, solution[:, 0]),
        "inverse": error(inverse, np.triu(np.linalg.inv(A))),
        "minor": float(gpu.factor_in_place(gpu.to_device(broken, dtype)) - 4),
    }


def run_checks(gpu):
    """Print the largest error of each kernel, and return the number of failures."""
    rng, failures = np.random.default_rng(0), 0
    X, Y = rng.normal(size=(333, 5)), rng.normal(size=(217, 5))
    X[:, 0], Y[:, 0] = np.round(X[:, 0]), np.round(Y[:, 0])
    for dtype, tolerance in TOLERANCE.items():
        for name, kernel in KERNELS.items():
            errors = check_kernel(gpu, kernel, dtype, X, Y)
            worst = max(errors, key=lambda each: errors[each])
            failures += not errors[worst] < tolerance
            mark = "ok" if errors[worst] < tolerance else "WRONG"
            print(f"| {name} | {dtype} | {errors[worst]:.1e} ({worst}) | {mark} |")
        errors = check_factor(gpu, dtype)
        print(f"| factors | {dtype} | " + ", ".join(f"{k} {v:.1e}" for k, v in errors.items()))
    return failures


def seconds(gpu, work, repeats=3):
    """Return the best time of some runs, after one that compiles."""
    work()
    gpu.synchronize()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        gpu.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def operations(expression):
    """Return the number of operations of an expression."""
    if expression.operation in ("constant", "distance"):
        return 0
    return 1 + sum(map(operations, expression.operands))


def instructions(kernel, n_features, columns):
    """Return the instructions per pair: of distances, of the formula, of the product."""
    formula = Formula.from_kernel(kernel)
    per_feature = 0
    for source in range(len(formula.sources)):
        measures = [measure for number, measure in formula.distances if number == source]
        per_feature += len(measures) + any(measure != "dot" for measure in measures)
    return per_feature * n_features + operations(formula.expression) + columns


def peak(gpu):
    """Return the instructions per second of all float32 lanes."""
    attributes = gpu.xp.cuda.Device().attributes
    return attributes["MultiProcessorCount"] * 128 * attributes["ClockRate"] * 1e3


def time_products(gpu, n, cases):
    """Print times of products without a matrix."""
    X = np.random.default_rng(0).normal(size=(n, 20))
    for name, dtype, columns in cases:
        kernel = KERNELS[name].bind(X[:2_000])
        on_gpu = gpu.kernel(kernel, dtype)
        rows = on_gpu.prepare(X)
        V = gpu.to_device(np.random.default_rng(1).normal(size=(n, columns)), dtype)
        each = seconds(gpu, lambda: on_gpu.product(rows, None, V))  # noqa: B023
        if on_gpu.computes_pairs_once(
            rows, rows, columns
        ):  # half of the pairs, and the product twice
            pairs = n * n / 2 * columns
            rate = pairs * instructions(kernel, 20, 2) / each
        else:
            rate = n * n * instructions(kernel, 20, columns) / each
        share = rate / peak(gpu) * (1 if dtype == "float32" else 2)
        print(f"| {name} K·V | {dtype} | {n:,} | {columns} | {each:.3f} s | {share:.0%} of peak |")


def time_matrices(gpu, n, inverse):
    """Print times of a Gram matrix, its factor, and its inverse."""
    X = np.random.default_rng(0).normal(size=(n, 20))
    kernel = Laplacian().bind(X[:2_000])
    on_gpu = gpu.kernel(kernel, "float32")
    rows, K = on_gpu.prepare(X), gpu.xp.empty((n, n), dtype=np.float32)
    each = seconds(gpu, lambda: on_gpu.gram(rows, out=K))
    share = n * n * instructions(kernel, 20, 0) / each / peak(gpu)
    print(f"| laplacian Gram | float32 | {n:,} | | {each:.4f} s | {share:.0%} of peak |")
    K[np.arange(n), np.arange(n)] += 0.1
    gpu.synchronize()
    start = time.perf_counter()
    failed = gpu.factor_in_place(K)
    each = time.perf_counter() - start
    rate = n**3 / 3e12 / each
    print(f"| Cholesky ({failed}) | float32 | {n:,} | | {each:.2f} s | {rate:.1f} TFLOP/s |")
    start = time.perf_counter()
    y = gpu.xp.ones(n, dtype=np.float32)
    gpu.solve_with_factor(K, y)
    gpu.synchronize()
    print(f"| solution | float32 | {n:,} | 1 | {time.perf_counter() - start:.3f} s |")
    if inverse:
        start = time.perf_counter()
        gpu.invert_in_place(K)
        gpu.synchronize()
        each = time.perf_counter() - start
        print(
            f"| inverse | float32 | {n:,} | | {each:.2f} s | {n**3 / 1.5e12 / each:.1f} TFLOP/s |"
        )


def write_programs(folder):
    """Write the programs of the Laplacian, to be disassembled."""
    source = CudaSource(Formula.from_kernel(Laplacian(1.0).bind([[0.0]])), np.dtype(np.float32))
    for columns in (0, SYMMETRIC, 1, 16, 32):
        Path(folder, f"{columns}.cu").write_text(source.program(columns), encoding="utf-8")


def main():
    """Run the checks, then the timings."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", help="folder for the programs of the Laplacian")
    parser.add_argument("--columns", type=int, nargs="*", default=[1, 16, 32])
    parser.add_argument("--rows", type=int, default=100_000, help="rows of a matrix to factor")
    parser.add_argument("--only", choices=["checks", "times"], help="leave out the other part")
    given = parser.parse_args()
    if given.programs:
        write_programs(given.programs)
    gpu = device("cuda")
    print(gpu.describe(), f"{gpu.free_memory() / 1e9:.1f} of {gpu.total_memory() / 1e9:.1f} GB")
    print(f"peak {peak(gpu) / 1e12:.1f} T float32 instructions/s")
    failures = 0 if given.only == "times" else run_checks(gpu)
    if given.only != "checks":
        time_products(gpu, 100_000, [("laplacian", "float32", k) for k in (1, 2, 16, 32)])
        time_products(
            gpu,
            200_000,
            [
                ("laplacian", "float32", 1),
                ("laplacian", "float64", 1),
                ("gaussian", "float32", 1),
                ("perceptron", "float32", 1),
                ("stump", "float32", 1),
                ("laplacian + gaussian", "float32", 1),
                ("region", "float32", 1),
                ("and", "float32", 1),
            ],
        )
        time_products(gpu, 1_000_000, [("laplacian", "float32", k) for k in given.columns])
        time_matrices(gpu, given.rows, inverse=True)
    sys.exit(failures)


if __name__ == "__main__":
    main()
