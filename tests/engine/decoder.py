"""Reads descriptions independently of the library: what its two sides agree on, a third time."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DecodedMethod:
    """What the tests look at."""

    name: str
    arena_bytes: tuple[int, ...]
    values: tuple[Any, ...]
    operators: tuple[str, ...]
    delegates: tuple[tuple[str, int, int], ...]
    instructions: tuple[tuple[int, ...], ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    buffers: tuple[tuple[int, int, int, tuple[tuple[int, int], ...]], ...]
    groups: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class DecodedProgram:
    """A whole description."""

    file_bytes: int
    named: dict[str, tuple[int, int]]
    state: tuple[tuple[int, int, int], ...]
    methods: tuple[DecodedMethod, ...]


def decode(data: bytes) -> DecodedProgram:
    """Decodes a valid description, to its last byte."""
    reader = _Reader(data)
    assert reader.take("8s") == b"ONEARENA"
    assert reader.take("I") == 3
    size = reader.take("Q")
    named = {reader.text(): reader.pair("QQ") for _ in range(reader.take("I"))}
    state = tuple(reader.many("IQQ") for _ in range(reader.take("I")))
    methods = tuple(_method(reader) for _ in range(reader.take("I")))
    assert reader.at == len(data)
    return DecodedProgram(size, named, state, methods)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def many(self, format: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + format, self.data, self.at)
        self.at += struct.calcsize("<" + format)
        return found

    def take(self, format: str) -> Any:
        return self.many(format)[0]

    def pair(self, format: str) -> tuple[Any, Any]:
        first, second = self.many(format)
        return first, second

    def text(self) -> str:
        return self.blob().decode()

    def blob(self) -> bytes:
        found: bytes = self.take(f"{self.take('I')}s")
        return found

    def list(self, format: str) -> tuple[Any, ...]:
        return self.many(f"{self.take('I')}{format}")


def _method(reader: _Reader) -> DecodedMethod:
    name, arenas, _ = reader.text(), reader.list("Q"), reader.take("Q")
    values = tuple(_value(reader) for _ in range(reader.take("I")))
    operators = tuple(reader.text() for _ in range(reader.take("I")))
    delegates = tuple(_delegate(reader) for _ in range(reader.take("I")))
    instructions = tuple(_instruction(reader) for _ in range(reader.take("I")))
    inputs, outputs = reader.list("I"), reader.list("I")
    reader.take("I"), reader.list("I")
    buffers = []
    for _ in range(reader.take("I")):
        value, size, _, flags = reader.many("IQIB")
        life = tuple(reader.pair("II") for _ in range(reader.take("I")))
        buffers.append((value, size, flags, life))
    groups = tuple(
        tuple(reader.pair("IQ") for _ in range(reader.take("I"))) for _ in range(reader.take("I"))
    )
    [reader.pair("II") for _ in range(reader.take("I"))]
    [(reader.take("I"), reader.list("I")) for _ in range(reader.take("I"))]
    return DecodedMethod(
        *(name, arenas, values, operators, delegates, instructions, inputs, outputs),
        *(tuple(buffers), groups),
    )


def _value(reader: _Reader) -> Any:
    kind = reader.take("B")
    if kind == 5:
        return _tensor(reader)
    simple = {0: lambda: None, 1: lambda: reader.take("q"), 2: lambda: reader.take("d")}
    lists = {3: lambda: bool(reader.take("B")), 4: reader.text, 7: lambda: reader.list("d")}
    rest = {k: lambda: reader.list("I") for k in (6, 9, 10)} | {8: reader.blob}
    return {**simple, **lists, **rest}[kind]()


def _tensor(reader: _Reader) -> dict[str, Any]:
    dtype, dynamism, rank = reader.many("BBB")
    sizes, order = reader.many(f"{rank}I"), reader.many(f"{rank}B")
    size, kind = reader.many("QB")
    tensor: dict[str, Any] = {"dtype": dtype, "dynamism": dynamism, "sizes": sizes}
    tensor |= {"order": order, "bytes": size, "kind": kind}
    if kind == 0:
        names = ("arena", "offset", "block", "delta", "initial")
        tensor |= dict(zip(names, reader.many("IQIQQ"), strict=True))
        tensor["external"] = reader.text()
    elif kind == 1:
        tensor["data"] = reader.take("Q")
    elif kind == 3:
        tensor["external"] = reader.text()
    return tensor


def _delegate(reader: _Reader) -> tuple[str, int, int]:
    name, (offset, size) = reader.text(), reader.pair("QQ")
    for _ in range(reader.take("I")):
        reader.text(), reader.blob()
    reader.take("B"), reader.list("I"), reader.take("I"), reader.take("Q")
    return name, offset, size


def _instruction(reader: _Reader) -> tuple[int, ...]:
    kind = reader.take("B")
    if kind in (0, 1):
        return (kind, reader.take("I"), *reader.list("I"))
    return (kind, *reader.many("I" if kind == 4 else "II"))
