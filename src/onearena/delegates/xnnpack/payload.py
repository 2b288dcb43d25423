"""The container of an XNNPACK payload: header, graph FlatBuffer, constants.

Layout from `backends/xnnpack/runtime/XNNHeader.h` of ExecuTorch: four zero bytes, magic
`XH00`, u16 header length (30), u32 offset and u32 size of the FlatBuffer, u32 offset and
u64 size of the constants. Payloads older than the header are a bare FlatBuffer.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from onearena.delegates.xnnpack.schema import FILE_IDENTIFIERS, XNNGraph
from onearena.errors import FormatError, UnsupportedError
from onearena.flatbuf.data import ByteRange, ByteSource, Data, data_size
from onearena.flatbuf.decode import decode_root
from onearena.flatbuf.encode import encode_root

_HEADER = struct.Struct("<4x4sHIIIQ")
_MAGIC = b"XH00"
_ALIGNMENT = 16


@dataclass(frozen=True)
class Payload:
    """A decoded payload; `constants` stay where they are in the file."""

    identifier: bytes
    graph: XNNGraph
    constants: Data
    has_header: bool


def read_payload(data: Data, what: str) -> Payload:
    """Decodes a payload.

    Args:
        data: the payload's bytes, as one piece (a segment or inline data of a file).
        what: how errors call it.

    Raises:
        FormatError: not an XNNPACK payload, or corrupt.
        UnsupportedError: a newer schema.
    """
    piece = _single(data)
    head = bytes(piece.source.view(piece.offset, min(_HEADER.size, piece.size_bytes)))
    if head[4:8] != _MAGIC:
        return _bare(piece, what)
    if len(head) < _HEADER.size:
        raise FormatError(f"{what}: XNNPACK header is truncated")
    _, length, graph_at, graph_size, constants_at, constants_size = _HEADER.unpack(head)
    if length != _HEADER.size:
        kind = UnsupportedError if length > _HEADER.size else FormatError
        raise kind(f"{what}: XNNPACK header is {length} bytes long, expected {_HEADER.size}")
    if graph_at + graph_size > piece.size_bytes:
        raise FormatError(f"{what}: XNNPACK graph lies outside the payload")
    if constants_at < graph_at + graph_size or constants_at + constants_size > piece.size_bytes:
        raise FormatError(f"{what}: XNNPACK constants lie outside the payload")
    end = constants_at + constants_size
    if not piece.source.is_padding(piece.offset + end, piece.offset + piece.size_bytes):
        raise FormatError(f"{what}: bytes after the XNNPACK constants (byte {end}) are not known")
    constants = ByteRange(piece.source, piece.offset + constants_at, constants_size)
    start = piece.offset + graph_at
    graph = decode_root(piece.source, start, graph_size, XNNGraph, FILE_IDENTIFIERS, what)
    identifier = bytes(piece.source.view(start + 4, 4))
    return Payload(identifier, graph, (constants,), has_header=True)


def build_payload(payload: Payload) -> Data:
    """The bytes of a payload; the constants are handed on as file ranges."""
    encoded = encode_root(payload.graph, payload.identifier)
    if not payload.has_header:
        return encoded.data
    graph_at = _HEADER.size + -_HEADER.size % _ALIGNMENT
    padding = -encoded.size_bytes % _ALIGNMENT
    header = _HEADER.pack(
        _MAGIC,
        _HEADER.size,
        graph_at,
        encoded.size_bytes,
        graph_at + encoded.size_bytes + padding,
        data_size(payload.constants),
    )
    return (header.ljust(graph_at, b"\0"), *encoded.data, bytes(padding), *payload.constants)


def _bare(piece: ByteRange, what: str) -> Payload:
    graph = decode_root(
        piece.source, piece.offset, piece.size_bytes, XNNGraph, FILE_IDENTIFIERS, what
    )
    identifier = bytes(piece.source.view(piece.offset + 4, 4))
    return Payload(identifier, graph, (), has_header=False)


def _single(data: Data) -> ByteRange:
    if len(data) == 1 and isinstance(data[0], ByteRange):
        return data[0]
    joined = b"".join(c if isinstance(c, bytes) else bytes(c.view()) for c in data)
    return ByteRange(ByteSource.from_bytes(joined), 0, len(joined))
