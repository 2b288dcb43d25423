"""What memory holds at one step of a traced run."""

from __future__ import annotations

from dataclasses import dataclass, field

from onearena.bytemap import ByteMap
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.timeline.steps import MethodSteps
from onearena.verification.origins import Origin


@dataclass(frozen=True, slots=True)
class Extent:
    """A planned value's place."""

    arena: int
    start: int
    end: int


def extents_of(method: MethodSteps) -> dict[int, Extent]:
    """The place of every planned value of known, positive size."""
    return extents_in(method.plan)


def extents_in(plan: ExecutionPlan) -> dict[int, Extent]:
    """The place of every planned value of known, positive size."""
    result: dict[int, Extent] = {}
    for index, entry in enumerate(plan.values or ()):
        tensor = entry.val
        if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
            size = tensor_bytes(tensor)
            if size:
                start = tensor.allocation_info.offset
                result[index] = Extent(tensor.allocation_info.memory_id, start, start + size)
    return result


Owner = tuple[Origin, int]
"""An origin and the address at which its byte 0 would lie; 0 for `before` and `UNKNOWN`."""
OwnerMap = ByteMap[frozenset[Owner]]
PathKey = tuple[tuple[tuple[int, int], ...], frozenset[int]]
START: PathKey = ((), frozenset())


@dataclass
class State:
    """The memory at one step.

    Attributes:
        arenas: what the bytes of an arena hold; and by (value of a payload, value of it that it
            came from by changes of order alone) what that one held when the first of these
            changes read it, counted from its first byte.
        defined: values that were written on every path to here.
        begun: values that are being filled row by row; paths differ in them.
    """

    arenas: dict[int | tuple[int, int], OwnerMap] = field(default_factory=dict)
    handles: dict[int, int] = field(default_factory=dict)
    defined: frozenset[int] = frozenset()
    begun: frozenset[int] = frozenset()

    def copy(self) -> State:
        """A state that can be changed without changing this one."""
        arenas = {arena: owned.copy() for arena, owned in self.arenas.items()}
        return State(arenas, dict(self.handles), self.defined, self.begun)

    def target(self, value: int) -> int:
        """The value whose memory this name means."""
        return self.handles.get(value, value)


def join_states(first: State, second: State) -> State:
    """Two states with equal handles."""
    result = State({}, dict(first.handles), first.defined & second.defined, first.begun)
    empty: OwnerMap = ByteMap()
    for arena in {*first.arenas, *second.arenas}:
        a, b = first.arenas.get(arena, empty), second.arenas.get(arena, empty)
        # an image is complete in both
        before = frozenset(((Origin("before", -1, arena if isinstance(arena, int) else 0), 0),))
        joined: OwnerMap = ByteMap()
        for one, other in ((a, b), (b, a)):
            for start, end, owners in one.items():
                for low, high, also in other.read(start, end):
                    joined.write(low, high, owners | (before if also is None else also))
        result.arenas[arena] = joined
    return result


def same_states(first: State, second: State) -> bool:
    """Whether memory holds the same in two states with equal handles."""
    if first.arenas.keys() != second.arenas.keys() or first.defined != second.defined:
        return False
    return all(
        tuple(first.arenas[arena].items()) == tuple(second.arenas[arena].items())
        for arena in first.arenas
    )
