"""What a program's file holds, by what it is for."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.flatbuf.data import data_size
from onearena.pte.container import PteFile
from onearena.pte.header import read_header
from onearena.pte.schema import Program
from onearena.sizes.results import FileSizes

_INLINE, _SEGMENT = 0, 1


def file_sizes(file: PteFile) -> FileSizes:
    """The sizes of the file's parts. A segment that serves two purposes counts for both."""
    program, size_bytes = file.program, file.source.size_bytes
    header = read_header(file.source)
    inline, segments = _payloads(program)
    constants, states = program.constant_segment, program.mutable_data_segments or ()
    return FileSizes(
        file_bytes=size_bytes,
        program_bytes=header.program_size if header else size_bytes,
        constant_bytes=_constants(program)
        + _segments(file, [constants.segment_index] if constants and constants.offsets else []),
        payload_bytes=_inline_payloads(program, inline) + _segments(file, segments),
        initial_state_bytes=_segments(file, (state.segment_index for state in states)),
        named_bytes=_segments(file, (entry.segment_index for entry in program.named_data or ())),
    )


def _payloads(program: Program) -> tuple[set[int], set[int]]:
    """Indices of the payloads that are inline, and of those that are segments."""
    found: dict[int, set[int]] = {_INLINE: set(), _SEGMENT: set()}
    for plan in program.execution_plan or ():
        for delegate in plan.delegates or ():
            if delegate.processed is not None and delegate.processed.location in found:
                found[delegate.processed.location].add(delegate.processed.index)
    return found[_INLINE], found[_SEGMENT]


def _constants(program: Program) -> int:
    buffers = program.constant_buffer or ()
    return sum(data_size(buffer.storage) for buffer in buffers if buffer.storage is not None)


def _inline_payloads(program: Program, indices: Iterable[int]) -> int:
    inline = program.backend_delegate_data or ()
    data = [inline[index].data for index in indices if index < len(inline)]
    return sum(data_size(piece) for piece in data if piece is not None)


def _segments(file: PteFile, indices: Iterable[int]) -> int:
    """Bytes of these segments, each once; what is not there has none."""
    count = len(file.segments)
    return sum(file.segments[index].size_bytes for index in set(indices) if index < count)
