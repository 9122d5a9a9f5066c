import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernsemble.datasets.catalogue import DatasetEntry
from kernsemble.datasets.fingerprint import fingerprint, unordered_fingerprint

X = np.array([[0.5, 1.0], [0.0, 2.0], [1.5, 0.0], [2.5, 1.0]])
y = np.array([-1, 1, 1, -1])


@pytest.fixture
def tiny_entry():
    """Return the catalogue entry of a made-up data set of four examples."""
    return DatasetEntry.from_json(
        "tiny",
        {
            "title": "Four examples",
            "part_sizes": [4],
            "n_features": 2,
            "class_counts": {"-1": 2, "1": 2},
            "file_bytes": 0,
            "file_sha256": "",
            "fingerprint": fingerprint(X, y),
            "unordered_fingerprint": unordered_fingerprint(X, y),
        },
    )


@pytest.fixture
def tiny_values():
    return X.copy(), y.copy()


@pytest.fixture
def store(tmp_path, monkeypatch, tiny_entry):
    """Return a function that writes arrays to the data folder and returns their entry."""
    monkeypatch.setenv("KERNSEMBLE_DATA", str(tmp_path))

    def write(**arrays):
        path = tmp_path / tiny_entry.file_name
        np.savez_compressed(path, **arrays)
        content = path.read_bytes()
        checksum = hashlib.sha256(content).hexdigest()
        return replace(tiny_entry, file_bytes=len(content), file_sha256=checksum)

    return write


@pytest.fixture
def data_folder():
    folder = os.environ.get("KERNSEMBLE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the data folder that KERNSEMBLE_DATA names")
    return Path(folder)
