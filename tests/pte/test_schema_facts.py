"""Our dataclasses against the schema files of the installed ExecuTorch."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from onearena.delegates.xnnpack import schema as xnnpack
from onearena.flatbuf.schema import (
    Blob,
    Field,
    Scalar,
    ScalarVector,
    String,
    Table,
    TableVector,
    Union,
    slot_count,
    slots_of,
)
from onearena.pte import schema as pte
from tests.pte import fbs
from tests.pte.fbs import SCALARS, Fbs, FbsField

_PROGRAM = "exir/_serialize/program.fbs"
_XNNPACK = "backends/xnnpack/serialization/schema.fbs"
_XNNPACK_RUNTIME = "backends/xnnpack/serialization/runtime_schema.fbs"

_SHARED_NAMES = {
    "_XNNNode1x1": "Node1x1",
    "_XNNNode2x1": "Node2x1",
    "_XNNCat": "Concatenate",
    "_XNNNodeConv": "Convolution",
    "_XNNPooling2D": "Pooling",
}
"""Tables that several union members share have names of our own."""


def _path(relative: str) -> Path:
    spec = importlib.util.find_spec("executorch")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("executorch is not installed")
    found = Path(next(iter(spec.submodule_search_locations))) / relative
    if not found.exists():
        pytest.skip(f"this executorch has no {relative}")
    return found


@pytest.fixture(scope="module")
def program() -> Fbs:
    return fbs.parse(_path(_PROGRAM))


@pytest.fixture(scope="module")
def payload() -> Fbs:
    return fbs.parse(_path(_XNNPACK_RUNTIME))


@pytest.fixture(scope="module")
def exported_payload() -> Fbs:
    return fbs.parse(_path(_XNNPACK))


def _class_name(table: str) -> str:
    return _SHARED_NAMES.get(table, table)


def _default(schema: Fbs, member: FbsField) -> float:
    if member.default is None:
        return 0
    enum = schema.enums.get(member.type, {})
    if member.default in enum:
        return enum[member.default]
    return {"true": 1.0, "false": 0.0}.get(member.default) or float(member.default)


def _expected(schema: Fbs, member: FbsField, module: ModuleType) -> Field:
    """What the field must be on our side."""
    letter = schema.enum_types.get(member.type, SCALARS.get(member.type))
    if letter is not None:
        return _expected_numbers(schema, member, letter)
    if member.type == "string":
        assert not member.is_vector
        return String()
    if member.type in schema.unions:
        assert not member.is_vector
        return Union(_members(schema, member.type, module))
    cls = getattr(module, _class_name(member.type))
    return TableVector(cls) if member.is_vector else Table(cls)


def _expected_numbers(schema: Fbs, member: FbsField, letter: Any) -> Field:
    if not member.is_vector:
        return Scalar(letter, _default(schema, member))
    if "force_align" in member.attributes:
        assert letter == "B"
        return Blob(int(member.attributes["force_align"]))
    return ScalarVector(letter)


def _members(schema: Fbs, union: str, module: ModuleType) -> tuple[type[Any], ...]:
    return tuple(getattr(module, name) for name, _ in schema.unions[union])


def _check_table(schema: Fbs, table: str, cls: type[Any], module: ModuleType) -> None:
    expected = [(member.name, _expected(schema, member, module)) for member in schema.tables[table]]
    assert [(slot.name, slot.field) for slot in slots_of(cls)] == expected, table


def _check_schema(schema: Fbs, module: ModuleType) -> None:
    for table in schema.tables:
        _check_table(schema, table, getattr(module, _class_name(table)), module)
    for union, members in schema.unions.items():
        for name, table in members:
            _check_table(schema, table, getattr(module, name), module)
        assert len(members) == len(_members(schema, union, module)), union


def _table_classes(module: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if dataclasses.is_dataclass(value) and getattr(value, "__module__", "") == module.__name__
    }


def _known_classes(schema: Fbs) -> set[str]:
    members = {name for union in schema.unions.values() for name, _ in union}
    return members | {_class_name(table) for table in schema.tables}


def test_program_tables(program: Fbs) -> None:
    _check_schema(program, pte)


def test_program_has_no_table_of_our_own(program: Fbs) -> None:
    assert _table_classes(pte) == _known_classes(program)


def test_program_root_and_identifier(program: Fbs) -> None:
    assert program.root == "Program"
    assert program.identifier is not None
    assert program.identifier.encode() == pte.FILE_IDENTIFIER


def test_scalar_types_are_signed_bytes(program: Fbs) -> None:
    assert program.enum_types["ScalarType"] == "b"
    assert program.enums["ScalarType"]["BYTE"] == 0
    scalar_type = {slot.name: slot.field for slot in slots_of(pte.Tensor)}["scalar_type"]
    assert scalar_type == Scalar("b", 0)


def test_numbers_that_the_code_relies_on(program: Fbs) -> None:
    dynamism = {"STATIC": 0, "DYNAMIC_BOUND": 1, "DYNAMIC_UNBOUND": 2}
    assert program.enums["TensorShapeDynamism"] == dynamism
    assert program.enums["DataLocation"] == {"INLINE": 0, "SEGMENT": 1}
    assert program.enums["TensorDataLocation"] == {"SEGMENT": 0, "EXTERNAL": 1}


def test_numbers_that_the_sample_programs_rely_on(program: Fbs) -> None:
    from tests.pte import build

    for name in ("BYTE", "CHAR", "SHORT", "INT", "LONG", "HALF", "FLOAT", "DOUBLE", "BOOL"):
        assert getattr(build, name) == program.enums["ScalarType"][name]


def test_payload_tables(payload: Fbs) -> None:
    _check_schema(payload, xnnpack)


def test_payload_has_no_table_of_our_own(payload: Fbs) -> None:
    assert _table_classes(xnnpack) == _known_classes(payload)


def test_payload_root(payload: Fbs) -> None:
    assert payload.root == "XNNGraph"


def test_payload_identifiers(payload: Fbs, exported_payload: Fbs) -> None:
    found = {payload.identifier, exported_payload.identifier}
    assert found == {identifier.decode() for identifier in xnnpack.FILE_IDENTIFIERS}


def test_payload_datatypes(payload: Fbs, exported_payload: Fbs) -> None:
    ours = {f"xnn_datatype_{kind.name.lower()}": kind.value for kind in xnnpack.Datatype}
    assert payload.enums["XNNDatatype"] == ours
    assert exported_payload.enums["XNNDatatype"] == ours


def test_node_types_are_in_tag_order(payload: Fbs) -> None:
    names = [cls.__name__ for cls in xnnpack.NODE_TYPES]
    assert names == [name for name, _ in payload.unions["XNodeUnion"]]


def test_runtime_schema_is_the_superset(payload: Fbs, exported_payload: Fbs) -> None:
    """The exporter's schema has a prefix of the runtime's fields; deprecated ones keep a slot."""
    assert exported_payload.unions == payload.unions
    assert exported_payload.tables.keys() == payload.tables.keys()
    for table, members in exported_payload.tables.items():
        full = [(m.name, m.type, m.is_vector) for m in payload.tables[table]]
        part = [(m.name, m.type, m.is_vector) for m in members]
        assert full[: len(part)] == part, table


def test_deprecated_fields_are_known(exported_payload: Fbs) -> None:
    deprecated = {
        (table, member.name)
        for table, members in exported_payload.tables.items()
        for member in members
        if "deprecated" in member.attributes
    }
    assert ("XNNGraph", "mem_buffer_sizes") in deprecated
    for table, name in deprecated:
        slots = slots_of(getattr(xnnpack, _class_name(table)))
        assert name in [slot.name for slot in slots], table


def test_unions_take_two_slots(program: Fbs) -> None:
    assert slot_count(pte.EValue) == 2
    assert slot_count(pte.Tensor) == len(program.tables["Tensor"])
