"""Cases → a C file of constant tables (`firmware/program.h`). What is equal is written once."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from tests.qemu.tables import Call, Case, Constant, Item, Place

_PER_LINE = 24
_FORMATS = {"int8_t": "b", "int32_t": "i"}


def source(cases: Sequence[Case]) -> str:
    """The C file of some cases."""
    writer = _Writer()
    methods = [_method(writer, case) for case in cases]
    room: dict[int, int] = {}
    for case in cases:
        for memory, size in enumerate(case.method.memory_bytes):
            room[memory] = max(room.get(memory, 0), size)
    lines = ['#include "program.h"', "", *writer.lines]
    for memory, size in sorted(room.items()):
        lines.append(
            f"static uint8_t memory_{memory}[2 * kGuardBytes + {size}] "
            "__attribute__((aligned(16)));"
        )
    names = ", ".join(f"memory_{memory}" for memory in sorted(room))
    lines += [
        f"uint8_t* const kMemories[] = {{{names}}};",
        "const Method kMethods[] = {",
        *(f"{method}," for method in methods),
        "};",
        f"const uint32_t kMethodCount = {len(cases)};",
        "",
    ]
    return "\n".join(lines)


class _Writer:
    """Collects tables; asked for an equal one it names the first."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, str] = {}

    def array(self, kind: str, items: Iterable[str]) -> str:
        """The name of an array; it has one unused element where there would be none."""
        found = list(items)
        rows = [", ".join(found[k : k + _PER_LINE]) for k in range(0, len(found), _PER_LINE)]
        return self._named(kind, "[]", "{\n" + ",\n".join(rows or ["0"]) + "}")

    def single(self, kind: str, text: str) -> str:
        """The address of one struct."""
        return "&" + self._named(kind, "", text)

    def _named(self, kind: str, suffix: str, text: str) -> str:
        key = f"{kind} {suffix} {text}"
        if key not in self._names:
            self._names[key] = name = f"table_{len(self._names)}"
            self.lines.append(f"static const {kind} {name}{suffix} = {text};")
        return self._names[key]


def _method(writer: _Writer, case: Case) -> str:
    method = case.method
    order = sorted(method.places)
    index = {value: k for k, value in enumerate(order)}
    places = writer.array("Place", (_place(method.places[value]) for value in order))
    memories = writer.array("uint32_t", map(str, method.memory_bytes))
    calls = writer.array("Call", [_call(writer, call, index) for call in method.calls])
    inputs = writer.array(
        "Input",
        [
            f"{{{index[value]}, {writer.array('uint8_t', map(str, data))}}}"
            for value, data in zip(method.inputs, case.inputs, strict=True)
        ],
    )
    outputs = writer.array("int", [str(index[value]) for value in method.outputs])
    members = [
        f'"{case.name}"',
        *(places, memories, str(len(method.memory_bytes))),
        *(calls, str(len(method.calls))),
        *(inputs, str(len(method.inputs))),
        *(outputs, str(len(method.outputs))),
    ]
    return f"    {{{', '.join(members)}}}"


def _place(place: Place) -> str:
    return f"{{{place.memory}, {place.offset}, {place.size_bytes}}}"


def _call(writer: _Writer, call: Call, index: dict[int, int]) -> str:
    members = [f".{name} = {_item(writer, item)}" for name, item in call.parameters.items()]
    parameters = writer.single(call.struct, "{" + ", ".join(members) + "}")
    operands = [index[value] for value in call.operands]
    operands += [-1] * (2 - len(operands))
    scratch = -1 if call.scratch is None else index[call.scratch]
    return (
        f"{{&{call.kernel}, {parameters}, {{{operands[0]}, {operands[1]}}}, {scratch}, "
        f"{index[call.output]}, {'true' if call.in_place else 'false'}}}"
    )


def _item(writer: _Writer, item: Item) -> str:
    if item is None:
        return "0"
    if isinstance(item, tuple):
        return "{" + ", ".join(_item(writer, each) for each in item) + "}"
    if isinstance(item, Constant):
        return writer.array(item.kind, map(_number, _elements(item)))
    return _number(item)


def _elements(constant: Constant) -> tuple[int, ...]:
    code = _FORMATS[constant.kind]
    return struct.unpack(f"<{len(constant.data) // struct.calcsize(code)}{code}", constant.data)


def _number(number: int | float) -> str:
    if isinstance(number, float):
        (single,) = struct.unpack("<f", struct.pack("<f", number))
        return f"{single.hex()}f"
    return f"(-{2**31 - 1} - 1)" if number == -(2**31) else str(number)
