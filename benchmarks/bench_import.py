"""Measure the time of ``import kernsemble`` in addition to numpy and scikit-learn.

Run from the repository: ``.venv/bin/python benchmarks/bench_import.py``.
"""

import subprocess
import sys

BEFORE = "import numpy, sklearn, sklearn.base, sklearn.utils, sklearn.utils.validation, sklearn.svm"
PARTS = {
    "kernsemble": "import kernsemble",
    "kernsemble.kernels": "import kernsemble.kernels",
    "everything": "import kernsemble.kernels, kernsemble.hypotheses, kernsemble.datasets",
}
MEASURE = """
{before}
import sys, time
start = time.perf_counter()
{imports}
print(time.perf_counter() - start, "numba" in sys.modules)
"""


def best_import(imports: str, repeats: int = 7) -> tuple[float, bool]:
    """Return the shortest time of an import in a new process, and whether it loads Numba."""
    code = MEASURE.format(before=BEFORE, imports=imports)
    outputs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(repeats)
    ]
    seconds, loaded = zip(*(output.stdout.split() for output in outputs), strict=True)
    return min(map(float, seconds)), "True" in loaded


def main() -> None:
    """Print the table."""
    print("| import | seconds | Numba loaded |\n|---|---|---|")
    for name, imports in PARTS.items():
        seconds, loaded = best_import(imports)
        print(f"| {name} | {seconds:.3f} | {'yes' if loaded else 'no'} |")


if __name__ == "__main__":
    main()
