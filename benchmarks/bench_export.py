"""Measure exported models: agreement with Python, time per row, sizes of files, and the server.

Four tables: the largest differences between the predictions of exported models and those of the
library on random rows, for every model of the tests; microseconds per row of each runtime; sizes
of files beside an EBM and LightGBM of equal AUROC on adult; and requests per second of
``kernsemble serve`` on loopback, with the restart of a killed worker. Run from the repository:
``.venv/bin/python benchmarks/bench_export.py`` (``--quick`` for few rows and requests). ONNX files
of an EBM need the package ebm2onnx.
"""

import argparse
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
from export import zoo
from sklearn.metrics import roc_auc_score
from timing import best_times

from kernsemble import save
from kernsemble.datasets import load
from kernsemble.export import javascript_reader, to_json, to_onnx, to_sql
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV

EPOCH = pd.Timestamp("1970-01-01")
N_CLIENTS = 4
SECONDS = 600.0  # maximum time of a load test
KIB = 1024.0

EVALUATE = """
const { evaluate, rowOf } = require(process.argv[1]);
const read = (name) => JSON.parse(require("fs").readFileSync(name));
const [model, columns] = [read(process.argv[2]), read(process.argv[3])];
const names = Object.keys(columns);
const rows = columns[names[0]].map((_, k) =>
  Object.fromEntries(names.map((name) => [name, columns[name][k]])));
const start = process.hrtime.bigint();
const found = rows.map((row) => evaluate(model, rowOf(model, row)));
const seconds = Number(process.hrtime.bigint() - start) / 1e9;
const results = found.map(({ values, predicted, probabilities }) =>
  [predicted, ...(probabilities ?? values)]);
console.log(JSON.stringify({ seconds, results }));
"""


# -- runtimes: each returns a function from nothing to (labels or None, numbers)


def as_table(X: Any) -> pd.DataFrame:
    """Return rows as a table with None for missing categories."""
    if isinstance(X, np.ndarray):
        return pd.DataFrame(X, columns=[f"x{d}" for d in range(X.shape[1])])
    texts = X.select_dtypes(exclude=["number", "datetime"])
    return X.assign(**{name: each.where(each.notna(), None) for name, each in texts.items()})


def numbers_of(model: Any, X: Any) -> np.ndarray:
    """Return what is compared: probabilities, decision values or predicted numbers."""
    if not hasattr(model, "classes_"):
        return model.predict(X)[:, np.newaxis]
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.decision_function(X).reshape(len(X), -1)


def onnx_run(model: Any, X: Any) -> Callable[[], Any]:
    """Return the function that evaluates the graph of a model."""
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    given = {"X": X} if isinstance(X, np.ndarray) else _onnx_columns(session, X)
    names = [each.name for each in session.get_outputs()]
    wanted = next(n for n in ("probabilities", "decision", "prediction") if n in names)

    def run() -> Any:
        found = dict(zip(names, session.run(None, given), strict=True))
        return found.get("label"), found[wanted].reshape(len(X), -1)

    return run


def _onnx_columns(session: Any, X: pd.DataFrame) -> dict[str, np.ndarray]:
    found = {}
    for each in session.get_inputs():
        column = X[each.name]
        if each.type == "tensor(string)":
            entries = column.astype(object).where(column.notna(), "").to_numpy(dtype=object)
        elif column.dtype.kind == "M":
            entries = ((column - EPOCH) / pd.Timedelta("1D")).to_numpy()
        else:
            entries = column.to_numpy(dtype=np.float64)
        found[each.name] = entries[:, np.newaxis]
    return found


def duckdb_run(model: Any, X: Any) -> Callable[[], Any]:
    """Return the function that runs the query of a model in DuckDB."""
    connection, query = duckdb.connect(), to_sql(model, "duckdb")
    connection.register("given", as_table(X))
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return lambda: _of_frame(model, connection.execute(query).df())


def sqlite_run(model: Any, X: Any) -> Callable[[], Any]:
    """Return the function that runs the query of a model in SQLite."""
    connection, query, table = sqlite3.connect(":memory:"), to_sql(model, "sqlite"), as_table(X)
    dates = table.select_dtypes("datetime")
    table = table.assign(**{name: each.astype(str) for name, each in dates.items()})
    table.to_sql("rows", connection, index=False)
    return lambda: _of_frame(model, pd.read_sql_query(query, connection))


def _of_frame(model: Any, found: pd.DataFrame) -> Any:
    if not hasattr(model, "classes_"):
        return None, found.to_numpy()
    labels = found["prediction"].to_numpy().astype(model.classes_.dtype)
    return labels, found.iloc[:, 1:].to_numpy()


def node_results(model: Any, X: Any, folder: Path) -> tuple[float, Any]:
    """Return the seconds that Node.js takes, and its predictions."""
    table = as_table(X)
    dates = table.select_dtypes("datetime")
    text = {name: each.map(lambda when: when.isoformat()) for name, each in dates.items()}
    columns = table.assign(**text).astype(object).to_dict("list")
    plain = {name: [None if pd.isna(v) else v for v in each] for name, each in columns.items()}
    contents = javascript_reader(is_module=True), to_json(model), json.dumps(plain)
    paths = [folder / name for name in ("reader.js", "model.json", "rows.json")]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content, encoding="utf-8")
    command = ["node", "--max-old-space-size=4096", "-e", EVALUATE, *map(str, paths)]
    ended = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    results = np.array(ended["results"], dtype=np.float64)
    is_classifier = hasattr(model, "classes_")
    labels = model.classes_[results[:, 0].astype(int)] if is_classifier else None
    return ended["seconds"], (labels, results[:, 1:])


def differences(model: Any, X: Any, found: Any) -> str:
    """Return the number of different labels, and the largest difference of numbers."""
    labels, numbers = found
    n = 0 if labels is None else int((labels != model.predict(X)).sum())
    expected = numbers_of(model, X)
    if numbers.shape != expected.shape:  # values of pairs
        return f"{n}, –"
    return f"{n}, {np.abs(numbers - expected).max():.1e}"


def show_agreement(n_rows: int) -> None:
    """Print the differences of every model of the tests."""
    print(f"\nDifferent labels, and the largest difference of numbers, on {n_rows:,} rows\n")
    print("| model | onnxruntime | DuckDB | SQLite | Node.js |\n|---|---|---|---|---|")
    for name in zoo.CASES:
        model, X = zoo.fitted(name), zoo.rows(name, n_rows)
        cells = [differences(model, X, onnx_run(model, X)())]
        if name in zoo.ADDITIVE:
            cells += [differences(model, X, make(model, X)()) for make in (duckdb_run, sqlite_run)]
            with tempfile.TemporaryDirectory() as folder:
                cells.append(differences(model, X, node_results(model, X, Path(folder))[1]))
        else:
            cells += ["", "", ""]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


# -- adult: time per row, and sizes


def adult(n_training: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]:
    """Return training and test rows of adult as tables, with categories as text."""
    data = load("adult")
    names = data.feature_names or [f"x{d}" for d in range(data.X.shape[1])]
    table = pd.DataFrame(data.X, columns=list(names))
    for d in np.flatnonzero(data.is_categorical):
        column = table.columns[d]
        known = table[column].notna()
        table[column] = table[column].map(lambda code: f"c{code:g}").astype(object).where(known)
    order = np.random.default_rng(0).permutation(len(table))
    train, test = order[:n_training], order[-16_000:]
    classes = np.array(["below", "above"])[(np.asarray(data.y) > 0).astype(int)]
    reset = partial(pd.DataFrame.reset_index, drop=True)
    return reset(table.iloc[train]), classes[train], reset(table.iloc[test]), classes[test]


def show_times(models: dict[str, Any], X: pd.DataFrame) -> None:
    """Print the microseconds per row of every runtime."""
    print(f"\nMicroseconds per row, {len(X):,} rows of adult\n")
    print("| model | predict_proba | onnxruntime | DuckDB | SQLite | Node.js |")
    print("|---|---|---|---|---|---|")
    for name, (model, is_additive) in models.items():
        runs = [partial(model.predict_proba, X), onnx_run(model, X)]
        if is_additive:
            runs += [duckdb_run(model, X), sqlite_run(model, X)]
        times = best_times(*runs, repeats=3)
        if is_additive:
            with tempfile.TemporaryDirectory() as folder:
                times.append(node_results(model, X, Path(folder))[0])
        cells = [f"{1e6 * each / len(X):.2f}" for each in times] + [""] * (5 - len(times))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def show_sizes(ours: Any, data: Any) -> None:
    """Print the sizes of files on adult, beside an EBM and LightGBM of equal AUROC."""
    _, _, X_test, y_test = data
    reached = roc_auc_score(y_test == "above", _above(ours, X_test))
    print("\nSizes of files of models of adult\n")
    print("| file | KiB | AUROC |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = save(ours, Path(folder) / "model.skops")
        sizes = {
            "stumps, skops": path.stat().st_size,
            "stumps, ONNX": len(to_onnx(ours).SerializeToString()),
            "stumps, JSON": len(to_json(ours).encode()),
            "stumps, SQL": len(to_sql(ours).encode()),
        }
    for name, size in sizes.items():
        print(f"| {name} | {size / KIB:.1f} | {reached:.4f} |", flush=True)
    for name, size, auroc in (*_ebm_sizes(data), *_boosting_size(data, reached)):
        print(f"| {name} | {size / KIB:.1f} | {auroc:.4f} |", flush=True)


def _above(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X)[:, list(model.classes_).index("above")]


def _ebm_sizes(data: Any) -> list[tuple[str, int, float]]:
    """Return the sizes of ONNX graphs of EBMs without and with interactions."""
    if not (find_spec("interpret") and find_spec("ebm2onnx")):
        return []
    import ebm2onnx
    from interpret.glassbox import ExplainableBoostingClassifier

    X, y, X_test, y_test = data
    texts = X.select_dtypes(exclude="number").columns
    X, X_test = (each.assign(**each[texts].fillna("missing")) for each in (X, X_test))
    found = []
    for name, settings in (("EBM without pairs", {"interactions": 0}), ("EBM", {})):
        model = ExplainableBoostingClassifier(n_jobs=2, random_state=0, **settings).fit(X, y)
        types = ebm2onnx.get_dtype_from_pandas(X)
        graph = ebm2onnx.to_onnx(model, types, predict_proba=True)
        auroc = roc_auc_score(y_test == "above", _above(model, X_test))
        found.append((f"{name}, ONNX by ebm2onnx", len(graph.SerializeToString()), auroc))
    return found


def _boosting_size(data: Any, reached: float) -> list[tuple[str, int, float]]:
    """Return the size of the shortest LightGBM model whose AUROC is at least the given one."""
    if not find_spec("lightgbm"):
        return []
    from lightgbm import LGBMClassifier

    X, y, X_test, y_test = data
    texts = X.select_dtypes(exclude="number").columns
    X, X_test = (
        each.assign(**{name: each[name].astype("category") for name in texts})
        for each in (X, X_test)
    )
    for name in texts:
        X_test[name] = X_test[name].cat.set_categories(X[name].cat.categories)
    model = LGBMClassifier(n_estimators=300, n_jobs=2, verbose=-1, random_state=0).fit(X, y)
    above = list(model.classes_).index("above")
    for n in range(10, 301, 5):
        shares = model.predict_proba(X_test, num_iteration=n)[:, above]
        auroc = roc_auc_score(y_test == "above", shares)
        if auroc >= reached or n == 300:
            size = len(model.booster_.model_to_string(num_iteration=n).encode())
            return [(f"LightGBM, text, {n} trees", size, auroc)]
    return []


# -- the server


def show_server(model: Any, row: dict[str, Any], n_requests: int) -> None:
    """Print requests per second, latencies and errors, and restart and stop of the server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        path = save(model, Path(folder) / "model.skops")
        command = [sys.executable, "-m", "kernsemble", "serve", str(path), "--port", str(port)]
        process = subprocess.Popen(command)
        try:
            _show_load(port, row, n_requests)
            worker = _worker(port)
            start = time.perf_counter()
            os.kill(worker, signal.SIGKILL)
            _worker(port, other_than=worker)
            print(f"\nA killed worker was replaced after {time.perf_counter() - start:.1f} s.")
        finally:
            process.terminate()
            start = time.perf_counter()
            code = process.wait(60.0)
            print(f"The server stopped after {time.perf_counter() - start:.1f} s with code {code}.")


def _worker(port: int, other_than: int | None = None) -> int:
    """Return the process of a worker, once another than the given one answers."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=30.0)
            connection.request("GET", "/health")
            found = json.loads(connection.getresponse().read())["worker"]
            if found != other_than:
                return int(found)
        except (OSError, HTTPException):
            pass
        time.sleep(0.05)
    raise TimeoutError("no worker answers")


def _show_load(port: int, row: dict[str, Any], n_requests: int) -> None:
    _worker(port)
    print(f"\nkernsemble serve with one worker, {N_CLIENTS} clients on the same machine\n")
    print("| request | requests | per second | median, ms | 99 %, ms | status |")
    print("|---|---|---|---|---|---|")
    bad = json.dumps({"rows": [{**row, next(iter(row)): "no number"}]})
    cases = (
        ("1 row", json.dumps({"rows": [row]}), n_requests),
        ("1,000 rows", json.dumps({"rows": [row] * 1_000}), max(n_requests // 50, N_CLIENTS)),
        ("a bad row", bad, max(n_requests // 50, N_CLIENTS)),
    )
    for name, body, n in cases:
        context = get_context("spawn")
        settings = {"initializer": _meet_at, "initargs": (context.Barrier(N_CLIENTS),)}
        with ProcessPoolExecutor(N_CLIENTS, mp_context=context, **settings) as pool:
            tasks = [pool.submit(_requests, port, body, n // N_CLIENTS) for _ in range(N_CLIENTS)]
            each = [task.result() for task in tasks]
        seconds = max(times.sum() for times, _ in each)
        latencies = 1e3 * np.concatenate([times for times, _ in each])
        counts = sum((statuses for _, statuses in each), Counter())
        shown = ", ".join(f"{count:,} x {status}" for status, count in counts.items())
        print(
            f"| {name} | {len(latencies):,} | {len(latencies) / seconds:,.0f} | "
            f"{np.median(latencies):.2f} | {np.quantile(latencies, 0.99):.2f} | {shown} |",
            flush=True,
        )


def _meet_at(barrier: Any) -> None:
    """Store the point at which all clients wait for each other."""
    globals()["start_together"] = barrier


def _requests(port: int, body: str, n: int) -> tuple[np.ndarray, Counter]:
    """Send requests one after another, and return the seconds and the counts of statuses."""
    connection, content = HTTPConnection("127.0.0.1", port, timeout=60.0), body.encode()
    globals()["start_together"].wait()
    times, counts, end = [], Counter(), time.monotonic() + SECONDS
    while len(times) < n and time.monotonic() < end:
        start = time.perf_counter()
        try:
            connection.request("POST", "/predict", content)
            answer = connection.getresponse()
            answer.read()
            counts[str(answer.status)] += 1
        except (OSError, HTTPException) as error:
            counts[type(error).__name__] += 1
            connection.close()
        times.append(time.perf_counter() - start)
    connection.close()
    return np.array(times), counts


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rows and requests")
    quick = parser.parse_args().quick
    show_agreement(2_000 if quick else 100_000)
    data = adult(2_000 if quick else 32_000)
    X, y, X_test, _ = data
    stumps = InfiniteEnsembleClassifierCV(
        "stump", solver="additive", loss="logistic", scaling="rank", cv=3
    ).fit(X, y)
    exact = InfiniteEnsembleClassifier("laplacian", calibration="sigmoid", solver="exact")
    numbers = X.select_dtypes("number").columns[:6].tolist()
    some = X[numbers][:2_000].fillna(0.0)
    vote = InfiniteEnsembleClassifierCV("auto", loss="squared", cv=2, random_state=0)
    few = X_test[: 2_000 if quick else 16_000]
    show_times({"stumps, 14 columns": (stumps, True)}, few)
    show_times(
        {
            "laplacian, 2,000 rows, 6 columns": (exact.fit(some, y[:2_000]), False),
        },
        few[numbers].fillna(0.0),
    )
    show_times({"vote, 1,000 rows": (vote.fit(X[:1_000], y[:1_000]), False)}, few[:2_000])
    show_sizes(stumps, data)
    row = json.loads(X_test.head(1).to_json(orient="records"))[0]
    show_server(stumps, row, 2_000 if quick else 100_000)


if __name__ == "__main__":
    main()
