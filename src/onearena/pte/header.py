"""The extended header that follows the FlatBuffer's file identifier when a file has segments.

Layout from `schema/extended_header.h` of ExecuTorch: at byte 8 of the file, little endian,
magic `eh00`, u32 header length (24, or 32 with the last field), u64 size of the FlatBuffer
with this header, u64 offset of the first segment, u64 size of all segments.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from onearena.errors import FormatError, UnsupportedError
from onearena.flatbuf.data import ByteSource

HEADER_OFFSET = 8
HEADER_BYTES = 32
MAGIC = b"eh00"
_SHORT_LENGTH = 24
_LONG_LENGTH = 32


@dataclass(frozen=True)
class ExtendedHeader:
    """Sizes in bytes, offset from the start of the file. `segment_data_size` 0 = not recorded."""

    program_size: int
    segment_base_offset: int
    segment_data_size: int

    def to_bytes(self) -> bytes:
        """The header as written, :data:`HEADER_BYTES` long."""
        return struct.pack(
            "<4sIQQQ",
            MAGIC,
            _LONG_LENGTH,
            self.program_size,
            self.segment_base_offset,
            self.segment_data_size,
        )


def read_header(source: ByteSource) -> ExtendedHeader | None:
    """Reads the extended header; `None` when the file has none.

    Raises:
        FormatError: the header contradicts itself or the file's size.
        UnsupportedError: the header is longer than the known ones.
    """
    head = bytes(source.view(HEADER_OFFSET, HEADER_BYTES))
    if head[:4] != MAGIC:
        return None
    where = f"extended header at byte {HEADER_OFFSET}"
    if len(head) < HEADER_BYTES:
        raise FormatError(f"{source.name}: truncated inside the {where}")
    _, length, program_size, base, data_size = struct.unpack("<4sIQQQ", head)
    if length not in (_SHORT_LENGTH, _LONG_LENGTH):
        if length < _SHORT_LENGTH:
            raise FormatError(f"{source.name}: {where} says it is {length} bytes long, too short")
        raise UnsupportedError(
            f"{source.name}: {where} is {length} bytes long; this version knows {_LONG_LENGTH} "
            "(newer format?)"
        )
    if length == _SHORT_LENGTH:
        data_size = 0
    header = ExtendedHeader(program_size, base, data_size)
    _check(header, source)
    return header


def _check(header: ExtendedHeader, source: ByteSource) -> None:
    size = source.size_bytes
    if not HEADER_OFFSET + _SHORT_LENGTH <= header.program_size <= size:
        raise FormatError(
            f"{source.name}: extended header says the program has {header.program_size} bytes, "
            f"the file has {size} (truncated?)"
        )
    if header.segment_base_offset == 0:
        return
    if not header.program_size <= header.segment_base_offset <= size:
        raise FormatError(
            f"{source.name}: extended header puts the segments at byte "
            f"{header.segment_base_offset} of {size} (truncated?)"
        )
    if header.segment_base_offset + header.segment_data_size > size:
        raise FormatError(
            f"{source.name}: {header.segment_data_size} bytes of segments at byte "
            f"{header.segment_base_offset} do not fit into {size} (truncated?)"
        )
