"""What a program is in the firmware: the structs of `firmware/program.h` and `kernels.h`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Constant:
    """An array of the program's.

    Attributes:
        kind: the C type of its elements: "int8_t" or "int32_t".
        data: its bytes.
    """

    kind: str
    data: bytes


Number = int | float
Item = Number | Constant | None | tuple["Item", ...]
"""A member of a struct; None is a null pointer, a tuple a struct or an array in it."""


@dataclass(frozen=True)
class Place:
    """Bytes of a memory, which is an index into :attr:`Method.memory_bytes`."""

    memory: int
    offset: int
    size_bytes: int


@dataclass(frozen=True)
class Call:
    """An instruction.

    Attributes:
        label: its operator.
        kernel: the name of its `Kernel`.
        struct: the type of its parameters.
        parameters: their members by name.
        operands, scratch, output: values.
        in_place: the output may lie exactly over an operand.
    """

    label: str
    kernel: str
    struct: str
    parameters: Mapping[str, Item]
    operands: tuple[int, ...]
    scratch: int | None
    output: int
    in_place: bool = False


@dataclass(frozen=True)
class Method:
    """A method with a plan.

    Attributes:
        places: by value.
        memory_bytes: the arenas that are used, and the application's own buffers.
        calls: the instructions.
        inputs, outputs: values.
    """

    places: Mapping[int, Place]
    memory_bytes: tuple[int, ...]
    calls: tuple[Call, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A method and the bytes of its inputs, as one run of the firmware."""

    name: str
    method: Method
    inputs: tuple[bytes, ...]
