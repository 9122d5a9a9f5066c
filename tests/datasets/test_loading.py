import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernsemble.datasets import Dataset, DatasetNotFoundError, Split, list_datasets, load, loading
from kernsemble.datasets.fingerprint import fingerprint, unordered_fingerprint


@pytest.fixture
def catalogue_of(monkeypatch):
    def use(entry):
        monkeypatch.setattr(loading, "find_entry", lambda name: entry)

    return use


def test_folder_is_tried_first_and_the_catalogue_names_the_columns(
    store, catalogue_of, tiny_values
):
    X, y = tiny_values
    entry = store(X_train=X[:3], y_train=y[:3], X_test=X[3:], y_test=y[3:])
    catalogue_of(
        replace(
            entry,
            feature_names=("weight", "colour"),
            categories={"colour": ("red", "green", "blue")},
            target_names={-1: "bad", 1: "good"},
        )
    )
    dataset = load("tiny")
    assert repr(dataset).startswith("Dataset('tiny', 4 x 2, 2 classes, 1 split, from ")
    assert dataset.title == "Four examples"
    assert dataset.feature_names == ("weight", "colour")
    assert_array_equal(dataset.is_categorical, [False, True])
    assert dataset.target_names[1] == "good"
    X_train, X_test, y_train, y_test = dataset.parts()
    assert_array_equal(np.vstack([X_train, X_test]), X)
    assert_array_equal(y_train, y[:3])
    assert_array_equal(y_test, y[3:])


def test_the_target_of_a_regression_is_real(store, catalogue_of, tiny_values):
    X, _ = tiny_values
    y = np.array([0.25, -1.5, 3.0, 3.0])
    catalogue_of(replace(store(X=X, y=y), task="regression", class_counts={}))
    dataset = load("tiny")
    assert dataset.task == "regression"
    assert dataset.y.dtype == np.float64
    assert_array_equal(dataset.y, y)
    assert repr(dataset).startswith("Dataset('tiny', 4 x 2, regression, 0 splits, from ")


def test_set_found_nowhere_is_an_error_with_three_remedies(monkeypatch, catalogue_of, tiny_entry):
    monkeypatch.delenv("KERNSEMBLE_DATA", raising=False)
    catalogue_of(tiny_entry)
    with pytest.raises(
        DatasetNotFoundError, match=r"(?s)tiny was not found.*1\. .*KERNSEMBLE_DATA.*2\. .*3\. .*"
    ):
        load("tiny")


def test_several_splits_are_selected_by_index(tiny_values):
    X, y = tiny_values
    first, second = Split(np.array([0]), np.array([1, 2])), Split(np.array([3]), np.array([0]))
    dataset = Dataset("tiny", "", X, y, (first, second), {}, "here")
    assert_array_equal(dataset.parts(1)[0], X[[3]])
    assert_array_equal(dataset.parts(1)[3], y[[0]])
    assert "2 splits" in repr(dataset)
    assert_array_equal(dataset.is_categorical, [False, False])


@pytest.mark.parametrize("split", [0, -1])
def test_a_missing_split_is_an_error_with_a_remedy(tiny_values, split):
    dataset = Dataset("tiny", "", *tiny_values, (), {}, "here")
    with pytest.raises(IndexError, match=rf"split = {split}: tiny has 0.*train_test_split"):
        dataset.parts(split)


def test_import_is_light():
    program = (
        "import sys, kernsemble.datasets; "
        "print([name for name in ('pandas', 'numba', 'sklearn') if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_places_are_found_without_reading(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNSEMBLE_DATA", str(tmp_path))
    (tmp_path / "splice.npz").touch()
    assert loading.locate("splice") == tmp_path / "splice.npz"
    assert loading.locate("sonar") is None  # OpenML
    with pytest.raises(DatasetNotFoundError, match="put ijcnn1"):
        loading.locate("ijcnn1")


@pytest.mark.parametrize("entry", list_datasets(), ids=lambda entry: entry.name)
def test_every_set_of_the_data_folder_matches_the_catalogue(data_folder, entry):
    dataset = load(entry.name)
    assert dataset.task == entry.task
    assert dataset.X.shape == (entry.n_samples, entry.n_features)
    assert dataset.X.dtype == np.float64
    if entry.task == "classification":
        labels, counts = np.unique(dataset.y, return_counts=True)
        assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == entry.class_counts
    assert fingerprint(dataset.X, dataset.y) == entry.fingerprint
    if entry.unordered_fingerprint:
        assert unordered_fingerprint(dataset.X, dataset.y) == entry.unordered_fingerprint
    assert len(dataset.splits) == entry.n_splits
    for train, test in dataset.splits:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(entry.n_samples))
