"""Text, Markdown, JSON: golden files, unknowns, names that mean something to a terminal."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from onearena.report.bars import BLOCKS, bar, chart, column_of, columns
from onearena.report.plain import can_encode, clipped, encodable, plain
from onearena.report.summary_json import summary_json
from onearena.report.summary_markdown import summary_markdown
from onearena.report.summary_text import TextStyle, summary_text
from onearena.report.text import both_units, size_text
from onearena.report.totals import known_pools
from onearena.summary.build import summarize
from onearena.summary.model import MethodSummary, ProgramSummary
from tests.report.golden_files import check_golden
from tests.report.programs import HOSTILE_NAMES, empty_file, rich_file


def smaller(summary: ProgramSummary) -> ProgramSummary:
    """Another version of the program: half the arena, one method less, one more."""
    forward = summary.methods[0]
    arenas = tuple(replace(a, size_bytes=a.size_bytes // 2) for a in forward.arenas)
    extra = replace(summary.methods[1], name="prefill")
    methods = (replace(forward, arenas=arenas), extra)
    return replace(summary, path="smaller.pte", methods=methods)


def test_text(rich: ProgramSummary) -> None:
    check_golden("rich.txt", summary_text(rich) + "\n")
    check_golden("rich_blocks.txt", summary_text(rich, None, TextStyle(100, True)) + "\n")


def test_text_of_two_programs_starts_with_what_differs(rich: ProgramSummary) -> None:
    text = summary_text(rich, smaller(rich))
    head = text.split("\n\nmethod ")[0]
    check_golden("compared.txt", head + "\n")
    assert head.endswith("\n\nwhat follows is about rich.pte alone")
    assert text.endswith(summary_text(rich).split("\n\n", 1)[1])


def test_text_of_programs_without_memory(empty: ProgramSummary, no_methods: ProgramSummary) -> None:
    check_golden("empty.txt", summary_text(empty) + "\n")
    assert summary_text(no_methods).endswith("no methods")


def test_the_parts_of_both_files_are_told(tmp_path: Path) -> None:
    paths = [rich_file(tmp_path), empty_file(tmp_path)]
    pools = [known_pools(path) for path in paths]
    first, second = map(summarize, paths)
    text = summary_text(first, second, pools=pools[0], other_pools=pools[1])
    heads = [part.splitlines() for part in text.split("\n\n")[:2]]
    for head, path, program in zip(heads, paths, pools, strict=True):
        assert head[0].startswith(f"{path}  ")
        parts = program[0].flash.parts
        assert all(f"{part.name} {size_text(part.size_bytes)}" in head[1] for part in parts)
        assert sum(part.size_bytes for part in parts) == path.stat().st_size


def test_a_method_that_one_program_lacks_has_the_same_rows(rich: ProgramSummary) -> None:
    decode = replace(rich, methods=rich.methods[1:])
    for first, second in ((rich, decode), (decode, rich)):
        lines = summary_text(first, second).splitlines()
        rows = [line.split() for line in lines if line.startswith("forward: ")]
        assert [row[1] for row in rows] == ["arenas", "workspace", "total"]
        here, there = (row[2:4] for row in (rows[0], rows[2]))
        missing = 0 if first is decode else 1
        assert (here[missing], there[missing]) == ("-", "-")
        assert "-" not in (here[1 - missing], there[1 - missing])
        table = summary_markdown(first, second)
        assert table.count("| `forward` |") == 3
        assert "`SomeNpu`" in table


def test_unknown_is_said_and_never_counted_as_nothing(rich: ProgramSummary) -> None:
    decode = summary_text(rich).split("\n\nmethod decode")[1]
    rows = {
        line.split("  ")[1]: line.split()[-1] for line in decode.splitlines() if "(pred" in line
    }
    assert rows["workspace of delegates (predicted)"] == "unknown"
    assert re.search(r"^ *total +unknown$", decode, re.MULTILINE)
    # the call is step 1 of 0, 1, 2
    assert re.search(r"^ {8}\?{4}$", decode, re.MULTILINE)


@pytest.mark.parametrize("width", [1, 40, 76, 100, 500])
def test_charts_keep_to_the_width(rich: ProgramSummary, width: int) -> None:
    forward = rich.methods[0]
    long = tuple(range(1000))
    arena = replace(forward.arenas[0], live_bytes=long, peak_step=999)
    summary = replace(rich, methods=(replace(forward, arenas=(arena,)),))
    text = summary_text(
        replace(summary, methods=(_with_steps(summary.methods[0], 1000),)), None, TextStyle(width)
    )
    limit = min(max(width, 40), 160)
    charts = [line for line in text.splitlines() if line.endswith("#") or "^" in line]
    assert len(charts) > 6
    assert max(map(len, charts)) <= limit
    assert any(len(line) == limit for line in charts)


def _with_steps(method: MethodSummary, count: int) -> MethodSummary:
    step = method.steps[1]
    return replace(
        method,
        steps=tuple(replace(step, number=k) for k in range(count)),
        workspace_by_step=(0,) * count,
    )


def test_nothing_that_a_terminal_obeys_is_printed(hostile: ProgramSummary) -> None:
    for text in (
        summary_text(replace(hostile, path="a\x1b[2J\n.pte")),
        summary_markdown(replace(hostile, path="a\x1b[2J\n.pte")),
    ):
        assert not [c for c in text if not c.isprintable() and c != "\n"]
        assert "\\x1b[31mred" in text
        assert "\\u202egnp.exe" in text
        assert "名前🙂" in text


def test_plain_text() -> None:
    assert plain("conv1.weight") == "conv1.weight"
    assert plain("a\tb\n\x7f\udc80\u2028") == "a\\tb\\n\\x7f\\udc80\\u2028"
    assert clipped("abcdefgh", 8) == "abcdefgh"
    assert clipped("abcdefghi", 8) == "abcde..."
    assert both_units(999) == "999 B"
    assert both_units(1_234_567) == "1.23 MB (1,234,567 B)"
    assert encodable("█ é", "ascii") == "\\u2588 \\xe9"
    assert encodable("█", None) == "█"
    assert can_encode(BLOCKS, "utf-8")
    assert can_encode(BLOCKS, "cp437") is False
    assert can_encode("a", "no such encoding") is False


def test_columns_show_the_largest_of_their_steps() -> None:
    assert columns([1, 2, 3], 7) == [1, 1, 2, 2, 3, 3]
    assert columns([1, 2], 100) == [1] * 4 + [2] * 4
    assert columns([5, 1, 2, 9, 3], 2) == [5, 9]
    assert columns([5, None, 2, 9, 3], 2) == [None, 9]
    assert columns([], 10) == []


@pytest.mark.parametrize(("count", "width"), [(3, 20), (20, 20), (21, 20), (97, 20), (1000, 7)])
def test_the_mark_is_below_a_column_of_its_step(count: int, width: int) -> None:
    for step in range(count):
        values = [0] * count
        values[step] = 1
        assert columns(values, width).index(1) == column_of(step, count, width)


def test_bars() -> None:
    upright = chart([0, 1, 8, 16, None], 5, 2, True)
    assert upright == ["   █", " ▁██?"]
    assert chart([0, 1, 8, 16, None], 5, 2, False) == ["   #", " ###?"]
    assert chart([0, 0], 2, 1, True) == [""]
    assert bar(1, 1000, 10, False) == "#"
    assert bar(5, 10, 10, True) == "█" * 5
    assert bar(0, 10, 10, True) == bar(3, 0, 10, True) == ""
    assert bar(20, 10, 10, True) == "█" * 10


def test_json(rich: ProgramSummary) -> None:
    text = json.dumps(summary_json(rich), indent=1) + "\n"
    check_golden("rich.json", text)


def test_json_says_all_of_the_summary(rich: ProgramSummary) -> None:
    forward, decode = summary_json(rich)["methods"]
    method = rich.methods[0]
    assert forward["total_bytes"] == method.arena_bytes + (method.workspace.global_bytes or 0)
    assert [t["value"] for t in forward["tensors"]] == [t.value for t in method.tensors]
    assert len(forward["steps"]) == len(forward["arenas"][0]["live_bytes"]) == len(method.steps)
    assert decode["total_bytes"] is None
    assert decode["workspace"]["global_bytes"] is None
    assert decode["workspace_by_step"] == [0, None, 0]
    compared = summary_json(rich, smaller(rich))["compared_with"]
    assert compared == summary_json(smaller(rich))


def test_markdown(rich: ProgramSummary, no_methods: ProgramSummary) -> None:
    check_golden("rich.md", summary_markdown(rich))
    check_golden("compared.md", summary_markdown(rich, smaller(rich)))
    assert "no.pte" not in summary_markdown(no_methods)


def test_markdown_tables_have_the_same_cells_in_every_row(
    rich: ProgramSummary, hostile: ProgramSummary
) -> None:
    for text in (summary_markdown(hostile), summary_markdown(hostile, rich)):
        rows = [line for line in text.splitlines() if line.startswith("|")]
        cells = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
        assert len(cells) == 1
        assert len(rows) > len(HOSTILE_NAMES)
