"""A small schema with every kind of field, for the tests of the generic FlatBuffers layer."""

from __future__ import annotations

from dataclasses import dataclass

from onearena.flatbuf.data import Data
from onearena.flatbuf.schema import blob, scalar, scalars, string, table, tables, union

IDENTIFIER = b"TOY1"


@dataclass(frozen=True, slots=True)
class Empty:
    """No field at all."""


@dataclass(frozen=True, slots=True)
class Leaf:
    name: str | None = string()
    weight: float = scalar("d", 0.0)


@dataclass(frozen=True, slots=True)
class Scalars:
    flag: bool = scalar("?", False)
    i8: int = scalar("b")
    u8: int = scalar("B")
    i16: int = scalar("h")
    u16: int = scalar("H")
    i32: int = scalar("i")
    u32: int = scalar("I")
    i64: int = scalar("q")
    u64: int = scalar("Q")
    f32: float = scalar("f", 0.0)
    f64: float = scalar("d", 0.0)
    answer: int = scalar("i", 42)
    half: float = scalar("f", 0.5)
    on: bool = scalar("?", True)


@dataclass(frozen=True, slots=True)
class Vectors:
    flags: tuple[bool, ...] | None = scalars("?")
    i8: tuple[int, ...] | None = scalars("b")
    u8: tuple[int, ...] | None = scalars("B")
    i16: tuple[int, ...] | None = scalars("h")
    u16: tuple[int, ...] | None = scalars("H")
    i32: tuple[int, ...] | None = scalars("i")
    u32: tuple[int, ...] | None = scalars("I")
    i64: tuple[int, ...] | None = scalars("q")
    u64: tuple[int, ...] | None = scalars("Q")
    f32: tuple[float, ...] | None = scalars("f")
    f64: tuple[float, ...] | None = scalars("d")


@dataclass(frozen=True, slots=True)
class Root:
    text: str | None = string()
    leaf: Leaf | None = table(Leaf)
    choice: Empty | Leaf | Scalars | None = union(Empty, Leaf, Scalars)
    leaves: tuple[Leaf, ...] | None = tables(Leaf)
    empties: tuple[Empty, ...] | None = tables(Empty)
    vectors: Vectors | None = table(Vectors)
    large: Data | None = blob(alignment=16)
    small: Data | None = blob()
    number: int = scalar("Q")
    byte: int = scalar("B")
