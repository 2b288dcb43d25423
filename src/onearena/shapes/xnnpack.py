"""Shapes inside an XNNPACK payload, in storage order, as XNNPACK derives them.

The delegate hands over the shapes of its arguments and XNNPACK derives all others before each
run (`reshape` of every operator). Sources: XNNPACK's `src/subgraph/*.c` and `src/operators/*.c`
at the revision that ExecuTorch 1.5 ships, `XNNCompiler.cpp` of ExecuTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node
from onearena.delegates.xnnpack.operators import BINARY, UNARY
from onearena.shapes.rules.call import (
    MALFORMED,
    Cause,
    ContradictionError,
    Dims,
    NotDerivableError,
    broadcast,
    reshaped,
    text,
    with_dim,
)

Known: TypeAlias = Dims | Cause
_Rule: TypeAlias = Callable[[Graph, Node, Sequence[Dims]], Dims]
_SAME_PADDING = 0x4
_TRANSPOSE = 0x1
_RESHAPE_2D = 0x4
_KEPT_RANK = 4


def payload_shapes(
    graph: Graph, arguments: Mapping[int, Known], instruction: int
) -> dict[int, Known]:
    """The shape of every value of a payload, by value id.

    Args:
        arguments: by external id, the shapes of the arguments (outputs may be left out).
        instruction: of the delegate call, for causes.

    Raises:
        ContradictionError: XNNPACK refuses arguments of these shapes.
    """
    shapes: dict[int, Known] = {}
    for value in graph.values.values():
        if value.id in graph.producer:
            continue
        given = arguments.get(value.tensor.external_id) if value.is_external else None
        shapes[value.id] = value.dims if given is None else given
    for node in graph.nodes:
        for output, dims in zip(
            node.outputs, _outputs(graph, node, shapes, instruction), strict=True
        ):
            shapes[output] = dims
    return shapes


def _outputs(
    graph: Graph, node: Node, shapes: Mapping[int, Known], instruction: int
) -> tuple[Known, ...]:
    label = f"XNNPACK {node.name}"
    inputs: list[Dims] = []
    for value in node.inputs:
        dims = shapes.get(value)
        if not isinstance(dims, tuple):
            reason = f"reads value {value} of the payload before it is written"
            return (dims or Cause(instruction, label, reason),) * len(node.outputs)
        inputs.append(dims)
    try:
        return (_rule(node)(graph, node, inputs),) * len(node.outputs)
    except NotDerivableError as error:
        return (Cause(instruction, label, str(error)),) * len(node.outputs)
    except MALFORMED:
        reason = "its operands are not those of such a node"
        return (Cause(instruction, label, reason),) * len(node.outputs)
    except ContradictionError as error:
        raise ContradictionError(f"node {node.index} ({label}) {error}") from None


def _rule(node: Node) -> _Rule:
    if node.kind in _SAME:
        return _same
    if node.kind in BINARY:
        return _binary
    if isinstance(node.xnode.xnode_union, x.Concatenate):
        return _concatenate
    return _RULES[node.kind]


def _same(_: Graph, __: Node, inputs: Sequence[Dims]) -> Dims:
    return inputs[0]


def _binary(_: Graph, __: Node, inputs: Sequence[Dims]) -> Dims:
    return broadcast(*inputs)


def _image(dims: Dims) -> Dims:
    """A batch of images with channels last."""
    if len(dims) != 4:
        raise NotDerivableError(f"its input {text(dims)} is not a batch of images")
    return dims


def _windows(size: int, padding: int, kernel: int, stride: int, dilation: int) -> int:
    """Output size of a convolution or pool; a window larger than its input still fits once."""
    if stride < 1:
        raise ContradictionError("has a stride of 0")
    reach = dilation * (kernel - 1) + 1
    return max(size + padding - reach, 0) // stride + 1


def _filtered(dims: Dims, union: x.Convolution | x.Pooling) -> tuple[int, int]:
    _, height, width, _ = _image(dims)
    if isinstance(union, x.Convolution):
        kernel = (union.kernel_height, union.kernel_width)
        stride = (union.subsampling_height, union.subsampling_width)
        dilation = (union.dilation_height, union.dilation_width)
    else:
        kernel = (union.pooling_height, union.pooling_width)
        stride = (union.stride_height, union.stride_width)
        is_average = isinstance(union, x.XNNAvgPooling2d)
        dilation = (1, 1) if is_average else (union.dilation_height, union.dilation_width)
    if union.flags & _SAME_PADDING:
        if 0 in stride:
            raise ContradictionError("has a stride of 0")
        return -(-height // stride[0]), -(-width // stride[1])
    vertical = union.padding_top + union.padding_bottom
    horizontal = union.padding_left + union.padding_right
    return (
        _windows(height, vertical, kernel[0], stride[0], dilation[0]),
        _windows(width, horizontal, kernel[1], stride[1], dilation[1]),
    )


def _convolution(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.Convolution)
    return (inputs[0][0], *_filtered(inputs[0], union), union.groups * union.group_output_channels)


def _transposed(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.Convolution)
    batch, height, width, _channels = _image(inputs[0])

    def grown(size: int, kernel: int, stride: int, dilation: int, extra: int, less: int) -> int:
        return max(stride * (size - 1) + extra + dilation * (kernel - 1) + 1 - less, 0)

    vertical = union.padding_top + union.padding_bottom
    horizontal = union.padding_left + union.padding_right
    return (
        batch,
        grown(
            height,
            union.kernel_height,
            union.subsampling_height,
            union.dilation_height,
            union.adjustment_height,
            vertical,
        ),
        grown(
            width,
            union.kernel_width,
            union.subsampling_width,
            union.dilation_width,
            union.adjustment_width,
            horizontal,
        ),
        union.groups * union.group_output_channels,
    )


def _pool(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.Pooling)
    height, width = _filtered(inputs[0], union)
    return (inputs[0][0], height, width, inputs[0][3])


def _argmax_pool(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    """Windows side by side; without padding, what does not fill one is left out."""
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNArgMaxPooling2d)
    batch, height, width, channels = _image(inputs[0])
    if not union.pooling_height or not union.pooling_width:
        raise ContradictionError("has a window of nothing")
    if union.flags & _SAME_PADDING:
        up = -(-height // union.pooling_height), -(-width // union.pooling_width)
        return (batch, *up, channels)
    height += union.padding_top + union.padding_bottom
    width += union.padding_left + union.padding_right
    return (batch, height // union.pooling_height, width // union.pooling_width, channels)


def _global_pool(graph: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    batch, _height, _width, channels = _image(inputs[0])
    keeps = len(graph.values[node.outputs[0]].dims) == _KEPT_RANK
    return (batch, 1, 1, channels) if keeps else (batch, channels)


def _transpose(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticTranspose)
    perm = union.perm or ()
    if sorted(perm) != list(range(len(inputs[0]))):
        raise ContradictionError(f"permutes {list(perm)}, its input is {text(inputs[0])}")
    return tuple(inputs[0][axis] for axis in perm)


def _resize(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticResizeBilinear2D)
    batch, _height, _width, channels = _image(inputs[0])
    return (batch, union.new_height, union.new_width, channels)


def _pad(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticConstantPad)
    before, after = union.pre_paddings or (), union.post_paddings or ()
    if not len(before) == len(after) == len(inputs[0]):
        raise ContradictionError(f"pads {len(before)} dimensions, its input is {text(inputs[0])}")
    return tuple(a + n + b for a, n, b in zip(before, inputs[0], after, strict=True))


def _reshape(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticReshape)
    return reshaped(inputs[0], union.new_shape or (), placeholder=0)


def _slice(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    """A size of 0 stands for the whole dimension."""
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticSlice)
    offsets, sizes, dims = union.offsets or (), union.sizes or (), inputs[0]
    if not len(offsets) == len(sizes) == len(dims):
        raise ContradictionError(f"cuts {len(sizes)} dimensions, its input is {text(dims)}")
    result: list[int] = []
    for offset, size, whole in zip(offsets, sizes, dims, strict=True):
        if offset and not size:
            raise NotDerivableError("the end of its slice is not known")
        if offset + size > whole:
            raise ContradictionError(f"cuts {size} at {offset} out of {text(dims)}")
        result.append(size or whole)
    return tuple(result)


def _concatenate(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.Concatenate)
    axis = union.axis
    if axis >= 1 << 31:  # counted from the end
        axis += len(inputs[0]) - (1 << 32)
    if not 0 <= axis < len(inputs[0]) or len({len(dims) for dims in inputs}) > 1:
        raise ContradictionError(f"joins {text(*inputs)} along dimension {union.axis}")
    if len({with_dim(dims, axis, 0) for dims in inputs}) > 1:
        raise ContradictionError(f"cannot join {text(*inputs)} along dimension {axis}")
    return with_dim(inputs[0], axis, sum(dims[axis] for dims in inputs))


def _fully_connected(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNFullyConnected)
    dims, weights = inputs[0], inputs[1]
    if union.flags & _RESHAPE_2D or len(weights) < 2 or not dims:
        raise NotDerivableError(f"multiplies {text(dims, weights)} in a way that is not known")
    depth, columns = (
        (weights[0], weights[-1]) if union.flags & _TRANSPOSE else (weights[-1], weights[0])
    )
    if dims[-1] != depth:
        raise ContradictionError(f"cannot multiply {text(dims, weights)}")
    return (*dims[:-1], columns)


def _product(_: Graph, node: Node, inputs: Sequence[Dims]) -> Dims:
    union = node.xnode.xnode_union
    assert isinstance(union, x.Node2x1)
    first, second = inputs
    if union.flags & ~_TRANSPOSE or min(len(first), len(second)) < 2:
        raise NotDerivableError(f"multiplies {text(first, second)} in a way that is not known")
    depth, columns = second[-2:]
    if union.flags & _TRANSPOSE:
        depth, columns = columns, depth
    if first[-1] != depth:
        raise ContradictionError(f"cannot multiply {text(first, second)}")
    return (*broadcast(first[:-2], second[:-2]), first[-2], columns)


def _attention(_: Graph, __: Node, inputs: Sequence[Dims]) -> Dims:
    return (*inputs[0][:-1], inputs[2][-1])


_SAME = UNARY | {x.XNNCopy, x.XNNSoftmax}
_RULES: Mapping[type, _Rule] = {
    x.XNNConv2d: _convolution,
    x.XNNDepthwiseConv2d: _convolution,
    x.XNNConvTranspose2d: _transposed,
    x.XNNAvgPooling2d: _pool,
    x.XNNMaxPooling2d: _pool,
    x.XNNArgMaxPooling2d: _argmax_pool,
    x.XNNGlobalAvgPooling2d: _global_pool,
    x.XNNStaticTranspose: _transpose,
    x.XNNStaticResizeBilinear2D: _resize,
    x.XNNStaticConstantPad: _pad,
    x.XNNStaticReshape: _reshape,
    x.XNNStaticSlice: _slice,
    x.XNNFullyConnected: _fully_connected,
    x.XNNBatchMatrixMultiply: _product,
    x.XNNScaledDotProductAttention: _attention,
}
