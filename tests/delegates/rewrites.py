"""What XNNPACK may make of a payload's graph: a model of its rewrites, applied or not.

Written from XNNPACK's sources as a second opinion on `rules`: it rewrites a list of nodes
step by step, as XNNPACK does, and every rewrite may also be left out. `rules` must be right
for every list that comes out. An external output counts as one more reader of a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node
from onearena.delegates.xnnpack.schema import Datatype

_EIGHT_BITS = (Datatype.QINT8, Datatype.QUINT8)
_UNARY = {
    x.XNNSigmoid, x.XNNClamp, x.XNNFloor, x.XNNSquareRoot, x.XNNCeiling, x.XNNHardswish,
    x.XNNLeakyReLU, x.XNNNegate, x.XNNSquare, x.XNNELU, x.XNNAbs, x.XNNReciprocalSquareRoot,
    x.XNNLog, x.XNNGelu, x.XNNTanh, x.XNNExp, x.XNNSin, x.XNNCos, x.XNNConvert,
}  # fmt: skip
_BINARY = {
    x.XNNAdd, x.XNNSubtract, x.XNNMultiply, x.XNNDiv, x.XNNMinimum, x.XNNMaximum, x.XNNPReLU
}  # fmt: skip
_CLAMPABLE = {
    x.XNNAvgPooling2d, x.XNNConv2d, x.XNNConvTranspose2d, x.XNNDepthwiseConv2d,
    x.XNNFullyConnected, x.XNNMaxPooling2d,
}  # fmt: skip
_ADDS_A_CLAMP = {x.XNNAdd, x.XNNSubtract, x.XNNMultiply, x.XNNDiv, x.XNNGlobalAvgPooling2d}
_TABLE = "table"
_MEAN_OF_SQUARES = "mean of squares"
_HIDDEN = 10_000
"""Added to the number of a value, the number of the one that XNNPACK puts in front of it."""


@dataclass(frozen=True)
class Op:
    """A node at its place in the list. `kind` is the schema's class, or one of XNNPACK's own."""

    at: int
    kind: type | str
    inputs: tuple[int, ...]
    output: int


Ops = tuple[Op, ...]


@dataclass(frozen=True)
class Model:
    """What is known of the values: constants, scalars, external ones, element types, shapes."""

    graph: Graph

    def is_scalar(self, value: int) -> bool:
        known = self.graph.values.get(value)
        return known is not None and known.is_constant and known.element_count == 1

    def is_output(self, value: int) -> bool:
        known = self.graph.values.get(value)
        return known is not None and bool(known.tensor.flags & x.EXTERNAL_OUTPUT)

    def is_external(self, value: int) -> bool:
        known = self.graph.values.get(value)
        return known is not None and known.is_external

    def is_clamp(self, op: Op) -> bool:
        limits = op.kind in (x.XNNMinimum, x.XNNMaximum) and any(map(self.is_scalar, op.inputs))
        return limits or op.kind is x.XNNClamp

    def datatype(self, value: int) -> int:
        return self.graph.values[value % _HIDDEN].tensor.datatype

    def dims(self, value: int) -> tuple[int, ...]:
        return self.graph.values[value % _HIDDEN].dims

    def readers(self, ops: Ops, value: int) -> int:
        return sum(value in op.inputs for op in ops) + self.is_output(value)


def possible_lists(graph: Graph, limit: int = 3000) -> set[Ops]:
    """All lists of nodes that can come out, up to `limit`; constants are left out."""
    model = Model(graph)
    start = tuple(op for node in graph.nodes for op in _as_defined(model, node))
    seen, pending = {start}, [start]
    while pending and len(seen) < limit:
        for ops in _rewritten(model, pending.pop()):
            if ops not in seen:
                seen.add(ops)
                pending.append(ops)
    return seen


def _as_defined(model: Model, node: Node) -> Iterator[Op]:
    """The node, and the clamp that XNNPACK adds for its bounds."""
    output = node.outputs[0]
    if node.kind in _ADDS_A_CLAMP and node.xnode.output_min_max is not None:
        hidden = output + _HIDDEN
        yield Op(node.index, node.kind, node.inputs, hidden)
        yield Op(node.index, x.XNNClamp, (hidden,), output)
    else:
        yield Op(node.index, node.kind, node.inputs, output)


def _rewritten(model: Model, ops: Ops) -> Iterator[Ops]:
    producer = {op.output: op for op in ops}
    for op in ops:
        yield from _tables(model, ops, op)
        tensors = [v for v in op.inputs if not model.is_scalar(v)]
        source = producer.get(tensors[0]) if tensors else None
        if source is not None:
            yield from _merged(model, ops, source, op)
        if len(op.inputs) > 1 and op.kind in (x.XNNFullyConnected, x.XNNBatchMatrixMultiply):
            right = producer.get(op.inputs[1])
            if (
                right is not None
                and right.kind is x.XNNStaticTranspose
                and _alone(model, ops, right)
            ):
                inputs = (op.inputs[0], right.inputs[0], *op.inputs[2:])
                yield _with(ops, {op: replace(op, inputs=inputs), right: None})
        if op.kind is x.XNNStaticReshape and not model.is_output(op.output):
            same = model.dims(op.inputs[0]) == model.dims(op.output)
            if same and model.readers(ops, op.inputs[0]) <= 1:
                yield _renamed(ops, op)
        if op.kind is x.XNNCopy and _is_inner(model, op.output) and _alone(model, ops, op):
            yield _renamed(ops, op)


def _merged(model: Model, ops: Ops, first: Op, second: Op) -> Iterator[Ops]:
    """Rewrites of a node with the producer of its first operand."""
    kinds, between = (first.kind, second.kind), first.output
    if kinds[1] is x.XNNGlobalAvgPooling2d and _is_square(first):
        gone = {first: None} if _alone(model, ops, first) else {}
        mean = replace(second, kind=_MEAN_OF_SQUARES, inputs=first.inputs[:1])
        yield _with(ops, {second: mean, **gone})
    if kinds[1] is x.XNNFullyConnected and model.datatype(between) == Datatype.QDINT8:
        gone = {first: None} if _alone(model, ops, first) else {}
        inputs = (first.inputs[0], *second.inputs[1:])
        yield _with(ops, {second: replace(second, inputs=inputs), **gone})
    if not _alone(model, ops, first):
        return
    if kinds[0] is x.XNNStaticConstantPad and kinds[1] in (x.XNNConv2d, x.XNNDepthwiseConv2d):
        inputs = (first.inputs[0], *second.inputs[1:])
        yield _with(ops, {second: replace(second, inputs=inputs), first: None})
    if kinds[1] is x.XNNCopy and _is_inner(model, between):
        yield _with(ops, {first: replace(first, output=second.output), second: None})
    if model.is_clamp(second) and (kinds[0] in _CLAMPABLE or model.is_clamp(first)):
        yield _with(ops, {first: replace(first, output=second.output), second: None})
    if kinds == (x.XNNStaticReshape, x.XNNStaticReshape):
        yield _with(ops, {second: replace(second, inputs=first.inputs), first: None})


def _tables(model: Model, ops: Ops, start: Op) -> Iterator[Ops]:
    """The chain of element-wise nodes that starts here, cut at every possible end."""
    source = _mapped(model, start, set())
    if source is None or model.datatype(source) not in _EIGHT_BITS:
        return
    chain, known = [start], {source, *start.inputs, start.output}
    while len(chain) < 10:
        readers = [op for op in ops if chain[-1].output in op.inputs]
        if model.readers(ops, chain[-1].output) != 1 or not readers:
            break
        if _mapped(model, readers[0], known) is None:
            break
        chain.append(readers[0])
        known |= {*readers[0].inputs, readers[0].output}
        if model.datatype(chain[-1].output) in _EIGHT_BITS:
            table = Op(chain[-1].at, _TABLE, (source,), chain[-1].output)
            yield _with(ops, {chain[-1]: table, **dict.fromkeys(chain[:-1])})


def _mapped(model: Model, op: Op, known: set[int]) -> int | None:
    """The operand of a node that maps element by element."""
    if op.kind in _UNARY:
        return op.inputs[0]
    if op.kind in _BINARY:
        tensors = [v for v in op.inputs if not model.is_scalar(v)]
        if len(tensors) == 1 and len(op.inputs) == 2:
            return tensors[0]
        if set(op.inputs) <= known:
            return op.inputs[0]
    return None


def _is_square(op: Op) -> bool:
    product = op.kind is x.XNNMultiply and op.inputs[0] == op.inputs[1]
    return product or op.kind is x.XNNSquare


def _is_inner(model: Model, value: int) -> bool:
    return not model.is_external(value)


def _alone(model: Model, ops: Ops, op: Op) -> bool:
    """True when the node's output has exactly one reader, which is a node."""
    return model.readers(ops, op.output) == 1 and not model.is_output(op.output)


def _renamed(ops: Ops, gone: Op) -> Ops:
    """Without a node; its readers read what it read."""
    new = gone.inputs[0]
    return tuple(
        replace(op, inputs=tuple(new if v == gone.output else v for v in op.inputs))
        for op in ops
        if op is not gone
    )


def _with(ops: Ops, changes: dict[Op, Op | None]) -> Ops:
    changed = (changes.get(op, op) for op in ops)
    return tuple(op for op in changed if op is not None)
