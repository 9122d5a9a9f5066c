"""The server as a process: load, restart of a killed worker, graceful stop."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx2
import pytest
from sklearn.datasets import load_iris

from kernsemble import save
from kernsemble.svm import InfiniteEnsembleClassifier

ROW = {"x0": 5.1, "x1": 3.5, "x2": 1.4, "x3": 0.2}
SECONDS = 120.0  # maximum time to start, on a machine that is busy otherwise


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def running(path):
    """Run `kernsemble serve`, and yield the process and a client once it answers."""
    port = free_port()
    command = [sys.executable, "-m", "kernsemble", "serve", str(path), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30.0) as client:
            yield process, client
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(30.0)
        process.stderr.close()


def health(client, other_than=None):
    """Return the state of a worker, once another one than the given answers."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            found = client.get("/health").json()
        except httpx2.HTTPError:
            found = {"worker": other_than}
        if found["worker"] != other_than:
            return found
        time.sleep(0.1)
    raise AssertionError("no worker answers")


@pytest.mark.large
def test_a_killed_worker_restarts_and_a_stop_finishes_requests(tmp_path):
    X, y = (each[::3] for each in load_iris(return_X_y=True))
    path = save(InfiniteEnsembleClassifier().fit(X, y), tmp_path / "model.skops")
    with running(path) as (process, client):
        first = health(client)
        with ThreadPoolExecutor(4) as threads:
            answers = list(
                threads.map(lambda _: client.post("/predict", json={"rows": [ROW]}), range(200))
            )
        assert Counter(each.status_code for each in answers) == {200: 200}
        assert {each.text for each in answers} == {'{"predictions":[{"prediction":0}]}'}
        os.kill(first["worker"], signal.SIGKILL)
        health(client, other_than=first["worker"])
        assert client.post("/predict", json={"rows": [ROW]}).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30.0) == 0
        lines = process.stderr.read().splitlines()
        assert "serving" in lines[0]
        assert "stopped" in lines[-1]
