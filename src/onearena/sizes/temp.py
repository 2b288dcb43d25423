"""What each operator and backend of a method takes from the temp allocator, at the most.

The runtime empties the temp allocator after every instruction (`runtime/executor/method.cpp`), so
a pool needs the largest of them; see `temp_memory.takes` for what is known of whom.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from onearena.temp_memory.takes import TempTake


@dataclass(frozen=True)
class TempUse:
    """What one operator or backend takes, at the instruction of the method that takes most.

    Attributes:
        name: operator or backend id.
        size_bytes: None when it cannot be computed.
        note: what the number rests on, or why there is none.
    """

    name: str
    size_bytes: int | None
    note: str


def temp_uses(takes: Iterable[TempTake]) -> tuple[TempUse, ...]:
    """Every operator and backend that takes temp memory, or may."""
    found: dict[str, TempUse] = {}
    for take in takes:
        before = found.get(take.name)
        use = TempUse(take.name, take.size_bytes, take.note)
        if before is None or _order(use) > _order(before):
            found[use.name] = use
    return tuple(found.values())


def _order(use: TempUse) -> tuple[bool, int]:
    """What is not known counts as more than any number."""
    return use.size_bytes is None, use.size_bytes or 0
