"""An indexed view of a payload's graph: who produces a value, who reads it, how large it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, wraps
from math import prod
from typing import Any, TypeVar

from onearena.delegates.xnnpack.schema import (
    INVALID_ID,
    Concatenate,
    Datatype,
    NodeUnion,
    PerTensorQuant,
    PerTokenDynamicQuant,
    XNNConcatenate2,
    XNNConcatenate3,
    XNNConcatenate4,
    XNNConcatenate5,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XNode,
    XValue,
)
from onearena.errors import FormatError

_CONCATENATE_COUNT: Mapping[type, int] = {
    XNNConcatenate2: 2,
    XNNConcatenate3: 3,
    XNNConcatenate4: 4,
    XNNConcatenate5: 5,
}
_operand_names: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}
_OPTIONAL_OPERANDS = frozenset({"bias_id", "scale_id", "mask_id"})
ELEMENT_BYTES: Mapping[int, int] = {
    Datatype.FP32: 4,
    Datatype.FP16: 2,
    Datatype.QINT8: 1,
    Datatype.QUINT8: 1,
    Datatype.QINT32: 4,
    Datatype.INT32: 4,
    Datatype.BF16: 2,
}
"""Bytes per element of the types whose size is a whole number of bytes per element."""


@dataclass(frozen=True)
class Value:
    """One tensor of the graph.

    Attributes:
        dims: the shape, in the order the bytes are stored.
        element_count: number of elements.
        size_bytes: None when the type has no simple size.
        is_constant: True for weights.
        is_external: True for values that are arguments of the delegate call.
        is_internal: True for activations that live in XNNPACK's workspace.
        scaled_dims: of a dynamically quantized tensor, how many trailing dimensions get one scale
            together, computed from all of their elements in each run; else 0.
    """

    id: int
    tensor: XNNTensorValue
    per_tensor_quantized: bool
    is_quantized: bool
    scaled_dims: int = 0
    # what follows from the tensor, made once: everything asks for it again and again
    dims: tuple[int, ...] = field(init=False, repr=False, compare=False)
    element_count: int = field(init=False, repr=False, compare=False)
    size_bytes: int | None = field(init=False, repr=False, compare=False)
    is_constant: bool = field(init=False, repr=False, compare=False)
    is_external: bool = field(init=False, repr=False, compare=False)
    is_internal: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tensor = self.tensor
        dims = tensor.dims or ()
        count, width = prod(dims), ELEMENT_BYTES.get(tensor.datatype)
        is_constant = tensor.constant_buffer_idx != 0
        is_external = tensor.external_id != INVALID_ID
        self.__dict__.update(
            dims=dims,
            element_count=count,
            size_bytes=None if width is None else width * count,
            is_constant=is_constant,
            is_external=is_external,
            is_internal=not (is_constant or is_external or tensor.flags),
        )


@dataclass(frozen=True)
class Node:
    """One node with its operands by role; `inputs` are in operand order, duplicates kept.

    Attributes:
        kind: the operator's class in the schema.
    """

    index: int
    xnode: XNode
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kind: type = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.__dict__["kind"] = type(self.xnode.xnode_union)

    @property
    def name(self) -> str:
        """The operator's name, e.g. `Conv2d`."""
        return self.kind.__name__.removeprefix("XNN")


@dataclass(frozen=True)
class Graph:
    """The indexed graph. Node order is execution order."""

    source: XNNGraph
    values: Mapping[int, Value]
    nodes: tuple[Node, ...]
    _found: dict[Any, Any] = field(init=False, repr=False, compare=False, default_factory=dict)
    """By function, what `once_for_all_alike` remembers."""

    @cached_property
    def producer(self) -> Mapping[int, Node]:
        """The node that writes a value (the last one, should there be several)."""
        return {value: node for node in self.nodes for value in node.outputs}

    @cached_property
    def consumers(self) -> Mapping[int, tuple[Node, ...]]:
        """The nodes that read a value, in order, each once."""
        found: dict[int, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs):
                found.setdefault(value, []).append(node)
        return {value: tuple(nodes) for value, nodes in found.items()}

    @cached_property
    def datatypes(self) -> frozenset[int]:
        """The element types of all values."""
        return frozenset([value.tensor.datatype for value in self.values.values()])

    @cached_property
    def externals(self) -> Mapping[int, int]:
        """Argument position → value id."""
        return {v.tensor.external_id: v.id for v in self.values.values() if v.is_external}

    @cached_property
    def live(self) -> frozenset[int]:
        """Values that some external output depends on; XNNPACK drops the others."""
        pending = [v.id for v in self.values.values() if v.is_external and v.tensor.flags & 2]
        seen: set[int] = set()
        while pending:
            value = pending.pop()
            if value not in seen:
                seen.add(value)
                node = self.producer.get(value)
                pending.extend(node.inputs if node else ())
        return frozenset(seen)

    def activations(self, node: Node) -> tuple[int, ...]:
        """The non-constant inputs of `node`, each once."""
        return tuple(v for v in dict.fromkeys(node.inputs) if not self.values[v].is_constant)


def index_graph(source: XNNGraph, what: str, known: Graph | None = None) -> Graph:
    """Indexes a decoded payload.

    Args:
        known: a graph that shares most of its tensors and nodes: it is quicker with one.

    Raises:
        FormatError: values without a table, an id used twice, a node that names a missing value.
    """
    values: dict[int, Value] = {}
    old = {id(value.tensor): value for value in known.values.values()} if known else {}
    for position, xvalue in enumerate(source.xvalues or ()):
        value = old.get(id(tensor_of(xvalue))) or _value(xvalue, position, what)
        if value.id in values:
            raise FormatError(f"{what}: XNNPACK value id {value.id} is defined twice")
        values[value.id] = value
    nodes = _nodes(source, what, known.nodes if known else ())
    for node in nodes:
        if values.keys() >= {*node.inputs, *node.outputs}:
            continue
        for operand in node.inputs + node.outputs:
            if operand not in values:
                raise FormatError(
                    f"{what}: XNNPACK node {node.index} ({node.name}) names the missing value "
                    f"{operand}"
                )
    return Graph(source, values, nodes)


def kinds_of(source: XNNGraph) -> tuple[type, ...]:
    """The operators of a decoded payload, in order: those that are not alike mostly differ here."""
    return tuple([type(xnode.xnode_union) for xnode in source.xnodes or ()])


def index_like(source: XNNGraph, twin: Graph) -> Graph | None:
    """Indexes a decoded payload that says the same as an indexed one, but for constants and debug
    handles, as those of equal layers do; None when it says something else.

    What is found out about the one is known about the other, see `once_for_all_alike`.
    """
    if source.xvalues != twin.source.xvalues or _frame(source) != _frame(twin.source):
        return None
    if len(source.xnodes or ()) != len(twin.nodes):
        return None
    nodes: list[Node] = []
    for xnode, node in zip(source.xnodes or (), twin.nodes, strict=True):
        same = xnode.xnode_union == node.xnode.xnode_union
        if not same or xnode.output_min_max != node.xnode.output_min_max:
            return None
        nodes.append(Node(node.index, xnode, node.inputs, node.outputs))
    graph = Graph(source, twin.values, tuple(nodes))
    graph.__dict__["_found"] = twin._found
    return graph


def _frame(source: XNNGraph) -> tuple[Any, ...]:
    """Everything but nodes, values and constants."""
    return source.version, source.num_externs, source.input_ids, source.output_ids


R = TypeVar("R")


def once_for_all_alike(function: Callable[[Graph], R]) -> Callable[[Graph], R]:
    """Remembers what a function finds out about a graph, for all that `index_like` calls alike.

    It may look neither at debug handles nor at constants, and must not return nodes.
    """

    @wraps(function)
    def remembering(graph: Graph) -> R:
        if function not in graph._found:
            graph._found[function] = function(graph)
        found: R = graph._found[function]
        return found

    return remembering


def _nodes(source: XNNGraph, what: str, known: Sequence[Node]) -> tuple[Node, ...]:
    found: list[Node] = []
    for index, xnode in enumerate(source.xnodes or ()):
        same = index < len(known) and known[index].xnode is xnode
        found.append(known[index] if same else _node(index, xnode, what))
    return tuple(found)


def tensor_of(xvalue: XValue) -> XNNTensorValue | None:
    """The tensor table of a plain or quantized value."""
    union = xvalue.xvalue_union
    return union.tensor_value if isinstance(union, XNNQuantizedTensorValue) else union


def _value(xvalue: XValue, position: int, what: str) -> Value:
    union = xvalue.xvalue_union
    quantized = isinstance(union, XNNQuantizedTensorValue)
    tensor = union.tensor_value if isinstance(union, XNNQuantizedTensorValue) else union
    if tensor is None:
        raise FormatError(f"{what}: XNNPACK value #{position} has no tensor")
    quant = union.quant_params if isinstance(union, XNNQuantizedTensorValue) else None
    scaled = quant.num_nonbatch_dims if isinstance(quant, PerTokenDynamicQuant) else 0
    return Value(tensor.id_out, tensor, isinstance(quant, PerTensorQuant), quantized, scaled)


def _node(index: int, xnode: XNode, what: str) -> Node:
    union = xnode.xnode_union
    if union is None:
        raise FormatError(f"{what}: XNNPACK node {index} has no operator")
    known = _operand_names.get(type(union))
    input_names, output_names = known or _read_operand_names(type(union))
    inputs = tuple([getattr(union, name) for name in input_names])
    outputs = tuple([getattr(union, name) for name in output_names])
    if INVALID_ID in inputs or INVALID_ID in outputs:
        for name in (*input_names, *output_names):
            if getattr(union, name) == INVALID_ID and name not in _OPTIONAL_OPERANDS:
                raise FormatError(f"{what}: XNNPACK node {index} has no {name}")
        inputs = tuple(operand for operand in inputs if operand != INVALID_ID)
    return Node(index, xnode, inputs, outputs)


def _read_operand_names(kind: type[NodeUnion]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a node's table that name its inputs, and its outputs.

    A ConcatenateN has room for five inputs and means the first N.
    """
    names = [member.name for member in fields(kind) if member.name.endswith("_id")]
    if issubclass(kind, Concatenate):
        used = _CONCATENATE_COUNT[kind]
        names = [n for n in names if n not in {f"input{k}_id" for k in range(used + 1, 6)}]
    outputs = tuple(name for name in names if name.startswith("output"))
    found = tuple(name for name in names if name not in outputs), outputs
    _operand_names[kind] = found
    return found
