"""Models in files that can be opened without running what is in them.

A file is a skops archive with one more member, ``kernsemble.json``: the format and the
versions that wrote it, which are checked before anything else is read.
"""

import json
import os
import warnings
from collections.abc import Iterable
from copy import copy
from importlib import import_module
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

from sklearn.base import BaseEstimator

from kernsemble._value import Value

__all__ = ["ModelFileError", "UntrustedModelError", "VersionMismatchWarning", "load", "save"]

FORMAT = 1
HEADER = "kernsemble.json"
RECORDED = ("kernsemble", "scikit-learn", "numpy", "skops")

# Classes of scikit-learn that fitted searches and Gaussian processes hold, which skops leaves
# to its users: they keep settings and arrays, and do nothing when they are made.
HELPER_MODULES = frozenset(
    {
        "sklearn.gaussian_process._gpc",
        "sklearn.gaussian_process.kernels",
        "sklearn.metrics._scorer",
        "sklearn.model_selection._split",
    }
)


SPARSE_ROWS = frozenset({"scipy.sparse._csr.csr_matrix", "scipy.sparse._csr.csr_array"})


class ModelFileError(ValueError):
    """A file does not hold a model that this version can read."""


class UntrustedModelError(ValueError):
    """A file contains types that neither this library nor scikit-learn vouches for.

    Attributes
    ----------
    path : Path
        The file.
    types : tuple of str
        Full names of these types.
    """

    def __init__(self, path: Path, types: Iterable[str]) -> None:
        self.path, self.types = path, tuple(types)
        super().__init__(path, self.types)  # the arguments that pickle and copy pass again

    def __str__(self) -> str:
        return (
            f"{self.path} contains types that are not known to be harmless: "
            f"{', '.join(self.types)}. If you trust the file and these types, "
            f"load(path, trusted={list(self.types)!r})"
        )


class VersionMismatchWarning(UserWarning):
    """A model was saved by a version of this library that may have meant other things."""


def save(model: object, path: str | os.PathLike[str]) -> Path:
    """Write a kernel, or an estimator fitted or not, to a file that `load` reads.

    The file holds arrays and settings, no code. It appears whole or not at all: an error
    leaves an older file of that name as it was.

    Parameters
    ----------
    model : object
        A kernel, one of our estimators or scikit-learn's, or a list or dict of them.
    path : str or path
        Where to; ``.skops`` is the customary ending.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.svm import SVC
    >>> from kernsemble.kernels import Stump
    >>> from kernsemble.persistence import load, save
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> machine = SVC(kernel=Stump().bind(X)).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     again = load(save(machine, Path(folder) / "machine.skops"))
    >>> again
    SVC(kernel=Stump().bind(X))
    >>> again.predict([[0.5], [3.5]])
    array([0, 1])
    """
    skops = _import_skops()
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"path = {str(path)!r}: there is no folder {str(path.parent)!r}; make it first, "
            "Path(path).parent.mkdir(parents=True)"
        )
    archive = BytesIO()
    skops.dump(_without_callbacks(model), archive, compression=ZIP_DEFLATED)
    header = {"format": FORMAT, "versions": {name: version(name) for name in RECORDED}}
    with ZipFile(archive, "a", ZIP_DEFLATED) as members:
        members.writestr(HEADER, json.dumps(header, indent=2))
    _write_whole(path, archive.getvalue())
    return path


def _without_callbacks(model: object) -> object:
    """Return an estimator without what listens to its fits, which no file can hold."""
    if not getattr(model, "_skl_callbacks", None):
        return model
    silent = copy(model)
    del silent._skl_callbacks  # type: ignore[attr-defined]
    return silent


def load(path: str | os.PathLike[str], trusted: Iterable[str] = ()) -> Any:
    """Return the model of a file that `save` wrote.

    Only kernels, hypotheses and estimators of this library are rebuilt, those of
    scikit-learn, and arrays. A file that holds anything else is refused before any of it
    is built. That keeps foreign code out; it does not make a stranger's numbers right, nor
    promise that compiled code survives arrays that were made to harm it.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : strings, default=()
        The full names of more types that you vouch for. Rebuilding one may run its code.

    Returns
    -------
    object
        The model; kernels equal those that were saved.

    Raises
    ------
    UntrustedModelError
        If there are other types in the file; the message names them.
    ModelFileError
        If the file is damaged, was written by something else or by a later format.

    Warns
    -----
    VersionMismatchWarning
        If another series of versions of this library wrote the file (0.1, 0.2, 1, 2).

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kernsemble.kernels import Perceptron, Stump
    >>> from kernsemble.persistence import load, save
    >>> kernel = (Stump() + 0.5 * Perceptron()).bind([[0.0, 1.0], [2.0, 3.0]])
    >>> with TemporaryDirectory() as folder:
    ...     load(save(kernel, Path(folder) / "kernel.skops")) == kernel
    True
    """
    skops = _import_skops()
    path = Path(path)
    content = path.read_bytes()  # once: what is checked is what is built
    versions = _checked_versions(path, content)
    try:
        found = set(skops.get_untrusted_types(data=content))
        vouched = {trusted} if isinstance(trusted, str) else set(trusted)
        unknown = sorted(name for name in found - vouched if not _is_known(name))
        if not unknown:
            return skops.loads(content, trusted=sorted(found))
    except Exception as error:
        raise ModelFileError(
            f"{path} holds a model that cannot be rebuilt here ({type(error).__name__}: {error}). "
            f"It was saved with {_text(versions)}: install these, or fit and save it again"
        ) from error
    raise UntrustedModelError(path, unknown)


def _import_skops() -> Any:
    try:
        return import_module("skops.io")
    except ModuleNotFoundError as error:
        raise ImportError(
            "models are saved and loaded with skops, which is not installed: pip install skops"
        ) from error


def _write_whole(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _checked_versions(path: Path, content: bytes) -> dict[str, str]:
    """Return the versions that wrote a file which is whole, ours and not of a later format."""
    if not b"PK".startswith(content[:2]):  # as archives begin
        raise _not_ours(path)
    try:
        with ZipFile(BytesIO(content)) as members:
            is_ours, damaged = HEADER in members.namelist(), members.testzip()
            header = json.loads(members.read(HEADER)) if is_ours else {}
        if damaged is not None:
            raise ValueError(f"the checksum of {damaged} is wrong")
        versions = {name: str(each) for name, each in header.get("versions", {}).items()}
        written_as = int(header.get("format", FORMAT))
    except Exception as error:  # what zipfile raises depends on where the damage is
        raise ModelFileError(
            f"{path} is truncated or damaged ({error}): copy it again, or save the model again"
        ) from error
    if "kernsemble" not in versions:
        raise _not_ours(path)
    if written_as > FORMAT:
        raise ModelFileError(
            f"{path} has format {written_as}, and this version of kernsemble reads up to {FORMAT}: "
            f"it was saved with {_text(versions)}, install that"
        )
    if _series(versions["kernsemble"]) != _series(version("kernsemble")):
        _warn_of_versions(path, versions)
    return versions


def _not_ours(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path} was not written by kernsemble.save: give a file that was; skops.io.load reads "
        "other skops files"
    )


def _series(release: str) -> list[str]:
    """Return what must be equal for two versions to promise to understand each other."""
    return release.split(".")[: 2 if release.startswith("0.") else 1]


def _warn_of_versions(path: Path, saved: dict[str, str]) -> None:
    here = {name: version(name) for name in saved if name in RECORDED}
    changed = {name: saved[name] for name in here if saved[name] != here[name]}
    warnings.warn(
        f"{path} was saved with {_text(changed)}, and here is "
        f"{_text({name: here[name] for name in changed})}: results may differ; fit and save the "
        f"model again, or pip install kernsemble=={saved['kernsemble']}",
        VersionMismatchWarning,
        stacklevel=4,  # the call of `load`
    )


def _text(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {each}" for name, each in versions.items())


def _is_known(name: str) -> bool:
    """Whether a name is that of a class, of ours or of a helper, which is safe to make.

    The module must be where the class is defined: what a module merely imports is not its
    own, and functions are never known.
    """
    from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel  # heavy

    if name in SPARSE_ROWS:
        return True
    module_name, _, class_name = name.rpartition(".")
    is_ours = module_name.startswith("kernsemble.") and "__main__" not in module_name
    if not (is_ours or module_name in HELPER_MODULES):
        return False
    try:
        found = getattr(import_module(module_name), class_name)
    except (ImportError, AttributeError):
        return False
    if not isinstance(found, type) or found.__module__ != module_name:
        return False
    bases = (Value, BaseEstimator, GaussianProcessKernel)
    return module_name in HELPER_MODULES or issubclass(found, bases)
