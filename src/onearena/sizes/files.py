"""What a program's file holds, by what it is for."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.flatbuf.data import data_size
from onearena.pte.container import PteFile
from onearena.pte.header import read_header
from onearena.pte.schema import Program
from onearena.sizes.file_parts import FileSizes

_INLINE, _SEGMENT = 0, 1


def file_sizes(file: PteFile) -> FileSizes:
    """The sizes of the file's parts. A segment that serves two purposes counts for the first."""
    program, size_bytes = file.program, file.source.size_bytes
    header = read_header(file.source)
    inline, segments = _payloads(program)
    constants = program.constant_segment
    counted: set[int] = set()
    constant_bytes = _segments(
        file, [constants.segment_index] if constants and constants.offsets else [], counted
    )
    payload_bytes = _segments(file, segments, counted)
    states = (state.segment_index for state in program.mutable_data_segments or ())
    named = (entry.segment_index for entry in program.named_data or ())
    inline_constants, inline_payloads = _constants(program), _inline_payloads(program, inline)
    return FileSizes(
        file_bytes=size_bytes,
        program_bytes=header.program_size if header else size_bytes,
        inline_bytes=inline_constants + inline_payloads,
        constant_bytes=inline_constants + constant_bytes,
        payload_bytes=inline_payloads + payload_bytes,
        initial_state_bytes=_segments(file, states, counted),
        named_bytes=_segments(file, named, counted),
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


def _segments(file: PteFile, indices: Iterable[int], counted: set[int]) -> int:
    """Bytes of these segments but those that are `counted`; what is not there has none."""
    found = {index for index in indices if index < len(file.segments)} - counted
    counted.update(found)
    return sum(file.segments[index].size_bytes for index in found)
