"""The container of an XNNPACK payload: header, graph, constants."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from onearena.delegates.xnnpack.payload import Payload, build_payload, read_payload
from onearena.delegates.xnnpack.schema import Buffer, XNNGraph
from onearena.errors import FormatError, OnearenaError, UnsupportedError
from onearena.flatbuf.data import ByteRange, ByteSource, read_data
from onearena.flatbuf.encode import encode_root
from tests.flatbuf.canonical import canonical
from tests.pte.samples import CONSTANTS, graph, payload, quantized_graph

_GRAPH_AT, _GRAPH_SIZE, _CONSTANTS_AT, _CONSTANTS_SIZE = (
    (10, "<I"),
    (14, "<I"),
    (18, "<I"),
    (22, "<Q"),
)


def _read(data: bytes) -> Payload:
    return read_payload((data,), "delegate 3")


def _with(field: tuple[int, str], value: int) -> bytes:
    data = bytearray(payload())
    struct.pack_into(field[1], data, field[0], value)
    return bytes(data)


def _field(field: tuple[int, str]) -> int:
    return int(struct.unpack_from(field[1], payload(), field[0])[0])


@pytest.mark.parametrize("content", [graph(), quantized_graph()])
def test_what_is_built_is_read(content: XNNGraph) -> None:
    found = _read(payload(content))
    assert canonical(found.graph) == canonical(content)
    assert read_data(found.constants) == CONSTANTS
    assert (found.identifier, found.has_header) == (b"XN01", True)
    assert read_data(build_payload(found)) == payload(content)


def test_graph_and_constants_are_aligned_to_16() -> None:
    for name in ("", "a", "abc", "a" * 11):
        data = payload(replace(graph(), version=name))
        _, _, graph_at, _, constants_at, _ = struct.unpack_from("<4sHIIIQ", data, 4)
        assert (graph_at % 16, constants_at % 16) == (0, 0)
        assert data[constants_at:] == CONSTANTS


def test_constants_of_a_file_stay_a_range(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before" + payload())
    with ByteSource.open(path) as source:
        found = read_payload((ByteRange(source, 6, len(payload())),), "payload")
        (constants,) = found.constants
        assert isinstance(constants, ByteRange)
        assert constants in build_payload(found)
        assert read_data(build_payload(found)) == payload()


def test_payload_in_several_pieces() -> None:
    data = payload()
    found = read_payload((data[:50], data[50:]), "payload")
    assert canonical(found.graph) == canonical(graph())


@pytest.mark.parametrize("identifier", [b"XN00", b"XN01"])
def test_payload_without_a_header(identifier: bytes) -> None:
    """As written before the header: a bare graph with its constants inside."""
    old = replace(graph(), constant_buffer=(Buffer((CONSTANTS,)),), constant_data=None)
    data = read_data(encode_root(old, identifier).data)
    found = _read(data)
    assert canonical(found.graph) == canonical(old)
    assert (found.identifier, found.has_header, found.constants) == (identifier, False, ())
    assert read_data(build_payload(found)) == data


def _message(data: bytes, kind: type[OnearenaError] = FormatError) -> str:
    with pytest.raises(kind) as caught:
        _read(data)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("delegate 3: ")
    return str(caught.value)


@pytest.mark.parametrize("size", [0, 3, 7])
def test_too_short(size: int) -> None:
    assert f"{size} bytes are too few" in _message(payload()[:size])


@pytest.mark.parametrize("size", [8, 20, 29])
def test_truncated_header(size: int) -> None:
    assert "XNNPACK header is truncated" in _message(payload()[:size])


def test_truncated_at_every_length() -> None:
    for size in range(len(payload())):
        _message(payload()[:size])


def test_wrong_identifier() -> None:
    data = bytearray(payload())
    at = _field(_GRAPH_AT) + 4
    data[at : at + 4] = b"XN02"
    assert "b'XN02', expected 'XN00' or 'XN01'" in _message(bytes(data))


@pytest.mark.parametrize("length", [0, 29])
def test_header_too_short(length: int) -> None:
    assert f"is {length} bytes long, expected 30" in _message(_with((8, "<H"), length))


@pytest.mark.parametrize("length", [31, 0xFFFF])
def test_longer_headers_are_refused_as_newer(length: int) -> None:
    message = _message(_with((8, "<H"), length), UnsupportedError)
    assert f"is {length} bytes long, expected 30" in message


@pytest.mark.parametrize(
    ("field", "value"),
    [(_GRAPH_AT, 10_000), (_GRAPH_SIZE, 10_000), (_GRAPH_AT, 0xFFFFFFFF), (_GRAPH_SIZE, 1 << 31)],
)
def test_graph_outside_the_payload(field: tuple[int, str], value: int) -> None:
    assert "graph lies outside the payload" in _message(_with(field, value))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (_CONSTANTS_AT, 0),
        (_CONSTANTS_AT, _field(_CONSTANTS_AT) + 1),
        (_CONSTANTS_AT, 0xFFFFFFFF),
        (_CONSTANTS_SIZE, len(CONSTANTS) + 1),
        (_CONSTANTS_SIZE, 2**64 - 1),
    ],
)
def test_constants_outside_the_payload(field: tuple[int, str], value: int) -> None:
    assert "constants lie outside the payload" in _message(_with(field, value))


def test_bytes_after_the_constants() -> None:
    assert "bytes after the XNNPACK constants" in _message(payload() + b"\0\0x")
    assert read_data(_read(payload() + bytes(100)).constants) == CONSTANTS
