"""Where a kernel's output may lie over one of its operands.

A kernel that computes an element from the operand's element at the same place works with both in
one memory. One that only moves bytes does nothing, and may as well, where they are already. Any
other kernel would read what it has just written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from onearena.pte.schema import Int, KernelCall, Tensor, TensorList
from onearena.pte.tensors import ELEMENT_BYTES, tensor_bytes
from onearena.timeline.steps import MethodSteps, Step
from onearena.verification.origins import moves_bytes

_MIXING = frozenset(
    [
        *("mm", "bmm", "addmm", "addmv", "mv", "dot", "linear", "convolution"),
        *("convolution_backward", "avg_pool2d", "max_pool2d_with_indices", "grid_sampler_2d"),
        *("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "permute_copy", "transpose_copy"),
        *("t_copy", "flip", "roll", "index", "index_select", "gather", "embedding", "sort"),
        *("topk", "pixel_shuffle", "pixel_unshuffle", "cdist", "_cdist", "_cdist_forward"),
        *("native_group_norm", "native_layer_norm", "repeat", "upsample_nearest2d"),
        *("upsample_bilinear2d", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d"),
    ]
)
"""Operators of `aten` that read an element of an operand after they have written another one of
the output, or may (the layer norms read a row twice)."""
_CORTEX_M_MIXING = frozenset(
    [
        *("quantized_batch_matmul", "quantized_linear", "quantized_avg_pool2d"),
        *("quantized_max_pool2d", "quantized_conv2d", "quantized_depthwise_conv2d"),
        *("quantized_transpose_conv2d", "pad", "transpose"),
    ]
)


def may_lie_at(
    method: MethodSteps, step: Step, operand: int, output: int
) -> tuple[int, ...] | None:
    """How far, in bytes, an output may lie behind its operand; None where that is not known.

    Args:
        operand, output: program values that the kernel of `step` reads and writes.
    """
    name = step.label.partition(".")[0]
    if "_nop" in name:
        return None  # does nothing, wherever they are: the exporter knows where they belong
    if moves_bytes(step):
        return tuple(_moved(method, step, operand, output))
    space, _, base = name.partition("::")
    base = base.removesuffix("_nhwc")
    if (space == "aten" and base in _MIXING) or (space == "cortex_m" and base in _CORTEX_M_MIXING):
        return ()
    return (0,)


def _moved(method: MethodSteps, step: Step, operand: int, output: int) -> list[int]:
    """The distances at which the bytes are where the kernel would put them; for parts along an
    outermost dimension that are dense, else none."""
    instruction = method.instructions[step.instruction]
    if not isinstance(instruction, KernelCall):
        return []
    args = [(method.plan.values or ())[index].val for index in instruction.args or ()]
    whole, part = method.tensor(operand), method.tensor(output)
    name = step.label.partition(".")[0].partition("::")[2]
    if name == "cat":
        return _cat(method, args, operand, output)
    if len(args) < 3 or not _is_plain(whole) or not _is_plain(part):
        return []
    sizes = whole.sizes or ()
    dim, start = 1, 2
    if name in ("slice_copy", "select_copy", "narrow_copy"):
        step_size = args[4] if name == "slice_copy" and len(args) > 4 else Int(1)
        if not (isinstance(step_size, Int) and step_size.int_val == 1):
            return []
        return _at(whole, args[dim], _number(args[start]) if args[start] is not None else 0)
    outputs = _tensors(args[-1])
    if output not in outputs:
        return []
    number = outputs.index(output)
    if name == "unbind_copy":
        return _at(whole, args[1], number)
    axis = _axis(args[2], len(sizes))
    if axis is None:
        return []
    before = [(method.tensor(value).sizes or (0,) * len(sizes))[axis] for value in outputs]
    return _at(whole, args[2], sum(before[:number]))


def _cat(method: MethodSteps, args: Sequence[object], operand: int, output: int) -> list[int]:
    result, items = method.tensor(output), _tensors(args[0] if args else None)
    axis = _axis(args[1] if len(args) > 1 else None, len(result.sizes or ()))
    tensors = [method.tensor(value) for value in items]
    if axis is None or not all(_is_plain(tensor) for tensor in (*tensors, result)):
        return []
    if prod((result.sizes or ())[:axis]) != 1:
        return []
    sizes = [tensor_bytes(tensor) or 0 for tensor in tensors]
    starts = [0, *accumulate(sizes)]
    return [-start for value, start in zip(items, starts, strict=False) if value == operand]


def _at(whole: Tensor, dim: object, start: int | None) -> list[int]:
    """The distance of a part that begins at `start` of a dimension."""
    sizes = whole.sizes or ()
    axis = _axis(dim, len(sizes))
    width = ELEMENT_BYTES.get(whole.scalar_type)
    if axis is None or start is None or width is None or prod(sizes[:axis]) != 1:
        return []
    start += sizes[axis] if start < 0 else 0
    return [start * prod(sizes[axis + 1 :]) * width] if 0 <= start <= sizes[axis] else []


def _axis(dim: object, rank: int) -> int | None:
    number = _number(dim)
    if number is None or not -rank <= number < rank:
        return None
    return number % rank


def _number(value: object) -> int | None:
    return value.int_val if isinstance(value, Int) else None


def _tensors(value: object) -> tuple[int, ...]:
    return tuple(value.items or ()) if isinstance(value, TensorList) else ()


def _is_plain(tensor: Tensor) -> bool:
    """Static, with the last dimension innermost."""
    order = tuple(tensor.dim_order or ())
    return tensor.shape_dynamism == 0 and order in ((), tuple(range(len(tensor.sizes or ()))))
