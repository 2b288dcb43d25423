"""The extended header: both known lengths, everything else refused."""

from __future__ import annotations

import struct

import pytest

from onearena.errors import FormatError, UnsupportedError
from onearena.flatbuf.data import ByteSource
from onearena.pte.header import HEADER_BYTES, ExtendedHeader, read_header
from tests.pte.build import file_bytes, read_bytes
from tests.pte.samples import delegated, kernels

_LENGTH, _PROGRAM_SIZE, _BASE, _DATA_SIZE = (12, "<I"), (16, "<Q"), (24, "<Q"), (32, "<Q")


def _head(size_bytes: int, *numbers: int, magic: bytes = b"eh00") -> ByteSource:
    """A file of the given size with a header: length, program size, base, segment bytes."""
    header = bytes(8) + struct.pack("<4sIQQQ", magic, *numbers)
    return ByteSource.from_bytes(header.ljust(size_bytes, b"\0")[:size_bytes], "test.pte")


def _file(**changes: int) -> bytes:
    """A file with segments whose header fields are overwritten."""
    data = bytearray(file_bytes(delegated()))
    fields = {"length": _LENGTH, "program": _PROGRAM_SIZE, "base": _BASE, "data": _DATA_SIZE}
    for name, value in changes.items():
        at, format = fields[name]
        struct.pack_into(format, data, at, value)
    return bytes(data)


def test_long_header() -> None:
    assert read_header(_head(400, 32, 100, 128, 256)) == ExtendedHeader(100, 128, 256)


def test_short_header_does_not_record_the_segments_size() -> None:
    assert read_header(_head(400, 24, 100, 128, 1 << 60)) == ExtendedHeader(100, 128, 0)


def test_no_header() -> None:
    assert read_header(_head(400, 32, 100, 128, 256, magic=b"eh01")) is None
    assert read_header(ByteSource.from_bytes(bytes(9))) is None


def test_bytes_read_back() -> None:
    header = ExtendedHeader(100, 128, 200)
    assert len(header.to_bytes()) == HEADER_BYTES
    data = (bytes(8) + header.to_bytes()).ljust(400, b"\0")
    assert read_header(ByteSource.from_bytes(data)) == header


@pytest.mark.parametrize("length", [0, 8, 23])
def test_too_short_a_length(length: int) -> None:
    with pytest.raises(FormatError, match=rf"at byte 8 says it is {length} bytes long, too short"):
        read_header(_head(400, length, 100, 128, 256))


@pytest.mark.parametrize("length", [25, 31, 33, 40, 0xFFFFFFFF])
def test_longer_headers_are_refused_as_newer(length: int) -> None:
    with pytest.raises(UnsupportedError, match=rf"{length} bytes long.*newer format"):
        read_header(_head(400, length, 100, 128, 256))


@pytest.mark.parametrize("size", [12, 20, 39])
def test_truncated_header(size: int) -> None:
    with pytest.raises(FormatError, match="truncated inside the extended header at byte 8"):
        read_header(_head(size, 32, 100, 128, 256))


@pytest.mark.parametrize("size", [0, 31, 401, 1 << 63])
def test_program_size_outside_the_file(size: int) -> None:
    with pytest.raises(FormatError, match=f"says the program has {size} bytes, the file has 400"):
        read_header(_head(400, 32, size, 0, 0))


@pytest.mark.parametrize("base", [1, 99, 401, 1 << 63])
def test_segment_base_outside_the_file(base: int) -> None:
    with pytest.raises(FormatError, match=f"puts the segments at byte {base} of 400"):
        read_header(_head(400, 32, 100, base, 0))


@pytest.mark.parametrize("size", [273, 1 << 63, 2**64 - 1])
def test_segments_larger_than_the_file(size: int) -> None:
    with pytest.raises(FormatError, match=f"{size} bytes of segments at byte 128 do not fit"):
        read_header(_head(400, 32, 100, 128, size))


def test_written_header_matches_the_file() -> None:
    data = file_bytes(delegated())
    header = read_header(ByteSource.from_bytes(data))
    assert header is not None
    assert header.segment_base_offset + header.segment_data_size == len(data)
    assert header.segment_base_offset % 128 == 0
    assert header.program_size <= header.segment_base_offset < header.program_size + 128


def test_no_header_is_written_without_segments() -> None:
    assert read_header(ByteSource.from_bytes(file_bytes(kernels()))) is None


def test_file_with_a_short_header_is_read() -> None:
    found = read_bytes(_file(length=24, data=0))
    assert found.program == read_bytes(_file()).program


def test_short_header_comes_back_long() -> None:
    assert file_bytes(read_bytes(_file(length=24, data=0))) == _file()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"program": 48}, "byte offset"),
        ({"base": 0}, "lists 1 segments, but the file has no extended header that says where"),
        ({"base": 1024 + 256, "data": 0}, "segment 0 ends at byte"),
        ({"length": 16}, "too short"),
    ],
)
def test_headers_that_contradict_the_program(changes: dict[str, int], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_bytes(_file(**changes))
