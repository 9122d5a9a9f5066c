"""Versions of the dependencies, and the system: what a bug report needs."""

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_info

from kernsemble._jit import cache_folder
from kernsemble._memory import available_memory, physical_memory
from kernsemble._threads import all_threads

PACKAGES = (
    "kernsemble",
    "scikit-learn",
    "numpy",
    "scipy",
    "numba",
    "joblib",
    "threadpoolctl",
    "highspy",
    "skops",
    "pandas",
    "polars",
    "plotly",
    "matplotlib",
    "rich",
    "typer",
)


def versions(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python, the platform and the installed packages."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def show_versions() -> None:
    """Print the system, the versions of dependencies, threads, memory and the cache of Numba.

    Include the output in bug reports.

    Examples
    --------
    >>> import kernsemble
    >>> kernsemble.show_versions()
    <BLANKLINE>
    System:
    ...
    """
    found = versions()
    sections = {
        "System": {
            "python": sys.version.replace("\n", " "),
            "executable": sys.executable,
            "platform": found.pop("platform"),
        },
        "Python dependencies": {name: found.get(name, "not installed") for name in PACKAGES},
        "Threads and memory": dict(_resources()),
    }
    for title, items in sections.items():
        print(f"\n{title}:")
        width = max(map(len, items))
        for name, value in items.items():
            print(f"{name:>{width}}: {value}")


def _resources() -> Iterator[tuple[str, str]]:
    """Yield the names and descriptions of resources."""
    yield "cores", str(os.cpu_count())
    yield "threads of kernsemble", str(all_threads())
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        yield name, os.environ.get(name, "not set")
    for library in threadpool_info():
        name = " ".join(filter(None, (library["prefix"], library["version"])))
        yield f"threads of {name}", str(library["num_threads"])
    yield "memory", f"{physical_memory() / 2**30:.1f} GB"
    yield "memory available", f"{available_memory() / 2**30:.1f} GB"
    yield "Numba cache folder", cache_folder() or "none"
