"""Model files of an enemy, or of a bad disk: refused in one line, and nothing runs."""

import json
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from faults.forged_files import (
    array_with_header,
    counting_objects,
    members_of,
    node,
    random_damage,
    sparse_with_header,
    write_members,
)
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from kernsemble import persistence
from kernsemble.cli.app import app
from kernsemble.datasets import make_mixed_table
from kernsemble.kernels import Polynomial, Stump
from kernsemble.persistence import HEADER, ModelFileError, UntrustedModelError, load, save
from kernsemble.svm import InfiniteEnsembleClassifier

pytest.importorskip("skops.io")

TABLE, CLASSES = make_mixed_table(60, random_state=0)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    """Return the file of a machine on a mixed table."""
    machine = InfiniteEnsembleClassifier().fit(TABLE, CLASSES)
    return save(machine, tmp_path_factory.mktemp("models") / "machine.skops")


@pytest.fixture
def changed(path, tmp_path):
    """Return a function that writes the file with other members."""
    return lambda method=zipfile.ZIP_DEFLATED, **members: write_members(
        tmp_path / "changed.skops", members_of(path) | members, method
    )


class Creating:
    """An object whose unpickling creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def schema_of(path):
    return json.loads(members_of(path)["schema.json"])


def array_names(path):
    return [name for name in members_of(path) if name.endswith(".npy")]


def refused(path, match, kind=ModelFileError, most_bytes=2**23):
    """Check that a file is refused with little memory."""
    load(save(Stump(), path.with_name("warm.skops")))  # what is imported once does not count
    tracemalloc.start()
    try:
        with pytest.raises(kind, match=match) as refusal:
            load(path)
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


# -- damage


def check_damaged(whole, path, seeds):
    """Check that files with random damage are refused, or predict as before."""
    expected = load(path).decision_function(TABLE)
    damaged = path.with_name("damaged.skops")
    n_refused = 0
    for seed in seeds:
        damaged.write_bytes(random_damage(whole, np.random.default_rng(seed)))
        try:
            found = load(damaged).decision_function(TABLE)
        except ModelFileError:
            n_refused += 1
        else:
            assert_array_equal(found, expected, err_msg=f"seed {seed}")
    assert n_refused > 0.6 * len(seeds)


def test_random_damage_is_refused_or_harmless(path):
    check_damaged(path.read_bytes(), path, range(100))


@pytest.mark.slow
def test_much_random_damage_is_refused_or_harmless(path):
    check_damaged(path.read_bytes(), path, range(100, 5_000))


def test_a_file_that_is_cut_anywhere_is_refused(path, tmp_path):
    """Cut in the header of a member, in its data, in the directory and in its end."""
    whole, short = path.read_bytes(), tmp_path / "short.skops"
    directory = whole.index(b"PK\x01\x02")
    end = whole.index(b"PK\x05\x06")
    places = (0, 1, 3, 29, 60, directory - 1, directory, directory + 20, end - 1, end, end + 10)
    for place in (*places, len(whole) - 1):
        short.write_bytes(whole[:place])
        with pytest.raises(ModelFileError, match=r"short\.skops is truncated or damaged"):
            load(short)


# -- memory and time


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (-1,), (2**40, 0, -1)])
def test_an_array_whose_header_has_more_entries_than_its_data(shape, path, changed):
    forged = changed(**{array_names(path)[0]: array_with_header(shape)})
    refused(forged, r"damaged \(the header of the array .* entries, its data 8 bytes\)")


def test_an_array_of_empty_texts_is_no_bigger_than_its_data(path, changed):
    forged = changed(**{array_names(path)[0]: array_with_header((10**12,), "<U0")})
    refused(forged, r"1,000,000,000,000 entries, its data 8 bytes")


def test_an_array_within_a_sparse_matrix(changed):
    forged = changed(**{"1.npz": sparse_with_header((10**12,))})
    refused(forged, r"array '1\.npz/data\.npy' has 1,000,000,000,000 entries")


def test_a_zip_bomb_is_not_unpacked(changed, monkeypatch):
    bomb = changed(**{"bomb.npy": bytes(2**25)})  # a thousand times as large as its file
    monkeypatch.setattr(persistence, "check_archive", limited_to(2**24))
    refused(bomb, r"changed\.skops needs 32\.\d MB of memory, and 16 are available: read it")


def limited_to(memory):
    """Return the check of archives with a number of available bytes."""
    check = persistence.check_archive
    return lambda archive: check(archive, memory)


def test_a_bomb_within_a_sparse_matrix_is_not_unpacked(tmp_path, changed, monkeypatch):
    inner = write_members(tmp_path / "inner.npz", {"data.npy": bytes(2**25)}).read_bytes()
    monkeypatch.setattr(persistence, "check_archive", limited_to(2**24))
    refused(changed(**{"1.npz": inner}), r"needs 32 MB of memory")


def test_a_declared_size_below_the_real_one_is_damage(path, changed):
    """Only the declared size is unpacked, and its checksum is wrong."""
    bomb = changed(**{"bomb.npy": bytes(2**25)})
    content = bomb.read_bytes().replace((2**25).to_bytes(4, "little"), (64).to_bytes(4, "little"))
    bomb.write_bytes(content)
    refused(bomb, "damaged")


def test_other_methods_of_compression_are_refused(changed):
    """Those of Python unpack a block at once, whatever its size is."""
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        refused(changed(method), "compressed by another method than deflate")


def test_one_array_that_many_objects_read(path, changed, monkeypatch):
    schema = schema_of(path)
    twice = [node("NdArrayNode", "numpy.ndarray", type="numpy", file="big.npy")] * 100
    schema["content"]["content"]["more"] = node("ListNode", "builtins.list", content=twice)
    big = array_with_header((2**17,), data=bytes(2**20))
    monkeypatch.setattr(persistence, "check_archive", limited_to(2**26))
    refused(changed(**{"schema.json": schema, "big.npy": big}), r"needs 20\d MB of memory")


def test_a_schema_of_many_objects(path, changed, monkeypatch):
    many = {"more": [node("ObjectNode", "a.b")] * 10_000, **schema_of(path)}
    monkeypatch.setattr(persistence, "check_archive", limited_to(2**25))
    refused(changed(**{"schema.json": many}), r"needs 4\d(\.\d)? MB of memory", most_bytes=2**25)


def test_objects_that_refer_to_each_other_exponentially_often(changed):
    """Each list contains the one before twice: 2⁶⁰ visits."""
    refused(changed(**{"schema.json": counting_objects(60)}), "refer to each other too often")


def test_an_object_that_contains_itself(changed):
    loop = node("ListNode", "builtins.list", content=[{"__id__": 5}], __id__=5)
    refused(changed(**{"schema.json": loop | {"protocol": 2}}), "contains itself")


def test_a_schema_without_end_of_nesting(changed):
    deep = "[" * 100_000 + "]" * 100_000
    refused(changed(**{"schema.json": deep}), "damaged")


def test_deep_kernels_are_within_the_limits(tmp_path):
    kernel = Stump()
    for _ in range(40):
        kernel = kernel + Polynomial()
    assert load(save(kernel, tmp_path / "kernel.skops")) == kernel


def test_objects_that_appear_twice_are_within_the_limits(tmp_path):
    kernels = [Stump().bind(np.arange(20.0)[:, np.newaxis])] * 200
    assert load(save(kernels, tmp_path / "kernels.skops")) == kernels


def test_a_file_larger_than_memory_is_not_read(path, monkeypatch):
    monkeypatch.setattr(persistence, "available_memory", lambda: 1000.0)
    refused(path, r"takes 0\.\d+ MB, and 0\.000954 are available: read it where more memory")


def test_a_device_is_not_read():
    with pytest.raises(ModelFileError, match="is no regular file"):
        load("/dev/zero")


# -- code


def test_a_pickle_inside_is_not_opened(path, changed, tmp_path):
    created = tmp_path / "created"
    content = pickle.dumps(Creating(created))
    as_objects = array_with_header((1,), "|O", content)
    for members in ({array_names(path)[0]: content}, {array_names(path)[0]: as_objects}):
        refused(changed(**members), "cannot be loaded here|damaged")
    load(changed(**{"model.pkl": content}))  # nothing refers to it
    assert not created.exists()


@pytest.mark.parametrize("name", ["../outside.txt", "/outside.txt", "a/../../outside.txt"])
def test_no_member_is_written_to_disk(name, path, changed, tmp_path):
    before = sorted(tmp_path.parent.rglob("*"))
    schema = schema_of(path)
    assert_array_equal(load(changed(**{name: b"text"})).predict(TABLE), load(path).predict(TABLE))
    outside = node("BytesNode", "builtins.bytes", file=str(path.parent / "machine.skops"))
    schema["content"]["content"]["more"] = outside
    refused(changed(**{"schema.json": schema}), "cannot be loaded here")
    new = {each.name for each in set(tmp_path.parent.rglob("*")) - set(before)}
    assert new <= {"changed.skops", "warm.skops"}


@pytest.mark.parametrize(
    ("forged", "named"),
    [
        (node("FunctionNode", "os.system"), r"os\.system"),
        (node("TypeNode", "builtins.eval"), r"builtins\.eval"),
        (
            node(
                "ConstructorFromReduceNode",
                "subprocess.Popen",
                content=node("TupleNode", "builtins.tuple", content=[]),
            ),
            r"subprocess\.Popen",
        ),
        (
            node(
                "OperatorFuncNode",
                "operator.methodcaller",
                attrs=node("TupleNode", "builtins.tuple", content=[]),
            ),
            r"operator\.methodcaller",
        ),
        (node("ObjectNode", "sklearn.tree._tree.Tree"), r"sklearn\.tree\._tree\.Tree"),
    ],
    ids=["function", "builtin", "constructor", "operator", "tree"],
)
def test_forged_types_are_refused_before_anything_is_built(forged, named, path, changed):
    schema = schema_of(path)
    schema["content"]["content"]["more"] = forged
    refused(changed(**{"schema.json": schema}), named, UntrustedModelError)


# -- the command line


@pytest.mark.parametrize(
    "members",
    [
        {"schema.json": counting_objects(60)},
        {"schema.json": b"{"},
        {"schema.json": node("FunctionNode", "os.system", protocol=2)},
        {HEADER: {"format": 99, "versions": {"kernsemble": "99\x1b[2J\n"}}},
        {"1.npy": array_with_header((10**12,))},
    ],
    ids=["references", "schema", "type", "version", "array"],
)
def test_commands_refuse_a_forged_file_in_one_line(members, changed, tmp_path):
    table, out = tmp_path / "rows.csv", tmp_path / "old.csv"
    table.write_text("a\n1\n")
    out.write_text("old")
    forged = str(changed(**members))
    words = "predict", forged, str(table), "--out", str(out), "--force", "--no-progress"
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"kernsemble: error: {forged}")
    assert line.isprintable()
    assert out.read_text() == "old"
