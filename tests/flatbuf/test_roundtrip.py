"""Random objects survive encoding and decoding, and an independent package agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings

from onearena.delegates.xnnpack.schema import XNNGraph
from onearena.flatbuf.data import ByteSource, read_data
from onearena.flatbuf.decode import decode_root
from onearena.flatbuf.encode import encode_root
from onearena.pte.schema import Program
from tests.flatbuf.canonical import canonical
from tests.flatbuf.raw import decode
from tests.flatbuf.strategies import instances
from tests.flatbuf.toy import IDENTIFIER, Root, Scalars, Vectors

_SLOW = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _encode(value: Any, reserved_bytes: int = 0) -> bytes:
    return read_data(encode_root(value, IDENTIFIER, reserved_bytes).data)


@_SLOW
@given(instances(Root))
def test_toy_round_trip(root: Root) -> None:
    assert canonical(decode(_encode(root))) == canonical(root)


@_SLOW
@given(instances(Scalars))
def test_scalars_round_trip(value: Scalars) -> None:
    assert canonical(decode(_encode(value), Scalars)) == canonical(value)


@_SLOW
@given(instances(Vectors))
def test_vectors_round_trip(value: Vectors) -> None:
    assert canonical(decode(_encode(value), Vectors)) == canonical(value)


@settings(_SLOW, max_examples=50)
@given(instances(Program), instances(XNNGraph))
def test_real_schemas_round_trip(program: Program, graph: XNNGraph) -> None:
    for value in (program, graph):
        assert canonical(decode(_encode(value), type(value))) == canonical(value)


@_SLOW
@given(instances(Root))
def test_encoding_a_decoded_buffer_gives_the_same_bytes(root: Root) -> None:
    once = _encode(root)
    assert _encode(decode(once)) == once


@_SLOW
@given(instances(Root))
def test_independent_reader_agrees(root: Root) -> None:
    from tests.flatbuf import independent

    assert independent.read_root(_encode(root), Root) == canonical(root)


@settings(_SLOW, max_examples=50)
@given(instances(Program), instances(XNNGraph))
def test_independent_reader_agrees_on_real_schemas(program: Program, graph: XNNGraph) -> None:
    from tests.flatbuf import independent

    for value in (program, graph):
        assert independent.read_root(_encode(value), type(value)) == canonical(value)


@_SLOW
@given(instances(Root))
def test_buffers_of_an_independent_writer_are_read(root: Root) -> None:
    from tests.flatbuf import independent

    assert canonical(decode(independent.write_root(root, IDENTIFIER))) == canonical(root)


@settings(_SLOW, max_examples=25)
@given(instances(Root))
def test_buffer_inside_a_larger_one(root: Root) -> None:
    data = _encode(root)
    source = ByteSource.from_bytes(b"before" + data + b"after")
    found = decode_root(source, 6, len(data), Root, (IDENTIFIER,), "toy")
    assert canonical(found) == canonical(root)


def test_blobs_of_a_file_survive_being_written_again(tmp_path: Path) -> None:
    path = tmp_path / "toy"
    root = Root(text="x", large=(bytes(range(200)),), small=(b"abc",))
    path.write_bytes(_encode(root))
    with ByteSource.open(path) as source:
        size = source.size_bytes
        found = decode_root(source, 0, size, Root, (IDENTIFIER,), "toy")
        assert canonical(found) == canonical(root)
        assert _encode(found) == path.read_bytes()
