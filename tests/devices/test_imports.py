"""Devices and machines are imported without packages that only other parts need."""

import subprocess
import sys

PROGRAM = """
import sys
for name in ("cupy", "highspy", "skops", "typer", "rich", "dask", "distributed"):
    sys.modules[name] = None  # so that importing it fails
import numpy as np
import kernsemble.devices, kernsemble.svm
from kernsemble.kernels import Laplacian
host = kernsemble.devices.device("host").kernel(Laplacian(1.0).bind([[0.0]]))
assert host.gram(host.prepare([[0.0], [1.0]])).shape == (2, 2)
X = np.linspace(0.0, 1.0, 20)[:, np.newaxis]
kernsemble.svm.InfiniteEnsembleClassifier(kernel="laplacian").fit(X, X[:, 0] > 0.5).predict(X)
try:
    kernsemble.devices.device("cuda")
except kernsemble.devices.DeviceNotFoundError as error:
    print(error)
"""


def test_a_machine_is_fitted_with_the_required_packages_of_the_gpu_backend_only():
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "pip install 'kernsemble[cuda]', or use solver='exact'" in ended.stdout
