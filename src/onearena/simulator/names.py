"""Which values are names of the same memory.

Nothing in a program says that a tensor is a view of another one: the exporter drops the
instruction and gives the view the offset of its base. A value that is read before anything was
written under its name is therefore a view, or state that an earlier run left. Where the file
has onearena's record, that says which values belong together. Elsewhere a view's base is the
last value written with the same offset, size and element type: ExecuTorch's exporter makes no
other views (`exir/passes/replace_view_copy_with_view_pass.py` asks for equal types and sizes
in bytes). Bytes that happen to overlap are never taken for a reason.

One thing a file without a record cannot tell: a value that was written by mistake over exactly
the bytes of a view's base, with its size and type, before the view is read, looks like the base.
The offsets of the original program can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from onearena.pte.schema import ExecutionPlan
from onearena.record import MethodRecord
from onearena.simulator.arenas import Place
from onearena.timeline.access import planned_memories
from onearena.timeline.steps import MethodSteps


@dataclass(frozen=True, slots=True)
class Base:
    """A value in whose memory another one may lie, `delta` bytes from its start."""

    value: int
    delta: int


@dataclass(frozen=True)
class MemoryNames:
    """What is known about the planned values of a method before it runs.

    Attributes:
        places: where each planned value of at least one byte lies.
        bases: by value, the values that it may be a view of.
        persistent: values that no instruction fills and the caller does not set: views, and
            state.
        family: by persistent value, the value whose memory the state is when it is state.
        parts: by value that consists of others' bytes since no kernel copies them there, these
            others; `delta` is where they begin in it, below 0 when it lies inside them.
    """

    places: Mapping[int, Place]
    bases: Mapping[int, tuple[Base, ...]]
    persistent: frozenset[int]
    family: Mapping[int, Base]
    parts: Mapping[int, tuple[Base, ...]] = field(default_factory=dict)


def memory_names(
    method: MethodSteps, record: MethodRecord | None, original: MethodSteps | None = None
) -> MemoryNames:
    """Reads the names off a method.

    Args:
        record: its record, where there is one.
        original: the same method with the offsets that its exporter gave it, where they are
            known: then they say what is a view of what, and neither the record nor the offsets of
            `method`.
    """
    places = planned_places(method)
    if original is None and record is not None:
        bases = _recorded_bases(places, record)
    else:
        first = original or method
        known = {v: place for v, place in planned_places(first).items() if v in places}
        bases = _equal_places(first.plan, known)
    persistent = frozenset(places) - _filled(method)
    families = _families(method, places, bases, persistent)
    joined = record.joined if record is not None else ()
    parts = _parts(places, [(outer, inner, d) for inner, outer, d in joined], persistent)
    return MemoryNames(places, bases, persistent, families, parts)


def planned_places(method: MethodSteps) -> dict[int, Place]:
    """Where the planned values of at least one byte lie."""
    return {
        value: Place(memory.arena, memory.start, memory.end)
        for value, memory in planned_memories(method, frozenset()).items()
    }


def _filled(method: MethodSteps) -> set[int]:
    """Values that some instruction writes without reading them first, and inputs."""
    filled = set(method.inputs)
    for step in method.steps:
        filled |= set(step.roles.writes) - set(step.roles.in_place)
    return filled


def _equal_places(
    plan: ExecutionPlan, places: Mapping[int, Place]
) -> Mapping[int, tuple[Base, ...]]:
    values = plan.values or ()
    alike: dict[tuple[Place, int], list[int]] = {}
    for value, place in places.items():
        kind = getattr(values[value].val, "scalar_type", -1)
        alike.setdefault((place, kind), []).append(value)
    return {
        value: tuple(Base(other, 0) for other in mates if other != value)
        for mates in alike.values()
        for value in mates
    }


def _parts(
    places: Mapping[int, Place], links: Sequence[tuple[int, int, int]], persistent: frozenset[int]
) -> dict[int, tuple[Base, ...]]:
    """What values consist of that are joined and that nothing fills."""
    result: dict[int, tuple[Base, ...]] = {}
    for group in _groups(links):
        for value in group.keys() & persistent:
            end = places[value].size_bytes
            found = [Base(v, at - group[value]) for v, at in group.items() if v not in persistent]
            result[value] = tuple(
                b
                for b in sorted(found, key=lambda b: (b.delta, b.value))
                if b.value in places and b.delta < end and -b.delta < places[b.value].size_bytes
            )
    return result


def _recorded_bases(
    places: Mapping[int, Place], record: MethodRecord
) -> Mapping[int, tuple[Base, ...]]:
    """Members of a group in whose memory another member lies completely."""
    result: dict[int, tuple[Base, ...]] = {}
    for group in _groups(record.aliases):
        for value in group.keys() & places.keys():
            start, end = group[value], group[value] + places[value].size_bytes
            found = [
                Base(other, start - at)
                for other, at in group.items()
                if other != value and other in places
                if at <= start and end <= at + places[other].size_bytes
            ]
            # what has the same bytes comes first
            found.sort(key=lambda b: (places[b.value].size_bytes, b.value))
            result[value] = tuple(found)
    return result


def _groups(links: Iterable[tuple[int, int, int]]) -> list[dict[int, int]]:
    """The groups of a record: the distance of each member from one of them, by value."""
    near: dict[int, list[tuple[int, int]]] = {}
    for first, second, distance in links:
        near.setdefault(first, []).append((second, distance))
        near.setdefault(second, []).append((first, -distance))
    groups: list[dict[int, int]] = []
    seen: set[int] = set()
    for value in near:
        if value in seen:
            continue
        group, pending = {value: 0}, [value]
        while pending:
            current = pending.pop()
            for other, distance in near[current]:
                if other not in group:
                    group[other] = group[current] + distance
                    pending.append(other)
        seen |= group.keys()
        groups.append(group)
    return groups


def _families(
    method: MethodSteps,
    places: Mapping[int, Place],
    bases: Mapping[int, tuple[Base, ...]],
    persistent: frozenset[int],
) -> dict[int, Base]:
    """Names of one state: initial state first, then the largest. Two values that both have an
    initial state are two states."""
    loaded = {v for v in places if method.tensor(v).data_buffer_idx}
    order = sorted(persistent, key=lambda v: (v not in loaded, -places[v].size_bytes, v))
    family: dict[int, Base] = {}
    for value in order:
        heads = [b for b in bases.get(value, ()) if family.get(b.value) == Base(b.value, 0)]
        if value in loaded or not heads:
            family[value] = Base(value, 0)
        else:
            family[value] = heads[0]
    return family
