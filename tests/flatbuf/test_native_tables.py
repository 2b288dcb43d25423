"""The quick reader of tables, in C++, against the one in Python."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onearena.delegates.xnnpack.schema import FILE_IDENTIFIERS, XNNGraph
from onearena.errors import OnearenaError
from onearena.flatbuf import decode as python_reader
from onearena.flatbuf import native_tables, schema
from onearena.flatbuf.data import ByteSource, read_data
from onearena.flatbuf.decode import decode_root
from onearena.flatbuf.encode import encode_root
from onearena.flatbuf.native_tables import read_tables
from onearena.flatbuf.schema import scalar
from onearena.payloads import XNNPACK_BACKEND, payload_data
from onearena.pte import open_pte
from onearena.pte.schema import Program
from tests.flatbuf.canonical import canonical
from tests.flatbuf.strategies import instances
from tests.flatbuf.toy import IDENTIFIER, Leaf, Root, Scalars, Vectors

SEEDS = Path(__file__).parents[1] / "fuzz" / "seeds"
_SAMPLE = Root(
    text="täxt",
    leaf=Leaf("leaf", -0.0),
    choice=Scalars(flag=True, i8=-1, u64=2**64 - 1, f32=0.25),
    leaves=(Leaf("a", 1.0), Leaf(), Leaf("b")),
    vectors=Vectors(flags=(True, False), i64=(-1, 2), f32=(1.5,)),
    large=(b"0123456789abcdef",),
    number=7,
)


def _encoded(value: Any) -> bytes:
    return read_data(encode_root(value, IDENTIFIER).data)


def _in_python(data: bytes, cls: type[Any], identifiers: tuple[bytes, ...]) -> Any:
    """What the reader in Python says, alone; an error's text when it refuses."""
    source = ByteSource.from_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python_reader, "read_tables", lambda *_: None)
        try:
            return canonical(decode_root(source, 0, len(data), cls, identifiers, "toy"))
        except OnearenaError as error:
            return str(error)


def _natively(data: bytes, cls: type[Any]) -> Any:
    return canonical(read_tables(ByteSource.from_bytes(data), 0, len(data), cls))


@given(instances(Root))
def test_both_read_the_same(value: Any) -> None:
    data = _encoded(value)
    assert _natively(data, Root) == _in_python(data, Root, (IDENTIFIER,)) == canonical(value)


@settings(max_examples=2000)
@given(st.data())
def test_what_it_takes_python_takes_too(data: st.DataObject) -> None:
    """Otherwise it hands the buffer back, and Python may find it good or bad."""
    content = bytearray(_encoded(_SAMPLE))
    where = st.integers(8, len(content) - 1)  # behind the identifier, which is checked before
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(where)] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(len(content) - 8, len(content)))])
    found = _natively(cut, Root)
    assert found in (None, _in_python(cut, Root, (IDENTIFIER,)))


@pytest.mark.parametrize("size", range(8))
def test_of_buffers_without_a_root_it_takes_none(size: int) -> None:
    assert read_tables(ByteSource.from_bytes(_encoded(_SAMPLE)[:size]), 0, size, Root) is None


def test_real_programs_and_payloads_need_no_python() -> None:
    payloads = 0
    for path in sorted(SEEDS.glob("*.pte")):
        with open_pte(path) as file:
            data = bytes(file.source.view(0, file.source.size_bytes))
            assert _natively(data, Program) == _in_python(data, Program, (b"ET12",))
            for plan in file.program.execution_plan or ():
                for delegate in plan.delegates or ():
                    if delegate.id == XNNPACK_BACKEND:
                        payloads += 1
                        graph = _graph(read_data(payload_data(file, delegate) or ()))
                        expected = _in_python(graph, XNNGraph, FILE_IDENTIFIERS)
                        assert _natively(graph, XNNGraph) == expected != None  # noqa: E711
    assert payloads > 0


def _graph(payload: bytes) -> bytes:
    """The FlatBuffer of a payload with a header, see `payload.py`."""
    assert payload[4:8] == b"XH00"
    start, size = (int.from_bytes(payload[at : at + 4], "little") for at in (10, 14))
    return payload[start : start + size]


@dataclass(frozen=True)
class WithoutSlots:
    number: int = scalar("i")


@dataclass(frozen=True, slots=True)
class WithMore:
    number: int = scalar("i")

    def __post_init__(self) -> None:
        raise AssertionError("has been made in another way")


def test_other_classes_are_left_to_python() -> None:
    value = WithoutSlots(3)
    data = _encoded(value)
    assert _natively(data, WithoutSlots) is None
    source = ByteSource.from_bytes(data)
    assert decode_root(source, 0, len(data), WithoutSlots, (IDENTIFIER,), "toy") == value


def test_classes_that_look_at_their_fields_are_left_to_python() -> None:
    data = _encoded(WithoutSlots(3))
    assert read_tables(ByteSource.from_bytes(data), 0, len(data), WithMore) is None


def test_a_reader_in_a_circle_leaves_when_nobody_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for caches, name in ((native_tables, "_readers"), (schema, "_slots"), (schema, "_counts")):
        monkeypatch.setattr(caches, name, {})
    circle: Any = dataclass(frozen=True, slots=True)(type("Circle", (), {"__annotations__": {}}))
    read_tables(ByteSource.from_bytes(bytes(8)), 0, 8, circle)
    circle.reader = native_tables._readers[circle]
    assert circle.reader is not None
    gone = weakref.ref(circle)
    del circle
    for cache in (native_tables._readers, schema._slots, schema._counts):
        cache.clear()
    gc.collect()
    assert gone() is None
