"""The totals, as rows and as a table."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from onearena.errors import FormatError
from onearena.report.html import html_report
from onearena.report.html.tables import totals_table
from onearena.report.totals import TotalRow, known_pools, method_rows, program_rows, total
from onearena.summary.model import ProgramSummary, Workspace
from tests.report.html.reading import read_page
from tests.report.programs import rich_file, summary_of

UNKNOWN = Workspace(None, None, None, ("SomeNpu",))


def sizes(rows: list[TotalRow]) -> dict[str, int | None]:
    found = {row.label: row.size_bytes for row in rows}
    assert len(found) == len(rows), "labels are unique"
    return found


def test_what_a_method_needs(rich: ProgramSummary) -> None:
    method = rich.methods[0]
    found = sizes(method_rows(method))
    assert found["arena 1 (planned)"] == method.arenas[0].size_bytes
    assert found["arena 2 (planned)"] == method.arenas[1].size_bytes
    assert found["state"] == method.state_bytes > 0
    space = method.workspace
    assert found["delegate workspace, sharing disabled"] == space.separate_bytes
    assert found["delegate workspace, one per model"] == space.per_model_bytes
    assert found["delegate workspace, shared globally (default)"] == space.global_bytes
    assert found["arenas and shared workspace"] == method.total_bytes
    assert found["inputs and outputs that the caller brings"] == 32


def test_what_the_file_does_not_tell_is_unknown(rich: ProgramSummary) -> None:
    found = sizes(method_rows(rich.methods[1]))
    for label in (
        "delegate workspace, shared globally (default)",
        "delegate workspace, one per model",
        "delegate workspace, sharing disabled",
        "arenas and shared workspace",
        "temp allocator",
        "method allocator",
        "indirection buffers",
        "weights of delegates",
    ):
        assert found[label] is None, label
    notes = " ".join(row.note for row in method_rows(rich.methods[1]))
    assert "not known for SomeNpu" in notes


def test_without_delegates_nothing_is_said_of_them(empty: ProgramSummary) -> None:
    for method in (empty.methods[0], replace(empty.methods[0], workspace=UNKNOWN)):
        words = " ".join(f"{row.label} {row.note}" for row in method_rows(method))
        for word in ("delegate", "workspace", "indirection", "weights"):
            assert word not in words
    text = read_page(html_report(empty)).text()
    assert "delegate workspace" not in text
    assert "together" not in text


def test_parts_of_the_file_add_up(tmp_path: Path) -> None:
    path = rich_file(tmp_path)
    whole, *parts = program_rows(summary_of(path), known_pools(path))
    assert (whole.label, whole.size_bytes) == ("file", path.stat().st_size)
    assert total(row.size_bytes for row in parts) == whole.size_bytes
    assert all(row.size_bytes and row.note for row in parts)


def test_pools_of_two_targets(tmp_path: Path) -> None:
    path = rich_file(tmp_path)
    pools = known_pools(path)
    summary = summary_of(path)
    assert len({program.target.abi.name for program in pools}) == 2
    found = sizes(method_rows(summary.methods[0], pools))
    for program, bits in zip(pools, (64, 32), strict=True):
        [method] = [m for m in program.methods if m.name == "forward"]
        label = f"{bits}-bit ({program.target.name})"
        assert found[f"method allocator, {label}"] == method.method_allocator_bytes
        assert found[f"temp allocator, {label}"] == method.temp_bytes
    assert sizes(program_rows(summary, pools))["delegate payloads"] == pools[0].payload_bytes
    text = read_page(html_report(summary, pools=pools)).text()
    assert f"method allocator, 64-bit ({pools[0].target.name})" in text


def test_pools_of_another_method_are_not_taken(rich: ProgramSummary, tmp_path: Path) -> None:
    pools = known_pools(rich_file(tmp_path))
    stranger = replace(rich.methods[0], name="stranger")
    found = sizes(method_rows(stranger, pools))
    assert found[f"method allocator, 64-bit ({pools[0].target.name})"] is None


def test_known_pools_refuses_what_is_no_program(tmp_path: Path) -> None:
    shutil.copy(__file__, tmp_path / "x.pte")
    with pytest.raises(FormatError):
        known_pools(tmp_path / "x.pte")


def test_a_sum_with_something_unknown_is_unknown() -> None:
    assert total([1, 2]) == 3
    assert total([]) == 0
    assert total([1, None]) is None


def test_two_programs_in_one_table() -> None:
    old = [TotalRow("a", 1000), TotalRow("only before", 5), TotalRow("c", None, "why")]
    new = [TotalRow("a", 500, "x"), TotalRow("b", 0), TotalRow("c", 7)]
    text = read_page(totals_table("T", ("before", "after"), (old, new))).text()
    assert text == (
        "T before after after / before note a 1.00 kB 1,000 B 500 B 0.500 after: x "
        "b none 0 B only before 5 B none c unknown 7 B before: why"
    )


def test_a_program_without_the_method_has_none() -> None:
    text = read_page(totals_table("T", ("before", "after"), ([TotalRow("a", 0)], None))).text()
    assert text == "T before after after / before note a 0 B none"
