"""Converters for skl2onnx, so that pipelines with models of this library convert."""

from typing import Any

import numpy as np

from kernsemble.boosting import (
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    LPBoostClassifier,
    LPBoostClassifierCV,
)
from kernsemble.detection import LagoClassifier
from kernsemble.export.onnx.graph import ML, Graph, Tensor, joined
from kernsemble.export.onnx.model import ML_OPSET, OPSET, outputs_of
from kernsemble.export.refusals import NotExportableError, import_extra
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
    MultiplicativeSVC,
)

CLASSIFIERS = (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    MultiplicativeSVC,
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    LPBoostClassifier,
    LPBoostClassifierCV,
    LagoClassifier,
)
REGRESSORS = (InfiniteEnsembleRegressor, InfiniteEnsembleRegressorCV)
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
}


def register_converters() -> None:
    """Register converters of all models with skl2onnx, for ``skl2onnx.to_onnx(pipeline, X)``.

    In a pipeline a model has a matrix of numbers as input. Its graph is computed in double
    precision; the outputs have the type of the input. A classifier without probabilities returns
    its decision values in their place.

    Examples
    --------
    >>> from onnxruntime import InferenceSession
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernsemble.export import register_converters
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), InfiniteEnsembleClassifier("laplacian"))
    >>> register_converters()
    >>> graph = to_onnx(pipeline.fit(X, y), X[:1], options={"zipmap": False})
    >>> InferenceSession(graph.SerializeToString()).run(None, {"X": X[::50]})[0].tolist()
    [0, 1, 2]
    """
    skl2onnx = import_extra("skl2onnx")
    shapes = import_extra("skl2onnx.common.shape_calculator")
    for model in CLASSIFIERS:
        skl2onnx.update_registered_converter(
            model,
            f"Kernsemble{model.__name__}",
            shapes.calculate_linear_classifier_output_shapes,
            _convert_classifier,
            options=OPTIONS,
        )
    for model in REGRESSORS:
        skl2onnx.update_registered_converter(
            model,
            f"Kernsemble{model.__name__}",
            shapes.calculate_linear_regressor_output_shapes,
            _convert_regressor,
        )


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    is_mapped = container.get_options(operator.raw_operator, {"zipmap": True})["zipmap"]
    if is_mapped is True and _type(operator) == import_extra("onnx").TensorProto.DOUBLE:
        raise NotExportableError(
            "zipmap = True: ONNX has dictionaries of probabilities in single precision only; use "
            'options={"zipmap": False}, or convert with rows of type float32'
        )
    outputs, model = _outputs(scope, operator, container), operator.raw_operator
    shares = outputs.probabilities
    if shares is None:
        shares = outputs.values
        if len(model.classes_) == 2:
            shares = joined([-shares, shares], 1)
    assert outputs.label is not None
    label = outputs.label
    if np.asarray(model.classes_).dtype.kind == "f":
        label = label.as_integer()
    _finish(container, [label, shares.to("Cast", to=_type(operator))], operator)


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    outputs = _outputs(scope, operator, container)
    _finish(container, [outputs.values.shaped(-1, 1).to("Cast", to=_type(operator))], operator)


def _outputs(scope: Any, operator: Any, container: Any) -> Any:
    model = operator.raw_operator
    if getattr(model, "mixed_table_", None) is not None:
        raise NotExportableError(
            f"{type(model).__name__} was fitted to a table with categories or dates, and a "
            "pipeline gives it numbers: export it alone, with kernsemble.export.to_onnx"
        )
    if container.main_opset < OPSET:
        raise NotExportableError(f"target_opset = {container.main_opset}: use at least {OPSET}")
    graph = Graph(prefix=scope.get_unique_variable_name("kernsemble"))
    rows = joined([Tensor(graph, each.full_name).as_double() for each in operator.inputs], 1)
    return outputs_of(model, rows, model.n_features_in_)


def _type(operator: Any) -> int:
    """Return the ONNX type of the last output."""
    guess = import_extra("skl2onnx.common.data_types").guess_proto_type
    return int(guess(operator.outputs[-1].type))


def _finish(container: Any, tensors: list[Tensor], operator: Any) -> None:
    """Add the graph of tensors to a container, with the names of the operator's outputs."""
    graph = tensors[0].graph
    container.initializers.extend(graph.initializers())
    for node in graph.nodes:
        container.nodes.append(node)
        container.node_domain_version_pair_sets.add(
            (node.domain, ML_OPSET if node.domain == ML else OPSET)
        )
    for tensor, output in zip(tensors, operator.outputs, strict=True):
        container.add_node("Identity", tensor.name, output.full_name, name=graph.new_name("output"))
