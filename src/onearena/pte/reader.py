"""Opens a ``.pte``: checks the container, decodes the program, leaves the segments in the file."""

from __future__ import annotations

import os

from onearena.errors import FormatError, OnearenaError
from onearena.flatbuf.data import ByteRange, ByteSource, natural_alignment
from onearena.flatbuf.decode import decode_root
from onearena.pte.container import SEGMENT_ALIGNMENT, PteFile, Segment
from onearena.pte.header import ExtendedHeader, read_header
from onearena.pte.schema import FILE_IDENTIFIER, DataSegment, Program

_BUNDLED_IDENTIFIER = b"BP08"  # `bundled_program_schema.fbs`


def open_pte(path: str | os.PathLike[str]) -> PteFile:
    """Opens and decodes the file at `path`; the result keeps the file mapped until closed.

    Raises:
        FormatError: not a ``.pte``, or corrupt, with the byte offset.
        UnsupportedError: a newer schema with fields this version does not know.
    """
    source = ByteSource.open(path)
    try:
        return read_pte(source)
    except OnearenaError:
        source.close()
        raise


def read_pte(source: ByteSource) -> PteFile:
    """Decodes a program from an open source; see :func:`open_pte`."""
    name = source.name
    if source.size_bytes < 8:
        raise FormatError(f"{name}: {source.size_bytes} bytes are too few for a .pte file")
    identifier = bytes(source.view(4, 4))
    if identifier == _BUNDLED_IDENTIFIER:
        raise FormatError(
            f"{name}: is a bundled program (BP08), not a .pte; `onearena bundle --extract` gets "
            "the program out of it"
        )
    if identifier != FILE_IDENTIFIER:
        raise FormatError(
            f"{name}: is not a .pte file: bytes 4-8 are {identifier!r}, expected "
            f"{FILE_IDENTIFIER!r}"
        )
    header = read_header(source)
    program_size = header.program_size if header else source.size_bytes
    program = decode_root(source, 0, program_size, Program, (FILE_IDENTIFIER,), name)
    _refuse_equal_names(program, name)
    segments = _segments(source, header, program.segments or ())
    return PteFile(source, program, segments)


def _refuse_equal_names(program: Program, what: str) -> None:
    """Everybody asks for methods by name, and would get the first one."""
    seen: set[str] = set()
    for plan in program.execution_plan or ():
        name = plan.name or ""
        if name in seen:
            raise FormatError(f"{what}: has two methods named {name!r}")
        seen.add(name)


def _segments(
    source: ByteSource, header: ExtendedHeader | None, entries: tuple[DataSegment, ...]
) -> tuple[Segment, ...]:
    if not entries:
        _refuse_trailing(source, header.program_size if header else source.size_bytes)
        return ()
    if header is None or header.segment_base_offset == 0:
        if not any(entry.size for entry in entries):  # ExecuTorch writes no header for these
            return tuple(Segment((ByteRange(source, 0, 0),)) for _ in entries)
        raise FormatError(
            f"{source.name}: the program lists {len(entries)} segments, but the file has no "
            "extended header that says where they are"
        )
    base = header.segment_base_offset
    result: list[Segment] = []
    end = base
    for index, entry in enumerate(entries):
        start = base + entry.offset
        if start < end:
            raise FormatError(f"{source.name}: segment {index} overlaps the one before it")
        end = start + entry.size
        if end > source.size_bytes:
            raise FormatError(
                f"{source.name}: segment {index} ends at byte {end}, the file at "
                f"{source.size_bytes} (truncated?)"
            )
        alignment = natural_alignment(start, SEGMENT_ALIGNMENT)
        result.append(Segment((ByteRange(source, start, entry.size),), alignment))
    _refuse_trailing(source, end)
    return tuple(result)


def _refuse_trailing(source: ByteSource, end: int) -> None:
    """Bytes after the last segment belong to nothing we know: dropping them would be silent."""
    if not source.is_padding(end, source.size_bytes):
        raise FormatError(
            f"{source.name}: {source.size_bytes - end} bytes after the end of the program (byte "
            f"{end}) belong to no segment"
        )
