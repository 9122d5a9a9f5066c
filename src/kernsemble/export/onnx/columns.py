"""Inputs of graphs: the raw columns of a table, or one matrix; and their encoding as numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernsemble.export.onnx.calendar import date_part
from kernsemble.export.onnx.graph import ML, Graph, Tensor, joined
from kernsemble.export.refusals import NotExportableError, import_extra
from kernsemble.inspection.additive_model import ColumnData

MATRIX = "X"  # name of the input of models that were fitted to arrays


class Input(NamedTuple):
    """An input of a graph: its name, whether it is text, and its number of columns."""

    name: str
    is_text: bool
    n_columns: int

    def value_info(self) -> Any:
        """Return the input as ONNX declares it."""
        onnx = import_extra("onnx")
        kind = onnx.TensorProto.STRING if self.is_text else onnx.TensorProto.DOUBLE
        return onnx.helper.make_tensor_value_info(self.name, kind, [None, self.n_columns])


def inputs_of(columns: Sequence[ColumnData], has_names: bool) -> list[Input]:
    """Return the inputs: one for each column of the table, or one matrix."""
    if not has_names:
        return [Input(MATRIX, False, len(columns))]
    raw = [each for each in columns if "part_of" not in each]
    return [Input(each["name"], _is_text(each), 1) for each in raw]


def encoded(graph: Graph, inputs: dict[str, Tensor], columns: Sequence[ColumnData]) -> Tensor:
    """Return all columns as numbers: categories as codes, -1 for others, dates as days."""
    if MATRIX in inputs and len(inputs) == 1 and columns[0]["name"] != MATRIX:
        return inputs[MATRIX]
    return joined([_encoded(graph, inputs, each) for each in columns], 1)


def _encoded(graph: Graph, inputs: dict[str, Tensor], column: ColumnData) -> Tensor:
    if "part_of" in column:
        return date_part(inputs[column["part_of"]], column["part"])
    entries = inputs[column["name"]]
    if column["kind"] == "number":
        return entries
    known = column["categories"]
    if _is_text(column):
        texts = [name for name in known if name is not None]
        codes = [known.index(name) for name in texts]
        if None in known and "" not in texts:
            texts, codes = [*texts, ""], [*codes, known.index(None)]
        keys = {"keys_strings": texts, "values_int64s": codes, "default_int64": -1}
        return graph.add("LabelEncoder", entries, domain=ML, **keys).as_double()
    values = [name for name in known if name is not None]
    member = entries.to("Equal", np.array(values, dtype=np.float64)).as_double()
    code = member @ np.array([[known.index(each) + 1.0] for each in values]) - 1.0
    if None in known:
        code = entries.to("IsNaN").where(float(known.index(None)), code)
    return code


def _is_text(column: ColumnData) -> bool:
    """Return whether the entries of a column are text; raise an error for mixed categories."""
    if column["kind"] == "number":
        return False
    kinds = {isinstance(each, str) for each in column["categories"] if each is not None}
    if len(kinds) > 1:
        raise NotExportableError(
            f"column {column['name']!r} has categories of text and of numbers, which no type of "
            "ONNX or SQL holds together: convert them to text, and fit again"
        )
    return kinds != {False}
