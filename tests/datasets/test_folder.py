import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from kernsemble.datasets import DatasetMismatchError, DatasetNotFoundError
from kernsemble.datasets.folder import read_folder
from kernsemble.datasets.source_data import SourceAbsentError


def csr_fields(side, X, y):
    X = sparse.csr_array(X)
    return {
        f"{side}_data": X.data.astype(np.int8),
        f"{side}_indices": X.indices.astype(np.int16),
        f"{side}_indptr": X.indptr.astype(np.int32),
        f"{side}_shape": np.array(X.shape),
        f"{side}_y": y.astype(np.int8),
    }


def test_dense_file_is_widened_to_doubles(store):
    sample = read_folder(store(X=np.array([[200], [100]], np.uint8), y=np.array([-1, 1], np.int8)))
    assert sample.X.dtype == np.float64
    assert sample.y.dtype == np.int64
    assert sample.X[0] + sample.X[1] == 300.0
    assert sample.splits == ()
    assert sample.groups is None
    assert sample.source.endswith("tiny.npz")


def test_training_and_test_part_are_stacked_and_form_the_split(store, tiny_values):
    X, y = tiny_values
    sample = read_folder(store(X_train=X[:3], y_train=y[:3], X_test=X[3:], y_test=y[3:]))
    assert_array_equal(sample.X, X)
    assert_array_equal(sample.y, y)
    ((train, test),) = sample.splits
    assert_array_equal(train, [0, 1, 2])
    assert_array_equal(test, [3])


def test_sparse_parts_are_stacked_with_32_bit_indices(store):
    X, y = np.array([[0, 100], [100, 0], [100, 100]]), np.array([1, -1, 1])
    sample = read_folder(
        store(**csr_fields("train", X[:2], y[:2]), **csr_fields("test", X[2:], y[2:]))
    )
    assert sample.X.format == "csr"
    assert sample.X.dtype == np.float64
    assert sample.X.indices.dtype == sample.X.indptr.dtype == np.int32
    assert_array_equal((sample.X + sample.X).toarray(), 2 * X)
    assert_array_equal(sample.y, y)
    assert len(sample.splits) == 1


def test_sparse_training_part_alone_has_no_split(store, tiny_values):
    X, y = np.eye(3), np.array([1, -1, 1])
    sample = read_folder(store(**csr_fields("train", X, y)))
    assert_array_equal(sample.X.toarray(), X)
    assert sample.splits == ()


def test_rows_of_indices_are_splits(store, tiny_values):
    X, y = tiny_values
    indices = {
        "train_idx": np.array([[0, 1], [2, 3]], np.int16),
        "test_idx": np.array([[2, 3], [0, 1]], np.int16),
    }
    sample = read_folder(store(X=X, y=y, **indices))
    assert [split.train.tolist() for split in sample.splits] == [[0, 1], [2, 3]]
    assert [split.test.tolist() for split in sample.splits] == [[2, 3], [0, 1]]


def test_blocks_are_groups(store, tiny_values):
    X, y = tiny_values
    sample = read_folder(store(X=X, y=y, block=np.array([0, 0, 7, 7], np.int16)))
    assert_array_equal(sample.groups, [0, 0, 7, 7])


def test_truncated_file_is_named_with_both_sizes_and_a_remedy(store, tiny_values, tmp_path):
    X, y = tiny_values
    entry = store(X=X, y=y)
    path = tmp_path / "tiny.npz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(
        DatasetMismatchError,
        match=rf"tiny\.npz is truncated.*expected {entry.file_bytes} bytes.*"
        r"found 100 bytes.*copy the file again",
    ):
        read_folder(entry)


def test_corrupt_file_of_the_right_size_is_refused(store, tiny_values, tmp_path):
    X, y = tiny_values
    entry = store(X=X, y=y)
    path = tmp_path / "tiny.npz"
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)
    with pytest.raises(DatasetMismatchError, match=entry.file_sha256):
        read_folder(entry)


def test_pickled_objects_are_never_loaded(store):
    entry = store(X=np.array([{"code": "run me"}], dtype=object), y=np.array([1]))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_folder(entry)


@pytest.mark.parametrize("value", [None, ""])
def test_unset_variable_is_a_missing_source(monkeypatch, tiny_entry, value):
    monkeypatch.delenv("KERNSEMBLE_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("KERNSEMBLE_DATA", value)
    with pytest.raises(SourceAbsentError, match=r"KERNSEMBLE_DATA, which is not set.*tiny\.npz"):
        read_folder(tiny_entry)


def test_folder_without_the_file_is_a_missing_source(monkeypatch, tmp_path, tiny_entry):
    monkeypatch.setenv("KERNSEMBLE_DATA", str(tmp_path))
    with pytest.raises(SourceAbsentError, match=r"put tiny\.npz into"):
        read_folder(tiny_entry)


def test_variable_that_names_no_folder_is_an_error(monkeypatch, tmp_path, tiny_entry):
    monkeypatch.setenv("KERNSEMBLE_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(DatasetNotFoundError, match=r"KERNSEMBLE_DATA = .*elsewhere.* not a folder"):
        read_folder(tiny_entry)
