"""What the exporter notes: written, read, moved; and files that say nonsense."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import onearena
from onearena.cortex_m.check import TargetMismatchError
from onearena.export_record import (
    KEY,
    ExportedLine,
    ExportedMethod,
    ExportRecord,
    encode_export,
    exported_method,
    read_export,
    with_export,
    with_moved_export,
)
from onearena.flatbuf.data import ByteSource
from onearena.program import analyse_method
from onearena.pte import PteFile, Segment, open_pte, write_pte
from onearena.pte.reader import read_pte
from onearena.record import read_record
from onearena.size_formula import evaluate, formula_json, parse_formula
from onearena.summary.build import summarize
from tests.cli.programs import spread_out
from tests.cortex_m.programs import pool_call
from tests.pte.build import Method, file_bytes, pte_file

LINE, OTHER = ExportedLine("net.py", 12, "forward"), ExportedLine("lib/block.py", 3, "attend")
RECORD = ExportRecord(
    "onearena 9.9",
    {
        "forward": ExportedMethod(
            ((LINE,), (OTHER, LINE), ()),
            {4: OTHER},
            {"cache": (2,)},
            {0: (("+", "s0", ("*", 2, "s1")),), 1: (None,)},
        )
    },
    "cortex-m55",
)


@pytest.fixture
def file(tmp_path: Path) -> Any:
    with open_pte(spread_out(tmp_path)) as opened:
        yield opened


def reopened(file: PteFile, directory: Path) -> PteFile:
    path = directory / "again.pte"
    write_pte(file, path)
    return open_pte(path)


def test_what_is_written_is_read(file: PteFile, tmp_path: Path) -> None:
    assert read_export(file) is None
    with reopened(with_export(file, RECORD), tmp_path) as found:
        assert read_export(found) == RECORD
        other = ExportRecord("other", {})
        twice = with_export(found, other)
        assert read_export(twice) == other
        assert len(twice.segments) == len(found.segments)


def test_lines_of_steps(file: PteFile, tmp_path: Path) -> None:
    """A node inside a call has its own line; without one, the last of the call's."""
    with reopened(with_export(file, RECORD), tmp_path) as found:
        (plan,) = found.program.execution_plan or ()
        method = exported_method(found, plan)
        assert method is not None
        assert method.line_of(0) == LINE
        assert method.line_of(1, 4) == OTHER
        assert method.line_of(1, 5) == LINE
        assert method.line_of(2) is None
        assert method.line_of(-1) is None
        (summary,) = summarize(found.path).methods
        assert [str(step.source) for step in summary.steps[1:3]] == ["net.py:12", "net.py:12"]
        (report,) = onearena.inspect(found.path).methods
        assert report.peak is not None
        assert report.peak.step.endswith(", from net.py:12")


def test_lines_move_with_their_instructions(file: PteFile) -> None:
    moved = with_moved_export(with_export(file, RECORD), {"forward": (2, 0, 1)})
    record = read_export(moved)
    assert record is not None
    assert record.methods["forward"].lines == ((), (LINE,), (OTHER, LINE))
    assert record.methods["forward"].handles == {4: OTHER}
    assert with_moved_export(file, {"forward": (2, 0, 1)}) is file
    kept = with_export(file, RECORD)
    assert with_moved_export(kept, {"other": (1, 0)}) is kept
    wrong = read_export(with_moved_export(kept, {"forward": (2, 0, 7)}))
    assert wrong is not None
    assert wrong.methods["forward"].lines == ()


def test_optimize_takes_the_record_along(tmp_path: Path) -> None:
    method = Method()
    wide, narrow, late, out = (
        method.tensor(n, offset=k) for n, k in ((4096, 0), (16, 16384), (4096, 20000), (16, 40000))
    )
    x = method.tensor(16, offset=60000)
    method.input(x).output(late).output(out)
    method.call("aten::repeat.out", x, method.int_list(method.integer(256)), late, late)
    method.call("aten::relu.out", x, narrow, narrow)
    method.call("aten::repeat.out", narrow, method.int_list(method.integer(256)), wide, wide)
    method.call(
        "aten::amax.out", wide, method.int_list(method.integer(0)), method.boolean(False), out, out
    )
    path, small = tmp_path / "model.pte", tmp_path / "small.pte"
    lines = tuple((ExportedLine("net.py", k, "forward"),) for k in range(4))
    with read_pte(ByteSource.from_bytes(file_bytes(pte_file(method)))) as opened:
        write_pte(with_export(opened, ExportRecord("t", {"forward": ExportedMethod(lines)})), path)
    onearena.optimize(path, small)
    with open_pte(path) as before, open_pte(small) as after:
        record = read_record(after)
        assert record is not None
        assert record.methods["forward"].order not in ((), (0, 1, 2, 3))
        old, new = (
            exported_method(f, (f.program.execution_plan or ())[0]) for f in (before, after)
        )
        assert old is not None
        assert new is not None
        for f, found in ((before, old), (after, new)):
            (plan,) = f.program.execution_plan or ()
            (chain,) = plan.chains or ()
            names = [i.instr_args for i in chain.instructions or ()]
            by_line = {found.lines[k][0].line: call for k, call in enumerate(names)}
            assert sorted(by_line) == [0, 1, 2, 3]
            if f is before:
                expected = by_line
            assert by_line == expected


def test_state_that_a_method_overwrites_is_kept(tmp_path: Path) -> None:
    """Nothing in the file says that the buffer is state: this method writes all of it first."""
    method = Method()
    x, kept, y, out = (method.tensor(64, offset=256 * k) for k in range(4))
    method.input(x).output(out)
    method.call("aten::relu.out", x, kept, kept)
    method.call("aten::relu.out", kept, y, y)
    method.call("aten::relu.out", y, out, out)
    known = ExportRecord("t", {"forward": ExportedMethod(state={"kept": (kept,)})})
    with read_pte(ByteSource.from_bytes(file_bytes(pte_file(method)))) as opened:
        (plan,) = opened.program.execution_plan or ()
        assert analyse_method(opened, plan).timeline.storage.state == frozenset()
        noted = with_export(opened, known)
        assert analyse_method(noted, plan).timeline.storage.state == {kept}
        path, small = tmp_path / "model.pte", tmp_path / "small.pte"
        write_pte(noted, path)
        onearena.optimize(path, small)
        (report,) = onearena.inspect(small).methods
        assert report.state_bytes == 256
        (record,) = onearena.summarize(small).methods
        assert record.state_bytes == 256


def test_verify_defends_the_state_that_is_noted(tmp_path: Path) -> None:
    method = Method()
    x, kept = method.tensor(64, offset=0), method.tensor(64, offset=256)
    y = method.tensor(64, offset=256)
    method.input(x).output(y)
    method.call("aten::relu.out", x, kept, kept)
    method.call("aten::relu.out", x, y, y)
    path = tmp_path / "model.pte"
    known = ExportRecord("t", {"forward": ExportedMethod(state={"kept": (kept,)})})
    with read_pte(ByteSource.from_bytes(file_bytes(pte_file(method)))) as opened:
        write_pte(opened, path)
        assert onearena.verify(path).safe
        write_pte(with_export(opened, known), path)
    (violation,) = onearena.verify(path).violations
    assert violation.kind == "state"


def test_the_noted_target_counts(tmp_path: Path) -> None:
    """A program for one core that says that it is for another is refused without being asked."""
    path, small = tmp_path / "model.pte", tmp_path / "small.pte"
    method, _ = pool_call(0)
    with read_pte(ByteSource.from_bytes(file_bytes(pte_file(method)))) as opened:
        write_pte(with_export(opened, ExportRecord("t", {}, "cortex-m7")), path)
        with pytest.raises(TargetMismatchError, match="cortex-m7 needs"):
            onearena.optimize(path, small)
        onearena.optimize(path, small, onearena.Options(target="cortex-m55"))
        write_pte(with_export(opened, ExportRecord("t", {}, "a toaster")), path)
        onearena.optimize(path, small)


# -- files that say nonsense -------------------------------------------------------------------


def noted(file: PteFile, content: bytes) -> PteFile:
    kept = with_export(file, RECORD)
    (entry,) = [e for e in kept.program.named_data or () if e.key == KEY]
    segments = list(kept.segments)
    segments[entry.segment_index] = Segment((content,))
    return kept.with_program(kept.program, tuple(segments))


def document() -> Any:
    return json.loads(encode_export(RECORD))


Edit = Callable[[Any], Any]
FORWARD = "forward"


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d.update(format=2),
        lambda d: d.pop("methods"),
        lambda d: d.update(methods=[]),
        lambda d: d.update(tool=7),
        lambda d: d.update(tool="two\nlines"),
        lambda d: d.update(tool="x" * 2000),
        lambda d: d.update(target=5),
        lambda d: d["files"].__setitem__(0, None),
        lambda d: d["lines"].__setitem__(0, [9, 1, "f"]),
        lambda d: d["lines"].__setitem__(0, [-1, 1, "f"]),
        lambda d: d["lines"].__setitem__(0, [0, True, "f"]),
        lambda d: d["lines"].__setitem__(0, [0, 1.5, "f"]),
        lambda d: d["lines"].__setitem__(0, [0, 1 << 40, "f"]),
        lambda d: d["methods"][FORWARD].update(lines=[[99]]),
        lambda d: d["methods"][FORWARD].update(lines=5),
        lambda d: d["methods"][FORWARD].update(handles={"-1": 0}),
        lambda d: d["methods"][FORWARD].update(handles={"01": 0}),
        lambda d: d["methods"][FORWARD].update(handles={"x": 0}),
        lambda d: d["methods"][FORWARD].update(state={"cache": [-2]}),
        lambda d: d["methods"][FORWARD].update(state={"cache": ["0"]}),
        lambda d: d["methods"][FORWARD].update(sizes={"0": [["exec", 1, 2]]}),
        lambda d: d["methods"][FORWARD].update(sizes={"0": [["+", 1]]}),
        lambda d: d["methods"][FORWARD].update(sizes={"0": ["__import__"]}),
    ],
)
def test_nonsense_is_ignored(file: PteFile, edit: Edit) -> None:
    content = document()
    edit(content)
    assert read_export(noted(file, json.dumps(content).encode())) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_object(file: PteFile, content: bytes) -> None:
    assert read_export(noted(file, content)) is None


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.update(lines=[[0]]),  # another number of instructions
        lambda m: m.update(state={"cache": [99]}),
        lambda m: m.update(sizes={"99": [1]}),
        lambda m: m.update(sizes={"0": [1, 1]}),  # another rank
    ],
)
def test_a_record_of_another_program(file: PteFile, edit: Edit) -> None:
    content = document()
    edit(content["methods"][FORWARD])
    found = noted(file, json.dumps(content).encode())
    (plan,) = found.program.execution_plan or ()
    assert read_export(found) is not None
    assert exported_method(found, plan) is None


def test_random_damage_never_raises(file: PteFile) -> None:
    good = encode_export(RECORD)
    generator = random.Random(0)
    for _ in range(500):
        bad = bytearray(good)
        for _ in range(generator.randrange(1, 6)):
            bad[generator.randrange(len(bad))] = generator.choice(b'0123456789[]{}",:-ens')
        found = noted(file, bytes(bad))
        (plan,) = found.program.execution_plan or ()
        exported_method(found, plan)
        record = read_export(found)
        assert record is None or record == copy.deepcopy(record)


# -- formulas ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (7, 7),
        ("s0", 6),
        (["+", "s0", -1, ["*", 2, "s1"]], 15),
        (["//", ["+", "s0", 1], 2], 3),
        (["%", "s1", 3], 2),
        (["min", "s0", "s1", 9], 5),
        (["max", "s0", "s1"], 6),
        ("u0", None),
        (["//", "s0", ["+", "s0", -6]], None),
        (["*", *["s0"] * 30], None),
    ],
)
def test_formulas(content: Any, expected: int | None) -> None:
    formula = parse_formula(content)
    assert evaluate(formula, {"s0": 6, "s1": 5}) == expected
    assert parse_formula(json.loads(json.dumps(formula_json(formula)))) == formula


@pytest.mark.parametrize(
    "content",
    [
        True,
        None,
        1.5,
        1 << 62,
        "S0",
        "s0+1",
        "",
        [],
        ["-", 1, 2],
        ["//", 1, 2, 3],
        [["+"], 1, 2],
        {"+": 1},
        ["+", *[1] * 2000],
    ],
)
def test_what_is_no_formula(content: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        parse_formula(content)


def test_deep_formulas() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = ["+", deep, 1]
    with pytest.raises(ValueError, match="too long"):
        parse_formula(deep)
