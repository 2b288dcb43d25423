"""The writer of the generic FlatBuffers layer: layout, alignment, what is left out."""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from pathlib import Path

import pytest

from onearena.errors import UnsupportedError
from onearena.flatbuf.data import ByteRange, ByteSource, data_size, read_data
from onearena.flatbuf.encode import encode_root
from tests.flatbuf.canonical import bits
from tests.flatbuf.raw import decode
from tests.flatbuf.toy import IDENTIFIER, Empty, Leaf, Root, Scalars, Vectors

_GIB = 1 << 30


def _encode(value: object, reserved_bytes: int = 0) -> bytes:
    return read_data(encode_root(value, IDENTIFIER, reserved_bytes).data)


def test_empty_table_is_eight_bytes_after_the_identifier() -> None:
    data = _encode(Empty())
    assert data[4:8] == IDENTIFIER
    assert data[8:12] == struct.pack("<HH", 4, 4)
    assert data[12:] == struct.pack("<i", 4)
    assert struct.unpack_from("<I", data) == (12,)


def test_defaults_are_left_out() -> None:
    assert len(_encode(Scalars())) == len(_encode(Empty()))


@pytest.mark.parametrize("value", [0, 41, -1])
def test_a_default_that_is_not_zero_is_compared_with(value: int) -> None:
    data = _encode(Scalars(answer=value))
    assert len(data) > len(_encode(Scalars()))
    assert decode(data, Scalars).answer == value


def test_false_is_kept_where_true_is_the_default() -> None:
    assert decode(_encode(Scalars(on=False)), Scalars).on is False
    assert decode(_encode(Scalars()), Scalars).on is True


@pytest.mark.parametrize("value", [-0.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324])
def test_special_floats_keep_their_bits(value: float) -> None:
    found = decode(_encode(Scalars(f64=value)), Scalars)
    assert bits("d", found.f64) == bits("d", value)
    assert found.f32 == 0


@pytest.mark.parametrize("pattern", [0x80000000, 0x7FC00001, 0xFFC12345, 0x00000001, 0x7F800000])
def test_float32_bit_patterns_survive(pattern: int) -> None:
    (value,) = struct.unpack("<f", struct.pack("<I", pattern))
    found = decode(_encode(Root(vectors=Vectors(f32=(value,)))))
    assert bits("f", found.vectors.f32[0]) == struct.pack("<I", pattern)


def test_absent_is_not_empty() -> None:
    empty = Root(text="", leaves=(), vectors=Vectors(u8=(), f64=()), large=(), small=())
    found = decode(_encode(empty))
    assert (found.text, found.leaves, found.vectors) == ("", (), Vectors(u8=(), f64=()))
    assert read_data(found.large) == b""
    absent = decode(_encode(Root(vectors=Vectors())))
    assert absent == Root(vectors=Vectors())
    assert absent.vectors.u8 is None


@pytest.mark.parametrize("shift", range(8))
def test_wide_fields_are_aligned_to_eight_bytes(shift: int) -> None:
    root = Root(text="x" * shift, number=0x1122334455667788, vectors=Vectors(f64=(1.5,)))
    data = _encode(root)
    for pattern in (struct.pack("<Q", root.number), struct.pack("<d", 1.5)):
        assert data.count(pattern) == 1
        assert data.index(pattern) % 8 == 0


def test_equal_tables_share_one_vtable() -> None:
    leaf = Leaf(name="n", weight=2.0)
    sizes = [len(_encode(Root(leaves=(leaf,) * count))) for count in (1, 3, 5)]
    # two more leaves: 2 x (offset 4, table 16, string 6, padding 2), and no vtable
    assert [b - a for a, b in pairwise(sizes)] == [56, 56]
    assert _encode(Root(leaves=(leaf,) * 9)).count(struct.pack("<HHHH", 8, 16, 4, 8)) == 1


def test_reserved_bytes_follow_the_identifier() -> None:
    data = _encode(Root(text="abc"), reserved_bytes=32)
    assert data[8:40] == bytes(32)
    assert decode(data) == Root(text="abc")


def test_text_is_written_as_utf8() -> None:
    assert decode(_encode(Root(text="größe 木"))).text == "größe 木"


def test_size_counts_all_pieces() -> None:
    encoded = encode_root(Root(text="a", large=(b"12", b"345"), small=(b"6",)), IDENTIFIER)
    assert encoded.size_bytes == data_size(encoded.data) == len(read_data(encoded.data))


def test_blobs_have_the_alignment_of_the_schema() -> None:
    payload = bytes(range(1, 100))
    data = _encode(Root(text="x", small=(b"s",), large=(payload,)))
    assert data.index(payload) % 16 == 0
    assert encode_root(Root(large=(payload,)), IDENTIFIER).alignment == 16


@pytest.mark.parametrize(("offset", "alignment"), [(4096, 4096), (192, 64), (8, 16), (3, 16)])
def test_blob_of_a_file_stays_a_range_and_keeps_its_alignment(
    tmp_path: Path, offset: int, alignment: int
) -> None:
    path = tmp_path / "weights"
    path.write_bytes(bytes(offset) + b"payload!" * 9)
    with ByteSource.open(path) as source:
        blob = ByteRange(source, offset, 72)
        encoded = encode_root(Root(text="abc", large=(blob,)), IDENTIFIER)
        assert blob in encoded.data
        assert read_data(encoded.data).index(b"payload!") % alignment == 0


def test_several_blobs_keep_their_contents_apart() -> None:
    root = Root(large=(b"AAAA", b"BBBB"), small=(b"",))
    found = decode(_encode(root))
    assert (read_data(found.large), read_data(found.small)) == (b"AAAABBBB", b"")


@pytest.mark.parametrize(
    "sizes", [(2 * _GIB,), (_GIB, _GIB), (5 * _GIB, 1), (1, 5 * _GIB), (3 * _GIB, 3 * _GIB)]
)
def test_more_than_two_gib_is_refused(sizes: tuple[int, ...]) -> None:
    source = ByteSource.from_bytes(b"")  # the ranges are never read
    blobs = [(ByteRange(source, 0, size),) for size in sizes]
    root = Root(large=blobs[0], small=blobs[-1] if len(blobs) > 1 else None)
    with pytest.raises(UnsupportedError, match="exceeds the format's 2 GiB"):
        encode_root(root, IDENTIFIER)


def test_just_under_two_gib_is_accepted() -> None:
    blob = ByteRange(ByteSource.from_bytes(b""), 0, 2 * _GIB - 100)
    assert encode_root(Root(large=(blob,)), IDENTIFIER).size_bytes < 2 * _GIB
