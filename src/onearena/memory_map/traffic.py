"""How often the bytes of a tensor are accessed in one run: what a fast memory is worth to it.

A model of the kernels' inner loops, not a measurement. It only has to put tensors in the right
order, and follows what the kernels do (sources: CMSIS-NN `Source/ConvolutionFunctions`,
`Source/FullyConnectedFunctions`, `Source/NNSupportFunctions`; ExecuTorch `kernels/portable/cpu`):

* every operator reads its operands once and writes its outputs once, unless a line below says more;
* a convolution reads its input once for every position of the filter that covers it: `positions` =
  output pixels x filter height x filter width x filter channels. With scratch (im2col) it writes
  these into the scratch and reads the scratch once for each `FILTERS_AT_ONCE` filters; without
  (pointwise) it reads the input once for each `FILTERS_AT_ONCE` filters;
* a depthwise convolution and a pool read their input once for every position of the window;
* a product of matrices reads each row once for each `FILTERS_AT_ONCE` columns of the other one;
* of a delegate's node only the kind is known: `DELEGATE_READS` times for convolutions and products.

Loops are counted as if they ran once: the file does not say how often they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from onearena.cortex_m.calls import CortexCall, UnknownPropertyError, cortex_calls
from onearena.cortex_m.schemas import NAMESPACE
from onearena.pte.schema import IntList, KernelCall, Tensor
from onearena.pte.tensors import ELEMENT_BYTES, tensor_bytes
from onearena.timeline.steps import MethodSteps, Step

FILTERS_AT_ONCE = 2
"""Rows of weights that an inner loop works on together: `arm_nn_mat_mult_kernel_s8_s16` and
`arm_nn_mat_mult_nt_t_s8` take two (the MVE versions four; that changes all of them alike)."""
DELEGATE_READS = 4
"""For inputs of convolutions and matrix products inside a delegate, whose blocking is not known."""
_DELEGATE_KINDS = ("Conv", "FullyConnected", "MatrixMultiply")
_PRODUCTS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::linear": 0}
"""Position of the first matrix; the second one follows it."""
_CONVOLUTION = "aten::convolution"
_WINDOWS = ("aten::max_pool2d_with_indices", "aten::avg_pool2d")

Traffic = Mapping[int, int]
"""Bytes by value."""


def method_traffic(method: MethodSteps) -> Traffic:
    """Bytes read and written in one run, by value of the method."""
    cortex = {call.instruction: call for call in cortex_calls(method.plan)}
    total: dict[int, int] = {}
    for step in method.steps:
        for value, amount in _step_traffic(method, step, cortex.get(step.instruction)).items():
            total[value] = total.get(value, 0) + amount
    return total


def _step_traffic(method: MethodSteps, step: Step, call: CortexCall | None) -> dict[int, int]:
    result: dict[int, int] = {}
    for value in (*step.roles.reads, *step.roles.writes):
        result[value] = result.get(value, 0) + (tensor_bytes(method.tensor(value)) or 0)
    result.update(_more(method, step, call, result))
    return result


def _more(
    method: MethodSteps, step: Step, call: CortexCall | None, once: Mapping[int, int]
) -> Mapping[int, int]:
    """What is accessed more often than once."""
    if step.node is not None:
        heavy = any(kind in step.node.name for kind in _DELEGATE_KINDS)
        return {v: once[v] * DELEGATE_READS for v in step.roles.reads} if heavy else {}
    if call is not None:
        try:
            return _cortex(call)
        except UnknownPropertyError:
            return {}
    if 0 <= step.instruction < len(method.instructions):
        kernel = method.instructions[step.instruction]
        if isinstance(kernel, KernelCall):
            return _portable(method, kernel)
    return {}


# -- kernels of cortex_m ------------------------------------------------------------------


def _cortex(call: CortexCall) -> Mapping[int, int]:
    if call.schema is None:
        return {}
    kind = call.schema.name.removeprefix(NAMESPACE + "quantized_").removesuffix("_nhwc")
    if kind in ("conv2d", "transpose_conv2d"):
        return _convolution(call)
    if kind == "depthwise_conv2d":
        found = call.convolution()
        out = found.output
        positions = out.batch * out.height * out.width * out.channels * prod(found.kernel)
        return {call.value("input"): positions, **_scratch(call, 2 * positions)}
    if kind in ("avg_pool2d", "max_pool2d"):
        image = call.image("out")
        window = prod(call.pair("kernel_size"))
        return {
            call.value("input"): prod((image.batch, image.height, image.width, image.channels))
            * window
        }
    if kind == "linear":
        features, _ = call.shape("weights", 2)
        return {call.value("input"): call.size_bytes("input") * _passes(features)}
    if kind == "batch_matmul":
        _, rows, _ = call.shape("lhs", 3)
        _, columns, _ = call.shape("rhs_transposed", 3)
        return {
            call.value("lhs"): call.size_bytes("lhs") * _passes(columns),
            call.value("rhs_transposed"): call.size_bytes("rhs_transposed") * _passes(rows),
        }
    return {}


def _convolution(call: CortexCall) -> Mapping[int, int]:
    found = call.convolution()
    out = found.output
    positions = out.batch * out.height * out.width * prod(found.kernel) * found.filter_channels
    scratch = _scratch(call, positions * (1 + _passes(out.channels)))
    if scratch:
        return {call.value("input"): positions, **scratch}
    return {call.value("input"): positions * _passes(out.channels)}


def _scratch(call: CortexCall, amount: int) -> dict[int, int]:
    """The same amount for each scratch that has a byte."""
    assert call.schema is not None
    names = [call.schema.arguments[position] for position in call.schema.scratch]
    return {
        call.value(name): amount for name in names if call.has(name) and call.size_bytes(name) > 0
    }


def _passes(filters: int) -> int:
    return -(-filters // FILTERS_AT_ONCE)


# -- portable kernels ---------------------------------------------------------------------


def _portable(method: MethodSteps, kernel: KernelCall) -> Mapping[int, int]:
    """One output after another, nothing is kept in between."""
    operators, args = method.plan.operators or (), kernel.args or ()
    name = operators[kernel.op_index].name or ""
    out = _tensor(method, args[-1]) if args else None
    if out is None:
        return {}
    elements = prod(out.sizes or ())
    if name in _PRODUCTS and len(args) > _PRODUCTS[name] + 1:
        first = _PRODUCTS[name]
        inner = ((_sizes(method, args[first]) or (1,))[-1:] or (1,))[0]
        return _reads(method, args[first : first + 2], elements * inner)
    if name == _CONVOLUTION and len(args) > 1:
        weights = _sizes(method, args[1])
        taps = prod(weights[1:]) if weights else 1
        return _reads(method, args[:1], elements * taps)
    if name in _WINDOWS and len(args) > 1:
        return _reads(method, args[:1], elements * _product_of(method, args[1]))
    return {}


def _reads(method: MethodSteps, values: tuple[int, ...], count: int) -> dict[int, int]:
    """`count` reads of one element of each of these values."""
    result: dict[int, int] = {}
    for value in values:
        tensor = _tensor(method, value)
        if tensor is not None:
            read = count * ELEMENT_BYTES.get(tensor.scalar_type, 1)
            result[value] = result.get(value, 0) + read
    return result


def _tensor(method: MethodSteps, value: int) -> Tensor | None:
    found = (method.plan.values or ())[value].val
    return found if isinstance(found, Tensor) else None


def _sizes(method: MethodSteps, value: int) -> tuple[int, ...]:
    tensor = _tensor(method, value)
    return (tensor.sizes or ()) if tensor is not None else ()


def _product_of(method: MethodSteps, value: int) -> int:
    """The product of a list of numbers that the file holds; 1 when it does not."""
    values = method.plan.values or ()
    found = values[value].val
    if not isinstance(found, IntList):
        return 1
    numbers = [getattr(values[item].val, "int_val", 1) for item in found.items or ()]
    return max(1, prod(numbers))
