"""Fitted models as ONNX graphs."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernsemble._files import atomic_write, check_folder
from kernsemble.detection import LagoClassifier
from kernsemble.export.machine_terms import (
    ModelHead,
    encoded_columns,
    exportable,
    machine_terms,
)
from kernsemble.export.onnx import heads, lago
from kernsemble.export.onnx.columns import Input, encoded, inputs_of
from kernsemble.export.onnx.graph import ML, Graph, Tensor
from kernsemble.export.onnx.terms import column_contributions, values
from kernsemble.export.refusals import NotExportableError, import_extra
from kernsemble.inspection.additive_model import ColumnData

OPSET = 18  # with ReduceMax whose axes are an input
ML_OPSET = 3
IR_VERSION = 9


class Outputs(NamedTuple):
    """The outputs of a graph, in their order; None for those that a model does not have."""

    label: Tensor | None
    probabilities: Tensor | None
    values: Tensor
    contributions: Tensor | None
    intercept: Tensor | None


def to_onnx(
    model: Any, path: str | os.PathLike[str] | None = None, *, contributions: bool = False
) -> Any:
    """Return a fitted model as an ONNX model in double precision.

    The graph has standard operators only. Its inputs are the raw columns of the training table,
    each of shape (n, 1): numbers in double precision, NaN if missing; text for categories, "" if
    missing; dates as days since 1970-01-01. A model that was fitted to an array has one input X.
    The outputs are

    - of a classifier ``label``, ``probabilities`` if the model has them, and ``decision``;
    - of a regressor ``prediction``;
    - with `contributions`, ``contributions`` of shape (n, n_columns, n_machines), and the
      ``intercept`` of each machine, which add up to its values.

    Parameters
    ----------
    model : fitted estimator
        Additive models, also boosted stumps, become look-ups; machines with support vectors, and
        votes of both, their kernels; `LagoClassifier` its kernels around rare rows.
    path : str or path, optional
        File to write.
    contributions : bool, default=False
        Whether to return the contribution of every column; for additive models only.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    NotExportableError
        If a part of the model cannot be expressed; the message names it.

    Examples
    --------
    >>> from onnxruntime import InferenceSession
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernsemble.export import to_onnx
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = InfiniteEnsembleClassifier(calibration="sigmoid").fit(X[::3], y[::3])
    >>> session = InferenceSession(to_onnx(model).SerializeToString())
    >>> label, probabilities, decision = session.run(None, {"X": X[:2]})
    >>> label.tolist(), bool(abs(probabilities - model.predict_proba(X[:2])).max() < 1e-12)
    ([0, 0], True)
    """
    graph = Graph()
    columns = _columns(model)
    inputs = inputs_of(columns, hasattr(model, "feature_names_in_"))
    rows = encoded(graph, {each.name: Tensor(graph, each.name) for each in inputs}, columns)
    outputs = outputs_of(model, rows, len(columns), contributions)
    found = _model_proto(model, graph, inputs, outputs)
    if path is not None:
        target = Path(path)
        check_folder(target)
        with atomic_write(target) as part:
            part.write_bytes(found.SerializeToString())
    return found


def _columns(model: Any) -> list[ColumnData]:
    if not isinstance(model, LagoClassifier):
        return encoded_columns(exportable(model))
    names = getattr(model, "feature_names_in_", [f"x{d}" for d in range(model.n_features_in_)])
    return [{"name": str(name), "kind": "number"} for name in names]


def outputs_of(model: Any, rows: Tensor, n_columns: int, contributions: bool = False) -> Outputs:
    """Return the outputs of a model at encoded rows."""
    if isinstance(model, LagoClassifier):
        return _lago_outputs(model, rows, contributions)
    terms = machine_terms(model)
    if contributions and not terms.is_additive:
        raise NotExportableError(
            "contributions = True: the model has functions of several columns together, whose "
            "contributions need background rows; use EnsembleView.explain, or contributions=False"
        )
    found = values(terms, rows, n_columns)
    head = ModelHead.of_model(model, len(terms.intercept))
    shares = column_contributions(terms, rows) if contributions else None
    intercept = rows.graph.tensor(terms.intercept).to("Identity") if contributions else None
    if not head.is_classifier:
        return Outputs(None, None, found.shaped(-1), shares, intercept)
    decided = heads.decisions(head, found)
    n_decisions = 1 if head.combination == "one machine" else len(head.classes)
    codes = heads.predicted_codes(decided, n_decisions)
    has_link = head.link is not None
    probabilities = heads.probabilities(head, found, codes) if has_link else None
    return Outputs(_labels(codes, head.classes), probabilities, decided, shares, intercept)


def _lago_outputs(model: LagoClassifier, rows: Tensor, contributions: bool) -> Outputs:
    if contributions:
        raise NotExportableError(
            "contributions = True: LagoClassifier is no sum over columns; use contributions=False"
        )
    found = lago.scores(model, rows)
    decided = lago.decisions(model, found)
    codes = heads.predicted_codes(decided, 1 if len(model.classes_) == 2 else len(model.classes_))
    has_curves = hasattr(model, "predict_proba")
    shares = lago.probabilities(model, found) if has_curves else None
    return Outputs(_labels(codes, model.classes_), shares, decided, None, None)


def _labels(codes: Tensor, classes: Any) -> Tensor:
    """Return the classes of codes: text, or whole numbers, also for booleans."""
    names = np.asarray(classes)
    if names.dtype.kind in "biu":
        names = names.astype(np.int64)
    elif names.dtype.kind == "f":
        names = names.astype(np.float64)
    else:
        names = np.array([str(each) for each in names.tolist()], dtype=object)
    return codes.graph.tensor(names).at(codes)


def _model_proto(model: Any, graph: Graph, inputs: list[Input], outputs: Outputs) -> Any:
    onnx = import_extra("onnx")
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    n_classes = len(getattr(model, "classes_", ()))
    value_name = "decision" if n_classes else "prediction"
    shapes: dict[str, list[Any]] = {
        "label": [None],
        "probabilities": [None, n_classes],
        value_name: [None, None] if n_classes else [None],
        "contributions": [None, None, None],
        "intercept": [None],
    }
    infos, nodes = [], list(graph.nodes)
    for (name, shape), tensor in zip(shapes.items(), outputs, strict=True):
        if tensor is not None:
            kind = _label_type(model) if name == "label" else double
            infos.append(helper.make_tensor_value_info(name, kind, shape))
            nodes.append(helper.make_node("Identity", [tensor.name], [name]))
    content = helper.make_graph(
        nodes,
        type(model).__name__,
        [each.value_info() for each in inputs],
        infos,
        graph.initializers(),
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    found = helper.make_model(content, opset_imports=opsets, producer_name="kernsemble")
    found.ir_version = IR_VERSION
    onnx.checker.check_model(found)
    return found


def _label_type(model: Any) -> int:
    types = import_extra("onnx").TensorProto
    kind = np.asarray(model.classes_).dtype.kind
    return {"b": types.INT64, "i": types.INT64, "u": types.INT64, "f": types.DOUBLE}.get(
        kind, types.STRING
    )
