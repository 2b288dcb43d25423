"""A program in a file → what the firmware runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod

from onearena.cortex_m.calls import UnknownPropertyError, cortex_calls
from onearena.cortex_m.schemas import NAMESPACE
from onearena.cortex_m.sizes import Image
from onearena.errors import UnsupportedError
from onearena.pte.container import PteFile
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.pte.tensors import ScalarType, tensor_bytes
from onearena.simulator.sharing import may_share_place
from tests.qemu.arguments import Arguments
from tests.qemu.tables import Call, Item, Method, Place


def method_of(file: PteFile) -> Method:
    """The first method of a file.

    Raises:
        UnsupportedError: the firmware has no kernel for an instruction.
    """
    plan = (file.program.execution_plan or ())[0]
    calls = tuple(_calls(file, plan))
    inputs, outputs = tuple(plan.inputs or ()), tuple(plan.outputs or ())
    used = {*inputs, *outputs}
    for call in calls:
        used |= {*call.operands, call.output}
        if call.scratch is not None:
            used.add(call.scratch)
    places, memory_bytes = _places(file, plan, sorted(used))
    return Method(places, memory_bytes, calls, inputs, outputs)


def _calls(file: PteFile, plan: ExecutionPlan) -> Iterable[Call]:
    position = -1
    for position, call in enumerate(cortex_calls(plan)):
        name = call.operator.removeprefix(NAMESPACE).removesuffix(".out").removesuffix("_nhwc")
        arguments = Arguments(file, call)
        if call.instruction != position:
            break
        if name not in _RULES:
            raise arguments.refuse("the firmware has no kernel for it")
        try:
            yield _RULES[name](arguments)
        except UnknownPropertyError as error:
            raise arguments.refuse(str(error)) from error
    count = sum(len(chain.instructions or ()) for chain in plan.chains or ())
    if position + 1 != count:
        raise UnsupportedError(f"{file.path}: has instructions that are no cortex_m operators")


def _places(
    file: PteFile, plan: ExecutionPlan, values: Iterable[int]
) -> tuple[dict[int, Place], tuple[int, ...]]:
    """Where values lie, and how large the memories are. What is not planned is a buffer of the
    application's."""
    sizes = plan.non_const_buffer_sizes or ()
    places: dict[int, Place] = {}
    memories: dict[int, int] = {}
    memory_bytes: list[int] = []
    for value in values:
        tensor = (plan.values or ())[value].val
        size = tensor_bytes(tensor) if isinstance(tensor, Tensor) else None
        if not isinstance(tensor, Tensor) or size is None:
            raise UnsupportedError(f"{file.path}: value {value} is no tensor of a known size")
        info = tensor.allocation_info
        if info is None:
            places[value] = Place(len(memory_bytes), 0, size)
            memory_bytes.append(size)
            continue
        if info.memory_id not in memories:
            memories[info.memory_id] = len(memory_bytes)
            memory_bytes.append(sizes[info.memory_id])
        places[value] = Place(memories[info.memory_id], info.offset, size)
        if info.offset + size > sizes[info.memory_id]:
            raise UnsupportedError(f"{file.path}: value {value} does not lie inside its arena")
    return places, tuple(memory_bytes)


# -- one operator each -------------------------------------------------------------------------


def _image(image: Image) -> tuple[Item, ...]:
    return image.height, image.width, image.channels


def _convolution_parameters(arguments: Arguments) -> dict[str, Item]:
    convolution = arguments.call.convolution()
    return {
        "batch": convolution.input.batch,
        "in": _image(convolution.input),
        "out": _image(convolution.output),
        "kernel": convolution.kernel,
        "stride": convolution.stride,
        "padding": convolution.padding,
        "weights": arguments.required("weight"),
        "bias": arguments.constant("bias"),
        "multipliers": arguments.required("requantize_multipliers"),
        "shifts": arguments.required("requantize_shifts"),
        "in_offset": arguments.integer("input_offset"),
        "out_offset": arguments.integer("output_offset"),
        "lowest": arguments.integer("activation_min"),
        "highest": arguments.integer("activation_max"),
    }


def _any_convolution(arguments: Arguments, kernel: str) -> Call:
    operand, output = arguments.image("input"), arguments.image("out")
    if arguments.call.convolution().dilation != (1, 1):
        raise arguments.refuse("the reference implementation knows no dilation")
    parameters = _convolution_parameters(arguments)
    return _call(arguments, kernel, "Convolution", parameters, (operand,), output)


def _convolution(arguments: Arguments) -> Call:
    convolution = arguments.call.convolution()
    if convolution.filter_channels != convolution.input.channels:
        raise arguments.refuse("the firmware's kernel knows no groups")
    return _any_convolution(arguments, "kConvolution")


def _depthwise(arguments: Arguments) -> Call:
    return _any_convolution(arguments, "kDepthwise")


def _linear(arguments: Arguments) -> Call:
    outputs, inputs = arguments.call.shape("weights", 2)
    operand = arguments.operand("input", ScalarType.CHAR)
    parameters: dict[str, Item] = {
        "rows": prod(arguments.tensor(operand).sizes or ()) // inputs,
        "inputs": inputs,
        "outputs": outputs,
        "weights": arguments.required("weights"),
        "bias": arguments.constant("bias"),
        "sums": arguments.constant("kernel_sum"),
        "in_offset": arguments.integer("input_offset"),
        "filter_offset": arguments.integer("filter_offset"),
        "out_offset": arguments.integer("output_offset"),
        "multiplier": arguments.integers("requantize_multipliers", 1)[0],
        "shift": arguments.integers("requantize_shifts", 1)[0],
        "lowest": arguments.integer("activation_min"),
        "highest": arguments.integer("activation_max"),
    }
    return _call(arguments, "kLinear", "Linear", parameters, (operand,), arguments.output)


def _average_pool(arguments: Arguments) -> Call:
    operand, output = arguments.image("input"), arguments.image("out")
    before = arguments.call.image("input")
    multiplier, shift = arguments.integer("multiplier"), arguments.integer("shift")
    parameters: dict[str, Item] = {
        "batch": before.batch,
        "in": _image(before),
        "out": _image(arguments.call.image("out")),
        "kernel": arguments.call.pair("kernel_size"),
        "stride": arguments.call.pair("stride"),
        "padding": arguments.call.pair("padding"),
        "scale": multiplier * 2.0**shift / 2.0**31,
        "zero_point": arguments.integer("zero_point"),
    }
    return _call(arguments, "kAveragePool", "AveragePool", parameters, (operand,), output)


def _conversion(arguments: Arguments, kernel: str, kind: ScalarType, factor: float) -> Call:
    operand = arguments.operand("input", kind)
    before, after = arguments.tensor(operand), arguments.tensor(arguments.output)
    if before.dim_order != after.dim_order:
        raise arguments.refuse("it changes the order of the dimensions")
    parameters: dict[str, Item] = {
        "count": prod(before.sizes or ()),
        "factor": factor,
        "zero_point": arguments.integer("zero_point"),
        "lowest": arguments.integer("quant_min"),
        "highest": arguments.integer("quant_max"),
    }
    return _call(arguments, kernel, "Conversion", parameters, (operand,), arguments.output)


def _quantize(arguments: Arguments) -> Call:
    factor = 1.0 / arguments.double("scale")
    return _conversion(arguments, "kQuantize", ScalarType.FLOAT, factor)


def _dequantize(arguments: Arguments) -> Call:
    return _conversion(arguments, "kDequantize", ScalarType.CHAR, arguments.double("scale"))


def _pad(arguments: Arguments) -> Call:
    operand = arguments.image("input")
    batch, *rest = _image_sizes(arguments)
    parameters: dict[str, Item] = {
        "sizes": (batch, *rest),
        "before": arguments.integers("pre_pad", 4),
        "after": arguments.integers("post_pad", 4),
        "value": arguments.integer("pad_value"),
    }
    return _call(arguments, "kPad", "Pad", parameters, (operand,), arguments.image("out"))


def _image_sizes(arguments: Arguments) -> tuple[int, ...]:
    image = arguments.call.image("input")
    return image.batch, image.height, image.width, image.channels


def _add(arguments: Arguments) -> Call:
    operands = tuple(arguments.operand(name, ScalarType.CHAR) for name in ("self", "other"))
    shapes = {
        (arguments.tensor(value).sizes, arguments.tensor(value).dim_order)
        for value in (*operands, arguments.output)
    }
    if len(shapes) != 1:
        raise arguments.refuse("the firmware's kernel adds equal shapes only")

    def pair(name: str) -> tuple[int, int]:
        return arguments.integer(f"self_{name}"), arguments.integer(f"other_{name}")

    parameters: dict[str, Item] = {
        "count": prod(arguments.tensor(arguments.output).sizes or ()),
        "zero_points": pair("zero_point"),
        "multipliers": pair("multiplier"),
        "shifts": pair("shift"),
        "out_zero_point": arguments.integer("output_zero_point"),
        "out_multiplier": arguments.integer("output_multiplier"),
        "out_shift": arguments.integer("output_shift"),
        "lowest": arguments.integer("activation_min"),
        "highest": arguments.integer("activation_max"),
    }
    return _call(arguments, "kAdd", "Add", parameters, operands, arguments.output)


def _call(
    arguments: Arguments,
    kernel: str,
    struct: str,
    parameters: Mapping[str, Item],
    operands: tuple[int, ...],
    output: int,
) -> Call:
    name = arguments.call.operator.removesuffix(".out")
    *before, after = (_extent(arguments.tensor(value)) for value in (*operands, output))
    in_place = may_share_place(name) and after in before
    return Call(name, kernel, struct, parameters, operands, arguments.scratch, output, in_place)


def _extent(tensor: Tensor) -> tuple[object, int | None]:
    return tensor.allocation_info, tensor_bytes(tensor)


_RULES: Mapping[str, Callable[[Arguments], Call]] = {
    "quantize_per_tensor": _quantize,
    "dequantize_per_tensor": _dequantize,
    "quantized_conv2d": _convolution,
    "quantized_depthwise_conv2d": _depthwise,
    "quantized_linear": _linear,
    "quantized_avg_pool2d": _average_pool,
    "quantized_add": _add,
    "pad": _pad,
}
"""By operator, without namespace."""
