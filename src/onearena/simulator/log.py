"""What a run finds on its way."""

from __future__ import annotations

from dataclasses import dataclass, field

from onearena.simulator.arenas import Place
from onearena.simulator.memory import Wrong


@dataclass(frozen=True)
class WrongRead:
    """A read that found wrong bytes: `instruction` is who read; the count of instructions
    stands for the caller."""

    instruction: int
    wrong: Wrong


@dataclass(frozen=True)
class Overrun:
    """A kernel that needs more scratch than its argument has.

    Attributes:
        need_bytes: what it needs.
        place: what the argument has.
        behind: the bytes behind it that the kernel writes.
        holders: the values that lie there.
        damaged: bytes of red zones that it overwrote.
    """

    instruction: int
    value: int
    need_bytes: int
    place: Place
    behind: Place
    holders: tuple[int, ...]
    damaged: tuple[Place, ...]


@dataclass
class RunLog:
    """What a run found.

    Attributes:
        read_last: by root (see `Memory`), the last instruction that read it.
    """

    wrong: list[WrongRead] = field(default_factory=list)
    overruns: list[Overrun] = field(default_factory=list)
    read_last: dict[int, int] = field(default_factory=dict)
    executed: int = 0
    scratch_calls: int = 0
