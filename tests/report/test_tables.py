"""CSV of tensors and node data of Model Explorer."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from onearena.lifetime import Interval
from onearena.report.buffers_csv import COLUMNS, buffers_csv, cell
from onearena.report.model_explorer import node_data_json
from onearena.summary.model import ProgramSummary, StepKind
from tests.report.golden_files import check_golden


def test_csv(rich: ProgramSummary) -> None:
    check_golden("rich.csv", buffers_csv(rich))


def test_csv_has_a_row_for_every_tensor(rich: ProgramSummary, empty: ProgramSummary) -> None:
    rows = list(csv.DictReader(io.StringIO(buffers_csv(rich))))
    tensors = [(m.name, t) for m in rich.methods for t in m.tensors]
    assert len(rows) == len(tensors)
    for row, (method, tensor) in zip(rows, tensors, strict=True):
        assert (row["method"], int(row["value"])) == (method, tensor.value)
        assert int(row["bytes"]) == tensor.size_bytes
        assert (int(row["memory_id"]), int(row["offset"])) == (tensor.arena, tensor.offset)
        assert (int(row["birth"]), int(row["death"])) == (
            tensor.lifetime[0].start,
            tensor.lifetime[-1].end,
        )
        assert row["producers"].split() == [str(step) for step in tensor.producers]
        assert row["consumers"].split() == [str(step) for step in tensor.consumers]
    assert buffers_csv(empty).splitlines() == [",".join(COLUMNS)]


def test_csv_of_lifetimes_with_gaps_and_of_none(rich: ProgramSummary) -> None:
    method = rich.methods[0]
    first, second = method.tensors[:2]
    lives = (Interval(0, 2), Interval(4, 5), Interval(7, 9))
    tensors = (
        replace(first, lifetime=lives, pinned="=because"),
        replace(second, lifetime=(), shape=()),
    )
    text = buffers_csv(replace(rich, methods=(replace(method, tensors=tensors),)))
    gaps, none = csv.DictReader(io.StringIO(text))
    assert (gaps["birth"], gaps["death"], gaps["gaps"]) == ("0", "9", "2-4 5-7")
    assert gaps["pinned"] == "'=because"
    assert (none["birth"], none["death"], none["gaps"], none["shape"]) == ("", "", "", "")


def test_csv_of_hostile_names_is_neither_formula_nor_more_rows(hostile: ProgramSummary) -> None:
    text = buffers_csv(hostile)
    count = sum(len(method.tensors) for method in hostile.methods)
    assert len(text.splitlines()) == 1 + count
    rows = list(csv.reader(io.StringIO(text)))
    assert {len(row) for row in rows} == {len(COLUMNS)}
    for row in rows[1:]:
        for field in row:
            assert not field.lstrip().startswith(("=", "+", "-", "@"))
            assert field.isprintable()
    assert cell("  =1") == "'  =1"
    assert cell("a=1") == "a=1"


def test_node_data(rich: ProgramSummary) -> None:
    check_golden("rich.nodes.json", node_data_json(rich))


def test_node_data_is_what_is_alive(rich: ProgramSummary) -> None:
    data = json.loads(node_data_json(rich))
    forward = rich.methods[0]
    results = data["forward"]["results"]
    count = len({step.instruction for step in forward.steps})
    assert len(results) == count
    for step in forward.steps:
        node = {StepKind.ENTRY: "GraphInputs", StepKind.EXIT: "GraphOutputs"}.get(
            step.kind, f"forward_0_{step.instruction}"
        )
        used = sum(a.live_bytes[step.number] for a in forward.arenas)
        used += forward.workspace_by_step[step.number] or 0
        assert results[node]["value"] >= used
    top = max(
        sum(a.live_bytes[s.number] for a in forward.arenas)
        + (forward.workspace_by_step[s.number] or 0)
        for s in forward.steps
    )
    assert max(result["value"] for result in results.values()) == top


def test_a_call_of_several_steps_has_the_value_of_its_largest(rich: ProgramSummary) -> None:
    forward = rich.methods[0]
    nodes = [step.number for step in forward.steps if step.kind is StepKind.NODE]
    first = forward.arenas[0]
    for largest in nodes:
        curve = tuple(1000 if step == largest else 10 for step in range(len(forward.steps)))
        arenas = (replace(first, live_bytes=curve),)
        method = replace(forward, arenas=arenas, workspace_by_step=(5,) * len(curve))
        results = json.loads(node_data_json(replace(rich, methods=(method,))))["forward"]["results"]
        assert [result["value"] for result in results.values()] == [15, 15, 1005, 15, 15, 15, 15]


def test_a_call_of_which_a_step_is_not_known_has_no_value(rich: ProgramSummary) -> None:
    forward = rich.methods[0]
    nodes = [step.number for step in forward.steps if step.kind is StepKind.NODE]
    for missing in nodes:
        used = tuple(None if step == missing else 5 for step in range(len(forward.steps)))
        method = replace(forward, workspace_by_step=used)
        results = json.loads(node_data_json(replace(rich, methods=(method,))))["forward"]["results"]
        assert "forward_0_1" not in results
        assert len(results) == 6


def test_node_data_leaves_out_what_is_not_known(rich: ProgramSummary) -> None:
    results = json.loads(node_data_json(rich))["decode"]["results"]
    assert set(results) == {"GraphInputs", "GraphOutputs"}


def test_node_data_keeps_to_the_schema(
    rich: ProgramSummary, hostile: ProgramSummary, empty: ProgramSummary
) -> None:
    for summary in (rich, hostile, empty):
        data = json.loads(node_data_json(summary))
        assert list(data) == [method.name for method in summary.methods]
        for graph in data.values():
            assert graph.keys() == {"name", "results", "gradient"}
            assert [item["stop"] for item in graph["gradient"]] == [0, 1]
            assert all(result.keys() == {"value"} for result in graph["results"].values())
            assert all(isinstance(r["value"], int) for r in graph["results"].values())


def test_a_method_without_a_name_is_called_as_the_adapter_calls_it(rich: ProgramSummary) -> None:
    nameless = replace(rich, methods=(rich.methods[0], replace(rich.methods[0], name="")))
    data = json.loads(node_data_json(nameless))
    assert list(data) == ["forward", "ExecutionPlan_1"]
    assert "ExecutionPlan_1_0_0" in data["ExecutionPlan_1"]["results"]
