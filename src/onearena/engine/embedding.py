"""Keeps a program's description in its own file, so that loading it needs no analysis.

The description is the data of one named-data key, and the last segment; behind it stand the
checksum of the file's FlatBuffer and of itself, so that a damaged one, or one of something else,
is noticed, and the sizes that it takes to find it from the end of the file. Other runtimes do not
look at it.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import replace
from pathlib import Path

from onearena.engine.description import describe, is_current
from onearena.errors import FormatError, UsageError
from onearena.flatbuf.data import ByteSource
from onearena.pte.container import PteFile, Segment
from onearena.pte.header import read_header
from onearena.pte.named_data import segment_users
from onearena.pte.reader import open_pte
from onearena.pte.schema import NamedData
from onearena.pte.writer import write_pte

KEY = "onearena.description"
_TRAILER = struct.Struct("<IQQ8s")
"""Checksum of the FlatBuffer and the description, sizes of both, magic."""
_MAGIC = b"ONEAEND2"
_ENTRY_BYTES = 4 + len(KEY) + 16
"""What the key itself takes in the description."""


def embed_description(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Writes the program `source` with its description to `target`; returns the size in bytes.

    Raises:
        AnalysisError, FormatError, UnsupportedError: the program cannot be described.
        UsageError: `target` cannot be written, is `source`, or there is a description already.
    """
    with open_pte(source) as file:
        if find_description(source) is not None:
            raise UsageError(f"{file.path}: has a description already")
        file = _without_description(file)
        program = file.program
        room = bytes(len(describe(file)) + _ENTRY_BYTES + _TRAILER.size)
        named = (*(program.named_data or ()), NamedData(KEY, len(file.segments)))
        segments = (*file.segments, Segment((room,)))
        changed = file.with_program(replace(program, named_data=named), segments)
        return write_pte(changed, target, _fill)


def _without_description(file: PteFile) -> PteFile:
    """The file without one that is of no use any more; its bytes go when they are the last."""
    named, segments = file.program.named_data or (), file.segments
    old = [entry for entry in named if entry.key == KEY]
    if not old:
        return file
    kept = tuple(entry for entry in named if entry.key != KEY)
    last = len(segments) - 1
    if segment_users(file.program)[last] == sum(e.segment_index == last for e in old) > 0:
        segments = segments[:-1]
    return file.with_program(replace(file.program, named_data=kept), segments)


def find_description(path: str | os.PathLike[str]) -> bytes | None:
    """The description in a file; None when there is none, or one that this version cannot use: of
    another program, or of another version's making.

    Raises:
        FormatError: the file cannot be read.
    """
    with ByteSource.open(path) as source:
        end = source.size_bytes - _TRAILER.size
        if end < 0:
            return None
        view = source.view(end, _TRAILER.size)
        checksum, program_bytes, size, magic = _TRAILER.unpack(view)
        view.release()
        if magic != _MAGIC or size > end or program_bytes > end - size:
            return None
        description = bytes(source.view(end - size, size))
        if _checksum(source, program_bytes, description) != checksum:
            return None
        return description if is_current(description) else None


def _fill(path: Path) -> None:
    """Puts the description into the room that was made for it."""
    with open_pte(path) as file:
        description = describe(file)
        content = description + _trailer(file, description)
        start = file.source.size_bytes - len(content)
        room = file.segments[-1]
        if room.size_bytes != len(content) or not file.source.is_padding(
            start, file.source.size_bytes
        ):
            raise FormatError(f"{path}: the description does not fit into the room made for it")
    with open(path, "r+b") as stream:
        stream.seek(start)
        stream.write(content)


def _trailer(file: PteFile, description: bytes) -> bytes:
    header = read_header(file.source)
    assert header is not None  # a file with segments has one
    program_bytes = header.program_size
    checksum = _checksum(file.source, program_bytes, description)
    return _TRAILER.pack(checksum, program_bytes, len(description), _MAGIC)


def _checksum(source: ByteSource, program_bytes: int, description: bytes) -> int:
    view = source.view(0, program_bytes)
    checksum = zlib.crc32(view)
    view.release()
    return zlib.crc32(description, checksum)
