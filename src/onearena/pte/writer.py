"""Writes a ``.pte``: to a temporary file beside the target, then renamed over it."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from onearena.errors import UsageError
from onearena.flatbuf.data import ByteRange, Chunk, Data, data_size
from onearena.flatbuf.encode import Encoded, encode_root
from onearena.pte.container import PteFile, Segment
from onearena.pte.header import HEADER_BYTES, HEADER_OFFSET, ExtendedHeader
from onearena.pte.schema import FILE_IDENTIFIER, DataSegment

_COPY_STEP_BYTES = 64 << 20


def write_pte(
    file: PteFile,
    path: str | os.PathLike[str],
    check: Callable[[Path], None] | None = None,
) -> int:
    """Writes `file` to `path` and returns its size in bytes.

    The bytes go to a temporary file in the same directory; `check` is called with its path
    and may raise to stop; only then is it renamed to `path`, so that `path` is never seen
    half written.

    Raises:
        UsageError: `path` cannot be written, or is the source of `file`.
    """
    target = output_path(path)
    _refuse_own_input(file, target)
    return write_data(layout(file), target, check)


def write_data(data: Data, target: Path, check: Callable[[Path], None] | None = None) -> int:
    """Writes bytes to a path that :func:`output_path` gave; see :func:`write_pte`.

    Raises:
        UsageError: the path cannot be written.
    """
    try:
        return _write_atomically(data, target, check)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written ({error.strerror})") from error


def output_path(path: str | os.PathLike[str]) -> Path:
    """Where to write: a symbolic link stays and what it points to is replaced.

    Raises:
        UsageError: the path is empty, means standard output, cannot be a path (such as one that
            is too long, or whose folder is missing), or names something that is there and is not
            a regular file; renaming over a device would destroy it.
    """
    name = os.fspath(path)
    if name in ("", "-"):
        raise UsageError(f"{name!r} is not the path of a file to write")
    try:
        target = Path(os.path.realpath(name))
        if target.is_dir():
            raise UsageError(f"{name}: is a directory")
        if target.exists() and not target.is_file():
            raise UsageError(f"{name}: is there and is not a regular file")
        if not target.parent.is_dir():
            raise UsageError(f"{name}: there is no directory {target.parent}")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"{name}: cannot be written ({reason or error})") from None
    return target


def refuse_input(target: Path, *inputs: str | os.PathLike[str]) -> None:
    """Nothing that is read is written over.

    Raises:
        UsageError: `target` is one of the inputs.
    """
    if target.exists() and any(target.samefile(path) for path in inputs if Path(path).exists()):
        raise UsageError(f"{target}: output would overwrite its own input")


def _refuse_own_input(file: PteFile, target: Path) -> None:
    if file.source.descriptor is None:
        return
    with contextlib.suppress(OSError):  # no such target: nothing to overwrite
        if os.path.samestat(os.fstat(file.source.descriptor), target.stat()):
            raise UsageError(f"{target}: output would overwrite its own input")


def layout(file: PteFile) -> Data:
    """All bytes of the file in order: FlatBuffer, padding, segments."""
    if not any(segment.size_bytes for segment in file.segments):
        entries = tuple(DataSegment() for _ in file.segments) or (file.program.segments and ())
        return encode_root(replace(file.program, segments=entries), FILE_IDENTIFIER).data
    encoded, entries, base = _encode_program(file)
    header = ExtendedHeader(encoded.size_bytes, base, _end(entries)).to_bytes()
    first = encoded.data[0]
    assert isinstance(first, bytes)
    pieces: list[Chunk] = [
        first[:HEADER_OFFSET] + header + first[HEADER_OFFSET + HEADER_BYTES :],
        *encoded.data[1:],
        bytes(base - encoded.size_bytes),
    ]
    position = 0
    for entry, segment in zip(entries, file.segments, strict=True):
        pieces.append(bytes(entry.offset - position))
        pieces.extend(segment.data)
        position = entry.offset + entry.size
    return tuple(pieces)


def _encode_program(file: PteFile) -> tuple[Encoded, tuple[DataSegment, ...], int]:
    """The FlatBuffer, the segment table inside it, and the offset of the first segment.

    The table depends on the FlatBuffer's size, whose alignment decides the padding. The
    size does not depend on the table: which offsets are zero, and so left out, is fixed by
    the alignment of the base.
    """
    alignment = _base_alignment(file.segments)
    entries = _place_segments(file.segments, 0)
    while True:
        program = replace(file.program, segments=entries)
        encoded = encode_root(program, FILE_IDENTIFIER, reserved_bytes=HEADER_BYTES)
        base = encoded.size_bytes + -encoded.size_bytes % alignment
        placed = _place_segments(file.segments, base)
        if placed == entries:
            return encoded, entries, base
        entries = placed


def _base_alignment(segments: tuple[Segment, ...]) -> int:
    """The alignment that puts the leading empty segments and the first full one at the base."""
    alignment = 1
    for segment in segments:
        alignment = math.lcm(alignment, segment.alignment)
        if segment.size_bytes:
            break
    return alignment


def _place_segments(segments: tuple[Segment, ...], base: int) -> tuple[DataSegment, ...]:
    """The segment table when the first segment is at byte `base` of the file.

    Alignments count from the start of the file, so that a written file read back has the
    same alignments and is written in the same way again.
    """
    entries: list[DataSegment] = []
    position = base
    for segment in segments:
        position += -position % segment.alignment
        entries.append(DataSegment(position - base, segment.size_bytes))
        position += segment.size_bytes
    return tuple(entries)


def _end(entries: tuple[DataSegment, ...]) -> int:
    return entries[-1].offset + entries[-1].size


def _write_atomically(data: Data, target: Path, check: Callable[[Path], None] | None) -> int:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb", buffering=0) as out:
            for chunk in data:
                _copy_chunk(chunk, out.fileno())
            os.fchmod(out.fileno(), 0o666 & ~_umask())
        if check is not None:
            check(temporary)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    return data_size(data)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _copy_chunk(chunk: Chunk, out: int) -> None:
    if isinstance(chunk, bytes):
        _write_all(memoryview(chunk), out)
    elif chunk.source.descriptor is None:
        _write_all(chunk.view(), out)
    else:
        _copy_range(chunk, chunk.source.descriptor, out)


def _write_all(view: memoryview, out: int) -> None:
    while len(view):
        view = view[os.write(out, view) :]


def _copy_range(chunk: ByteRange, descriptor: int, out: int) -> None:
    """Copies inside the kernel, so the bytes are never mapped into this process."""
    position, end = chunk.offset, chunk.offset + chunk.size_bytes
    while position < end:
        step = min(end - position, _COPY_STEP_BYTES)
        copied = _kernel_copy(descriptor, out, position, step)
        if copied == 0:
            raise UsageError(f"{chunk.source.name}: the file shrank while it was read")
        position += copied


def _kernel_copy(descriptor: int, out: int, position: int, step: int) -> int:
    if hasattr(os, "copy_file_range"):
        with contextlib.suppress(OSError):  # e.g. across file systems on old kernels
            return os.copy_file_range(descriptor, out, step, offset_src=position)
    return os.write(out, os.pread(descriptor, min(step, 1 << 20), position))
