"""The reader of the generic FlatBuffers layer on malformed and hostile buffers."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onearena.errors import FormatError, OnearenaError, UnsupportedError
from onearena.flatbuf.data import ByteSource, read_data
from onearena.flatbuf.decode import decode_root
from onearena.flatbuf.encode import encode_root
from onearena.pte.schema import Program
from tests.flatbuf.canonical import canonical
from tests.flatbuf.raw import Raw, decode
from tests.flatbuf.toy import IDENTIFIER, Empty, Leaf, Root, Scalars, Vectors

# slots of Root: text 0, leaf 1, choice 2 (tag) and 3, leaves 4, empties 5, vectors 6,
# large 7, small 8, number 9, byte 10
_TEXT, _LEAF, _TAG, _CHOICE, _LEAVES, _EMPTIES, _VECTORS, _LARGE = range(8)
_SLOTS = 11

_SAMPLE = Root(
    text="text",
    leaf=Leaf("leaf", -0.0),
    choice=Scalars(flag=True, i8=-1, u64=2**64 - 1, f32=0.25),
    leaves=(Leaf("a", 1.0), Leaf(), Leaf("b")),
    empties=(Empty(), Empty()),
    vectors=Vectors(flags=(True, False), i64=(-1, 2), f32=(1.5,)),
    large=(b"0123456789abcdef",),
    small=(b"z",),
    number=7,
    byte=255,
)


def _sample() -> bytes:
    return read_data(encode_root(_SAMPLE, IDENTIFIER).data)


def _slots(**inside: int) -> list[int]:
    """The vtable entries of Root with the named slots (`s4=8`) in use."""
    return [inside.get(f"s{index}", 0) for index in range(_SLOTS)]


def _with_reference(slot: int) -> tuple[Raw, int]:
    """A root whose only field is a reference in `slot`; returns where the reference is."""
    raw = Raw()
    root = raw.root(*_slots(**{f"s{slot}": 4}), body_bytes=4)
    return raw, root + 4


def _refused(
    raw: Raw | bytes | bytearray, *words: str, kind: type[OnearenaError] = FormatError
) -> str:
    data = raw.out if isinstance(raw, Raw) else raw
    with pytest.raises(kind) as caught:
        decode(data)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("toy: ")
    for word in words:
        assert word in message
    return message


@pytest.mark.parametrize("size", range(8))
def test_too_short(size: int) -> None:
    _refused(_sample()[:size], "truncated", f"{size} bytes")


def test_wrong_identifier() -> None:
    data = bytearray(_sample())
    data[4:8] = b"ELF\xff"
    _refused(data, r"b'ELF\xff'", "'TOY1'", "byte offset 4")


@pytest.mark.parametrize("offset", [0, 13, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_root_offset_outside(offset: int) -> None:
    raw = Raw()
    raw.root()
    raw.put(0, offset)
    _refused(raw, "outside the buffer", "byte offset 0")


def test_errors_count_bytes_from_the_start_of_the_source() -> None:
    data = bytes(100) + bytes(4) + b"NOPE" + bytes(8)
    with pytest.raises(FormatError, match="byte offset 104"):
        decode_root(ByteSource.from_bytes(data), 100, 16, Root, (IDENTIFIER,), "toy")


def test_buffers_do_not_see_past_their_end() -> None:
    data = _sample()
    source = ByteSource.from_bytes(data + data)
    with pytest.raises(FormatError, match=r"does not fit|outside"):
        decode_root(source, 0, len(data) - 20, Root, (IDENTIFIER,), "toy")


@pytest.mark.parametrize("back", [1 << 20, -(1 << 20), 0x7FFFFFFF, -0x80000000])
def test_vtable_outside_the_buffer(back: int) -> None:
    raw = Raw()
    root = raw.root()
    struct.pack_into("<i", raw.out, root, back)
    _refused(raw, "vtable lies outside the buffer", f"byte offset {root}", "Root")


@pytest.mark.parametrize("vtable_bytes", [0, 2, 5, 9, 0xFFFE])
def test_malformed_vtable(vtable_bytes: int) -> None:
    raw = Raw()
    vtable = raw.add(struct.pack("<HH4x", vtable_bytes, 4))
    raw.point(0, raw.table(vtable))
    _refused(raw, f"vtable of {vtable_bytes} bytes is malformed", f"byte offset {vtable}")


@pytest.mark.parametrize("table_bytes", [0, 3, 5, 0xFFFF])
def test_table_that_does_not_fit(table_bytes: int) -> None:
    raw = Raw()
    raw.point(0, raw.table(raw.vtable(table_bytes)))
    _refused(raw, f"table of {table_bytes} bytes does not fit")


@pytest.mark.parametrize("inside", [1, 3, 5, 8, 0xFFFF])
def test_field_outside_its_table(inside: int) -> None:
    raw = Raw()
    raw.root(*_slots(s0=inside), body_bytes=4)
    _refused(raw, "field text lies outside its table")


@pytest.mark.parametrize("inside", [1, 3, 4, 0xFFFF])
def test_wide_field_outside_its_table(inside: int) -> None:
    raw = Raw()
    raw.root(*_slots(s9=inside), body_bytes=4)
    _refused(raw, "field number lies outside its table")


@pytest.mark.parametrize("inside", [2, 8, 0xFFFF])
def test_union_tag_outside_its_table(inside: int) -> None:
    raw = Raw()
    raw.root(*_slots(s2=inside, s3=4), body_bytes=4)
    _refused(raw, "field choice lies outside its table")


def test_union_with_a_value_but_no_type() -> None:
    raw, at = _with_reference(_CHOICE)
    raw.point(at, raw.table(raw.vtable(4)))
    _refused(raw, "union has a value but no type", "Root.choice")


def test_union_with_a_type_but_no_value() -> None:
    raw = Raw()
    root = raw.root(*_slots(s2=4), body_bytes=4)
    raw.out[root + 4] = 1
    _refused(raw, "union choice has a type but no value")


@pytest.mark.parametrize("tag", [4, 255])
def test_unknown_union_member(tag: int) -> None:
    raw = Raw()
    root = raw.root(*_slots(s2=8, s3=4), body_bytes=8)
    raw.out[root + 8] = tag
    raw.point(root + 4, raw.table(raw.vtable(4)))
    _refused(raw, f"union member #{tag}", "Root.choice", kind=UnsupportedError)


def test_unknown_field_is_refused_by_name() -> None:
    raw = Raw()
    root = raw.root(*_slots(), 4, body_bytes=4)
    words = ("table Root has field #11", "newer schema", f"byte offset {root}")
    _refused(raw, *words, kind=UnsupportedError)


def test_unknown_field_of_an_inner_table_is_refused_with_its_path() -> None:
    raw, at = _with_reference(_LEAVES)
    raw.point(at, vector := raw.vector(2, bytes(8)))
    raw.point(vector + 4, raw.table(raw.vtable(4)))
    raw.point(vector + 8, raw.table(raw.vtable(8, 0, 0, 0, 4), bytes(4)))
    _refused(raw, "table Leaf has field #3", "Root.leaves[1]", kind=UnsupportedError)


def test_unknown_fields_that_are_absent_are_harmless() -> None:
    raw = Raw()
    raw.root(*_slots(), 0, 0, 0)
    assert decode(raw.out) == Root()


def test_short_vtables_leave_defaults() -> None:
    raw = Raw()
    raw.point(0, raw.table(raw.vtable(4)))
    assert decode(raw.out, Scalars) == Scalars()


def test_string_that_is_not_utf8() -> None:
    raw, at = _with_reference(_TEXT)
    raw.point(at, raw.vector(2, b"\xff\xfe\0"))
    _refused(raw, "string is not UTF-8", "Root.text")


@pytest.mark.parametrize("slot", [_TEXT, _LEAVES, _EMPTIES, _LARGE])
@pytest.mark.parametrize("count", [9, 0x40000000, 0xFFFFFFFF])
def test_vector_longer_than_the_buffer(slot: int, count: int) -> None:
    raw, at = _with_reference(slot)
    raw.point(at, raw.vector(count, b"12345678"))
    _refused(raw, f"vector of {count} elements does not fit")


@pytest.mark.parametrize("width_index", range(11))
def test_number_vector_longer_than_the_buffer(width_index: int) -> None:
    raw, at = _with_reference(_VECTORS)
    slots = [0] * width_index + [4]
    raw.point(at, inner := raw.table(raw.vtable(8, *slots), bytes(4)))
    raw.point(inner + 4, raw.vector(9, b"12345678"))
    _refused(raw, "vector of 9 elements does not fit", "Root.vectors.")


@pytest.mark.parametrize("offset", [0, 5, 0xFFFFFFFC])
def test_reference_outside(offset: int) -> None:
    raw, at = _with_reference(_LEAF)
    raw.put(at, offset)
    _refused(raw, f"offset {offset} points outside the buffer", f"byte offset {at}", "Root.leaf")


def test_deep_paths_name_every_step() -> None:
    raw, at = _with_reference(_LEAVES)
    raw.point(at, vector := raw.vector(1, bytes(4)))
    raw.point(vector + 4, leaf := raw.table(raw.vtable(8, 4), bytes(4)))
    raw.put(leaf + 4, 0x10000)
    _refused(raw, "Root.leaves[0].name")


# Bombs: small buffers whose shared offsets stand for much data. Without a bound on the
# work each of these takes minutes or gigabytes.


def test_bomb_of_shared_tables() -> None:
    count = 400_000
    raw, at = _with_reference(_EMPTIES)
    raw.point(at, vector := raw.vector(count, bytes(4 * count)))
    table = raw.table(raw.vtable(4))
    for index in range(count):
        raw.point(vector + 4 + 4 * index, table)
    _refused(raw, "expand to too much data")


def test_bomb_of_vectors_of_vectors() -> None:
    """Many tables that all hold the same long vector of numbers."""
    count = 5_000
    raw = Raw()
    leaves = raw.root(*_slots(s4=4), body_bytes=4) + 4
    raw.point(leaves, vector := raw.vector(count, bytes(4 * count)))
    leaf = raw.table(raw.vtable(8, 4), bytes(4))
    raw.point(leaf + 4, raw.vector(100_000, b"x" * 100_000))
    for index in range(count):
        raw.point(vector + 4 + 4 * index, leaf)
    _refused(raw, "expand to too much data", "Root.leaves[", "].name")


def test_long_vtable_is_looked_at_once() -> None:
    """20,000 tables with one vtable of 32,000 empty slots: fine, when not scanned each time."""
    raw, at = _with_reference(_EMPTIES)
    count = 20_000
    raw.point(at, vector := raw.vector(count, bytes(4 * count)))
    table = raw.table(raw.vtable(4, *[0] * 32_000))
    for index in range(count):
        raw.point(vector + 4 + 4 * index, table)
    assert decode(raw.out).empties == (Empty(),) * count


def test_bomb_of_shared_blobs() -> None:
    """Blobs are not read, but they would be written once per reference."""
    count = 50
    raw = Raw()
    root = raw.root(0, 0, 4, body_bytes=4)
    raw.point(root + 4, vector := raw.vector(count, bytes(4 * count)))
    buffer = raw.table(raw.vtable(8, 4), bytes(4))
    raw.point(buffer + 4, raw.vector(10_000, b"x" * 10_000))
    for index in range(count):
        raw.point(vector + 4 + 4 * index, buffer)
    with pytest.raises(FormatError, match="expand to too much data"):
        decode(raw.out, Program)


def test_truncated_at_every_length() -> None:
    data = _sample()
    expected = canonical(_SAMPLE)
    for size in range(len(data)):
        try:
            found = decode(data[:size])
        except FormatError:
            continue
        assert canonical(found) == expected, size


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_corrupt_bytes_never_escape(draws: st.DataObject) -> None:
    data = bytearray(_sample())
    for _ in range(draws.draw(st.integers(1, 4))):
        data[draws.draw(st.integers(8, len(data) - 1))] = draws.draw(st.integers(0, 255))
    with contextlib.suppress(OnearenaError):
        decode(data)
