from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from kernsemble.datasets import DatasetMismatchError, list_datasets
from kernsemble.datasets.catalogue import TextCopy
from kernsemble.datasets.fingerprint import fingerprint
from kernsemble.datasets.packages import read_package
from kernsemble.datasets.source_data import SourceAbsentError

LABELS = {"no": -1, "yes": 1}


@pytest.fixture
def carrier(tmp_path, monkeypatch):
    """Return an installed package that fails if it is imported."""
    folder = tmp_path / "tiny_carrier"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def copy_of(*parts, **settings):
    return TextCopy("tiny-carrier", "tiny_carrier", tuple(parts), **settings)


def test_package_is_read_and_not_imported(carrier, tiny_entry, tiny_values):
    (carrier / "tiny.dat").write_text("0.5,1,no\n0,2,yes\n1.5,0,yes\n2.5,1,no\n")
    copy = copy_of(("tiny.dat",), delimiter=",")
    sample = read_package(replace(tiny_entry, text_copy=copy, label_codes=LABELS))
    assert_array_equal(sample.X, tiny_values[0])
    assert_array_equal(sample.y, tiny_values[1])
    assert sample.source == str(carrier)


def test_rows_in_another_order_are_accepted_and_mentioned(carrier, tiny_entry):
    (carrier / "tiny.dat").write_text("0 2 1\n0.5 1 -1\n1.5 0 1\n2.5 1 -1\n")
    sample = read_package(replace(tiny_entry, text_copy=copy_of(("tiny.dat",))))
    assert sample.source.endswith("(rows in another order)")
    assert_array_equal(sample.y, [1, -1, 1, -1])


def test_rows_in_another_order_are_refused_where_splits_need_them(carrier, tiny_entry):
    (carrier / "tiny.dat").write_text("0 2 1\n0.5 1 -1\n1.5 0 1\n2.5 1 -1\n")
    entry = replace(tiny_entry, text_copy=copy_of(("tiny.dat",)), unordered_fingerprint=None)
    with pytest.raises(DatasetMismatchError, match="not the data set tiny"):
        read_package(entry)


def test_header_columns_and_rows_are_selected(carrier, tiny_entry, tiny_values):
    (carrier / "tiny.dat").write_text(
        "@data\na 2.5 1 no\nb 1.5 0 yes\nc 9 9 no\nd 0 2 yes\ne 0.5 1 no\n"
    )
    copy = copy_of(("tiny.dat",), skip_lines=1, columns=(1, 2, 3), rows=(4, 3, 1, 0))
    sample = read_package(replace(tiny_entry, text_copy=copy, label_codes=LABELS))
    assert_array_equal(sample.X, tiny_values[0])
    assert_array_equal(sample.y, tiny_values[1])


def test_words_among_the_values_are_coded(carrier, tiny_entry, tiny_values):
    (carrier / "tiny.dat").write_text("0.5,one,-1\n0,two,1\n1.5,none,1\n2.5,one,-1\n")
    copy = copy_of(("tiny.dat",), delimiter=",")
    codes = {"none": 0, "one": 1, "two": 2}
    sample = read_package(replace(tiny_entry, text_copy=copy, value_codes=codes))
    assert_array_equal(sample.X, tiny_values[0])


def test_parts_form_a_split_and_label_may_come_first(carrier, tiny_entry):
    (carrier / "train").write_text("-1 0.5 1\n1 0 2\n1 1.5 0\n")
    (carrier / "test").write_text("-1 2.5 1\n")
    copy = copy_of(("train",), ("test",), label_column=0)
    sample = read_package(replace(tiny_entry, text_copy=copy))
    ((train, test),) = sample.splits
    assert_array_equal(train, [0, 1, 2])
    assert_array_equal(test, [3])


def test_files_of_one_part_are_columns_of_the_same_rows(carrier, tiny_entry, tiny_values):
    (carrier / "values").write_text("0.5 1\n0 2\n1.5 0\n2.5 1\n")
    (carrier / "labels").write_text("-1\n1\n1\n-1\n")
    sample = read_package(replace(tiny_entry, text_copy=copy_of(("values", "labels"))))
    assert_array_equal(sample.X, tiny_values[0])
    assert_array_equal(sample.y, tiny_values[1])


def test_values_are_rounded_to_the_precision_of_the_catalogue(carrier, tiny_entry):
    (carrier / "tiny.dat").write_text("0.1 1\n0.2 -1\n")
    X, y = np.array([[0.1], [0.2]], np.float32), np.array([1, -1])
    entry = replace(
        tiny_entry,
        text_copy=copy_of(("tiny.dat",)),
        precision="float32",
        fingerprint=fingerprint(X, y),
    )
    assert_array_equal(read_package(entry).X, X.astype(np.float64))


def test_sparse_sets_become_compressed_rows(carrier, tiny_entry, tiny_values):
    (carrier / "tiny.dat").write_text("0.5 1 -1\n0 2 1\n1.5 0 1\n2.5 1 -1\n")
    X, y = tiny_values
    entry = replace(
        tiny_entry,
        text_copy=copy_of(("tiny.dat",)),
        sparse=True,
        fingerprint=fingerprint(sparse.csr_array(X), y),
    )
    found = read_package(entry).X
    assert found.format == "csr"
    assert found.nnz == 6
    assert_array_equal(found.toarray(), X)


def test_other_values_are_refused_with_what_was_expected_and_found(carrier, tiny_entry):
    (carrier / "tiny.dat").write_text("5 1 -1\n0 2 1\n1.5 0 1\n")
    with pytest.raises(
        DatasetMismatchError,
        match=r"tiny_carrier is not the data set tiny: expected 4 x 2 .*\{-1: 2, 1: 2\}.*"
        r"found 3 x 2 .*\{-1: 1, 1: 2\}.*KERNSEMBLE_DATA",
    ):
        read_package(replace(tiny_entry, text_copy=copy_of(("tiny.dat",))))


@pytest.mark.parametrize("content", [None, "1 2 perhaps\n"])
def test_missing_or_unreadable_file_is_named(carrier, tiny_entry, content):
    if content:
        (carrier / "tiny.dat").write_text(content)
    entry = replace(tiny_entry, text_copy=copy_of(("tiny.dat",)), label_codes=LABELS)
    with pytest.raises(DatasetMismatchError, match=r"tiny\.dat is not the file of tiny-carrier"):
        read_package(entry)


def test_package_that_is_not_installed_is_a_missing_source(tiny_entry):
    copy = TextCopy("no-such-carrier", "no_such_carrier", (("tiny.dat",),))
    with pytest.raises(SourceAbsentError, match="install the package no-such-carrier"):
        read_package(replace(tiny_entry, text_copy=copy))


def test_set_that_no_package_carries_is_a_missing_source(tiny_entry):
    with pytest.raises(SourceAbsentError, match="no Python package"):
        read_package(tiny_entry)


@pytest.mark.parametrize(
    "entry", [entry for entry in list_datasets() if entry.text_copy], ids=lambda entry: entry.name
)
def test_installed_package_carries_the_set_of_the_catalogue(entry):
    if find_spec(entry.text_copy.module) is None:
        pytest.skip(f"needs the package {entry.text_copy.distribution}")
    assert read_package(entry).X.shape == (entry.n_samples, entry.n_features)
