"""A builder of XNNPACK payload graphs for tests.

net = Net()
x, t, y = net.input(1, 8, 8, 4), net.inner(1, 8, 8, 4), net.output(1, 8, 8, 4)
net.unary(XNNSigmoid, x, t)
net.conv(t, y)
graph = net.index()
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from math import inf, prod
from typing import Any

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, index_graph
from onearena.delegates.xnnpack.payload import Payload, build_payload
from onearena.delegates.xnnpack.schema import Datatype
from onearena.flatbuf.data import read_data

FP32, FP16, BF16 = Datatype.FP32, Datatype.FP16, Datatype.BF16
QINT8, QUINT8, QDINT8, QCINT8 = Datatype.QINT8, Datatype.QUINT8, Datatype.QDINT8, Datatype.QCINT8
INT32 = Datatype.INT32
_ITEM_BYTES = {FP32: 4, FP16: 2, BF16: 2, QINT8: 1, QUINT8: 1, QCINT8: 1, INT32: 4, QDINT8: 1}
Bounds = tuple[float, float]
RELU: Bounds = (0.0, inf)
RELU6: Bounds = (0.0, 6.0)
_CONCATENATE = (
    x.XNNConcatenate2,
    x.XNNConcatenate3,
    x.XNNConcatenate4,
    x.XNNConcatenate5,
)


class Net:
    """Collects a graph. Adding a value or a node returns its id or position."""

    def __init__(self) -> None:
        self.nodes: list[x.XNode] = []
        self._values: list[x.XValue] = []
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._constants: list[bytes] = []

    # -- values ---------------------------------------------------------------------------

    def inner(self, *dims: int, datatype: int = FP32, **fields: Any) -> int:
        """An internal value. 8-bit values get per-tensor parameters."""
        return self._value(dims, datatype, 0, fields)

    def input(self, *dims: int, datatype: int = FP32, **fields: Any) -> int:
        self._inputs.append(self._value(dims, datatype, x.EXTERNAL_INPUT, fields))
        return self._inputs[-1]

    def output(self, *dims: int, datatype: int = FP32, **fields: Any) -> int:
        self._outputs.append(self._value(dims, datatype, x.EXTERNAL_OUTPUT, fields))
        return self._outputs[-1]

    def constant(self, *dims: int, datatype: int = FP32, numbers: Sequence[float] = ()) -> int:
        """A weight; its numbers repeat as often as needed (1.0 without any)."""
        count = prod(dims)
        if datatype == FP32:
            cycle = list(numbers) or [1.0]
            data = struct.pack(f"<{count}f", *(cycle[k % len(cycle)] for k in range(count)))
        else:
            data = bytes(count * _ITEM_BYTES[Datatype(datatype)])
        self._constants.append(data)
        fields: dict[str, Any] = {"constant_buffer_idx": len(self._constants)}
        return self._value(dims, datatype, 0, fields)

    def scalar(self, number: float = 1.0, datatype: int = FP32) -> int:
        return self.constant(1, datatype=datatype, numbers=(number,))

    def _value(
        self, dims: tuple[int, ...], datatype: int, flags: int, fields: dict[str, Any]
    ) -> int:
        quant = fields.pop("quant", None)
        if quant is None and datatype in (QINT8, QUINT8):
            quant = x.PerTensorQuant(0.5, 3)
        tensor = x.XNNTensorValue(
            datatype=datatype,
            num_dims=len(dims),
            dims=dims,
            external_id=x.INVALID_ID,
            flags=flags,
            id_out=len(self._values),
        )
        tensor = replace(tensor, **fields)
        union = tensor if quant is None else x.XNNQuantizedTensorValue(tensor, quant)
        self._values.append(x.XValue(union))
        return tensor.id_out

    # -- nodes ----------------------------------------------------------------------------

    def node(self, union: Any, bounds: Bounds | None = None) -> int:
        limits = None if bounds is None else x.OutputMinMax(*bounds)
        self.nodes.append(x.XNode(union, len(self.nodes), limits))
        return len(self.nodes) - 1

    def unary(self, kind: Any, source: int, target: int) -> int:
        return self.node(kind(input_id=source, output_id=target))

    def clamp(self, source: int, target: int, bounds: Bounds = RELU) -> int:
        return self.node(x.XNNClamp(source, target), bounds)

    def binary(
        self, kind: Any, first: int, second: int, target: int, bounds: Bounds | None = None
    ) -> int:
        return self.node(kind(first, second, target), bounds)

    def conv(
        self, source: int, target: int, kind: Any = x.XNNConv2d, size: int = 3, **fields: Any
    ) -> int:
        """A convolution that keeps height and width by padding of its own."""
        margin = (size - 1) // 2
        defaults: dict[str, Any] = {
            "padding_top": margin,
            "padding_right": margin,
            "padding_bottom": margin,
            "padding_left": margin,
            "kernel_height": size,
            "kernel_width": size,
            "subsampling_height": 1,
            "subsampling_width": 1,
            "dilation_height": 1,
            "dilation_width": 1,
            "groups": 1,
            "group_input_channels": self._dims(source)[-1] // fields.get("groups", 1),
            "group_output_channels": self._dims(target)[-1],
        }
        channels = defaults["group_output_channels"]
        weights = (channels, size, size, defaults["group_input_channels"])
        defaults["filter_id"] = self.constant(*weights)
        defaults["bias_id"] = self.constant(channels)
        return self.node(kind(input1_id=source, output_id=target, **{**defaults, **fields}))

    def pool(self, kind: Any, source: int, target: int) -> int:
        size = {"pooling_height": 2, "pooling_width": 2, "stride_height": 2, "stride_width": 2}
        dilation = {"dilation_height": 1, "dilation_width": 1}
        return self.node(kind(input_id=source, output_id=target, **size, **dilation))

    def resize(self, source: int, target: int, flags: int = 0) -> int:
        _, height, width, _ = self._dims(target)
        return self.node(x.XNNStaticResizeBilinear2D(height, width, source, target, flags))

    def linear(self, source: int, target: int, weight: int | None = None, flags: int = 0) -> int:
        rows, columns = self._dims(target)[-1], self._dims(source)[-1]
        weight = self.constant(rows, columns) if weight is None else weight
        return self.node(x.XNNFullyConnected(source, weight, x.INVALID_ID, target, flags))

    def matmul(self, first: int, second: int, target: int, flags: int = 0) -> int:
        return self.node(x.XNNBatchMatrixMultiply(first, second, target, flags))

    def pad(self, source: int, target: int, before: Sequence[int], after: Sequence[int]) -> int:
        return self.node(x.XNNStaticConstantPad(tuple(before), tuple(after), 0.0, source, target))

    def transpose(self, source: int, target: int, *perm: int) -> int:
        return self.node(x.XNNStaticTranspose(len(perm), perm, source, target))

    def reshape(self, source: int, target: int) -> int:
        dims = self._dims(target)
        return self.node(x.XNNStaticReshape(len(dims), dims, source, target))

    def concatenate(self, sources: Sequence[int], target: int, axis: int = 0) -> int:
        names = {f"input{k + 1}_id": source for k, source in enumerate(sources)}
        return self.node(_CONCATENATE[len(sources) - 2](axis=axis, output_id=target, **names))

    # -- results --------------------------------------------------------------------------

    def graph(self) -> x.XNNGraph:
        """The payload's graph: inputs are the first arguments, outputs the last ones."""
        arguments = (*self._inputs, *self._outputs)
        position = {value: k for k, value in enumerate(arguments)}
        offsets, start = [x.ConstantDataOffset()], 0
        for data in self._constants:
            offsets.append(x.ConstantDataOffset(start, len(data)))
            start += len(data) + -len(data) % 16
        return x.XNNGraph(
            version="0",
            xnodes=tuple(self.nodes),
            xvalues=tuple(_with_position(value, position) for value in self._values),
            num_externs=len(arguments),
            input_ids=tuple(self._inputs),
            output_ids=tuple(self._outputs),
            constant_data=tuple(offsets),
        )

    def index(self) -> Graph:
        return index_graph(self.graph(), "net")

    def payload(self) -> bytes:
        """The bytes of the payload."""
        constants = b"".join(data + bytes(-len(data) % 16) for data in self._constants)
        return read_data(build_payload(Payload(b"XN01", self.graph(), (constants,), True)))

    def _dims(self, value: int) -> tuple[int, ...]:
        union = self._values[value].xvalue_union
        tensor = union.tensor_value if isinstance(union, x.XNNQuantizedTensorValue) else union
        assert tensor is not None
        return tensor.dims or ()


def _with_position(value: x.XValue, position: dict[int, int]) -> x.XValue:
    union = value.xvalue_union
    if isinstance(union, x.XNNQuantizedTensorValue):
        assert union.tensor_value is not None
        return x.XValue(replace(union, tensor_value=_placed(union.tensor_value, position)))
    assert union is not None
    return x.XValue(_placed(union, position))


def _placed(tensor: x.XNNTensorValue, position: dict[int, int]) -> x.XNNTensorValue:
    if tensor.id_out not in position:
        return tensor
    return replace(tensor, external_id=position[tensor.id_out])
