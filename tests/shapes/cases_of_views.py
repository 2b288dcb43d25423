"""Random arguments for operators that rearrange, cut or join tensors."""

from __future__ import annotations

from random import Random

import torch

from tests.shapes.oracle import T, index, t
from tests.shapes.random_shapes import (
    Args,
    Maker,
    broadcastable,
    some_axes,
    some_axis,
    some_dims,
)


def _view(r: Random) -> Args:
    dims = some_dims(r)
    wanted = list(dims)
    r.shuffle(wanted)
    if wanted and r.random() < 0.6:
        wanted[r.randrange(len(wanted))] = -1
    if r.random() < 0.4:
        wanted.insert(r.randint(0, len(wanted)), 1)
    return [T(dims), wanted]


def _permute(r: Random) -> Args:
    dims = some_dims(r)
    axes = list(range(len(dims)))
    r.shuffle(axes)
    return [T(dims), [a - len(dims) if r.random() < 0.5 else a for a in axes]]


def _transpose(r: Random) -> Args:
    dims = some_dims(r)
    return [T(dims), some_axis(r, len(dims)), some_axis(r, len(dims))]


def _slice(r: Random) -> Args:
    dims = some_dims(r, 1, least=0)
    bounds = [r.choice([None, r.randint(-9, 9)]), r.choice([None, r.randint(-9, 9), (1 << 63) - 1])]
    return [T(dims), some_axis(r, len(dims)), *bounds, r.randint(1, 3)]


def _select(r: Random) -> Args:
    dims = some_dims(r, 1)
    return [T(dims), some_axis(r, len(dims)), 0]


def _split(r: Random) -> Args:
    dims = some_dims(r, 1)
    return [T(dims), r.randint(1, 4), some_axis(r, len(dims))]


def _split_sizes(r: Random) -> Args:
    dims = some_dims(r, 1)
    axis = some_axis(r, len(dims))
    first = r.randint(0, dims[axis])
    return [T(dims), [first, dims[axis] - first], axis]


def _expand(r: Random) -> Args:
    dims = some_dims(r)
    given = broadcastable(r, dims)
    wanted = [size if r.random() < 0.7 else -1 for size in dims]
    for axis, size in enumerate(dims):
        back = axis - len(dims)
        if wanted[axis] == -1 and (len(given) < -back or given[back] != size):
            wanted[axis] = size
    return [T(given), wanted, False]


def _cat(r: Random) -> Args:
    dims = some_dims(r, 1)
    axis = some_axis(r, len(dims))
    tensors = []
    for _ in range(r.randint(1, 4)):
        other = list(dims)
        other[axis] = r.randint(0, 5)
        tensors.append(T(tuple(other)))
    return [[*tensors, t(0)] if r.random() < 0.2 else tensors, axis]


def _stack(r: Random) -> Args:
    dims = some_dims(r)
    return [[T(dims)] * r.randint(1, 4), some_axis(r, len(dims) + 1)]


def _repeat(r: Random) -> Args:
    dims = some_dims(r)
    return [T(dims), [r.randint(0, 3) for _ in range(len(dims) + r.randint(0, 2))]]


def _diagonal(r: Random) -> Args:
    dims = some_dims(r, 2)
    one, two = r.sample(range(len(dims)), 2)
    return [T(dims), r.randint(-5, 5), one - len(dims), two]


def _unfold(r: Random) -> Args:
    dims = some_dims(r, 1)
    axis = some_axis(r, len(dims))
    return [T(dims), axis, r.randint(1, dims[axis]), r.randint(1, 3)]


def _pixels(up: bool) -> Maker:
    def make(r: Random) -> Args:
        c, h, w = (r.randint(1, 3) for _ in range(3))
        f = r.randint(1, 3)
        dims = (c * f * f, h, w) if up else (c, h * f, w * f)
        return [T((*some_dims(r, 0, 2), *dims)), f]

    return make


def _pad(r: Random) -> Args:
    dims = some_dims(r, 1, least=3)
    return [T(dims), [r.randint(-1, 3) for _ in range(2 * r.randint(0, len(dims)))], 0]


def _edge_pad(axes: int) -> Maker:
    return lambda r: [
        T((2, 3, *(r.randint(4, 8) for _ in range(axes)))),
        [r.randint(0, 3) for _ in range(2 * axes)],
    ]


def _index(r: Random) -> Args:
    dims = some_dims(r, 1)
    common = some_dims(r, 0, 3)
    indices = [
        None if r.random() < 0.4 else index(*broadcastable(r, common))
        for _ in range(r.randint(1, len(dims)))
    ]
    return [T(dims), indices if any(i is not None for i in indices) else [index(*common)]]


def _gather(r: Random) -> Args:
    dims = some_dims(r, 1)
    axis = some_axis(r, len(dims))
    wanted = tuple(r.randint(1, size) for size in dims)
    return [T(dims), axis, T(wanted, torch.int64), False]


def _glu(r: Random) -> Args:
    dims = tuple(2 * size for size in some_dims(r, 1))
    return [T(dims), some_axis(r, len(dims))]


def _squeeze(r: Random) -> Args:
    dims = tuple(r.choice([1, 1, 3]) for _ in range(r.randint(0, 4)))
    return [T(dims), some_axes(r, len(dims))]


CASES: dict[str, Maker] = {
    "aten::repeat_interleave.Tensor_out": lambda r: [index(4), 9],
    "aten::narrow_copy.out": lambda r: [T((4, 6)), r.choice([1, -1]), r.choice([2, -4]), 3],
    "aten::view_copy.out": _view,
    "aten::permute_copy.out": _permute,
    "aten::transpose_copy.int_out": _transpose,
    "aten::t_copy.out": lambda r: [T(some_dims(r, 0, 2))],
    "aten::slice_copy.Tensor_out": _slice,
    "aten::select_copy.int_out": _select,
    "aten::unbind_copy.int_out": lambda r: [T(d := some_dims(r, 1)), some_axis(r, len(d))],
    "aten::split_copy.Tensor_out": _split,
    "aten::split_with_sizes_copy.out": _split_sizes,
    "aten::squeeze_copy.dims_out": _squeeze,
    "aten::squeeze_copy.dim_out": lambda r: [T(d := (1, 3, 1)), some_axis(r, len(d))],
    "aten::unsqueeze_copy.out": lambda r: [T(d := some_dims(r)), some_axis(r, len(d) + 1)],
    "aten::expand_copy.out": lambda r: [*_expand(r)[:2], False],
    "aten::cat.out": _cat,
    "aten::stack.out": _stack,
    "aten::repeat.out": _repeat,
    "aten::diagonal_copy.out": _diagonal,
    "aten::unfold_copy.out": _unfold,
    "aten::as_strided_copy.out": lambda r: [t(8, 8), [2, 3], [8, 1], None],
    "aten::view_as_real_copy.out": lambda r: [T(some_dims(r), torch.complex64)],
    "aten::glu.out": _glu,
    "aten::pixel_shuffle.out": _pixels(True),
    "aten::pixel_unshuffle.out": _pixels(False),
    "aten::constant_pad_nd.out": _pad,
    **{
        f"aten::{kind}_pad{n}d.out": _edge_pad(n)
        for kind in ("reflection", "replication")
        for n in (1, 2, 3)
    },
    "aten::index_select.out": lambda r: [T(d := some_dims(r, 1)), some_axis(r, len(d)), index(4)],
    "aten::gather.out": _gather,
    "aten::embedding.out": lambda r: [t(9, 4), T(some_dims(r), torch.int64), -1, False, False],
    "aten::index.Tensor_out": _index,
}
