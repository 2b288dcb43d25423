"""The file format: our tables against ExecuTorch's, corrupt files, taking a program out again."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onearena.bundling import schema
from onearena.bundling.file import extract, read_bundle, write_bundle
from onearena.bundling.schema import (
    BundledBool,
    BundledCase,
    BundledDouble,
    BundledInt,
    BundledProgram,
    BundledSuite,
    BundledTensor,
    BundledValue,
)
from onearena.errors import FormatError, OnearenaError, UnsupportedError, UsageError
from onearena.flatbuf.data import ByteRange, ByteSource, read_data
from onearena.flatbuf.schema import Blob, Union, slots_of
from onearena.pte import open_pte
from tests.cli.programs import spread_out
from tests.pte import fbs

_FBS = "devtools/bundled_program/schema/bundled_program_schema.fbs"
_CLASSES = {
    "Tensor": BundledTensor,
    "Int": BundledInt,
    "Bool": BundledBool,
    "Double": BundledDouble,
    "Value": BundledValue,
    "BundledMethodTestCase": BundledCase,
    "BundledMethodTestSuite": BundledSuite,
    "BundledProgram": BundledProgram,
}
NUMBERS = bytes(range(48))
SUITES = (
    BundledSuite(
        "other",
        (BundledCase((BundledValue(BundledInt(-7)), BundledValue(BundledBool(True))), ()),),
    ),
    BundledSuite(
        "forward",
        (
            BundledCase(
                (BundledValue(BundledTensor(6, (3, 4), (NUMBERS,), (1, 0))),),
                (
                    BundledValue(BundledTensor(6, (0, 2), (b"",), (0, 1))),
                    BundledValue(BundledDouble(-0.0)),
                ),
            ),
        ),
    ),
)


def bundled(directory: Path, suites: tuple[BundledSuite, ...] = SUITES) -> Path:
    path = directory / "model.bpte"
    with ByteSource.open(spread_out(directory)) as program:
        write_bundle(program, suites, path)
    return path


def decoded(path: Path) -> tuple[BundledProgram, bytes]:
    with ByteSource.open(path) as source:
        root = read_bundle(source)
        assert root.program is not None
        return root, read_data(root.program)


def test_tables_are_those_of_the_schema_file() -> None:
    executorch = pytest.importorskip("executorch")
    path = Path(next(iter(executorch.__path__))) / _FBS
    tables = fbs.parse(path)
    assert tables.identifier is not None
    assert tables.identifier.encode() == schema.FILE_IDENTIFIER
    assert tables.tables.keys() == _CLASSES.keys()
    for name, members in tables.tables.items():
        slots = slots_of(_CLASSES[name])
        assert [slot.name for slot in slots] == [member.name for member in members], name
        for slot, member in zip(slots, members, strict=True):
            if isinstance(slot.field, Blob):
                asked = int(member.attributes["force_align"])
                assert slot.field.alignment % asked == 0
    (union,) = [slot.field for slot in slots_of(BundledValue)]
    assert isinstance(union, Union)
    (tags,) = tables.unions.values()
    assert [cls.__name__ for cls in union.members] == [f"Bundled{name}" for name, _ in tags]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = bundled(tmp_path)
    root, program = decoded(path)
    assert root.version == schema.VERSION
    assert program == (tmp_path / "spread.pte").read_bytes()
    forward, other = root.method_test_suites or ()  # sorted by name
    assert (forward.method_name, other.method_name) == ("forward", "other")
    assert other == SUITES[0]
    ((case,), expected) = forward.test_cases or (), SUITES[1].test_cases
    assert expected is not None
    assert _plain(case) == _plain(expected[0])


def _plain(case: BundledCase) -> list[Any]:
    """The values of a case, tensors as their parts."""
    items = [value.val for value in (*(case.inputs or ()), *(case.expected_outputs or ()))]
    return [
        (item.scalar_type, item.sizes, item.dim_order)
        if isinstance(item, BundledTensor)
        else repr(item)
        for item in items
    ]


def test_data_is_aligned(tmp_path: Path) -> None:
    """The runtime uses the program, and the tensors, where they are."""
    with ByteSource.open(bundled(tmp_path)) as source:
        root = read_bundle(source)
        assert root.program is not None
        (chunk,) = root.program
        assert isinstance(chunk, ByteRange)
        assert chunk.offset % 128 == 0


def test_executorch_reads_the_same(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    serialize = pytest.importorskip("executorch.devtools.bundled_program.serialize")
    path = bundled(tmp_path)
    found = serialize.deserialize_from_flatbuffer_to_bundled_program(path.read_bytes())
    assert found.version == schema.VERSION
    assert bytes(found.program) == (tmp_path / "spread.pte").read_bytes()
    forward, other = found.method_test_suites
    (case,) = forward.test_cases
    (tensor,) = [value.val for value in case.inputs]
    assert (int(tensor.scalar_type), tensor.sizes, bytes(tensor.data)) == (6, [3, 4], NUMBERS)
    assert list(tensor.dim_order) == [1, 0]
    (case,) = other.test_cases
    assert [value.val.__class__.__name__ for value in case.inputs] == ["Int", "Bool"]


def test_extract(tmp_path: Path) -> None:
    path, out = bundled(tmp_path), tmp_path / "out.pte"
    assert extract(path, out) == out.stat().st_size
    assert out.read_bytes() == (tmp_path / "spread.pte").read_bytes()
    with pytest.raises(UsageError, match="overwrite its own input"):
        extract(path, path)
    with pytest.raises(FormatError, match="expected 'BP08'"):
        extract(out, tmp_path / "no.pte")
    with pytest.raises(FormatError, match="is a bundled program"):
        open_pte(path)
    assert not (tmp_path / "no.pte").exists()


def test_no_program_in_a_bundle(tmp_path: Path) -> None:
    from onearena.flatbuf.encode import encode_root

    path = tmp_path / "empty.bpte"
    root = BundledProgram(schema.VERSION, (), None)
    path.write_bytes(read_data(encode_root(root, schema.FILE_IDENTIFIER).data))
    with pytest.raises(FormatError, match="there is no program"):
        extract(path, tmp_path / "out.pte")


def test_too_large_for_the_format(tmp_path: Path) -> None:
    path = tmp_path / "huge.pte"
    with open(path, "wb") as stream:
        stream.truncate(1 << 31)
    with ByteSource.open(path) as program, pytest.raises(UnsupportedError, match="2 GiB"):
        write_bundle(program, (), tmp_path / "huge.bpte")
    assert not (tmp_path / "huge.bpte").exists()


def test_corrupt_bundles(tmp_path: Path) -> None:
    """Whatever the bytes are: an error in one line, or a program; never anything else."""
    data = bundled(tmp_path).read_bytes()
    path, out = tmp_path / "bad.bpte", tmp_path / "out.pte"
    generator = random.Random(0)
    refused = accepted = 0
    for _ in range(300):
        bad = bytearray(data[: generator.randrange(8, len(data) + 1)])
        for _ in range(generator.randrange(1, 4)):
            bad[generator.randrange(len(bad))] = generator.randrange(256)
        path.write_bytes(bad)
        try:
            extract(path, out)
        except OnearenaError as error:
            refused += "\n" not in str(error)
        else:
            accepted += 1
    assert refused + accepted == 300
    assert refused > 100


def test_the_format_needs_neither_torch_nor_executorch(tmp_path: Path) -> None:
    path = bundled(tmp_path)
    code = (
        "import sys; from onearena.cli.main import main; "
        f"code = main(['bundle', '--extract', {str(path)!r}, '-o', {str(tmp_path / 'x.pte')!r}]); "
        "sys.exit(code or any(name in sys.modules for name in ('torch', 'executorch', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
