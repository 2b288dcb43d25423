"""A writer of little-endian binary data, the counterpart of `cpp/runtime/src/reader.h`."""

from __future__ import annotations

import struct
from collections.abc import Iterable

_U8, _U32, _U64 = (struct.Struct(format).pack for format in ("<B", "<I", "<Q"))
NONE_32 = 0xFFFFFFFF
"""Stands for "no index"."""
NONE_64 = 0xFFFFFFFFFFFFFFFF
"""Stands for "no offset"."""


class BinaryWriter:
    """Collects numbers and byte strings; a count precedes everything of variable length."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def u8(self, value: int) -> None:
        """One byte."""
        self._parts.append(_U8(value))

    def u32(self, value: int) -> None:
        """An unsigned 32-bit number."""
        self._parts.append(_U32(value))

    def u64(self, value: int) -> None:
        """An unsigned 64-bit number."""
        self._parts.append(_U64(value))

    def i64(self, value: int) -> None:
        """A signed 64-bit number."""
        self._parts.append(struct.pack("<q", value))

    def f64(self, value: float) -> None:
        """A double."""
        self._parts.append(struct.pack("<d", value))

    def packed(self, format: str, *values: int) -> None:
        """Numbers in a row, by the letters of `struct`: B, I and Q are `u8`, `u32`, `u64`."""
        self._parts.append(struct.pack("<" + format, *values))

    def raw(self, data: bytes) -> None:
        """Bytes as they are, without a count."""
        self._parts.append(data)

    def blob(self, data: bytes) -> None:
        """A count and that many bytes."""
        self._parts += (_U32(len(data)), data)

    def text(self, value: str | None) -> None:
        """A string in UTF-8; lone surrogates survive."""
        self.blob((value or "").encode("utf-8", "surrogateescape"))

    def u32s(self, values: Iterable[int]) -> None:
        """A count and that many unsigned 32-bit numbers."""
        items = tuple(values)
        self._parts.append(struct.pack(f"<I{len(items)}I", len(items), *items))

    def result(self) -> bytes:
        """Everything written so far."""
        return b"".join(self._parts)
