"""The tables of a bundled program, as dataclasses.

Facts (field order, types, alignment) from `devtools/bundled_program/schema/
bundled_program_schema.fbs` of ExecuTorch 1.5.1, version 2 of the format; a test compares them with
the schema file of the installed package.
"""

from __future__ import annotations

from dataclasses import dataclass

from onearena.flatbuf.data import Data
from onearena.flatbuf.schema import blob, scalar, scalars, string, tables, union

FILE_IDENTIFIER = b"BP08"
VERSION = 2
PROGRAM_ALIGNMENT = 128
"""The schema asks for 32. The program's segments are aligned to 128 in its own file, and are used
where they are when the bundle is in memory."""


@dataclass(frozen=True, slots=True)
class BundledTensor:
    """A tensor and its numbers, in the order of `dim_order`, outermost dimension first."""

    scalar_type: int = scalar("b")
    sizes: tuple[int, ...] | None = scalars("i")
    data: Data | None = blob(alignment=16)
    dim_order: tuple[int, ...] | None = scalars("B")


@dataclass(frozen=True, slots=True)
class BundledInt:
    """An integer."""

    int_val: int = scalar("q")


@dataclass(frozen=True, slots=True)
class BundledBool:
    """A boolean."""

    bool_val: bool = scalar("?", False)


@dataclass(frozen=True, slots=True)
class BundledDouble:
    """A number."""

    double_val: float = scalar("d", 0.0)


BundledItem = BundledTensor | BundledInt | BundledBool | BundledDouble


@dataclass(frozen=True, slots=True)
class BundledValue:
    """One input or output."""

    val: BundledItem | None = union(BundledTensor, BundledInt, BundledBool, BundledDouble)


@dataclass(frozen=True, slots=True)
class BundledCase:
    """The inputs of a run, and its outputs."""

    inputs: tuple[BundledValue, ...] | None = tables(BundledValue)
    expected_outputs: tuple[BundledValue, ...] | None = tables(BundledValue)


@dataclass(frozen=True, slots=True)
class BundledSuite:
    """The test cases of a method."""

    method_name: str | None = string()
    test_cases: tuple[BundledCase, ...] | None = tables(BundledCase)


@dataclass(frozen=True, slots=True)
class BundledProgram:
    """The root table."""

    version: int = scalar("I")
    method_test_suites: tuple[BundledSuite, ...] | None = tables(BundledSuite)
    program: Data | None = blob(alignment=PROGRAM_ALIGNMENT)
