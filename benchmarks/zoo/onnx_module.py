"""Runs an ONNX graph as a PyTorch module, so that it can be exported.

Only the operators that the pretrained models need are here, with the semantics that the ONNX
operator reference gives them up to opset 12. What is not understood raises
``NotImplementedError``. Shape arithmetic is done on Python integers, so an exported program is of
one fixed shape and holds none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import NodeProto, TensorProto, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

# A tensor, a one-element constant, or a list of numbers (a shape, axes, scales).
Value = Any
Attributes = dict[str, Any]
Operator = Callable[[list[Value], Attributes], Value]


class OnnxModule(nn.Module):
    """An ONNX graph with one input and one output; its weights are buffers.

    Weights must be ``Constant`` nodes, as Paddle's converter writes them.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        graph = onnx.load(path).graph
        _require(not graph.initializer, "initializers")
        self.constants: dict[str, Value] = {}
        self.weights: dict[str, str] = {}
        self.steps: list[NodeProto] = []
        scales = {
            name for node in graph.node if node.op_type == "Resize" for name in node.input[1:]
        }
        for node in graph.node:
            if node.op_type == "Constant":
                name = node.output[0]
                self._add_constant(name, node.attribute[0].t, as_weight=name not in scales)
            else:
                _require(node.op_type in OPERATORS, f"operator {node.op_type}")
                self.steps.append(node)
        (self.input_name,) = [item.name for item in graph.input]
        (self.output_name,) = [item.name for item in graph.output]

    def _add_constant(self, name: str, tensor: TensorProto, *, as_weight: bool) -> None:
        array = torch.from_numpy(numpy_helper.to_array(tensor).copy())
        if not array.is_floating_point() or not as_weight:
            self.constants[name] = array.tolist()
        elif array.numel() == 1 and array.dim() <= 1:
            self.constants[name] = array.item()
        else:
            self.weights[name] = f"weight_{len(self.weights)}"
            self.register_buffer(self.weights[name], array)

    def forward(self, x: Tensor) -> Tensor:
        values = {name: getattr(self, buffer) for name, buffer in self.weights.items()}
        values |= self.constants
        values[self.input_name] = x
        for node in self.steps:
            arguments = [values[name] if name else None for name in node.input]
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            values[node.output[0]] = OPERATORS[node.op_type](arguments, attributes)
        result: Tensor = values[self.output_name]
        return result


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise NotImplementedError(f"ONNX: {what}")


def _symmetric_padding(attributes: Attributes) -> list[int]:
    """Return height and width padding; PyTorch's is the same on both sides."""
    top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
    _require((top, left) == (bottom, right), "asymmetric pads")
    return [top, left]


def _with_bias(arguments: list[Value]) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return a convolution's input, weight and bias, the last of which may be missing."""
    x, weight, *bias = arguments
    return x, weight, bias[0] if bias else None


def _conv(arguments: list[Value], attributes: Attributes) -> Tensor:
    return functional.conv2d(
        *_with_bias(arguments),
        stride=attributes.get("strides", 1),
        padding=_symmetric_padding(attributes),
        dilation=attributes.get("dilations", 1),
        groups=attributes.get("group", 1),
    )


def _conv_transpose(arguments: list[Value], attributes: Attributes) -> Tensor:
    _require("output_padding" not in attributes, "output_padding")
    return functional.conv_transpose2d(
        *_with_bias(arguments),
        stride=attributes.get("strides", 1),
        padding=_symmetric_padding(attributes),
        groups=attributes.get("group", 1),
        dilation=attributes.get("dilations", 1),
    )


def _batch_normalization(arguments: list[Value], attributes: Attributes) -> Tensor:
    x, scale, bias, mean, variance = arguments
    return functional.batch_norm(
        x, mean, variance, scale, bias, training=False, eps=attributes["epsilon"]
    )


def _average_pool(arguments: list[Value], attributes: Attributes) -> Tensor:
    _require(not attributes.get("ceil_mode"), "ceil_mode")
    return functional.avg_pool2d(
        arguments[0],
        attributes["kernel_shape"],
        attributes["strides"],
        _symmetric_padding(attributes),
        count_include_pad=bool(attributes.get("count_include_pad", 0)),
    )


def _resize(arguments: list[Value], attributes: Attributes) -> Tensor:
    x, _, scales = arguments
    kind = [attributes[key] for key in ("mode", "coordinate_transformation_mode", "nearest_mode")]
    _require(kind == [b"nearest", b"asymmetric", b"floor"], f"Resize {kind}")
    _, _, vertical, horizontal = scales
    return functional.interpolate(x, scale_factor=(vertical, horizontal), mode="nearest")


def _hard_sigmoid(arguments: list[Value], attributes: Attributes) -> Tensor:
    x: Tensor = arguments[0]
    return torch.clamp(x * attributes["alpha"] + attributes["beta"], 0.0, 1.0)


def _concat(arguments: list[Value], attributes: Attributes) -> Value:
    if isinstance(arguments[0], list):
        return [item for part in arguments for item in part]
    return torch.cat(arguments, dim=attributes["axis"])


def _slice(arguments: list[Value], _: Attributes) -> Value:
    x, (start,), (stop,), (axis,), *steps = arguments
    _require(steps in ([], [[1]]), "Slice with a step")
    if isinstance(x, list):
        return x[start:stop]
    return torch.narrow(x, axis, start, stop - start)


def _reshape(arguments: list[Value], _: Attributes) -> Tensor:
    x, shape = arguments
    # In ONNX, 0 keeps a dimension.
    return torch.reshape(x, [size or x.shape[axis] for axis, size in enumerate(shape)])


def _squeeze(arguments: list[Value], attributes: Attributes) -> Tensor:
    return torch.squeeze(arguments[0], tuple(attributes["axes"]))


def _reduce_mean(arguments: list[Value], attributes: Attributes) -> Tensor:
    keep = bool(attributes.get("keepdims", 1))
    return torch.mean(arguments[0], dim=attributes["axes"], keepdim=keep)


OPERATORS: dict[str, Operator] = {
    "Add": lambda a, _: a[0] + a[1],
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalization,
    # Casts occur in shape arithmetic only, where all integers are alike.
    "Cast": lambda a, _: a[0],
    "Clip": lambda a, _: torch.clamp(a[0], a[1], a[2]),
    "Concat": _concat,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Div": lambda a, _: a[0] / a[1],
    "GlobalAveragePool": lambda a, _: torch.mean(a[0], dim=(2, 3), keepdim=True),
    "HardSigmoid": _hard_sigmoid,
    "MatMul": lambda a, _: torch.matmul(a[0], a[1]),
    "Mul": lambda a, _: a[0] * a[1],
    "Pow": lambda a, _: torch.pow(a[0], a[1]),
    "ReduceMean": _reduce_mean,
    "Relu": lambda a, _: torch.relu(a[0]),
    "Reshape": _reshape,
    "Resize": _resize,
    "Shape": lambda a, _: list(a[0].shape),
    "Sigmoid": lambda a, _: torch.sigmoid(a[0]),
    "Slice": _slice,
    "Softmax": lambda a, attributes: torch.softmax(a[0], dim=attributes["axis"]),
    "Sqrt": lambda a, _: torch.sqrt(a[0]),
    "Squeeze": _squeeze,
    "Sub": lambda a, _: a[0] - a[1],
    "Transpose": lambda a, attributes: torch.permute(a[0], attributes["perm"]),
}
