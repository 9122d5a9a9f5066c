"""Memory is estimated before it is allocated."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from kernsemble._memory import Budget, available_memory, physical_memory
from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import GramTooLargeError, RowsOnDemandWarning
from kernsemble.kernels import Laplacian, Stump
from kernsemble.solvers.kernel_matrix import RowsOnDemand
from kernsemble.svm.backends.matrix import matrix_within

X, _ = make_threenorm(200, random_state=0)
SIZE = 200 * 200 * 8 / 2**20  # megabytes of the whole matrix


def test_a_matrix_within_the_budget_is_held_whole():
    kernel = Stump().bind(X)
    assert_allclose(matrix_within(Budget.from_megabytes(SIZE), kernel, X), kernel(X))


def test_float32_rows_take_half():
    assert Budget.from_megabytes(SIZE).holds(X.astype(np.float32), n_matrices=2)
    assert not Budget.from_megabytes(SIZE).holds(X, n_matrices=2)


@pytest.mark.parametrize("rows", [X, X.astype(np.float32), sparse.csr_matrix(X)])
def test_a_larger_matrix_is_computed_on_demand_with_a_warning(rows):
    kernel = Laplacian().bind(rows)
    size = SIZE * rows.dtype.itemsize / 8
    message = "200 x 200 .* 68 are cached, .* 2.6e.04 kernel values again, .* raise cache_size"
    if rows.dtype == np.float32:
        message = "200 x 200 .* cached"
    with pytest.warns(RowsOnDemandWarning, match=message) as caught:
        demanded = matrix_within(Budget.from_megabytes(0.6 * size + 1e-9), kernel, rows)
    assert caught[0].filename == __file__
    assert isinstance(demanded, RowsOnDemand)
    some = np.array([3, 150, 7])
    assert_allclose(demanded.block(some), kernel(rows)[np.ix_(some, some)], rtol=1e-6)


def test_a_budget_that_is_too_small_is_refused_with_the_remedy():
    with pytest.raises(GramTooLargeError, match="16 of its rows: raise cache_size"):
        matrix_within(Budget.from_megabytes(0.1 * SIZE + 1e-9), Stump().bind(X), X)
    with pytest.raises(ValueError, match="cache_size = 0"):
        Budget.from_megabytes(0)


def test_by_default_half_of_the_memory_is_used():
    assert Budget.from_megabytes(None, memory=2 * 2**20 * SIZE).holds(X)
    assert not Budget.from_megabytes(None, memory=1.9 * 2**20 * SIZE).holds(X)


# -- the memory that is available


def write(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_available_memory_is_the_smallest_of_all_limits(tmp_path):
    assert available_memory(tmp_path) == physical_memory()
    write(tmp_path, proc__meminfo="MemTotal: 9000 kB\nMemAvailable: 4000 kB\n")
    assert available_memory(tmp_path) == 4000 * 1024
    write(tmp_path, proc__self__cgroup="0::/user/job\n")
    job, user = "sys/fs/cgroup/user/job/memory", "sys/fs/cgroup/user/memory"
    write(tmp_path, **{f"{job}.max": "max\n", f"{job}.current": "500000\n"})
    assert available_memory(tmp_path) == 4000 * 1024
    write(tmp_path, **{f"{user}.max": "1000000\n", f"{user}.current": "700000\n"})
    assert available_memory(tmp_path) == 300_000
    write(tmp_path, **{f"{user}.stat": "anon 1\ninactive_file 50000\n"})
    assert available_memory(tmp_path) == 350_000
    write(tmp_path, **{f"{user}.current": "2000000\n"})
    assert available_memory(tmp_path) == 0.0


def test_available_memory_of_older_control_groups(tmp_path):
    write(tmp_path, proc__self__cgroup="3:cpu:/a\n2:memory:/a\n")
    group = "sys/fs/cgroup/memory/a/memory"
    write(
        tmp_path,
        **{f"{group}.limit_in_bytes": "900\n", f"{group}.usage_in_bytes": "500\n"},
        **{f"{group}.stat": "total_inactive_file 100\n"},
    )
    assert available_memory(tmp_path) == 500


def test_a_limit_of_the_address_space_counts(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    page = os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100 * page, 100 * page))
    write(tmp_path, proc__self__statm="30 20 10\n")
    assert available_memory(tmp_path) == 70 * page


# -- the peak of fits

OTHER_MEMORY = 8  # megabytes of everything but matrices, with 1,800 rows


@pytest.mark.large
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_the_peak_of_a_fit_stays_within_its_memory():
    """The matrix of 1,800 rows takes 25 MB, so that 10 MB are enough for rows on demand only."""
    kinds = {"fit": 10, "path": 26, "pairs": 26, "regression": 40, "race": 26, "vote": 70}
    cases = list(kinds.items())
    script = Path(__file__).with_name("peak_memory.py")
    found = subprocess.run(
        [sys.executable, str(script), *(str(each) for case in cases for each in case)],
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"},  # so that freed arrays are gone
        capture_output=True,
        text=True,
        check=True,
    )
    for (kind, allowed), peak in zip(cases, found.stdout.split(), strict=True):
        assert float(peak) <= 1.1 * allowed + OTHER_MEMORY, kind
