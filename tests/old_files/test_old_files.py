"""Files that earlier versions wrote are read, and their models predict as they did.

Documents of format 1, without pairs of columns, were written by the last version that had it.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from old_files.models import ADDITIVE, METHODS, bound_kernels, predictions
from sklearn.exceptions import InconsistentVersionWarning

from kernsemble.export import from_json
from kernsemble.inspection.additive_model import VERSION
from kernsemble.persistence import FORMAT, VersionMismatchWarning, load

pytest.importorskip("skops.io")

HERE = Path(__file__).parent
MODELS = sorted(HERE.glob("models-*/*.skops"))
DOCUMENTS = sorted(path for path in HERE.glob("documents-*/*.json") if path.stem in ADDITIVE)


def name_of(path):
    return f"{path.parent.name}-{path.stem}"


def read(path):
    """Load a file; another version may have written it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return load(path)


def expected_of(path):
    text = path.with_name("expected.json").read_text(encoding="utf-8")
    return json.loads(text)[path.stem]


def assert_as_written(found, expected):
    for method, values in found.items():
        kept = np.array(expected[method])
        if kept.dtype.kind == "f":
            assert_allclose(values, kept, rtol=1e-9, atol=1e-9, err_msg=method)
        else:
            assert_array_equal(values, kept, err_msg=method)


@pytest.mark.parametrize("path", [path for path in MODELS if path.stem != "kernels"], ids=name_of)
def test_a_kept_model_loads_and_predicts_as_when_it_was_written(path):
    model, expected = read(path), expected_of(path)
    assert {name for name in METHODS if hasattr(model, name)} == {*METHODS} & {*expected}
    assert_as_written(predictions(model, expected), expected)


@pytest.mark.parametrize("path", [path for path in MODELS if path.stem == "kernels"], ids=name_of)
def test_kept_kernels_equal_those_of_this_version(path):
    rows = np.random.default_rng(0).normal(size=(5, 2))
    for kept, kernel in zip(read(path), bound_kernels(), strict=True):
        assert kept == kernel
        assert hash(kept) == hash(kernel)
        assert_array_equal(kept(rows), kernel(rows))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_a_kept_document_predicts_as_when_it_was_written(path):
    expected = expected_of(path)
    assert_as_written(predictions(from_json(path), expected), expected)


def test_the_formats_of_this_version_are_kept():
    """A new format needs files: run models.py of this folder."""
    models = {path.stem for path in HERE.glob(f"models-{FORMAT}/*.skops")}
    documents = {path.stem for path in HERE.glob(f"documents-{VERSION}/*.json")}
    assert models >= {*ADDITIVE, "exact", "local", "vote", "LAGO", "kernels"}
    assert documents == {*ADDITIVE, "expected"}
