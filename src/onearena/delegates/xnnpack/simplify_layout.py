"""Chains of transposes and reshapes as one step: where each element of the result comes from.

A tensor is seen as runs of its source: a run is (count, stride), `count` elements or groups
that are `stride` elements of the source apart. A transpose reorders runs, a reshape splits or
joins them. What is left in the end says which transpose, if any, does the same at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

MAX_RANK = 6
"""XNN_MAX_TENSOR_DIMS."""

Dims = tuple[int, ...]
_Run = tuple[int, int]


@dataclass(frozen=True)
class Step:
    """One step of a layout change: `perm` of the dimensions, or a reshape to `dims`."""

    dims: Dims
    perm: Dims | None = None


class Layout:
    """A tensor whose elements are those of a source in another order."""

    def __init__(self, source: Dims, axes: Sequence[tuple[_Run, ...]]) -> None:
        """The runs of every axis; axes of one element have none."""
        self._source = source
        self._axes = tuple(axes)

    @staticmethod
    def of(dims: Dims) -> Layout:
        """A source as it is. All of `dims` are positive."""
        runs = zip(dims, _strides(dims), strict=True)
        return Layout(dims, [() if run[0] == 1 else (run,) for run in runs])

    @property
    def dims(self) -> Dims:
        """The shape."""
        return tuple(prod(count for count, _ in axis) for axis in self._axes)

    @property
    def runs(self) -> tuple[_Run, ...]:
        """The order of the elements, in one spelling whatever the shape."""
        return tuple(_joined(run for axis in self._axes for run in axis))

    @property
    def keeps_order(self) -> bool:
        """True when the elements follow each other as in the source."""
        return len(self.runs) <= 1

    def transposed(self, perm: Dims) -> Layout:
        """With its dimensions reordered: dimension k of the result is `perm[k]` of this."""
        return Layout(self._source, [self._axes[axis] for axis in perm])

    def reshaped(self, dims: Dims) -> Layout | None:
        """With another shape of as many elements; None when no transpose can do it."""
        pending = list(self.runs[::-1])
        axes = []
        for size in dims:
            axis = _take(pending, size)
            if axis is None:
                return None
            axes.append(axis)
        return Layout(self._source, axes)

    def steps(self) -> tuple[Step, ...]:
        """The fewest steps from the source to this: reshapes, and at most one transpose.

        Empty when this is the source, a single reshape when its bytes are in the same order.
        """
        return self.ways()[0]

    def ways(self) -> tuple[tuple[Step, ...], ...]:
        """Ways to get from the source to this, the shortest first."""
        runs = self.runs
        if len(runs) <= 1:
            return ((),) if self.dims == self._source else ((Step(self.dims),),)
        found = (self._from_source_axes(runs), self._to_own_axes(), self._general(runs))
        return tuple(sorted((way for way in found if way), key=len))

    def _from_source_axes(self, runs: Sequence[_Run]) -> tuple[Step, ...] | None:
        """A transpose of the source as it is, and a reshape if need be."""
        axes = list(zip(self._source, _strides(self._source), strict=True))
        order: list[int] = []
        for count, stride in runs:
            inside = [
                axis
                for axis, (size, step) in enumerate(axes)
                if size > 1 and stride <= step < count * stride
            ]
            if prod(axes[axis][0] for axis in inside) != count or axes[inside[-1]][1] != stride:
                return None
            order += inside
        single = [axis for axis, size in enumerate(self._source) if size == 1]
        perm = _with_single_axes(order, single, self._source, self.dims)
        if perm is not None:
            return (Step(self.dims, perm),)
        perm = (*single, *order)
        return Step(tuple(self._source[axis] for axis in perm), perm), Step(self.dims)

    def _to_own_axes(self) -> tuple[Step, ...] | None:
        """A reshape of the source, and a transpose right to this."""
        joined = [_joined(axis) for axis in self._axes]
        if any(len(runs) > 1 for runs in joined):
            return None
        # axes of one element go first, where they disturb nothing
        place = [runs[0][1] if runs else prod(self._source) for runs in joined]
        order = sorted(range(len(place)), key=lambda axis: -place[axis])
        dims = self.dims
        perm = tuple(order.index(axis) for axis in range(len(order)))
        return Step(tuple(dims[axis] for axis in order)), Step(dims, perm)

    def _general(self, runs: Sequence[_Run]) -> tuple[Step, ...]:
        order = sorted(range(len(runs)), key=lambda run: -runs[run][1])
        perm = tuple(order.index(run) for run in range(len(runs)))
        return (
            Step(tuple(runs[run][0] for run in order)),
            Step(tuple(count for count, _ in runs), perm),
            Step(self.dims),
        )


def _strides(dims: Dims) -> list[int]:
    return [prod(dims[axis + 1 :]) for axis in range(len(dims))]


def _take(pending: list[_Run], size: int) -> tuple[_Run, ...] | None:
    """The runs, from the outermost on, that make an axis of `size`; a run may be split."""
    taken: list[_Run] = []
    while size > 1:
        if not pending:
            return None
        count, stride = pending.pop()
        if size % count == 0:
            taken.append((count, stride))
            size //= count
        elif count % size == 0:
            inner = count // size
            taken.append((size, stride * inner))
            pending.append((inner, stride))
            size = 1
        else:
            return None
    return tuple(taken)


def _joined(runs: Iterable[_Run]) -> list[_Run]:
    """Runs that follow each other in the source as one."""
    result: list[_Run] = []
    for count, stride in runs:
        if result and result[-1][1] == count * stride:
            result[-1] = (result[-1][0] * count, stride)
        else:
            result.append((count, stride))
    return result


def _with_single_axes(
    order: Sequence[int], single: Sequence[int], source: Dims, target: Dims
) -> Dims | None:
    """The permutation that also puts axes of one element where `target` has them."""
    if len(source) != len(target):
        return None
    others, ones = iter(order), iter(single)
    perm: list[int] = []
    for size in target:
        axis = next(ones if size == 1 else others, None)
        if axis is None or source[axis] != size:
            return None
        perm.append(axis)
    return tuple(perm)
