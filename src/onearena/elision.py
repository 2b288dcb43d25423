"""Kernels that only copy, left out: what they would make lies where their operands do.

A concatenation along an outermost dimension lays its operands one behind the other; a slice along
one is a part of its operand. With such values inside each other the kernel has nothing to do, and
its instruction goes. The result is what an exporter writes that elides copies: a program whose
values lie inside each other. It keeps nothing else where it was, and is there to be planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod

from onearena.pte.places import place_behind, placed_at
from onearena.pte.schema import (
    ExecutionPlan,
    Int,
    KernelCall,
    Null,
    Tensor,
)
from onearena.pte.tensors import Dynamism, tensor_bytes
from onearena.reorder import reordered_plan
from onearena.timeline.numbers import computed_numbers, named_values
from onearena.timeline.roles import tensors_in
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage

_SLICES = frozenset({"aten::slice_copy", "aten::select_copy", "aten::narrow_copy"})
_SPLITS = frozenset({"aten::split_copy", "aten::split_with_sizes_copy", "aten::unbind_copy"})


@dataclass(frozen=True)
class Part:
    """A value that lies inside another one, at a distance in bytes."""

    inner: int
    outer: int
    distance: int


@dataclass(frozen=True)
class Elision:
    """A method without some of its kernels.

    Attributes:
        plan: the method; the values of which one lies inside the other have new places, behind
            everything else.
        order: by instruction, its number in the method before.
        parts: what lies in what now.
        sources: by value that nothing writes any more, the values that are written instead.
    """

    plan: ExecutionPlan
    order: tuple[int, ...]
    parts: tuple[Part, ...]
    sources: Mapping[int, tuple[int, ...]]


def elide_copies(method: MethodSteps, storage: Storage) -> Elision | None:
    """Leaves out every kernel that need not copy; None when there is none."""
    chains = method.plan.chains or ()
    if not method.flow.is_straight or len(chains) != 1:
        return None
    return _Elider(method, storage).run()


class _Elider:
    def __init__(self, method: MethodSteps, storage: Storage) -> None:
        self._method, self._storage = method, storage
        self._computed = computed_numbers(method)
        self._group = {value: group for group in storage.groups for value in group}
        self._maybe = {v for step in method.steps for v in step.roles.maybe_reads}
        self._inside: dict[int, Part] = {}
        self._sources: dict[int, tuple[int, ...]] = {}

    def run(self) -> Elision | None:
        gone = {k for k in range(len(self._method.instructions)) if self._leave_out(k)}
        if not gone:
            return None
        order = tuple(k for k in range(len(self._method.instructions)) if k not in gone)
        plan = self._placed(reordered_plan(self._method.plan, order))
        return Elision(plan, order, tuple(self._inside.values()), dict(self._sources))

    def _leave_out(self, instruction: int) -> bool:
        call = self._method.instructions[instruction]
        if not isinstance(call, KernelCall):
            return False
        args = call.args or ()
        if self._computed & named_values(self._method.plan, args):
            return False
        name = (self._method.plan.operators or ())[call.op_index].name or ""
        parts = self._owned(_parts(self._method, name, args))
        if not parts or not self._may_lie_so(parts, instruction):
            return False
        for part in parts:
            self._inside[part.inner] = part
            if name == "aten::cat":
                self._sources[part.outer] = tuple(p.inner for p in parts)
            else:
                self._sources[part.inner] = (part.outer,)
            self._take_views_along(part)
        return True

    def _take_views_along(self, part: Part) -> None:
        for owner in (part.inner, part.outer):
            for value in self._group.get(owner, ()):
                if value != owner:
                    self._inside[value] = Part(value, owner, 0)
                    self._sources[value] = (owner,)

    def _owned(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """The parts, with the names under which values are written instead of views; empty when
        one of them is not free to move."""
        found: list[Part] = []
        for part in parts:
            inner, outer = self._owner(part.inner), self._owner(part.outer)
            if inner is None or outer is None:
                return ()
            found.append(Part(inner, outer, part.distance))
        return tuple(found)

    def _may_lie_so(self, parts: Sequence[Part], instruction: int) -> bool:
        inner = [part.inner for part in parts]
        values = {*inner, *(part.outer for part in parts)}
        if len(set(inner)) < len(inner) or self._inside.keys() & inner:
            return False  # one value at two places
        return len({self._storage.memories[value].arena for value in values}) == 1

    def _owner(self, value: int) -> int | None:
        """The name under which the memory of a value is written, once; None when it is written in
        parts, or more than once, or may not move."""
        storage, names = self._storage, self._group.get(value, (value,))
        places = {storage.memories[v].start for v in names if v in storage.memories}
        sizes = {storage.memories[v].size_bytes for v in names if v in storage.memories}
        if len(places) != 1 or len(sizes) != 1:
            return None
        for name in names:
            if name in storage.state or name in storage.pinned or name in self._maybe:
                return None
            if storage.accesses.points_to.get(name) != frozenset((name,)):
                return None
        writes = [(name, step) for name in names for step in storage.accesses.writes.get(name, ())]
        if len(writes) != 1 or writes[0][0] in storage.accesses.exposed:
            return None
        return writes[0][0]

    # -- where they lie -------------------------------------------------------------------

    def _placed(self, plan: ExecutionPlan) -> ExecutionPlan:
        """Gives the outermost values places behind all others, and the rest theirs inside."""
        values, sizes = list(plan.values or ()), list(plan.non_const_buffer_sizes or ())
        starts: dict[int, int] = {}
        for outer in dict.fromkeys(part.outer for part in self._inside.values()):
            if outer not in self._inside:
                memory = self._storage.memories[outer]
                starts[outer] = place_behind(sizes, memory.arena, memory.size_bytes)
        for value in {*starts, *self._inside}:
            root, distance = self._root(value)
            values[value] = placed_at(values[value], starts[root] + distance)
        return replace(plan, values=tuple(values), non_const_buffer_sizes=tuple(sizes))

    def _root(self, value: int) -> tuple[int, int]:
        distance = 0
        while value in self._inside:
            part = self._inside[value]
            value, distance = part.outer, distance + part.distance
        return value, distance


# -- what kernels copy ----------------------------------------------------------------------


def _parts(method: MethodSteps, name: str, args: tuple[int, ...]) -> Iterator[Part]:
    """What would lie where, for a kernel that copies dense parts of static tensors."""
    found: Iterable[Part] = ()
    if name == "aten::cat" and len(args) == 4:
        found = _joined(method, args)
    elif name in _SLICES and len(args) >= 4:
        found = _sliced(method, name, args)
    elif name in _SPLITS and len(args) >= 4:
        found = _split(method, name, args)
    parts = tuple(found)
    tensors = [method.tensor(v) for part in parts for v in (part.inner, part.outer)]
    types = {tensor.scalar_type for tensor in tensors}
    if len(types) == 1 and all(_is_plain(tensor) and tensor_bytes(tensor) for tensor in tensors):
        yield from parts


def _joined(method: MethodSteps, args: tuple[int, ...]) -> Iterator[Part]:
    items, outs = tensors_in(method.plan, args[0]), tensors_in(method.plan, args[-1])
    if len(outs) != 1:
        return
    whole = method.tensor(outs[0]).sizes or ()
    sizes = [method.tensor(value).sizes or () for value in items]
    axis = _axis(method, args[1], len(whole))
    if axis is None or prod(whole[:axis]) != 1 or any(len(s) != len(whole) for s in sizes):
        return
    if any(_others(s, axis) != _others(whole, axis) for s in sizes):
        return
    if sum(s[axis] for s in sizes) != whole[axis]:
        return
    starts = accumulate((tensor_bytes(method.tensor(value)) or 0 for value in items), initial=0)
    for value, start in zip(items, starts, strict=False):
        yield Part(value, outs[0], start)


def _sliced(method: MethodSteps, name: str, args: tuple[int, ...]) -> Iterator[Part]:
    outs, whole = tensors_in(method.plan, args[-1]), tensors_in(method.plan, args[0])
    start = _start(method, args[2])
    if len(outs) != 1 or len(whole) != 1 or start is None:
        return
    if name == "aten::slice_copy" and (len(args) < 7 or _number(method, args[4]) != 1):
        return
    yield from _along(method, args[1], whole[0], ((outs[0], start),), name == "aten::select_copy")


def _split(method: MethodSteps, name: str, args: tuple[int, ...]) -> Iterator[Part]:
    outs, whole = tensors_in(method.plan, args[-1]), tensors_in(method.plan, args[0])
    if len(whole) != 1 or not outs:
        return
    drops = name == "aten::unbind_copy"
    dim = args[1] if drops else args[2]
    axis = _axis(method, dim, len(method.tensor(whole[0]).sizes or ()))
    if axis is None:
        return
    shapes = [method.tensor(value).sizes or () for value in outs]
    if not drops and any(len(shape) <= axis for shape in shapes):
        return
    counts = [1 if drops else shape[axis] for shape in shapes]
    starts = accumulate(counts, initial=0)
    yield from _along(method, dim, whole[0], zip(outs, starts, strict=False), drops)


def _along(
    method: MethodSteps, dim: int, whole: int, parts: Iterable[tuple[int, int]], drops: bool
) -> Iterator[Part]:
    """Parts of a value, each with the position along a dimension at which it starts.

    Args:
        drops: the parts have one element along the dimension, and not the dimension itself.
    """
    sizes = method.tensor(whole).sizes or ()
    axis = _axis(method, dim, len(sizes))
    if axis is None or prod(sizes[:axis]) != 1:
        return
    row_bytes = (tensor_bytes(method.tensor(whole)) or 0) // max(sizes[axis], 1)
    for value, position in parts:
        own = method.tensor(value).sizes or ()
        first = position + (sizes[axis] if position < 0 else 0)
        count = 1 if drops else own[axis] if len(own) == len(sizes) else 0
        rest = own if drops else _others(own, axis)
        if rest != _others(sizes, axis) or not 0 <= first <= sizes[axis] - count or not count:
            return
        yield Part(value, whole, first * row_bytes)


def _others(sizes: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return sizes[:axis] + sizes[axis + 1 :]


def _start(method: MethodSteps, index: int) -> int | None:
    """Where a slice starts: nothing given means at the beginning."""
    if isinstance((method.plan.values or ())[index].val, Null):
        return 0
    return _number(method, index)


def _number(method: MethodSteps, index: int) -> int | None:
    value = (method.plan.values or ())[index].val
    return value.int_val if isinstance(value, Int) else None


def _axis(method: MethodSteps, index: int, rank: int) -> int | None:
    number = _number(method, index)
    return number % rank if number is not None and -rank <= number < rank else None


def _is_plain(tensor: Tensor) -> bool:
    """Static, with the last dimension innermost."""
    order = tuple(tensor.dim_order or ()) or tuple(range(len(tensor.sizes or ())))
    is_static = tensor.shape_dynamism == Dynamism.STATIC
    return is_static and order == tuple(range(len(tensor.sizes or ())))
