"""Saving and loading of models, in files that contain no code.

A file is a skops archive with one more member, ``kernsemble.json``, which holds the format and
the versions that wrote it. These are checked before anything else is read.
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
from zipfile import ZIP_DEFLATED, ZipFile

from sklearn.base import BaseEstimator

from kernsemble._files import atomic_write, check_folder
from kernsemble._memory import available_memory
from kernsemble._model_archives import ArchiveTooLargeError, check_archive
from kernsemble._value_object import Value

__all__ = ["ModelFileError", "UntrustedModelError", "VersionMismatchWarning", "load", "save"]

FORMAT = 2  # 1: classes of svm in other modules
HEADER = "kernsemble.json"
RECORDED = ("kernsemble", "scikit-learn", "numpy", "skops")

# Modules of scikit-learn classes that fitted searches and Gaussian processes contain and skops
# does not trust by default. These classes store settings and arrays; creating one runs no code.
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
    """Error for a file without a model that can be read here."""


class UntrustedModelError(ValueError):
    """Error for a file with types that are not trusted.

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
    """Warning that a model was saved by an incompatible version of this library."""


def save(model: object, path: str | os.PathLike[str]) -> Path:
    """Save a kernel or an estimator, fitted or not, to a file.

    The file contains arrays and settings, no code. It is written atomically: after an error an
    existing file of that name is unchanged.

    Parameters
    ----------
    model : object
        Kernel, estimator of this library or of scikit-learn, or a list or dict of them.
    path : str or path
        File to write; ``.skops`` is the usual extension.

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
    check_folder(path)
    archive = BytesIO()
    skops.dump(_without_callbacks(model), archive, compression=ZIP_DEFLATED)
    header = {"format": FORMAT, "versions": {name: version(name) for name in RECORDED}}
    with ZipFile(archive, "a", ZIP_DEFLATED) as members:
        members.writestr(HEADER, json.dumps(header, indent=2))
    with atomic_write(path) as part:
        part.write_bytes(archive.getvalue())
    return path


def _without_callbacks(model: object) -> object:
    """Return an estimator without its callbacks, which cannot be saved."""
    if not getattr(model, "_skl_callbacks", None):
        return model
    silent = copy(model)
    del silent._skl_callbacks  # type: ignore[attr-defined]
    return silent


def load(path: str | os.PathLike[str], trusted: Iterable[str] = ()) -> Any:
    """Load a model from a file that `save` wrote.

    Only kernels, hypotheses and estimators of this library, scikit-learn's estimators and arrays
    are rebuilt. A file with any other type is refused before anything is built. This keeps foreign
    code out; it does not make the numbers of an untrusted file correct, nor does it protect
    compiled code from malicious arrays. A file that would unpack to more than the available memory
    is refused before it is unpacked.

    Parameters
    ----------
    path : str or path
        File to read.
    trusted : strings, default=()
        Full names of additional types that you trust. Rebuilding one may run its code.

    Returns
    -------
    object
        The model; kernels equal those that were saved.

    Raises
    ------
    UntrustedModelError
        If the file contains other types; the message lists them.
    ModelFileError
        If the file is damaged, was written by another program, has a later format, or needs more
        memory than is available.

    Warns
    -----
    VersionMismatchWarning
        If the file was written by another release series of this library (0.1, 0.2, 1, 2).

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
    content = _content(path)
    versions = _checked_versions(path, content)
    try:
        found = set(skops.get_untrusted_types(data=content))
        allowed = {trusted} if isinstance(trusted, str) else set(trusted)
        unknown = sorted(name for name in found - allowed if not _is_trusted(name))
        if not unknown:
            return skops.loads(content, trusted=sorted(found))
    except MemoryError as error:
        raise _too_large(path, "needs more memory than is available") from error
    except Exception as error:
        raise ModelFileError(
            f"{path} contains a model that cannot be loaded here ({type(error).__name__}: {error})."
            f" It was saved with {_text(versions)}: install these, or fit and save it again"
        ) from error
    raise UntrustedModelError(path, unknown)


def _import_skops() -> Any:
    try:
        return import_module("skops.io")
    except ModuleNotFoundError as error:
        raise ImportError(
            "saving and loading models needs skops, which is not installed: pip install skops"
        ) from error


def _content(path: Path) -> bytes:
    """Return the bytes of a file, read once, so that the checked ones are the loaded ones."""
    size, available = path.stat().st_size, available_memory()
    if not path.is_file() and not path.is_dir():
        raise ModelFileError(f"{path} is no regular file: copy its content to one")
    if size > available:
        raise _too_large(
            path, f"takes {size / 2**20:,.3g} MB, and {available / 2**20:,.3g} are available"
        )
    return path.read_bytes()


def _checked_versions(path: Path, content: bytes) -> dict[str, str]:
    """Return the versions that wrote a file; raise an error if it cannot be read."""
    if not b"PK".startswith(content[:2]):  # first bytes of a zip archive
        raise _not_ours(path)
    try:
        with ZipFile(BytesIO(content)) as members:
            check_archive(members)
            is_ours = HEADER in members.namelist()
            header = json.loads(members.read(HEADER)) if is_ours else {}
        versions = {name: str(each) for name, each in header.get("versions", {}).items()}
        written_as = int(header.get("format", FORMAT))
    except ArchiveTooLargeError as error:
        raise _too_large(path, str(error)) from error
    except Exception as error:  # the type depends on the position of the damage
        raise ModelFileError(
            f"{path} is truncated or damaged ({error}): copy or save it again"
        ) from error
    if "kernsemble" not in versions:
        raise _not_ours(path)
    if written_as > FORMAT:
        raise ModelFileError(
            f"{path} has format {written_as}, and this version of kernsemble reads formats up to "
            f"{FORMAT}. It was saved with {_text(versions)}: install that version"
        )
    if written_as < FORMAT:
        raise ModelFileError(
            f"{path} has format {written_as}, of an older version ({_text(versions)}), and this "
            f"version of kernsemble reads format {FORMAT}: fit the model again"
        )
    if _series(versions["kernsemble"]) != _series(version("kernsemble")):
        _warn_of_versions(path, versions)
    return versions


def _too_large(path: Path, reason: str) -> ModelFileError:
    return ModelFileError(f"{path} {reason}: read it where more memory is free")


def _not_ours(path: Path) -> ModelFileError:
    return ModelFileError(
        f"{path} was not written by kernsemble.save: pass a file that was, or load other skops "
        "files with skops.io.load"
    )


def _series(release: str) -> list[str]:
    """Return the release series of a version; versions of one series are compatible."""
    return release.split(".")[: 2 if release.startswith("0.") else 1]


def _warn_of_versions(path: Path, saved: dict[str, str]) -> None:
    here = {name: version(name) for name in saved if name in RECORDED}
    changed = {name: saved[name] for name in here if saved[name] != here[name]}
    warnings.warn(
        f"{path} was saved with {_text(changed)}, and the installed version is "
        f"{_text({name: here[name] for name in changed})}: results may differ. Fit and save the "
        f"model again, or pip install kernsemble=={saved['kernsemble']}",
        VersionMismatchWarning,
        stacklevel=4,  # the caller of `load`
    )


def _text(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {each}" for name, each in versions.items())


def _is_trusted(name: str) -> bool:
    """Return whether a name is that of a class of this library or of `HELPER_MODULES`.

    The class must be defined in the module, not merely imported there. Functions are never
    trusted.
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
