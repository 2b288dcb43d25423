"""The planning problem: buffers with lifetimes, to be given offsets. Knows nothing of files.

All lifetimes are half-open intervals of steps, all sizes and offsets are in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from onearena.lifetime import Interval, Lifetime


@dataclass(frozen=True, slots=True)
class Window:
    """During `lifetime` only [start_byte, end_byte) of a buffer is occupied."""

    lifetime: Interval
    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A block of memory.

    Attributes:
        id: position in `Problem.buffers`.
        size_bytes: not negative; a buffer of 0 bytes collides with nothing.
        alignment: a positive number that divides the offset.
        arena: which arena it lives in.
        lifetime: when it is alive; empty for memory that must exist but holds nothing.
        offset: the offset it must have, or None.
        name: for messages.
        windows: inside the lifetime, when only a part of it is occupied; apart from each other.
        region: the range of bytes that it must lie in, or None for the whole arena.
        is_last: nothing that is alive at the same step may lie above it.
        arenas: other arenas that it may lie in besides `arena`.
        hint: its offset in an earlier plan, from which a planner may start, or None.
    """

    id: int
    size_bytes: int
    alignment: int
    arena: int
    lifetime: Lifetime
    offset: int | None = None
    name: str = ""
    windows: tuple[Window, ...] = ()
    region: Interval | None = None
    is_last: bool = False
    arenas: tuple[int, ...] = ()
    hint: int | None = None

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.name or f"buffer {self.id}"


@dataclass(frozen=True, slots=True)
class Memory:
    """What an arena lies in.

    Attributes:
        arena: its number.
        capacity_bytes: how many bytes it has, or None for any number.
        weight: the cost of a byte of its height, a positive integer.
    """

    arena: int
    capacity_bytes: int | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Member:
    """A buffer of an alias group, `delta` bytes from the group's origin."""

    buffer: int
    delta: int


@dataclass(frozen=True)
class Problem:
    """What is to be planned.

    Attributes:
        buffers: `buffers[k].id == k`.
        groups: alias groups: their members keep their distances and may overlap each other.
            A buffer is in one group at the most.
        may_share: pairs of buffers of equal size that may have one offset although both are
            alive (in-place operators, reshapes). They must not overlap in any other way.
    """

    buffers: tuple[Buffer, ...]
    groups: tuple[tuple[Member, ...], ...] = ()
    may_share: tuple[tuple[int, int], ...] = ()

    @cached_property
    def arenas(self) -> tuple[int, ...]:
        """The arenas that may hold buffers, ascending."""
        return tuple(sorted({a for b in self.buffers for a in (b.arena, *b.arenas)}))

    @cached_property
    def group_of(self) -> Mapping[int, int]:
        """The group's number by buffer, for buffers in a group."""
        return {m.buffer: k for k, group in enumerate(self.groups) for m in group}


@dataclass(frozen=True)
class Plan:
    """Offsets for a problem.

    Attributes:
        offsets: by buffer id.
        height_bytes: by arena, the end of the last byte used.
        lower_bound_bytes: by arena; no plan of this problem is smaller.
        method: which planner found it.
        optimal: whether it is proven that no plan of this problem is better.
        arenas: by buffer id, the arena; empty when every buffer lies in its own `arena`.
        joint_bound_bytes: no plan needs less in all arenas together; 0 where that is not known.
        lead_bytes: by arena, what is kept free in front for the sake of addresses; counted in its
            height, and in its bound.
    """

    offsets: tuple[int, ...]
    height_bytes: Mapping[int, int]
    lower_bound_bytes: Mapping[int, int]
    method: str
    optimal: bool = False
    arenas: tuple[int, ...] = ()
    joint_bound_bytes: int = 0
    lead_bytes: Mapping[int, int] = field(default_factory=dict)

    @property
    def total_bytes(self) -> int:
        """Sum over the arenas."""
        return sum(self.height_bytes.values())

    @property
    def total_bound_bytes(self) -> int:
        """A lower bound of the sum."""
        return max(sum(self.lower_bound_bytes.values()), self.joint_bound_bytes)

    @property
    def gap(self) -> float:
        """(height - bound) / bound over all arenas; 0 when there is nothing to plan."""
        bound = self.total_bound_bytes
        return (self.total_bytes - bound) / bound if bound else 0.0
