"""Where in a program file the data of constants, initial state, payloads and named data lies."""

from __future__ import annotations

from dataclasses import dataclass

from onearena.errors import FormatError
from onearena.flatbuf.data import ByteRange, Data
from onearena.payloads import payload_data
from onearena.pte.container import PteFile
from onearena.pte.schema import BackendDelegate, SubsegmentOffsets, Tensor


@dataclass(frozen=True)
class FileRange:
    """`size_bytes` bytes from byte `offset` of the file."""

    offset: int
    size_bytes: int


def data_range(data: Data | None, what: str) -> FileRange:
    """The range of data that lies in the file in one piece.

    Raises:
        FormatError: there is no such data.
    """
    if data is None:
        raise FormatError(f"{what}: its data is missing")
    if not data:
        return FileRange(0, 0)
    piece = data[0]
    if len(data) != 1 or not isinstance(piece, ByteRange):
        raise FormatError(f"{what}: its data is not in the file")
    return FileRange(piece.offset, piece.size_bytes)


def constant_range(file: PteFile, tensor: Tensor, size_bytes: int, what: str) -> FileRange:
    """Where the bytes of a constant tensor lie: in a segment, or inline in older files.

    Raises:
        FormatError: the file has no such constant, or it has too few bytes.
    """
    index = tensor.data_buffer_idx
    segment = file.program.constant_segment
    if segment is not None and segment.offsets:
        return _piece(file, segment, index, size_bytes, what)
    buffers = file.program.constant_buffer or ()
    if index >= len(buffers):
        raise FormatError(f"{what}: is constant {index}, the file has {len(buffers)}")
    found = data_range(buffers[index].storage or (), what)
    if found.size_bytes < size_bytes:
        raise FormatError(f"{what}: needs {size_bytes} bytes, constant {index} is shorter")
    return FileRange(found.offset, size_bytes)


def initial_range(file: PteFile, tensor: Tensor, size_bytes: int, what: str) -> FileRange:
    """Where the initial bytes of a mutable tensor lie.

    Raises:
        FormatError: the file has no such data.
    """
    info = tensor.extra_tensor_info
    number = info.mutable_data_segments_idx if info is not None else 0
    segments = file.program.mutable_data_segments or ()
    if number >= len(segments):
        raise FormatError(
            f"{what}: its initial state is in mutable segment {number}, there is none"
        )
    return _piece(file, segments[number], tensor.data_buffer_idx, size_bytes, what)


def payload_range(file: PteFile, delegate: BackendDelegate, what: str) -> FileRange:
    """Where a delegate's payload lies.

    Raises:
        FormatError: the reference leads nowhere.
    """
    return data_range(payload_data(file, delegate), what)


def _piece(
    file: PteFile, pieces: SubsegmentOffsets, index: int, size_bytes: int, what: str
) -> FileRange:
    offsets = pieces.offsets or ()
    if index >= len(offsets) or pieces.segment_index >= len(file.segments):
        raise FormatError(f"{what}: names data {index}, the file has {len(offsets)} pieces")
    whole = data_range(file.segments[pieces.segment_index].data, what)
    if offsets[index] + size_bytes > whole.size_bytes:
        raise FormatError(f"{what}: its {size_bytes} bytes of data end behind their segment")
    return FileRange(whole.offset + offsets[index], size_bytes)
