"""Graphs of ONNX operators, written as expressions of tensors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from operator import add
from typing import Any, Self

import numpy as np

from kernsemble._typing import Array
from kernsemble.export.refusals import import_extra

ML = "ai.onnx.ml"  # domain of the operators for classical models

Operand = Any  # a tensor, an array, or a number


@dataclass
class Graph:
    """Nodes and constants. Equal nodes, and equal constants, are stored once.

    The body of a loop is a graph within another one: it shares its constants, and may use its
    tensors.
    """

    prefix: str = "kernsemble"
    parent: "Graph | None" = None
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    _names: dict[Any, str] = field(default_factory=dict)
    _known: dict[Any, tuple[str, ...]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=count)

    @classmethod
    def within(cls, parent: Self) -> Self:
        """Return the graph of the body of a loop."""
        return cls(parent.prefix, parent, [], parent.constants, parent._names, {}, parent._numbers)

    def new_name(self, kind: str) -> str:
        """Return a name that no other tensor has."""
        return f"{self.prefix}_{kind}_{next(self._numbers)}"

    def add(self, kind: str, *inputs: Operand, domain: str = "", **attributes: Any) -> "Tensor":
        """Return the only output of a node."""
        return self.add_all(kind, 1, *inputs, domain=domain, **attributes)[0]

    def add_all(
        self, kind: str, n_outputs: int, *inputs: Operand, domain: str = "", **attributes: Any
    ) -> list["Tensor"]:
        """Return all outputs of a node."""
        names = tuple(self.tensor(each).name for each in inputs)
        key = (kind, names, n_outputs, repr(sorted(attributes.items())))
        found = self._find(key)
        if found is None:
            found = tuple(self.new_name(kind) for _ in range(n_outputs))
            helper = import_extra("onnx.helper")
            node = helper.make_node(
                kind, names, found, name=self.new_name("node"), domain=domain, **attributes
            )
            self.nodes.append(node)
            self._known[key] = found
        return [Tensor(self, name) for name in found]

    def _find(self, key: Any) -> tuple[str, ...] | None:
        if key in self._known:
            return self._known[key]
        return None if self.parent is None else self.parent._find(key)

    def tensor(self, value: Operand) -> "Tensor":
        """Return a tensor as it is in this graph, and an array or a number as a constant.

        Numbers with a fraction have double precision.
        """
        if isinstance(value, Tensor):
            return Tensor(self, value.name)
        array = np.asarray(value)
        if array.dtype.kind in "fU":
            array = array.astype(np.float64 if array.dtype.kind == "f" else object)
        content = repr(array.tolist()) if array.dtype == object else array.tobytes()
        key = (array.shape, array.dtype.str, content)
        if key not in self._names:
            self._names[key] = self.new_name("constant")
            self.constants[self._names[key]] = array
        return Tensor(self, self._names[key])

    def initializers(self) -> list[Any]:
        """Return all constants that nodes use as ONNX tensors."""
        numpy_helper, used = import_extra("onnx.numpy_helper"), set(_inputs(self.nodes))
        return [
            numpy_helper.from_array(each, name)
            for name, each in self.constants.items()
            if name in used
        ]


def _inputs(nodes: Iterable[Any]) -> Iterator[str]:
    """Yield the names of the inputs of nodes, also within loops."""
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            yield from _inputs(attribute.g.node)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a graph; operators of Python add nodes."""

    graph: Graph
    name: str

    def to(self, kind: str, *others: Operand, domain: str = "", **attributes: Any) -> "Tensor":
        """Return the output of a node whose first input this tensor is."""
        return self.graph.add(kind, self, *others, domain=domain, **attributes)

    def __add__(self, other: Operand) -> "Tensor":
        return self.to("Add", other)

    def __sub__(self, other: Operand) -> "Tensor":
        return self.to("Sub", other)

    def __mul__(self, other: Operand) -> "Tensor":
        return self.to("Mul", other)

    def __truediv__(self, other: Operand) -> "Tensor":
        return self.to("Div", other)

    def __matmul__(self, other: Operand) -> "Tensor":
        return self.to("MatMul", other)

    def __neg__(self) -> "Tensor":
        return self.to("Neg")

    def __lt__(self, other: Operand) -> "Tensor":
        return self.to("Less", other)

    def __gt__(self, other: Operand) -> "Tensor":
        return self.to("Greater", other)

    def subtracted_from(self, number: Operand) -> "Tensor":
        """Return a number minus this tensor."""
        return self.graph.add("Sub", number, self)

    def where(self, if_true: Operand, if_false: Operand) -> "Tensor":
        """Return the entries of one tensor where this one is true, else those of another."""
        return self.to("Where", if_true, if_false)

    def clipped(self, lowest: float, highest: float) -> "Tensor":
        """Return the numbers within a range."""
        return self.to("Max", lowest).to("Min", highest)

    def as_double(self) -> "Tensor":
        """Return the numbers in double precision."""
        return self.to("Cast", to=import_extra("onnx").TensorProto.DOUBLE)

    def as_integer(self) -> "Tensor":
        """Return the numbers as integers."""
        return self.to("Cast", to=import_extra("onnx").TensorProto.INT64)

    def sum(self, axis: int, keep: bool = False) -> "Tensor":
        """Return the sum over an axis."""
        return self.to("ReduceSum", np.array([axis]), keepdims=int(keep))

    def max(self, axis: int, keep: bool = False) -> "Tensor":
        """Return the maximum over an axis."""
        return self.to("ReduceMax", np.array([axis]), keepdims=int(keep))

    def at(self, places: Operand, axis: int = 0) -> "Tensor":
        """Return the entries at places of an axis."""
        return self.to("Gather", places, axis=axis)

    def between(self, first: Operand, last: Operand, axis: int) -> "Tensor":
        """Return the entries from one place of an axis to before another one."""
        ends = (each if isinstance(each, Tensor) else np.array([each]) for each in (first, last))
        return self.to("Slice", *ends, np.array([axis]))

    def wider(self, axis: int) -> "Tensor":
        """Return the tensor with a new axis of length 1."""
        return self.to("Unsqueeze", np.array([axis]))

    def shaped(self, *shape: int) -> "Tensor":
        """Return the tensor with another shape, in which -1 is the rest."""
        return self.to("Reshape", np.array(shape))

    @property
    def n_rows(self) -> "Tensor":
        """The number of rows, of shape (1,)."""
        return self.to("Shape").between(0, 1, 0)


def joined(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Return tensors one after another along an axis."""
    return tensors[0] if len(tensors) == 1 else tensors[0].to("Concat", *tensors[1:], axis=axis)


def total(tensors: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors."""
    return reduce(add, tensors)


def in_tiles(rows: Tensor, width: int, height: int, body: Callable[[Tensor], Tensor]) -> Tensor:
    """Return ``body(rows)``, of which each row depends on the same row, a few rows at a time.

    `width` is the number of columns of the rows, `height` the maximum number of rows of a tile.
    All tiles have the same number of rows; the last one is filled up.
    """
    helper, onnx = import_extra("onnx.helper"), import_extra("onnx")
    graph, n = rows.graph, rows.n_rows
    n_tiles = ((n + (height - 1)) / height).to("Max", 1)
    size = (n + (n_tiles - 1)) / n_tiles
    lacking = n_tiles * size - n
    pads = joined([graph.tensor(np.zeros(2, np.int64)), lacking, graph.tensor(np.array([0]))], 0)
    shape = joined([n_tiles, size, graph.tensor(np.array([width]))], 0)
    tiles = rows.to("Pad", pads, 0.0).to("Reshape", shape)
    inner = Graph.within(graph)
    entry = Tensor(inner, inner.new_name("tile"))
    result = body(entry).to("Identity")
    double = onnx.TensorProto.DOUBLE
    content = helper.make_graph(
        inner.nodes,
        inner.new_name("body"),
        [helper.make_tensor_value_info(entry.name, double, [None, width])],
        [helper.make_tensor_value_info(result.name, double, [None, None])],
    )
    found = tiles.to("Scan", body=content, num_scan_inputs=1)
    last = found.to("Shape").between(-1, np.iinfo(np.int64).max, 0)
    flat = found.to("Reshape", joined([graph.tensor(np.array([-1])), last], 0))
    return flat.between(0, n, 0)
