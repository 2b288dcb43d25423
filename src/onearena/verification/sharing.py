"""Where a kernel's output may lie over one of its operands.

A kernel that computes an element from the operand's element at the same place works with both in
one memory. One that only moves bytes does nothing, and may as well, where they are already. Any
other kernel would read what it has just written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from onearena.pte.schema import Int, KernelCall, Null, OptionalTensorList, Tensor, TensorList
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
        *("native_group_norm", "repeat", "upsample_nearest2d", "upsample_bilinear2d"),
        *("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d"),
        *("replication_pad2d", "replication_pad3d", "_upsample_bilinear2d_aa", "unfold_copy"),
        *("as_strided_copy", "diagonal_copy", "masked_scatter", "stack", "tril", "triu"),
    ]
)
"""Operators of `aten` that read an element of an operand after they have written another one of
the output, or may (`tril` clears the output first)."""
_ONLY_FIRST = frozenset(
    [
        *("scatter", "scatter_add", "select_scatter", "slice_scatter", "index_put"),
        *("native_layer_norm", "_softmax", "_log_softmax", "full_like", "fill"),
    ]
)
"""Operators of `aten` whose first output may lie on their first operand and on no other one: they
copy it and then change the copy, or work row by row, where rows are dense."""
_CORTEX_M_MIXING = frozenset(
    [
        *("quantized_batch_matmul", "quantized_linear", "quantized_avg_pool2d"),
        *("quantized_max_pool2d", "quantized_conv2d", "quantized_depthwise_conv2d"),
        *("quantized_transpose_conv2d", "pad", "transpose"),
    ]
)


_COPYING = frozenset(
    [
        *(f"aten::{name}_copy" for name in ("alias", "detach", "expand", "lift_fresh", "squeeze")),
        *("aten::unsqueeze_copy", "aten::view_copy", "aten::clone"),
        "dim_order_ops::_clone_dim_order",
    ]
)


def copied_by_kernel(method: MethodSteps, step: Step) -> int | None:
    """The program value whose bytes a kernel writes once more, unchanged and in their order;
    None for other steps."""
    reads, writes = step.roles.reads, step.roles.writes
    name = step.label.partition(".")[0]
    if name not in _COPYING or len(reads) != 1 or len(writes) != 1 or reads == writes:
        return None
    source, target = method.tensor(reads[0]), method.tensor(writes[0])
    if source.scalar_type != target.scalar_type or tensor_bytes(source) != tensor_bytes(target):
        return None
    if name == "aten::expand_copy" and (source.shape_dynamism or target.shape_dynamism):
        return None  # may repeat some of it at run time
    return reads[0] if _is_element_by_element(source, target) else None


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
    if space == "aten" and base.removesuffix("_") in _ONLY_FIRST:
        return (0,) if _is_first(method, step, operand, output) else ()
    return (0,) if _is_element_by_element(method.tensor(operand), method.tensor(output)) else ()


def copies_of(
    method: MethodSteps, step: Step, output: int
) -> tuple[tuple[int, int, int, int], ...]:
    """What a kernel that moves dense parts of static tensors makes an output of: (operand, first
    byte in it, first byte in the output, count)."""
    size = tensor_bytes(method.tensor(output)) or 0
    found: list[tuple[int, int, int, int]] = []
    for operand in step.roles.reads:
        whole, part = method.tensor(operand), method.tensor(output)
        if whole.scalar_type != part.scalar_type:
            return ()
        length = tensor_bytes(whole) or 0
        for distance in _moved(method, step, operand, output):
            first, end = max(distance, 0), min(length, distance + size)
            if first < end:
                found.append((operand, first, first - distance, end - first))
    return tuple(sorted(found, key=lambda copy: copy[2]))


def copies_all(method: MethodSteps, step: Step, output: int) -> bool:
    """Whether every byte of an output is a copy of one byte of an operand."""
    end = 0
    for _, _, start, count in copies_of(method, step, output):
        if start != end:
            return False
        end = start + count
    return end == (tensor_bytes(method.tensor(output)) or 0)


def _is_first(method: MethodSteps, step: Step, operand: int, output: int) -> bool:
    """True for the first operand, named once, and the first output, both dense in one order."""
    instruction = method.instructions[step.instruction]
    args = instruction.args or () if isinstance(instruction, KernelCall) else ()
    values = method.plan.values or ()
    named = [v for k in args for v in (k, *_tensors(values[k].val)) if v in (operand, output)]
    tensors = (method.tensor(operand), method.tensor(output))
    is_dense = all(_is_usual_order(tensor) for tensor in tensors)
    outputs = [value for value in step.roles.writes if value not in step.roles.scratch]
    return (
        args[:1] == (operand,)
        and named.count(operand) == 1
        and outputs[:1] == [output]
        and is_dense
        and _is_element_by_element(*tensors)
    )


def _is_element_by_element(operand: Tensor, output: Tensor) -> bool:
    """Whether elements at one place are of one size: else a kernel overwrites, with one element,
    others that it has not read. In another order of the dimensions it reads other places."""
    widths = [ELEMENT_BYTES.get(tensor.scalar_type) for tensor in (operand, output)]
    if None in widths or widths[0] != widths[1]:
        return False
    if operand.sizes == output.sizes:
        return _order(operand) == _order(output)
    return _is_usual_order(operand) and _is_usual_order(output)


def _order(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.dim_order or ()) or tuple(range(len(tensor.sizes or ())))


def _is_usual_order(tensor: Tensor) -> bool:
    return _order(tensor) == tuple(range(len(tensor.sizes or ())))


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
        return _at(whole, args[dim], 0 if isinstance(args[start], Null) else _number(args[start]))
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
    if isinstance(value, TensorList | OptionalTensorList):
        return tuple(value.items or ())
    return ()


def _is_plain(tensor: Tensor) -> bool:
    """Static, with the last dimension innermost."""
    return tensor.shape_dynamism == 0 and _is_usual_order(tensor)
