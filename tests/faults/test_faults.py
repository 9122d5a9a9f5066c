"""Full disks, no memory, kills, and damaged caches: one line, and the old file or the new one."""

import errno
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from faults import killing
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from kernsemble import __main__ as main, _files, _jit
from kernsemble._files import atomic_write
from kernsemble._jit import Compiled, ForgivingCache
from kernsemble.cli.app import app
from kernsemble.datasets import make_mixed_table
from kernsemble.experiments import Cell, Record, Store
from kernsemble.kernels import Stump
from kernsemble.persistence import load, save
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor

pytestmark = pytest.mark.skipif(os.name != "posix", reason="faults of POSIX systems")

TABLE, CLASSES = make_mixed_table(80, random_state=0)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def python(code, **settings):
    """Run a program in a new process."""
    environment = {**os.environ, **settings}
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


@pytest.fixture
def train(tmp_path):
    """Return a small table to fit."""
    rows = "".join(f"{k % 7},{k % 5},{'pq'[k % 2]}\n" for k in range(40))
    (tmp_path / "train.csv").write_text(f"a,b,y\n{rows}")
    return tmp_path / "train.csv"


def fit_words(train, *more):
    return "fit", train, "-t", "y", "--kernel", "stump", "--folds", "2", "--no-progress", *more


def error_line(result):
    (line,) = [each for each in result.stderr.splitlines() if "kernsemble: error: " in each]
    assert result.exit_code == 1
    assert "this is a bug" not in line
    assert "Traceback" not in result.stderr
    return line


# -- temporary files


def part_of(path, process, computer=None):
    """Create a temporary file as a process would."""
    name = f".{computer or _files._computer()}-{process}-{'0' * 8}.part.{path.name}"
    path.with_name(name).write_text("half")
    return path.with_name(name)


@pytest.fixture(scope="module")
def ended():
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_killed_processes_left_is_removed_by_the_next_writing(ended, tmp_path):
    path = tmp_path / "model.skops"
    inner = part_of(part_of(path, ended), ended)
    others = [part_of(tmp_path / "other.skops", ended), part_of(path, os.getpid())]
    others.append(part_of(path, ended, "ffffffff"))  # on another computer
    with atomic_write(path) as part:
        part.write_text("new")
    assert not inner.exists()
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


def test_a_process_of_another_user_counts_as_running():
    assert _files._is_running(1)
    assert _files._is_running(10**30)


# -- disks


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_full_or_locked_disk_keeps_the_old_files(code, train, tmp_path, monkeypatch):
    model, page = tmp_path / "model.skops", tmp_path / "report.html"
    model.write_text("old")

    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(_files.os, "fsync", fail)
    line = error_line(run(*fit_words(train, "-o", model, "--report", page, "--force")))
    assert f"{model}: {os.strerror(code)}: " in line
    assert line.endswith(("free space, or write elsewhere", "check the permissions"))
    assert model.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [model, train]


def test_a_folder_that_cannot_be_written_is_named(train):
    line = error_line(run(*fit_words(train, "-o", "/proc/model.skops")))
    assert "'/proc/model.skops'" in line or "/proc/model.skops: " in line


def test_a_file_size_limit_keeps_the_old_file(tmp_path):
    path = save(Stump(), tmp_path / "model.skops")
    done = python(
        "import resource, signal, kernsemble\n"
        "from kernsemble.kernels import Stump\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        f"kernsemble.save(Stump().bind([[0.0], [1.0]]), {str(path)!r})\n"
    )
    assert f"OSError: [Errno {errno.EFBIG}] File too large: {str(path)!r}" in done.stderr
    assert load(path) == Stump()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_predictions_to_a_full_disk_end_with_a_line(train, tmp_path):
    model = tmp_path / "model.skops"
    assert run(*fit_words(train, "-o", model)).exit_code == 0
    command = [sys.executable, "-m", "kernsemble", "predict", model, train, "--no-progress"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("kernsemble: error: No space left on device: free space")
    assert done.stderr.count("\n") == 1


# -- memory


@pytest.mark.parametrize("error", [MemoryError(), MemoryError("Unable to allocate 8 GiB")])
def test_too_little_memory_in_a_fit_is_one_line(error, train, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(InfiniteEnsembleClassifier, "fit", fail)
    monkeypatch.setattr("kernsemble.svm.InfiniteEnsembleClassifierCV.fit", fail)
    line = error_line(run(*fit_words(train, "-o", tmp_path / "model.skops")))
    assert "there is not enough memory" in line
    assert line.endswith("use fewer rows, or free memory")
    assert str(error) in line
    assert list(tmp_path.iterdir()) == [train]


@pytest.mark.slow
def test_a_limit_of_the_address_space_ends_a_fit_with_one_line(tmp_path):
    rows = np.random.default_rng(0).normal(size=(6000, 3)).round(3)
    lines = [f"{a},{b},{c},{'p' if a * b > 0 else 'q'}" for a, b, c in rows]
    (tmp_path / "train.csv").write_text("\n".join(["a,b,c,y", *lines]))
    done = python(
        "import resource, sys, kernsemble.svm, polars, skops.io\n"
        "from pathlib import Path\n"
        "from kernsemble.cli.app import app\n"
        f"train = {str(tmp_path / 'train.csv')!r}\n"
        "words = ['fit', train, '-t', 'y', '--kernel', 'perceptron', '--jobs', '1',\n"
        "         '--folds', '2', '--memory', '4000', '--solver', 'exact', '--no-progress',\n"
        "         '--out']\n"
        "app([*words, train + '.skops', '--max-rows', '100'], standalone_mode=False)\n"
        "taken = int(Path('/proc/self/statm').read_text().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + 2**26, taken + 2**26))\n"
        "app([*words, train + '.large.skops'])\n"
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("kernsemble: error: ")
    assert "memory" in line
    assert not (tmp_path / "train.csv.large.skops").exists()


# -- signals and kills


def test_a_second_sigterm_does_not_stop_the_removal_of_files(monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            main._terminate(signal.SIGTERM, None)
        assert ended.value.code == 143
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
def test_kills_at_random_times_leave_the_old_file_or_the_new_one():
    """In a process of its own, since forks do not copy threads."""
    tests = Path(__file__).parents[1]
    script = Path(killing.__file__)
    paths = os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", str(tests.parent / "src"))])
    command = [sys.executable, script, "--times", "24", "--seed", "1"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr
    assert "killed" in done.stdout


def test_two_processes_do_not_write_one_store(tmp_path):
    store = Store(tmp_path / "records.jsonl")
    with store.writing():
        store.append(Record(Cell("twonorm", "SVM-Stump", 0), {"error": 1.0}))
        done = python(
            "from kernsemble.experiments import Store\n"
            f"with Store({str(store.path)!r}).writing(): pass\n"
        )
    assert "is being written by another run: wait for it" in done.stderr
    assert list(Store(store.path).records) == [Cell("twonorm", "SVM-Stump", 0)]


def test_a_store_without_space_keeps_its_records(tmp_path, monkeypatch):
    store = Store(tmp_path / "records.jsonl")
    first, second = (Record(Cell("twonorm", "SVM-Stump", k), {"error": 1.0}) for k in (0, 1))
    with store.writing():
        store.append(first)
    with store.path.open("ab") as file:
        file.write(b'{"data": "half')  # as far as the disk went
    with store.writing():
        store.append(second)
    assert list(Store(store.path).records) == [first.cell, second.cell]


# -- compiled code


CALL = "from kernsemble._jit import _none, cache_folder\nassert _none() is None\n"


def cached_files(folder):
    return sorted(each for each in folder.rglob("*") if each.suffix in (".nbi", ".nbc"))


@pytest.mark.parametrize("kept", [60])
def test_a_damaged_cache_is_compiled_again(kept, tmp_path):
    settings = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert python(CALL, **settings).returncode == 0
    files = cached_files(tmp_path)
    assert {each.suffix for each in files} == {".nbi", ".nbc"}
    for suffix in (".nbi", ".nbc"):
        for path in cached_files(tmp_path):
            if path.suffix == suffix:
                path.write_bytes(path.read_bytes()[:kept])
        done = python(CALL, **settings)
        assert done.returncode == 0, done.stderr
    done = python(CALL + "assert sum(_none.dispatcher.stats.cache_hits.values()) == 1", **settings)
    assert done.returncode == 0, done.stderr


def test_two_processes_share_an_empty_cache(tmp_path):
    settings = {"NUMBA_CACHE_DIR": str(tmp_path)}
    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(lambda _: python(CALL, **settings), range(2)))
    assert [each.returncode for each in done] == [0, 0], [each.stderr for each in done]
    assert python(CALL, **settings).returncode == 0


def test_a_cache_that_cannot_be_written_only_warns(monkeypatch):
    class Numba:
        @staticmethod
        def njit(cache=False, **_):
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return lambda function: function

    monkeypatch.setattr(_jit, "_numba", lambda: Numba)
    _jit._warn_of_no_cache.cache_clear()
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR to a folder"):
        assert Compiled(lambda: 3)() == 3
    assert Compiled(lambda: 4)() == 4  # without another warning


def test_errors_of_the_cache_are_no_errors_of_the_caller():
    class Damaged:
        cache_path = "folder"

        def __init__(self):
            self.is_flushed = False

        def load_overload(self, *_):
            raise pickle.UnpicklingError

        def save_overload(self, *_):
            raise OSError(errno.ENOSPC, "no space")

        def flush(self):
            self.is_flushed = True
            raise OSError(errno.EROFS, "read-only")

    damaged = Damaged()
    cache = ForgivingCache(damaged)
    assert cache.load_overload(None, None) is None
    assert damaged.is_flushed
    cache.save_overload(None, None)
    assert cache.cache_path == "folder"


# -- threads and processes


def fitted():
    """Return models of two backends and of both tasks."""
    yield InfiniteEnsembleClassifier().fit(TABLE, CLASSES)
    yield InfiniteEnsembleClassifier("perceptron", solver="exact").fit(
        TABLE.select_dtypes("number").fillna(0.0), CLASSES
    )
    yield InfiniteEnsembleRegressor(loss="squared").fit(
        TABLE.select_dtypes("number").fillna(0.0), np.arange(len(TABLE), dtype=float)
    )


def rows_of(model):
    names = list(model.feature_names_in_)
    return TABLE[names] if len(names) == TABLE.shape[1] else TABLE[names].fillna(0.0)


def predictions(model):
    return model.predict(rows_of(model))


@pytest.fixture(scope="module")
def models():
    return list(fitted())


def test_eight_threads_predict_as_one_does(models):
    for model in models:
        expected = predictions(model)
        with ThreadPoolExecutor(8) as threads:
            for found in threads.map(predictions, [model] * 32):
                assert_array_equal(found, expected)


@pytest.mark.slow
def test_processes_of_joblib_predict_as_this_one(models):
    expected = [predictions(model) for model in models]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(predictions)(model) for model in models)
    for ours, theirs in zip(expected, found, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.large
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_forked_and_spawned_processes_predict_as_this_one(method, models):
    """Threads have run here before, and are not there after a fork."""
    expected = [predictions(model) for model in models]
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(predictions, models).get(timeout=120)
    for ours, theirs in zip(expected, found, strict=True):
        assert_array_equal(ours, theirs)
