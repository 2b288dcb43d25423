"""Steps and storage → a timeline of buffers, and with it the planning problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from onearena.cortex_m.schemas import NAMESPACE as CORTEX_M
from onearena.delegates.ethosu.payload import ETHOSU_BACKEND
from onearena.lifetime import Interval, merge
from onearena.problem import Buffer, Member, Problem
from onearena.temp_memory.region import ALIGNMENT as TEMP_ALIGNMENT
from onearena.temp_memory.region import TempRegion
from onearena.timeline.access import Memory
from onearena.timeline.sharing import sharing_pairs
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage, analyse_storage, restage
from onearena.timeline.windows import windows_of

LARGE_ALIGNMENT = 64
"""For speed: a cache line, and the widest vector load."""
SMALL_ALIGNMENT = 16
"""What ExecuTorch's memory planning uses; also the widest vector load of a Cortex-M."""
_LARGE_BYTES = 1024


@dataclass(frozen=True)
class Timeline:
    """What lives when in one method.

    Attributes:
        method: the steps.
        storage: the planned values with their lifetimes.
        added: values that opening added to the method.
        values: by buffer id of `problem`, the method's value; reserved bytes and the temp region
            come last and have none.
        problem: the planning problem.
        temp_buffer: the buffer id of the temp region, when there is one.
    """

    method: MethodSteps
    storage: Storage
    added: frozenset[int]
    values: tuple[int, ...]
    problem: Problem
    temp_buffer: int | None = None

    @cached_property
    def buffer_of(self) -> Mapping[int, int]:
        """Buffer id by value."""
        return {value: buffer for buffer, value in enumerate(self.values)}


def build_timeline(
    method: MethodSteps,
    added: frozenset[int] = frozenset(),
    reserved: Sequence[Memory] = (),
    pin_state: bool = False,
    storage: Storage | None = None,
    temp: TempRegion | None = None,
    in_place_kernels: bool = True,
) -> Timeline:
    """Builds the timeline of a method.

    Args:
        added: values that opening added; they have no offset yet.
        reserved: bytes that belong to another method's state and must stay untouched.
        pin_state: state, and memory that the method does not touch, keep their offsets (other
            methods may know them by their addresses).
        storage: what was found in the original order, when `method` has another one.
        temp: a region to be planned for what instructions take while they run.
        in_place_kernels: kernels may write over operands where that is proven to be safe.
    """
    storage = restage(storage, method) if storage else analyse_storage(method, added)
    fixed = set(storage.pinned)
    if pin_state:
        # untouched memory may be another method's state under a name of its own
        fixed |= storage.state | {v for v, life in storage.lifetimes.items() if not life}
    values = tuple(storage.memories)
    deltas = _group_deltas(storage, fixed)
    large = large_alignment(method)
    buffers = [
        _buffer(method, storage, value, number, value in fixed, deltas.get(value), large)
        for number, value in enumerate(values)
    ]
    for value, windows in windows_of(method, storage).items():
        number = values.index(value)
        if value not in fixed:
            buffers[number] = replace(buffers[number], windows=windows)
    whole = (Interval(0, method.exit_step + 1),)
    for memory in reserved:
        buffers.append(
            Buffer(
                len(buffers), memory.size_bytes, 1, memory.arena, whole, memory.start, "reserved"
            )
        )
    temp_buffer = None
    if temp is not None:
        temp_buffer = len(buffers)
        buffers.append(_temp_buffer(method, temp, temp_buffer))
    number_of = {value: number for number, value in enumerate(values)}
    groups = _groups(storage, number_of, fixed) + _fixed_groups(buffers)
    pairs = tuple(
        (number_of[first], number_of[second])
        for first, second in sharing_pairs(method, storage, in_place_kernels, in_place_kernels)
        if not fixed & {first, second}
        and buffers[number_of[first]].size_bytes == buffers[number_of[second]].size_bytes
    )
    problem = Problem(tuple(buffers), groups, tuple(dict.fromkeys(pairs)))
    return Timeline(method, storage, added, values, problem, temp_buffer)


def _temp_buffer(method: MethodSteps, temp: TempRegion, number: int) -> Buffer:
    """Alive at the steps of the instructions that use it, and nowhere in between."""
    first = method.first_step
    life = merge(Interval(first[k], first[k + 1]) for k in temp.instructions)
    name = "temp region"
    return Buffer(number, temp.size_bytes, TEMP_ALIGNMENT, temp.arena, life, None, name)


def _group_deltas(storage: Storage, fixed: Iterable[int]) -> dict[int, int]:
    """By value in a movable group, its distance from the group's origin."""
    pinned = set(fixed)
    result: dict[int, int] = {}
    for group in storage.groups:
        if not pinned.intersection(group):
            origin = min(storage.memories[v].start for v in group)
            result.update((v, storage.memories[v].start - origin) for v in group)
    return result


def large_alignment(method: MethodSteps) -> int:
    """The alignment of large values: on a microcontroller every byte is bought."""
    operators = method.plan.operators or ()
    is_small = any((operator.name or "").startswith(CORTEX_M) for operator in operators)
    is_small |= any(delegate.id == ETHOSU_BACKEND for delegate in method.plan.delegates or ())
    return SMALL_ALIGNMENT if is_small else LARGE_ALIGNMENT


def aligned_size(size_bytes: int, large: int = LARGE_ALIGNMENT) -> tuple[int, int]:
    """What a value of its own takes: its size rounded up, and the alignment.

    Args:
        large: the alignment of large values.
    """
    alignment = large if size_bytes >= _LARGE_BYTES else SMALL_ALIGNMENT
    return size_bytes + -size_bytes % alignment, alignment


def _buffer(
    method: MethodSteps,
    storage: Storage,
    value: int,
    number: int,
    fixed: bool,
    delta: int | None,
    large: int,
) -> Buffer:
    memory = storage.memories[value]
    lifetime = storage.lifetimes[value]
    name = f"value {value}"
    if fixed:
        whole = (Interval(0, method.exit_step + 1),)
        return Buffer(number, memory.size_bytes, 1, memory.arena, whole, memory.start, name)
    size, alignment = aligned_size(memory.size_bytes, large)
    if delta is not None:
        # the origin is aligned in full, so that a member has what its distance leaves it
        alignment = min(alignment, delta & -delta or alignment)
        return Buffer(number, memory.size_bytes, alignment, memory.arena, lifetime, None, name)
    return Buffer(number, size, alignment, memory.arena, lifetime, None, name)


def _groups(
    storage: Storage, number_of: Mapping[int, int], fixed: Iterable[int]
) -> tuple[tuple[Member, ...], ...]:
    pinned = set(fixed)
    groups: list[tuple[Member, ...]] = []
    for group in storage.groups:
        if not pinned.intersection(group):
            origin = min(storage.memories[v].start for v in group)
            members = (Member(number_of[v], storage.memories[v].start - origin) for v in group)
            groups.append(tuple(members))
    return tuple(groups)


def _fixed_groups(buffers: Iterable[Buffer]) -> tuple[tuple[Member, ...], ...]:
    """Everything that keeps its offset, per arena: it may overlap as it did in the file read."""
    by_arena: dict[int, list[Member]] = {}
    for buffer in buffers:
        if buffer.offset is not None:
            by_arena.setdefault(buffer.arena, []).append(Member(buffer.id, buffer.offset))
    return tuple(tuple(members) for members in by_arena.values())
