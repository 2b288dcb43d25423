"""The trace: golden file, and whether it keeps to the format (a reader of its own)."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

from onearena import __version__
from onearena.lifetime import Interval
from onearena.report.trace import STEP_MICROSECONDS, trace_json
from onearena.summary.model import ProgramSummary
from tests.report.golden_files import check_golden


def events_of(summary: ProgramSummary) -> list[dict[str, Any]]:
    """All events, after looking at what the format demands of each."""
    content = json.loads(trace_json(summary))
    assert content["displayTimeUnit"] in ("ms", "ns")
    assert isinstance(content["otherData"], dict)
    for event in content["traceEvents"]:
        assert event["ph"] in ("M", "X", "C")
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        if event["ph"] == "X" or event["name"].startswith("thread_"):
            assert event["tid"] > 0
        if event["ph"] != "M":
            assert event["ts"] >= 0
            assert event["ts"] % STEP_MICROSECONDS == 0
        if event["ph"] == "X":
            assert event["dur"] > 0
        if event["ph"] == "C":
            assert event["args"]
            assert all(isinstance(v, int) and v >= 0 for v in event["args"].values())
    return list(content["traceEvents"])


def check_nesting(events: list[dict[str, Any]]) -> None:
    """Slices of a thread are apart or one inside the other, the outer one first."""
    threads = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(event)
    for slices in threads.values():
        assert slices == sorted(slices, key=lambda e: (e["ts"], -e["dur"]))
        open_ends: list[int] = []
        for event in slices:
            start, end = event["ts"], event["ts"] + event["dur"]
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


def test_golden(rich: ProgramSummary) -> None:
    check_golden("rich.trace.json", trace_json(rich).replace(__version__, "VERSION"))


def test_format(
    rich: ProgramSummary, hostile: ProgramSummary, empty: ProgramSummary, no_methods: ProgramSummary
) -> None:
    for summary in (rich, hostile, empty, no_methods):
        events = events_of(summary)
        check_nesting(events)
        named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
        assert len({number for pair in named for number in pair}) == len(named) + len(
            {process for process, _ in named}
        )
        assert {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"} <= named
        names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
        assert len(names) == len(summary.methods)


def test_counters_are_the_live_bytes_of_every_step(rich: ProgramSummary) -> None:
    events = events_of(rich)
    for process, method in enumerate(rich.methods, 1):
        for arena in method.arenas:
            name = f"arena {arena.memory_id} live"
            found = {
                e["ts"]: e["args"]["bytes"]
                for e in events
                if (e["ph"], e["pid"], e["name"]) == ("C", process, name)
            }
            assert list(found) == sorted(found)
            value, curve = 0, []
            for step in range(len(method.steps)):
                value = found.get(step * STEP_MICROSECONDS, value)
                curve.append(value)
            assert tuple(curve) == arena.live_bytes
            # and nothing is left behind
            assert found[max(found)] == 0


def test_workspace_has_a_counter_only_where_all_of_it_is_known(rich: ProgramSummary) -> None:
    events = events_of(rich)
    name = "delegate workspace"
    assert {e["pid"] for e in events if e["name"] == name} == {1}
    labels = [e for e in events if e["name"] == "process_labels"]
    assert [(e["pid"], e["args"]["labels"]) for e in labels] == [
        (2, "workspace not known: SomeNpu")
    ]


def test_every_lifetime_is_there_with_its_facts(rich: ProgramSummary) -> None:
    events = events_of(rich)
    for process, method in enumerate(rich.methods, 1):
        for tensor in method.tensors:
            mine = [
                e
                for e in events
                if e["ph"] == "X" and e["pid"] == process and e["args"].get("value") == tensor.value
            ]
            spans = [(e["ts"], e["ts"] + e["dur"]) for e in mine]
            assert spans == [
                (life.start * STEP_MICROSECONDS, life.end * STEP_MICROSECONDS)
                for life in tensor.lifetime
            ]
            for event in mine:
                args = event["args"]
                assert event["name"] == tensor.name
                assert (args["bytes"], args["offset"]) == (tensor.size_bytes, tensor.offset)
                assert (args["kind"], args["dtype"]) == (tensor.kind.value, tensor.dtype)


def test_there_are_as_many_lanes_as_tensors_are_alive_at_once(rich: ProgramSummary) -> None:
    events = events_of(rich)
    for process, method in enumerate(rich.methods, 1):
        for arena in method.arenas:
            tensors = [t for t in method.tensors if t.arena == arena.memory_id]
            most = max(
                sum(any(i.start <= step < i.end for i in t.lifetime) for t in tensors)
                for step in range(len(method.steps))
            )
            prefix = f"arena {arena.memory_id} lifetimes "
            lanes = [
                e
                for e in events
                if e["name"] == "thread_name"
                and e["pid"] == process
                and e["args"]["name"].startswith(prefix)
            ]
            assert len(lanes) == most


def test_a_lane_is_free_for_the_next_as_soon_as_one_ends(rich: ProgramSummary) -> None:
    method = rich.methods[1]
    lives = [((0, 2),), ((2, 3),), ((1, 3),), ((0, 1), (2, 3))]
    tensors = tuple(
        replace(method.tensors[0], value=k, lifetime=tuple(Interval(*pair) for pair in pairs))
        for k, pairs in enumerate(lives)
    )
    events = events_of(replace(rich, methods=(replace(method, tensors=tensors),)))
    check_nesting(events)
    names = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    # at step 2 three are alive
    assert names == ["instructions", *(f"arena 1 lifetimes {k}" for k in range(3))]


def test_nodes_are_inside_their_call(rich: ProgramSummary) -> None:
    found = events_of(rich)
    thread = next(e["tid"] for e in found if e["args"].get("name") == "instructions")
    events = [e for e in found if e["ph"] == "X" and e["tid"] == thread]
    call = next(e for e in events if e["name"] == "XnnpackBackend call")
    nodes = [e for e in events if "node" in e["args"]]
    assert [e["name"] for e in nodes] == ["XNNPACK Sigmoid", "XNNPACK Tanh", "XNNPACK Sigmoid"]
    assert call["ts"] == nodes[0]["ts"]
    assert call["dur"] == 3 * STEP_MICROSECONDS
    assert call["args"]["source"] == nodes[0]["args"]["source"] == "model.py:11"


def test_names_that_no_file_can_hold(rich: ProgramSummary) -> None:
    # the name of a file may be no text
    content = json.loads(trace_json(replace(rich, path="a\udc80.pte")))
    assert content["otherData"]["program"] == "a\\udc80.pte"
