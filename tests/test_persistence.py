"""A loaded model equals the saved one, and untrusted files are refused."""

import io
import json
import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import KERNELS, random_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from kernsemble import _files, persistence
from kernsemble.datasets import make_mixed_table
from kernsemble.inspection import feature_importances
from kernsemble.kernels import Category, Gaussian, Perceptron, Stump
from kernsemble.persistence import (
    HEADER,
    ModelFileError,
    UntrustedModelError,
    VersionMismatchWarning,
    load,
    save,
)
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressorCV,
)

skops = pytest.importorskip("skops.io")

X = random_rows(20, 4)
y = (X[:, 0] > X[:, 1]).astype(int)
ORDER = 1e-12  # relative difference of sums in another order


class Doubling(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2.0 * X


def halved(X):
    return 0.5 * X


def name_of(item):
    return f"{item.__module__}.{item.__name__}"


def with_header(path, header):
    """Write the file of a kernel with another header, None for no header."""
    archive = io.BytesIO()
    skops.dump(Stump(), archive)
    with zipfile.ZipFile(archive, "a") as members:
        if header is not None:
            members.writestr(HEADER, json.dumps(header))
    path.write_bytes(archive.getvalue())
    return path


def with_types(path, **names):
    """Write the file of a kernel in which a class has another name."""
    source = save(Stump(), path)
    with zipfile.ZipFile(source) as members:
        contents = {name: members.read(name) for name in members.namelist()}
    schema = json.loads(contents["schema.json"]) | names
    contents["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as members:
        for name, content in contents.items():
            members.writestr(name, content)
    return path


# -- round trips


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_come_back_equal_and_evaluate_identically(kernel, tmp_path):
    bound = kernel.bind(X)
    again, bound_again = load(save([kernel, bound], tmp_path / "kernels.skops"))
    assert again == kernel
    assert bound_again == bound
    assert hash(bound_again) == hash(bound)
    assert repr(bound_again) == repr(bound)
    assert_array_equal(bound_again(X), bound(X))
    assert bound_again.hypotheses == bound.hypotheses


@pytest.mark.parametrize(
    "rows",
    [
        [["red", "s"], ["blue", "m"], ["red", "m"]],
        np.array([["vert", 1], ["bleu", 2], ["né", 1]], dtype=object),
        pd.DataFrame({"colour": ["red", "blue", "red"], "size": [1.0, 2.0, 2.0]}),
    ],
    ids=["list", "objects", "frame"],
)
def test_categories_of_text_come_back(rows, tmp_path):
    bound = Category().bind(rows)
    again = load(save(bound, tmp_path / "kernel.skops"))
    assert again == bound
    assert hash(again) == hash(bound)
    assert_array_equal(again(rows), bound(rows))


def test_column_names_come_back(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    bound = (Stump().on(["a", "c"]) + Perceptron()).bind(frame)
    again = load(save(bound, tmp_path / "kernel.skops"))
    assert again == bound
    with pytest.raises(ValueError, match="same columns in the same order"):
        again(frame[list("dcba")])


STUMP, PERCEPTRON = Stump().bind(X), Perceptron().bind(X)
COVARIANCE = STUMP.as_gaussian_process_kernel()


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(kernel=STUMP),
        SVC(kernel=(STUMP + 0.5 * PERCEPTRON), class_weight={0: 1.0, 1: 2.0}),
        make_pipeline(StandardScaler(), SVC(kernel=Gaussian(0.1).bind(X))),
        GridSearchCV(SVC(), {"kernel": [STUMP, PERCEPTRON], "C": [0.1, 1.0]}, cv=2),
        GaussianProcessRegressor(COVARIANCE, alpha=0.1),
        GaussianProcessRegressor(
            ConstantKernel(1.0, "fixed") * COVARIANCE + WhiteKernel(1.0, "fixed")
        ),
        GaussianProcessClassifier(COVARIANCE, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_fitted_estimators_come_back_and_predict_identically(estimator, tmp_path):
    fitted = estimator.fit(X, y)
    again = load(save(fitted, tmp_path / "model.skops"))
    assert repr(again) == repr(fitted)
    assert_array_equal(again.predict(X), fitted.predict(X))
    again.fit(X, y)


def test_a_search_comes_back_with_its_kernels(tmp_path):
    search = GridSearchCV(SVC(), {"kernel": [STUMP, PERCEPTRON]}, cv=2).fit(X, y)
    again = load(save(search, tmp_path / "search.skops"))
    assert again.best_params_ == search.best_params_
    assert again.cv_results_["params"] == search.cv_results_["params"]
    assert list(again.cv_results_["param_kernel"]) == [STUMP, PERCEPTRON]


@pytest.mark.parametrize("kind", [str, Path])
def test_paths_are_text_or_paths_and_the_path_written_is_returned(kind, tmp_path):
    path = tmp_path / "kernel.skops"
    assert save(STUMP, kind(path)) == path
    assert load(kind(path)) == STUMP
    assert [each.name for each in tmp_path.iterdir()] == ["kernel.skops"]


def test_a_file_is_readable_by_skops_alone(tmp_path):
    path = save(STUMP, tmp_path / "kernel.skops")
    assert skops.load(path, trusted=skops.get_untrusted_types(file=path)) == STUMP


# -- untrusted types


@pytest.mark.parametrize(
    ("step", "culprit"),
    [(Doubling(), Doubling), (FunctionTransformer(halved), halved)],
    ids=["class", "function"],
)
def test_unknown_types_are_refused_unless_trusted(step, culprit, tmp_path):
    fitted = make_pipeline(step, SVC(kernel=STUMP)).fit(X, y)
    path = save(fitted, tmp_path / "model.skops")
    with pytest.raises(UntrustedModelError) as refusal:
        load(path)
    for part in (str(path), name_of(culprit), f"trusted={[name_of(culprit)]!r}"):
        assert part in str(refusal.value)
    assert "kernsemble" not in str(refusal.value).replace(str(path), "")
    for trusted in ([name_of(culprit)], name_of(culprit), (name_of(culprit), "not.in.the.file")):
        assert_array_equal(load(path, trusted=trusted).predict(X), fitted.predict(X))
    with pytest.raises(UntrustedModelError):
        load(path, trusted=["not.in.the.file"])


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("kernsemble.kernels.registry", "as_kernel"),  # a function
        ("kernsemble.kernels.registry", "KERNELS"),  # an object
        ("kernsemble.kernels.registry", "Stump"),  # defined elsewhere
        ("kernsemble.kernels.gaussian_process", "GaussianProcessKernel"),
        ("kernsemble.datasets.folder", "Path"),
        ("kernsemble.datasets.folder", "SourceAbsentError"),
        ("kernsemble.exceptions", "NotNeutralError"),  # neither a value nor an estimator
        ("kernsemble.kernels.ensemble", "Nothing"),
        ("kernsemble.nothing", "Stump"),
        ("kernsemble.cli.__main__", "main"),
        ("kernsemble", "import_module"),
        ("kernsemble_of_another", "Stump"),
        ("sklearn.model_selection._split", "check_cv"),
        ("os", "system"),
    ],
)
def test_a_name_in_our_package_is_not_enough(module, name, tmp_path):
    path = with_types(tmp_path / "model.skops", __module__=module, __class__=name)
    with pytest.raises(UntrustedModelError, match=rf"{module}\.{name}"):
        load(path)


def test_methods_are_refused(tmp_path):
    with pytest.raises(UntrustedModelError, match=r"ensemble\.Stump\._with_constants"):
        load(save(STUMP._with_constants, tmp_path / "model.skops"))


def test_the_errors_can_be_pickled():
    for kind in (ModelFileError, VersionMismatchWarning):
        again = pickle.loads(pickle.dumps(kind("why")))
        assert type(again) is kind
        assert str(again) == "why"


# -- other and damaged files


@pytest.mark.parametrize("kept", [0, 1, 2, 30, 0.5, -1])
def test_truncated_files_are_named(kept, tmp_path):
    path = save(STUMP, tmp_path / "kernel.skops")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else kept])
    with pytest.raises(ModelFileError, match=r"kernel\.skops is truncated or damaged"):
        load(path)


def test_a_changed_byte_is_noticed_or_harmless(tmp_path):
    path = save(Stump().bind([[0.0], [1.0]]), tmp_path / "kernel.skops")
    whole = path.read_bytes()
    expected = load(path)
    noticed = 0
    for position in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            assert load(path) == expected
        except ModelFileError as error:
            assert str(path) in str(error)  # noqa: PT017
            noticed += 1
    assert noticed > 0.5 * len(whole) / 3


@pytest.mark.parametrize("content", [pickle.dumps(STUMP), b"text"], ids=["pickle", "text"])
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"model\.pkl was not written by kernsemble\.save"):
        load(path)


@pytest.mark.parametrize("header", [None, {}, {"format": 1, "versions": {}}])
def test_archives_of_others_are_refused(header, tmp_path):
    path = with_header(tmp_path / "model.skops", header)
    with pytest.raises(ModelFileError, match=r"not written by kernsemble\.save"):
        load(path)


@pytest.mark.parametrize("header", [[], {"format": "one"}, {"format": 1, "versions": [3]}])
def test_an_invalid_header_is_damage(header, tmp_path):
    path = with_header(tmp_path / "model.skops", header)
    with pytest.raises(ModelFileError, match="truncated or damaged"):
        load(path)


def test_earlier_formats_are_refused(tmp_path):
    header = {"format": persistence.FORMAT - 1, "versions": {"kernsemble": "0.0.1"}}
    path = with_header(tmp_path / "model.skops", header)
    with pytest.raises(ModelFileError, match=r"format 1, .*kernsemble 0\.0\.1.* fit the model"):
        load(path)


def test_later_formats_are_refused(tmp_path):
    header = {"format": persistence.FORMAT + 1, "versions": {"kernsemble": "9.9.9"}}
    path = with_header(tmp_path / "model.skops", header)
    with pytest.raises(ModelFileError, match=r"format 3, .* up to 2\. .* kernsemble 9\.9\.9"):
        load(path)


def test_a_model_that_cannot_be_rebuilt_names_the_versions_that_can(tmp_path):
    path = with_types(tmp_path / "model.skops", __module__="gone", __class__="Stump")
    with pytest.raises(
        ModelFileError, match=r"cannot be loaded here \(ModuleNotFoundError: .*scikit-learn "
    ):
        load(path, trusted=["gone.Stump"])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.skops"):
        load(tmp_path / "nothing.skops")


# -- versions


def claim_version(monkeypatch, claimed):
    actual = persistence.version
    monkeypatch.setattr(
        persistence, "version", lambda name: claimed if name == "kernsemble" else actual(name)
    )


@pytest.mark.parametrize(
    ("saved", "here"), [("0.1.0", "0.2.0"), ("0.2.1", "0.1.9"), ("0.9.0", "1.0.0"), ("2.0", "1.9")]
)
def test_another_release_series_causes_a_warning(saved, here, monkeypatch, tmp_path):
    claim_version(monkeypatch, saved)
    path = save(STUMP, tmp_path / "kernel.skops")
    claim_version(monkeypatch, here)
    with pytest.warns(VersionMismatchWarning) as caught:
        assert load(path) == STUMP
    (warning,) = caught
    assert warning.filename == __file__
    message = str(warning.message)
    assert f"with kernsemble {saved}, and the installed version is kernsemble {here}:" in message
    assert f"pip install kernsemble=={saved}" in message


@pytest.mark.parametrize(
    ("saved", "here"), [("0.1.0.dev0", "0.1.3"), ("1.0.0", "1.7.2"), ("10.1", "10.0rc1")]
)
def test_versions_of_one_series_cause_no_warning(saved, here, monkeypatch, tmp_path):
    claim_version(monkeypatch, saved)
    path = save(STUMP, tmp_path / "kernel.skops")
    claim_version(monkeypatch, here)
    assert load(path) == STUMP


def test_the_versions_are_recorded(tmp_path):
    path = save(STUMP, tmp_path / "kernel.skops")
    with zipfile.ZipFile(path) as members:
        header = json.loads(members.read(HEADER))
    assert header["format"] == persistence.FORMAT
    assert header["versions"]["numpy"] == np.__version__
    assert set(header["versions"]) == {"kernsemble", "scikit-learn", "numpy", "skops"}


# -- writing


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*absent.*mkdir"):
        save(STUMP, tmp_path / "absent" / "kernel.skops")


@pytest.mark.parametrize("failing", ["dump", "write", "replace"])
def test_an_error_leaves_the_old_file_as_it_was(failing, monkeypatch, tmp_path):
    path = save(STUMP, tmp_path / "kernel.skops")

    def fail(*_, **__):
        raise OSError("the disk is full")

    target = {"dump": (skops, "dump"), "write": (_files.os, "fsync")}
    monkeypatch.setattr(*target.get(failing, (Path, "replace")), fail)
    with pytest.raises(OSError, match="the disk is full"):
        save(PERCEPTRON, path)
    assert load(path) == STUMP
    assert [each.name for each in tmp_path.iterdir()] == ["kernel.skops"]


def test_saving_again_replaces_the_file(tmp_path):
    path = save(STUMP, tmp_path / "kernel.skops")
    save(PERCEPTRON, path)
    assert load(path) == PERCEPTRON


@pytest.mark.parametrize("use", [lambda path: save(STUMP, path), load], ids=["save", "load"])
def test_without_skops_the_error_names_the_remedy(use, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match="pip install skops"):
        use(tmp_path / "kernel.skops")


def test_arrays_of_a_loaded_kernel_are_read_only(tmp_path):
    again = load(save(STUMP, tmp_path / "kernel.skops"))
    with pytest.raises(ValueError, match="read-only"):
        again.hypotheses.knots[0][0] = 99.0


def test_callbacks_are_not_saved(tmp_path):
    callback = pytest.importorskip("sklearn.callback")
    machine = InfiniteEnsembleClassifier().set_callbacks(
        callback.ScoringMonitor(scoring="accuracy")
    )
    machine.fit(X, y)
    again = load(save(machine, tmp_path / "machine.skops"))
    assert_array_equal(again.predict(X), machine.predict(X))
    assert machine._skl_callbacks


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
def test_machines_fitted_to_sparse_rows_can_be_saved(form, tmp_path):
    machine = InfiniteEnsembleClassifier().fit(form(X), y)
    again = load(save(machine, tmp_path / "machine.skops"))
    assert_array_equal(again.predict(form(X)), machine.predict(form(X)))


def mixed_table():
    """Return a mixed table with missing values, and its classes."""
    table, classes = make_mixed_table(150, random_state=1)
    table.loc[::7, table.select_dtypes("number").columns[0]] = np.nan
    return table, classes


def random_numbers():
    """Return rows, and numbers that depend on two of the columns."""
    rows = random_rows(120, 4)
    return rows, rows[:, 0] * (rows[:, 1] > 0.0)


@pytest.mark.parametrize(
    ("vote", "data", "wanted"),
    [
        (InfiniteEnsembleClassifierCV(cv=3, random_state=0), mixed_table, "tables"),
        (
            InfiniteEnsembleClassifierCV(cv=3, scaling=["effects"], random_state=0),
            mixed_table,
            "effects",
        ),
        (
            InfiniteEnsembleClassifierCV(cv=3, scaling=["learned-effects"], random_state=0),
            mixed_table,
            "learned-effects",
        ),
        (
            InfiniteEnsembleRegressorCV(cv=3, scaling=["learned"], random_state=0),
            random_numbers,
            "learned",
        ),
        (
            InfiniteEnsembleRegressorCV(cv=3, scaling=["learned-directions"], random_state=0),
            random_numbers,
            "learned-directions",
        ),
    ],
    ids=["tables", "effects", "learned effects", "learned", "directions"],
)
def test_a_vote_comes_back_and_predicts_identically(vote, data, wanted, tmp_path):
    rows, targets = data()
    vote.fit(rows, targets)
    kinds = {each.scaling.kind for each in vote.members_}
    kinds |= {"tables" for each in vote.members_ if each.has_tables}
    assert any(kind.startswith(wanted) for kind in kinds)
    loaded = load(save(vote, tmp_path / "vote.skops"))
    assert [each.name for each in loaded.members_] == [each.name for each in vote.members_]
    assert loaded.machines_ == vote.machines_
    if hasattr(vote, "classes_"):
        assert_array_equal(loaded.predict(rows), vote.predict(rows))
        assert_allclose(loaded.predict_proba(rows), vote.predict_proba(rows), rtol=ORDER)
    else:
        assert_allclose(loaded.predict(rows), vote.predict(rows), rtol=ORDER)
    assert feature_importances(loaded) == feature_importances(vote)
