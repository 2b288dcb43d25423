"""Assembles FlatBuffers by hand, malformed ones included."""

from __future__ import annotations

import struct
from typing import Any

from onearena.flatbuf.data import ByteSource
from onearena.flatbuf.decode import decode_root
from tests.flatbuf.toy import IDENTIFIER, Root


class Raw:
    """A growing buffer; every method returns the position of what it wrote."""

    def __init__(self, identifier: bytes = IDENTIFIER) -> None:
        self.out = bytearray(bytes(4) + identifier)

    def add(self, data: bytes) -> int:
        at = len(self.out)
        self.out += data
        return at

    def vtable(self, table_bytes: int, *slots: int) -> int:
        return self.add(struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), table_bytes, *slots))

    def table(self, vtable: int, body: bytes = b"") -> int:
        return self.add(struct.pack("<i", len(self.out) - vtable) + body)

    def vector(self, count: int, elements: bytes = b"") -> int:
        return self.add(struct.pack("<I", count) + elements)

    def point(self, at: int, target: int) -> None:
        """Stores the offset from `at` to `target` at `at`."""
        self.put(at, (target - at) & 0xFFFFFFFF)

    def put(self, at: int, value: int) -> None:
        struct.pack_into("<I", self.out, at, value)

    def root(self, *slots: int, body_bytes: int = 0) -> int:
        """The root table: `slots` are the vtable's entries, the body is zero."""
        vtable = self.vtable(4 + body_bytes, *slots)
        position = self.table(vtable, bytes(body_bytes))
        self.point(0, position)
        return position


def decode(data: bytes | bytearray, cls: type[Any] = Root) -> Any:
    """Decodes a whole buffer of the toy schema."""
    return decode_root(ByteSource.from_bytes(bytes(data)), 0, len(data), cls, (IDENTIFIER,), "toy")
