"""Byte strings that may live in a file: they are moved by range, never read into Python objects."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from onearena.closing import Closing
from onearena.errors import FormatError

MAX_KEPT_ALIGNMENT = 4096
_MAX_PADDING_BYTES = 16 << 20


class ByteSource(Closing):
    """A read-only file (memory-mapped) or a bytes object, addressed by offset.

    A file source keeps its descriptor open until :meth:`close`; it is a context manager.
    """

    def __init__(self, view: memoryview, name: str, descriptor: int | None = None) -> None:
        self._view = view
        self.name = name
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "<bytes>") -> ByteSource:
        """Wraps `data`, which is kept, not copied."""
        return cls(memoryview(data), name)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> ByteSource:
        """Maps the file at `path`.

        Raises:
            FormatError: the path cannot be opened, or is not a regular file.
        """
        name = str(os.fspath(path)) or "''"
        try:
            if not Path(path).is_file():
                reason = "is not a file" if Path(path).exists() else "no such file"
                raise FormatError(f"{name}: {reason}")
            descriptor = os.open(path, os.O_RDONLY)
        except (OSError, ValueError) as error:
            reason = str(error.strerror) if isinstance(error, OSError) else str(error)
            raise FormatError(f"{name}: cannot be opened ({reason})") from error
        try:
            mapped = _map(descriptor, name)
        except FormatError:
            os.close(descriptor)
            raise
        source = cls(memoryview(mapped), name, descriptor)
        source._map = mapped
        return source

    @property
    def size_bytes(self) -> int:
        """Length of the source."""
        return len(self._view)

    def view(self, offset: int, size_bytes: int) -> memoryview:
        """The bytes [offset, offset + size_bytes); the caller has checked the bounds."""
        return self._view[offset : offset + size_bytes]

    def is_padding(self, start: int, end: int) -> bool:
        """True when [start, end) is all zeros, and not so long that it must be something else."""
        if end - start > _MAX_PADDING_BYTES:
            return False
        return not bytes(self._view[start:end]).strip(b"\0")

    def close(self) -> None:
        """Releases the mapping and the descriptor; harmless when called twice."""
        self._view.release()
        if self._map is not None:
            with contextlib.suppress(BufferError):  # a view held elsewhere keeps the map
                self._map.close()
            self._map = None
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


def _map(descriptor: int, name: str) -> mmap.mmap:
    size_bytes = os.fstat(descriptor).st_size
    if size_bytes == 0:
        raise FormatError(f"{name}: the file is empty")
    try:
        return mmap.mmap(descriptor, size_bytes, prot=mmap.PROT_READ)
    except OSError as error:  # e.g. the attribute files of /sys
        raise FormatError(f"{name}: cannot be mapped ({error.strerror})") from error


@dataclass(frozen=True, slots=True)
class ByteRange:
    """The half-open byte range [offset, offset + size_bytes) of a source."""

    source: ByteSource
    offset: int
    size_bytes: int

    def view(self) -> memoryview:
        """The bytes themselves, without a copy."""
        return self.source.view(self.offset, self.size_bytes)


Chunk = bytes | ByteRange
Data = tuple[Chunk, ...]
"""A byte string as a sequence of pieces, each in memory or in a file."""


def chunk_size(chunk: Chunk) -> int:
    """Size of one piece in bytes."""
    return len(chunk) if isinstance(chunk, bytes) else chunk.size_bytes


def data_size(data: Iterable[Chunk]) -> int:
    """Total size of the pieces in bytes."""
    return sum(chunk_size(chunk) for chunk in data)


def read_data(data: Iterable[Chunk]) -> bytes:
    """All pieces joined in memory: for small data only."""
    return b"".join(c if isinstance(c, bytes) else bytes(c.view()) for c in data)


def natural_alignment(offset: int, default: int) -> int:
    """The largest power of two that divides `offset`, at most 4096; `default` at offset 0.

    Files do not record the alignment their writer was asked for. Keeping what a piece
    happens to have is always enough.
    """
    if offset == 0:
        return default
    return min(offset & -offset, MAX_KEPT_ALIGNMENT)
