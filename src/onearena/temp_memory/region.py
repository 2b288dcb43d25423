"""The bytes of an arena that an application builds its temp allocator on."""

from __future__ import annotations

from dataclasses import dataclass

ALIGNMENT = 16
"""What CMSIS-NN's kernels and the Ethos-U driver want, of offset and size."""


@dataclass(frozen=True)
class TempRegion:
    """A region to be planned, or one that has been.

    Attributes:
        arena: memory_id.
        size_bytes: of the region: what the instruction that takes most takes, aligned.
        instructions: those that take temp memory: nothing else may lie there meanwhile.
        offset: in the arena; None before it is planned.
    """

    arena: int
    size_bytes: int
    instructions: tuple[int, ...]
    offset: int | None = None
