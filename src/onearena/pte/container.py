"""A program file in memory: the decoded program, and its segments as byte ranges of the file."""

from __future__ import annotations

from dataclasses import dataclass, replace

from onearena.closing import Closing
from onearena.flatbuf.data import ByteSource, Data, data_size
from onearena.pte.schema import Program

SEGMENT_ALIGNMENT = 128
"""What ExecuTorch's exporter uses for new segments (`segment_alignment` of its config)."""


@dataclass(frozen=True)
class Segment:
    """Data that follows the FlatBuffer. `alignment` is in bytes, from the start of the file."""

    data: Data
    alignment: int = SEGMENT_ALIGNMENT

    @property
    def size_bytes(self) -> int:
        """Size of the valid data, without padding."""
        return data_size(self.data)


@dataclass(frozen=True)
class PteFile(Closing):
    """A decoded ``.pte``. `program.segments` is recomputed when the file is written.

    Keeps its source open: use as a context manager, or call :meth:`close`.
    """

    source: ByteSource
    program: Program
    segments: tuple[Segment, ...]

    @property
    def path(self) -> str:
        """How errors name this file."""
        return self.source.name

    def with_program(self, program: Program, segments: tuple[Segment, ...]) -> PteFile:
        """The same source with another program and other segments."""
        return replace(self, program=program, segments=segments)

    def close(self) -> None:
        """Releases the file."""
        self.source.close()
