"""Runner and store: cells are computed once and survive any end of a run."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from kernsemble.experiments import (
    Cell,
    Mean,
    PublishedComparison,
    Record,
    Store,
    Verdict,
    run_cells,
)

CELLS = [Cell(data, method, seed) for data in "ab" for method in "xy" for seed in range(4)]


def compute(cell):
    if cell == Cell("b", "y", 3):
        raise ValueError("no such luck")
    return {"error": float(np.random.default_rng([cell.seed, ord(cell.data)]).random())}


def table(records):
    return {record.cell: (record.values, record.failure) for record in records}


def test_records_are_kept_and_read_again(tmp_path):
    store = Store(tmp_path / "deep" / "records.jsonl")
    records = run_cells(CELLS, compute, store)
    assert [record.cell for record in records] == CELLS
    assert table(Store(store.path).records.values()) == table(records)
    assert records[-1].failure == "ValueError: no such luck"
    assert records[0].values == compute(CELLS[0])


def test_only_failures_are_computed_twice(tmp_path):
    store, seen = Store(tmp_path / "records.jsonl"), []
    run_cells(CELLS[:5], compute, store)
    run_cells([*CELLS, *CELLS], compute, store, on_record=lambda record: seen.append(record.cell))
    assert seen == CELLS[5:]
    run_cells(CELLS, compute, store, on_record=lambda record: seen.append(record.cell))
    assert seen == [*CELLS[5:], CELLS[-1]]


def test_any_number_of_workers_gives_the_same_table(tmp_path):
    one = run_cells(CELLS, compute, Store(tmp_path / "one.jsonl"))
    two = run_cells(CELLS, compute, Store(tmp_path / "two.jsonl"), n_jobs=2)
    assert table(one) == table(two)


@pytest.mark.parametrize("torn", [b'{"data": "a", "met', b"\x00\x00", b'{"data": "a"}'])
def test_an_incomplete_last_line_is_cut_off(tmp_path, torn):
    store = Store(tmp_path / "records.jsonl")
    whole = run_cells(CELLS[:3], compute, store)
    with store.path.open("ab") as file:
        file.write(torn)
    again = Store(store.path)
    assert table(again.records.values()) == table(whole)
    records = run_cells(CELLS[:4], compute, again)
    assert table(Store(store.path).records.values()) == table(records)
    assert len(store.path.read_text().splitlines()) == 4


def test_a_line_that_is_not_a_record_is_an_error(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(Record(CELLS[0]).as_dict()) + '\n{"data": 1}\n')
    with pytest.raises(ValueError, match="line 2 is not a record"):
        Store(path)


def test_one_process_writes_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "records.jsonl"
    with Store(path).writing(), pytest.raises(RuntimeError, match="another run"):
        run_cells(CELLS, compute, Store(path))
    with pytest.raises(RuntimeError, match="not open"):
        Store(path).append(Record(CELLS[0]))


SLOW_RUN = """
import sys, time
from kernsemble.experiments import Cell, Store, run_cells
def compute(cell):
    time.sleep(0.05)
    return {"error": cell.seed ** 0.5}
run_cells([Cell("a", "x", seed) for seed in range(60)], compute, Store(sys.argv[1]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_run_killed_twice_continues(tmp_path):
    path = tmp_path / "records.jsonl"
    counts = []
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", SLOW_RUN, str(path)])
        before = counts[-1] if counts else 0
        while not path.exists() or len(path.read_bytes().splitlines()) < before + 5:
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        counts.append(len(Store(path).records))
    assert 5 <= counts[0] < counts[1] < 60
    subprocess.run([sys.executable, "-c", SLOW_RUN, str(path)], check=True)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(line["seed"] for line in lines) == list(range(60))
    assert all(line["values"] == {"error": line["seed"] ** 0.5} for line in lines)


def slow(cell):
    time.sleep(0.2)
    return compute(cell)


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_gives_the_same_table(tmp_path):
    distributed = pytest.importorskip("distributed")
    alone = run_cells(CELLS, compute, Store(tmp_path / "alone.jsonl"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        killed = []

        def kill_one(record):
            if not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        store = Store(tmp_path / "dask.jsonl")
        records = run_cells(CELLS, slow, store, dask=cluster.scheduler_address, on_record=kill_one)
    assert killed
    assert table(records) == table(alone)


def deadly(cell):
    if cell.seed == 3:
        os._exit(1)
    return compute(cell)


@pytest.mark.slow
def test_a_cell_that_kills_its_workers_is_a_failure(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        store = Store(tmp_path / "dask.jsonl")
        records = run_cells(CELLS[:4], deadly, store, dask=cluster.scheduler_address)
    assert records[-1].failure.startswith("KilledWorker")
    assert [record.failure for record in records[:2]] == [None, None]


def test_means_have_standard_errors():
    assert Mean.from_runs([1.0, 2.0, 3.0]) == pytest.approx((2.0, 1.0 / np.sqrt(3.0), 3))
    assert Mean.from_runs([4.0]) == (4.0, None, 1)
    assert str(Mean(2.345, 0.1, 4)) == "2.35 ± 0.10"
    assert str(Mean(0.0123, 0.00031, 4)) == "0.0123 ± 0.0003"


@pytest.mark.parametrize(
    ("ours", "published", "verdict"),
    [
        (Mean(10.0, 0.3, 20), Mean(11.0, 0.4, 100), Verdict.WITHIN),
        (Mean(10.0, 0.3, 20), Mean(12.0, 0.4, 100), Verdict.BETTER),
        (Mean(10.0, 0.3, 20), Mean(8.0, 0.4, 100), Verdict.WORSE),
        (Mean(10.0, None, 1), Mean(10.4, None, 1), Verdict.WITHIN),
        (Mean(10.0, None, 1), Mean(9.4, None, 1), Verdict.WORSE),
        (Mean(10.0, 0.3, 25), Mean(9.2, None, 100), Verdict.WITHIN),
        (Mean(10.0, 0.3, 25), Mean(8.9, None, 100), Verdict.WORSE),
        (Mean(10.0, 0.0, 25), Mean(9.9, 0.0, 25), Verdict.WORSE),
        (Mean(10.0, None, 1), Mean(8.0, 0.1, 100), Verdict.WITHIN),  # one run spreads by 1
        (Mean(10.0, None, 1), Mean(6.0, 0.1, 100), Verdict.WORSE),
    ],
)
def test_verdicts_are_of_three_combined_standard_errors_or_half_a_point(ours, published, verdict):
    assert PublishedComparison(ours, published).verdict is verdict
