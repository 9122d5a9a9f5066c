"""ONNX graphs: onnxruntime predicts as Python does."""

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from export.zoo import ADDITIVE, NAMES, fitted, rows
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernsemble.boosting import AdaBoostClassifier
from kernsemble.datasets import make_mixed_table
from kernsemble.detection import LagoClassifier
from kernsemble.export import NotExportableError, register_converters, to_onnx
from kernsemble.export.onnx.calendar import date_part
from kernsemble.export.onnx.graph import Graph, Tensor, in_tiles
from kernsemble.export.onnx.kernels import disagreement, kernel_matrix
from kernsemble.export.onnx.scalings import scaled
from kernsemble.export.refusals import import_extra
from kernsemble.inspection import EnsembleView
from kernsemble.kernels import Exponential, Laplacian, Mixed, Perceptron, Stump
from kernsemble.preprocessing.calendar import PARTS, calendar_part
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor, KernelPerceptron


def session_of(graph):
    return onnxruntime.InferenceSession(graph.SerializeToString())


def run(graph, X):
    """Return the outputs of a graph by name, for the raw columns of rows."""
    session = session_of(graph)
    found = session.run(None, feed(session, X))
    return dict(zip([each.name for each in session.get_outputs()], found, strict=True))


def feed(session, X):
    """Return rows as the inputs of a graph."""
    if isinstance(X, np.ndarray):
        return {"X": X}
    return {
        each.name: _entries(X[each.name], each.type == "tensor(string)")
        for each in session.get_inputs()
    }


def _entries(column, is_text):
    if is_text:
        items = column.astype(object)
        return items.where(items.notna(), "").to_numpy(dtype=object)[:, np.newaxis]
    if column.dtype.kind == "M":
        column = (column - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    return column.to_numpy(dtype=np.float64)[:, np.newaxis]


@pytest.mark.parametrize("name", NAMES)
def test_onnxruntime_predicts_as_the_model_does(name):
    model, X = fitted(name), rows(name)
    found = run(to_onnx(model), X)
    if not hasattr(model, "classes_"):
        assert_allclose(found["prediction"], model.predict(X), rtol=1e-9, atol=1e-9)
        return
    assert_array_equal(found["label"], model.predict(X))
    decisions = model.decision_function(X)
    assert_allclose(found["decision"].reshape(decisions.shape), decisions, rtol=1e-8, atol=1e-8)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        assert_allclose(found["probabilities"], model.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["mixed", "pairs", "AdaBoost", "regression"])
def test_contributions_and_intercept_add_up_to_the_values_of_machines(name):
    model, X = fitted(name), rows(name)
    found = run(to_onnx(model, contributions=True), X)
    for k, view in enumerate(EnsembleView.each(model).values()):
        contributions = found["contributions"][:, :, k]
        assert_allclose(contributions, view.explain(X).contributions, rtol=1e-9, atol=1e-9)
        total = contributions.sum(axis=1) + found["intercept"][k]
        assert_allclose(total, view.model.values(X)[:, k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ADDITIVE)
def test_an_additive_model_is_a_graph_without_loops_or_kernels(name):
    kinds = {node.op_type for node in to_onnx(fitted(name)).graph.node}
    assert not kinds & {"Scan", "Loop", "Exp", "Sqrt"}


def test_a_graph_has_standard_operators_only():
    used = {
        (node.domain, node.op_type)
        for name in ("mixed", "Mixed", "vote of numbers")
        for node in to_onnx(fitted(name)).graph.node
    }
    assert {domain for domain, _ in used} <= {"", "ai.onnx.ml"}
    assert {kind for domain, kind in used if domain} == {"LabelEncoder"}


def test_equal_members_of_a_vote_share_their_nodes():
    graph = Graph()
    rows = Tensor(graph, "rows")
    assert (rows + 1.0).name == (rows + 1.0).name
    assert (rows + 1.0).name != (rows + 2.0).name
    assert len(graph.nodes) == 2


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 64, 65])
def test_tiles_cover_all_rows_once(n):
    graph = Graph()
    doubled = in_tiles(Tensor(graph, "rows"), 2, 8, lambda tile: tile * 2.0)
    X = np.random.default_rng(n).normal(size=(n, 2))
    assert_allclose(_evaluate(graph, doubled, {"rows": X}), 2.0 * X)


def _evaluate(graph, result, inputs):
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    infos = [
        helper.make_tensor_value_info(name, double, [None, *each.shape[1:]])
        for name, each in inputs.items()
    ]
    output = helper.make_tensor_value_info(result.name, double, None)
    content = helper.make_graph(graph.nodes, "test", infos, [output], graph.initializers())
    model = helper.make_model(content, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    return session_of(model).run(None, inputs)[0]


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_the_calendar_are_those_of_numpy(part):
    rng = np.random.default_rng(0)
    times = np.datetime64("1601-01-01", "us") + rng.integers(0, 600 * 365 * 86_400, 2_000) * (
        np.timedelta64(1, "s")
    )
    hours = np.datetime64("2024-02-28T00:00", "us") + np.arange(72) * np.timedelta64(1, "h")
    times = np.concatenate([times, hours])
    days = (times - np.datetime64("1970-01-01", "us")) / np.timedelta64(1, "D")
    graph = Graph()
    found = _evaluate(graph, date_part(Tensor(graph, "days"), part), {"days": days[:, np.newaxis]})
    assert_array_equal(found[:, 0], calendar_part(times, part))


def test_a_graph_is_written_to_a_file(tmp_path):
    written = to_onnx(fitted("stump"), tmp_path / "stump.onnx")
    assert onnx.load(tmp_path / "stump.onnx") == written


@pytest.mark.parametrize(
    "part", [kernel_matrix, disagreement, scaled], ids=["kernel", "distance", "scaling"]
)
def test_unknown_kernels_and_scalings_are_named(part):
    rows = Tensor(Graph(), "rows")
    given = (rows,) if part is scaled else (rows, np.zeros((1, 1)))
    with pytest.raises(NotExportableError, match="'unknown' has no ONNX operators"):
        part("unknown", *given)


def test_a_package_that_is_not_installed_is_named_with_its_extra():
    message = "no_such_package is needed.*pip install 'kernsemble\\[export\\]'"
    with pytest.raises(ImportError, match=message):
        import_extra("no_such_package.part")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: KernelPerceptron().fit(X, y), "KernelPerceptron cannot be exported"),
        (
            lambda X, y: InfiniteEnsembleClassifier("laplacian", **LOCAL).fit(X, y),
            "solver = 'local'",
        ),
        (
            lambda X, y: InfiniteEnsembleRegressor("laplacian", solver="additive", n_grids=4).fit(
                X, y
            ),
            "random grids cannot be exported",
        ),
        (
            lambda X, y: AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y),
            "only ensembles of stumps",
        ),
        (
            lambda X, y: LagoClassifier(metric="manhattan", threshold=0.1).fit(X, y),
            "metric = 'manhattan'",
        ),
    ],
)
def test_what_cannot_be_exported_is_named(make, message):
    X, y = load_iris(return_X_y=True)
    model = make(X[::3], y[::3])
    with pytest.raises(NotExportableError, match=message):
        to_onnx(model)


LOCAL = {"solver": "local", "loss": "squared"}


@pytest.mark.parametrize("name", ["laplacian", "LAGO"])
def test_contributions_need_a_sum_over_columns(name):
    with pytest.raises(NotExportableError, match="contributions = True"):
        to_onnx(fitted(name), contributions=True)


def test_categories_of_text_and_numbers_have_no_type():
    X = pd.DataFrame({"x": pd.Series(["a", 1, "b", 2] * 5, dtype=object)})
    model = InfiniteEnsembleClassifier(solver="additive").fit(X, [0, 1] * 10)
    with pytest.raises(NotExportableError, match="column 'x' has categories of text and of num"):
        to_onnx(model)


def test_categories_that_are_numbers_stay_numbers():
    X = pd.DataFrame({"x": pd.Categorical([1, 2, 3, None] * 5)})
    model = InfiniteEnsembleClassifier(solver="additive").fit(X, [0, 1, 1, 0] * 5)
    new = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    found = run(to_onnx(model), pd.DataFrame({"x": new}))
    expected = model.decision_function(pd.DataFrame({"x": pd.Categorical([1, 2, 3, 4, None])}))
    assert_allclose(found["decision"][:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("kernel", [Mixed(Exponential()), Mixed(Perceptron())], ids=str)
@pytest.mark.parametrize("columns", [["occupation", "region"], ["age", "hours"]], ids=["c", "n"])
def test_tables_of_categories_or_of_numbers_alone(kernel, columns):
    X, y = make_mixed_table(100, random_state=0)
    model = InfiniteEnsembleClassifier(kernel, solver="exact").fit(X[columns], y)
    found = run(to_onnx(model), X[columns])
    assert_allclose(found["decision"][:, 0], model.decision_function(X[columns]), atol=1e-9)


# -- pipelines


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "model",
    [
        InfiniteEnsembleClassifier("laplacian", calibration="sigmoid"),
        InfiniteEnsembleClassifier(Stump()),
        AdaBoostClassifier(n_estimators=5),
        LagoClassifier(rare=[0]),
    ],
    ids=["laplacian", "stump", "AdaBoost", "LAGO"],
)
def test_pipelines_convert_with_skl2onnx(model, dtype):
    from skl2onnx import to_onnx as convert

    register_converters()
    X, y = (each[::2] for each in load_iris(return_X_y=True))
    X = X.astype(dtype)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    graph = convert(pipeline, X[:1], options={"zipmap": False})
    label, shares = session_of(graph).run(None, {"X": X})
    assert_array_equal(label, pipeline.predict(X))
    expected = (
        pipeline.predict_proba(X)
        if hasattr(model, "predict_proba")
        else pipeline.decision_function(X)
    )
    assert_allclose(shares, expected, atol=1e-9 if dtype == np.float64 else 1e-4)


def test_a_regressor_converts_with_skl2onnx():
    from skl2onnx import to_onnx as convert

    register_converters()
    X, _ = load_breast_cancer(return_X_y=True)
    X = X[::5, :4]
    pipeline = make_pipeline(StandardScaler(), InfiniteEnsembleRegressor("stump"))
    graph = convert(pipeline.fit(X, X[:, 0]), X[:1])
    (found,) = session_of(graph).run(None, {"X": X})
    assert_allclose(found[:, 0], pipeline.predict(X), atol=1e-9)


def test_skl2onnx_is_refused_what_it_cannot_express():
    from skl2onnx import to_onnx as convert

    register_converters()
    X, y = load_iris(return_X_y=True)
    model = InfiniteEnsembleClassifier(Laplacian()).fit(X, y)
    with pytest.raises(NotExportableError, match="zipmap = True"):
        convert(model, X[:1])
    with pytest.raises(NotExportableError, match="target_opset = 17"):
        convert(model, X[:1], options={"zipmap": False}, target_opset=17)
    with pytest.raises(NotExportableError, match="fitted to a table with categories"):
        convert(fitted("mixed"), X[:1], options={"zipmap": False})


def test_classes_that_are_floats_become_whole_numbers_in_pipelines():
    from skl2onnx import to_onnx as convert

    register_converters()
    X, y = load_iris(return_X_y=True)
    model = InfiniteEnsembleClassifier().fit(X[::3], y[::3].astype(float))
    graph = convert(model, X[:1], options={"zipmap": False})
    assert session_of(graph).run(None, {"X": X[::50]})[0].tolist() == [0, 1, 2]
    assert run(to_onnx(model), X[::50])["label"].tolist() == [0.0, 1.0, 2.0]
