"""Operators that rearrange, cut or join tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from onearena.pte.tensors import ScalarType
from onearena.shapes.rules.call import (
    Call,
    ContradictionError,
    Dims,
    NotDerivableError,
    ShapeRule,
    Sized,
    axis_of,
    broadcast,
    reshaped,
    text,
    with_dim,
)


def _view(call: Call) -> Sequence[Dims]:
    return (reshaped(call.dims(0), call.integers(1)),)


def _as_strided(call: Call) -> Sequence[Dims]:
    return (call.integers(1),)


def _permute(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    axes = [axis_of(axis, len(dims)) for axis in call.integers(1)]
    if sorted(axes) != list(range(len(dims))):
        raise ContradictionError(f"{axes} does not permute {len(dims)} dimensions")
    return (tuple(dims[axis] for axis in axes),)


def _swap(dims: Dims, first: int, second: int) -> Sequence[Dims]:
    one, two = axis_of(first, len(dims)), axis_of(second, len(dims))
    order = list(dims)
    if dims:
        order[one], order[two] = order[two], order[one]
    return (tuple(order),)


def _transpose(call: Call) -> Sequence[Dims]:
    return _swap(call.dims(0), call.integer(1), call.integer(2))


def _transpose_matrix(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    return (tuple(reversed(dims)),)


def _bounded(index: int, size: int) -> int:
    return min(max(index + size if index < 0 else index, 0), size)


def _slice(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    axis, step = axis_of(call.integer(1), len(dims)), call.integer(4)
    size = dims[axis]
    start = 0 if call.is_absent(2) else _bounded(call.integer(2), size)
    end = size if call.is_absent(3) else _bounded(call.integer(3), size)
    if step < 1:
        raise ContradictionError(f"cannot slice in steps of {step}")
    return (with_dim(dims, axis, max(0, -((start - end) // step))),)


def _narrow(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    axis, start, length = axis_of(call.integer(1), len(dims)), call.integer(2), call.integer(3)
    start += dims[axis] if start < 0 else 0
    if not 0 <= start <= start + length <= dims[axis]:
        raise ContradictionError(f"cannot cut {length} at {start} out of {text(dims)}")
    return (with_dim(dims, axis, length),)


def _without(dims: Dims, axis: int) -> Dims:
    return (*dims[:axis], *dims[axis + 1 :])


def _select(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    axis = axis_of(call.integer(1), len(dims))
    return (_without(dims, axis),)


def _unbind(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    axis = axis_of(call.integer(1), len(dims))
    if not dims or dims[axis] != call.outputs:
        raise ContradictionError(f"cannot take {text(dims)} apart into {call.outputs} tensors")
    return (_without(dims, axis),) * call.outputs


def _split(call: Call) -> Sequence[Dims]:
    dims, size = call.dims(0), call.integer(1)
    axis = axis_of(call.integer(2), len(dims))
    if size < 1:
        raise ContradictionError(f"cannot split into pieces of {size}")
    if max(-(-dims[axis] // size), 1) != call.outputs:
        raise ContradictionError(f"cannot split {text(dims)} into {call.outputs} times {size}")
    starts = [*range(0, max(dims[axis], 1), size), dims[axis]]
    return tuple(with_dim(dims, axis, after - before) for before, after in pairwise(starts))


def _split_sizes(call: Call) -> Sequence[Dims]:
    dims, sizes = call.dims(0), call.integers(1)
    axis = axis_of(call.integer(2), len(dims))
    if sum(sizes) != dims[axis]:
        raise ContradictionError(f"cannot split dimension {axis} of {text(dims)} into {sizes}")
    return tuple(with_dim(dims, axis, size) for size in sizes)


def _squeeze(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    axes = {axis_of(axis, len(dims)) for axis in call.integers(1)}
    return (tuple(size for axis, size in enumerate(dims) if axis not in axes or size != 1),)


def _unsqueeze(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    axis = axis_of(call.integer(1), len(dims) + 1)
    return ((*dims[:axis], 1, *dims[axis:]),)


def _expand(call: Call) -> Sequence[Dims]:
    dims, wanted = call.dims(0), call.integers(1)
    new = len(wanted) - len(dims)
    if new < 0:
        raise ContradictionError(f"cannot expand {text(dims)} to {list(wanted)}")
    result = list(wanted)
    for axis, size in enumerate(dims, new):
        if wanted[axis] == -1:
            result[axis] = size
        elif size not in (1, wanted[axis]):
            raise ContradictionError(f"cannot expand {text(dims)} to {list(wanted)}")
    if any(size < 0 for size in result):
        raise ContradictionError(f"cannot expand {text(dims)} to {list(wanted)}")
    return (tuple(result),)


def _cat(call: Call) -> Sequence[Dims]:
    # an empty vector may stand beside tensors of any rank
    shapes = [tensor.dims for tensor in call.tensors(0) if tensor.dims != (0,)]
    if not shapes:
        return ((0,),)
    axis = axis_of(call.integer(1), len(shapes[0]))
    is_even = shapes[0] and len({len(dims) for dims in shapes}) == 1
    if not is_even or len({with_dim(dims, axis, 0) for dims in shapes}) > 1:
        raise ContradictionError(f"cannot join {text(*shapes)} along dimension {axis}")
    return (with_dim(shapes[0], axis, sum(dims[axis] for dims in shapes)),)


def _stack(call: Call) -> Sequence[Dims]:
    shapes = [tensor.dims for tensor in call.tensors(0)]
    if len(set(shapes)) != 1:
        raise ContradictionError(f"cannot stack {text(*shapes)}")
    dims = shapes[0]
    axis = axis_of(call.integer(1), len(dims) + 1)
    return ((*dims[:axis], len(shapes), *dims[axis:]),)


def _repeat(call: Call) -> Sequence[Dims]:
    dims, times = call.dims(0), call.integers(1)
    if len(times) < len(dims) or any(count < 0 for count in times):
        raise ContradictionError(f"cannot repeat {text(dims)} {list(times)} times")
    padded = (1,) * (len(times) - len(dims)) + dims
    return (tuple(size * count for size, count in zip(padded, times, strict=True)),)


def _repeat_interleave(call: Call) -> Sequence[Dims]:
    if call.is_absent(1):
        raise NotDerivableError("its size depends on the data")
    return ((call.integer(1),),)


def _diagonal(call: Call) -> Sequence[Dims]:
    dims, offset = call.dims(0), call.integer(1)
    one, two = (axis_of(call.integer(k), len(dims)) for k in (2, 3))
    rows, columns = dims[one], dims[two]
    length = min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns)
    rest = tuple(size for axis, size in enumerate(dims) if axis not in (one, two))
    return ((*rest, max(0, length)),)


def _unfold(call: Call) -> Sequence[Dims]:
    dims, size, step = call.dims(0), call.integer(2), call.integer(3)
    axis = axis_of(call.integer(1), len(dims))
    length = dims[axis] if dims else 1
    if step < 1 or not 0 <= size <= length:
        raise ContradictionError(f"cannot take windows of {size} out of {length}")
    return ((*with_dim(dims, axis, (length - size) // step + 1), size),)


def _view_as_real(call: Call) -> Sequence[Dims]:
    return ((*call.dims(0), 2),)


def _halve(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    axis = axis_of(call.integer(1), len(dims))
    if not dims or dims[axis] % 2:
        raise ContradictionError(f"cannot halve dimension {axis} of {text(dims)}")
    return (with_dim(dims, axis, dims[axis] // 2),)


def _pixel_shuffle(call: Call) -> Sequence[Dims]:
    dims, factor = call.dims(0), call.integer(1)
    if len(dims) < 3 or factor < 1 or dims[-3] % factor**2:
        raise ContradictionError(f"cannot shuffle {text(dims)} by {factor}")
    return ((*dims[:-3], dims[-3] // factor**2, dims[-2] * factor, dims[-1] * factor),)


def _pixel_unshuffle(call: Call) -> Sequence[Dims]:
    dims, factor = call.dims(0), call.integer(1)
    if len(dims) < 3 or factor < 1 or dims[-2] % factor or dims[-1] % factor:
        raise ContradictionError(f"cannot unshuffle {text(dims)} by {factor}")
    return ((*dims[:-3], dims[-3] * factor**2, dims[-2] // factor, dims[-1] // factor),)


def _pad(call: Call) -> Sequence[Dims]:
    dims, amounts = call.dims(0), call.integers(1)
    if len(amounts) % 2 or len(amounts) > 2 * len(dims):
        raise ContradictionError(f"cannot pad {text(dims)} by {list(amounts)}")
    result = list(dims)
    for back, first in enumerate(range(0, len(amounts), 2), 1):
        result[-back] += amounts[first] + amounts[first + 1]
    if any(size < 0 for size in result):
        raise ContradictionError(f"cannot pad {text(dims)} by {list(amounts)}")
    return (tuple(result),)


def _index_select(call: Call) -> Sequence[Dims]:
    dims, index = call.dims(0), call.dims(2)
    axis = axis_of(call.integer(1), len(dims))
    return (with_dim(dims, axis, prod(index)) if dims else dims,)


def _gather(call: Call) -> Sequence[Dims]:
    return (call.dims(2),)


def _embedding(call: Call) -> Sequence[Dims]:
    return ((*call.dims(1), call.dims(0)[-1]),)


def _index(call: Call) -> Sequence[Dims]:
    dims, indices = call.dims(0), call.optional_tensors(1)
    masks = (ScalarType.BOOL, ScalarType.BYTE)
    if any(index is not None and index.scalar_type in masks for index in indices):
        raise NotDerivableError("its size depends on the data (a mask)")
    if len(indices) > len(dims):
        raise ContradictionError(f"{len(indices)} indices for {len(dims)} dimensions")
    used = [axis for axis, index in enumerate(indices) if index is not None]
    common = broadcast(*(index.dims for index in indices if isinstance(index, Sized)))
    rest = [size for axis, size in enumerate(dims) if axis not in used]
    # indices side by side put their dimensions in their place, others in front
    adjacent = used and used == list(range(used[0], used[-1] + 1))
    place = used[0] if adjacent else 0
    return ((*rest[:place], *common, *rest[place:]),)


RULES: Mapping[str, ShapeRule] = {
    "aten::view_copy": _view,
    "aten::as_strided_copy": _as_strided,
    "aten::permute_copy": _permute,
    "aten::transpose_copy": _transpose,
    "aten::t_copy": _transpose_matrix,
    "aten::slice_copy": _slice,
    "aten::narrow_copy": _narrow,
    "aten::select_copy": _select,
    "aten::unbind_copy": _unbind,
    "aten::split_copy": _split,
    "aten::split_with_sizes_copy": _split_sizes,
    "aten::squeeze_copy": _squeeze,
    "aten::unsqueeze_copy": _unsqueeze,
    "aten::expand_copy": _expand,
    "aten::cat": _cat,
    "aten::stack": _stack,
    "aten::repeat": _repeat,
    "aten::repeat_interleave": _repeat_interleave,
    "aten::diagonal_copy": _diagonal,
    "aten::unfold_copy": _unfold,
    "aten::view_as_real_copy": _view_as_real,
    "aten::glu": _halve,
    "aten::pixel_shuffle": _pixel_shuffle,
    "aten::pixel_unshuffle": _pixel_unshuffle,
    "aten::constant_pad_nd": _pad,
    **{f"aten::{kind}_pad{n}d": _pad for kind in ("reflection", "replication") for n in (1, 2, 3)},
    "aten::index_select": _index_select,
    "aten::gather": _gather,
    "aten::embedding": _embedding,
    "aten::index": _index,
}
