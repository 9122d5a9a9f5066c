import json
from importlib.resources import files

import pytest

from kernsemble.datasets import UnknownDatasetError, list_datasets, load
from kernsemble.datasets.catalogue import find_entry


def test_catalogue_lists_every_set_of_the_papers_in_order():
    names = [entry.name for entry in list_datasets()]
    assert len(names) == 54
    assert names == sorted(names)
    assert {"a1a", "australian", "ida_banana", "splice", "usps", "votes84"} <= set(names)


def test_regression_sets_have_no_classes():
    names = [entry.name for entry in list_datasets() if entry.task == "regression"]
    assert {"california_housing", "concrete", "wine_red"} <= set(names)
    assert len(names) == 7
    assert not any(find_entry(name).class_counts for name in names)


def test_catalogue_is_consistent_with_itself():
    for entry in list_datasets():
        if entry.task == "classification":
            assert sum(entry.class_counts.values()) == entry.n_samples
        assert set(entry.target_names) in (set(), set(entry.class_counts))
        assert len(entry.fingerprint) == len(entry.file_sha256) == 64
        assert entry.feature_names is None or len(entry.feature_names) == entry.n_features
        assert set(entry.categories) <= set(entry.feature_names or ())
        assert set(entry.label_codes.values()) <= set(entry.class_counts)


def test_sets_with_two_parts_have_one_split_and_need_their_order():
    for entry in list_datasets():
        if len(entry.part_sizes) == 2:
            assert entry.n_splits == 1
        if entry.n_splits:
            assert entry.unordered_fingerprint is None


def test_manifest_is_small():
    manifest = files("kernsemble.datasets").joinpath("manifest.json").read_bytes()
    assert len(manifest) < 60_000
    assert len(json.loads(manifest)) == 54


def test_entry_prints_its_title_and_the_sizes_of_its_parts():
    assert (
        str(find_entry("svmguide1"))
        == "svmguide1: Astroparticle data of the LIBSVM guide, 3089 / 4000 x 4"
    )


def test_an_unknown_name_is_an_error_with_similar_names():
    with pytest.raises(UnknownDatasetError, match=r"'ionosfere'.*did you mean 'ionosphere'\?"):
        load("ionosfere")


def test_the_error_of_a_dissimilar_name_refers_to_the_list():
    with pytest.raises(UnknownDatasetError, match=r"list_datasets\(\)"):
        load("zzzzzz")
