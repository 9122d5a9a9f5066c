from dataclasses import replace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from kernsemble.datasets import DatasetMismatchError
from kernsemble.datasets.openml import read_openml
from kernsemble.datasets.source_data import SourceAbsentError


@pytest.fixture
def entry(tiny_entry):
    codes = {"absent": -1, "present": 1}
    values = {"none": 0, "two": 2, "?": 1}
    return replace(tiny_entry, openml_id=4, label_codes=codes, value_codes=values)


@pytest.fixture
def bunch():
    """Return a response of OpenML: the second feature as category codes, one missing."""
    return Bunch(
        data=np.array([[0.5, np.nan], [0.0, 0.0], [1.5, 1.0], [2.5, np.nan]]),
        target=np.array(["absent", "present", "present", "absent"], dtype=object),
        feature_names=["first", "second"],
        categories={"second": ["two", "none"]},
    )


@pytest.fixture
def openml(monkeypatch, bunch):
    requests = []

    def fetch_openml(**request):
        requests.append(request)
        return bunch

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return requests


def test_category_codes_and_labels_become_the_numbers_of_the_catalogue(openml, entry, tiny_values):
    sample = read_openml(entry)
    assert_array_equal(sample.X, tiny_values[0])
    assert_array_equal(sample.y, tiny_values[1])
    assert sample.source == "OpenML data set 4"
    assert openml[0]["data_id"] == 4


def test_another_version_is_refused(openml, bunch, entry):
    bunch.data[0, 0] = 0.25
    with pytest.raises(DatasetMismatchError, match="OpenML data set 4 is not the data set tiny"):
        read_openml(entry)


def test_unknown_word_is_refused_and_named(openml, bunch, entry):
    bunch.target[0] = "perhaps"
    with pytest.raises(DatasetMismatchError, match=r"'perhaps'.*KERNSEMBLE_DATA"):
        read_openml(entry)


def test_no_network_is_a_missing_source(monkeypatch, entry):
    def fetch_openml(**request):
        raise URLError("no route")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    with pytest.raises(SourceAbsentError, match=r"go online to fetch OpenML data set 4 .*no route"):
        read_openml(entry)


def test_set_without_a_number_is_a_missing_source_and_nothing_is_fetched(openml, tiny_entry):
    with pytest.raises(SourceAbsentError, match="OpenML"):
        read_openml(tiny_entry)
    assert openml == []
