"""Our JSON for problems and plans. Everything that a Problem, Memory or Plan says has a place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from onearena.errors import FormatError, UnsupportedError
from onearena.lifetime import Interval, Lifetime, merge
from onearena.problem import Buffer, Member, Memory, Plan, Problem, Window
from onearena.problem_files.json_node import Node, parse_json
from onearena.problem_files.values import (
    DEFAULT_ARENA,
    BadValueError,
    check_apart,
    check_windows,
    shown,
)

PROBLEM_FORMAT = "onearena-problem/1"
PLAN_FORMAT = "onearena-plan/1"

_BUFFER_OPTIONAL = (
    "name",
    "alignment",
    "arenas",
    "offset",
    "hint",
    "windows",
    "region",
    "last",
)


def parse_problem(text: str, name: str) -> tuple[Problem, tuple[Memory, ...]]:
    """The problem and the memories that a file's content describes.

    Raises:
        FormatError: with `name` and the path of what is wrong.
        UnsupportedError: it is of another format, or of a version that is not known.
    """
    root = parse_json(text, name)
    _check_format(root, PROBLEM_FORMAT, name)
    members = root.members(("format", "buffers"), ("groups", "may_share", "memories"))
    buffers = tuple(_buffer(node, k) for k, node in enumerate(members["buffers"].items()))
    groups = _groups(_items(members, "groups"), len(buffers))
    pairs = tuple(_pair(node, len(buffers)) for node in _items(members, "may_share"))
    return Problem(buffers, groups, pairs), _memories(_items(members, "memories"))


def _check_format(root: Node, wanted: str, name: str) -> None:
    found = root.peek("format")
    if isinstance(found, str) and found != wanted:
        raise UnsupportedError(f"{name}: format: is {shown(found)}, not {wanted!r}")
    if found is not None and not isinstance(found, str):
        raise FormatError(f"{name}: format: is not a string such as {wanted!r}")


def _items(members: dict[str, Node], key: str) -> list[Node]:
    return members[key].items() if key in members else []


def _buffer(node: Node, index: int) -> Buffer:
    members = node.members(("size", "lifetime"), _BUFFER_OPTIONAL)
    size = members["size"].integer(0)
    lifetime = _lifetime(members["lifetime"])
    arenas = _arenas(members["arenas"]) if "arenas" in members else (DEFAULT_ARENA,)
    return Buffer(
        index,
        size,
        members["alignment"].integer(1) if "alignment" in members else 1,
        arenas[0],
        lifetime,
        members["offset"].integer(0) if "offset" in members else None,
        members["name"].string() if "name" in members else "",
        _windows(members["windows"], lifetime, size) if "windows" in members else (),
        _region(members["region"]) if "region" in members else None,
        members["last"].boolean() if "last" in members else False,
        arenas[1:],
        members["hint"].integer(0) if "hint" in members else None,
    )


def _lifetime(node: Node) -> Lifetime:
    lifetime = tuple(item.interval() for item in node.items())
    if merge(lifetime) != lifetime:
        node.fail("the intervals are not in order, not apart, or empty")
    return lifetime


def _arenas(node: Node) -> tuple[int, ...]:
    arenas = tuple(item.integer(0) for item in node.items())
    if not arenas:
        node.fail("names no arena")
    if len(set(arenas)) < len(arenas):
        node.fail("names an arena twice")
    return arenas


def _region(node: Node) -> Interval:
    region = node.interval()
    if region.start < 0:
        node.fail("starts below 0")
    return region


def _windows(node: Node, lifetime: Lifetime, size: int) -> tuple[Window, ...]:
    windows: list[Window] = []
    for item in node.items():
        members = item.members(("lifetime", "bytes"), ())
        steps, place = members["lifetime"].interval(), members["bytes"].interval()
        if not any(a.start <= steps.start and steps.end <= a.end for a in lifetime):
            members["lifetime"].fail("is not inside an interval of the buffer's lifetime")
        windows.append(Window(steps, place.start, place.end))
    try:
        check_apart([window.lifetime for window in windows], "window")
        check_windows(windows, size)
    except BadValueError as error:
        node.fail(str(error))
    return tuple(windows)


def _groups(nodes: Iterable[Node], count: int) -> tuple[tuple[Member, ...], ...]:
    seen: set[int] = set()
    groups: list[tuple[Member, ...]] = []
    for node in nodes:
        group: list[Member] = []
        for item in node.items():
            members = item.members(("buffer", "delta"), ())
            buffer = members["buffer"].integer(0, count - 1)
            if buffer in seen:
                members["buffer"].fail(f"buffer {buffer} is in a group already")
            seen.add(buffer)
            group.append(Member(buffer, members["delta"].integer()))
        if not group:
            node.fail("is an empty group")
        groups.append(tuple(group))
    return tuple(groups)


def _pair(node: Node, count: int) -> tuple[int, int]:
    first, second = (item.integer(0, count - 1) for item in node.items(2))
    if first == second:
        node.fail("names one buffer twice")
    return first, second


def _memories(nodes: Iterable[Node]) -> tuple[Memory, ...]:
    memories: dict[int, Memory] = {}
    for node in nodes:
        members = node.members(("arena",), ("capacity", "weight"))
        arena = members["arena"].integer(0)
        if arena in memories:
            members["arena"].fail(f"arena {arena} is there already")
        capacity = members["capacity"].integer(0) if "capacity" in members else None
        weight = members["weight"].integer(1) if "weight" in members else 1
        memories[arena] = Memory(arena, capacity, weight)
    return tuple(memories.values())


def problem_text(problem: Problem, memories: Sequence[Memory] = ()) -> str:
    """A problem and its memories as a file's content; the same ones give the same text."""
    return _lines(
        {"format": PROBLEM_FORMAT},
        {
            "buffers": [_buffer_json(buffer) for buffer in problem.buffers],
            "groups": [
                [{"buffer": m.buffer, "delta": m.delta} for m in group] for group in problem.groups
            ],
            "may_share": [list(pair) for pair in problem.may_share],
            "memories": [_memory_json(memory) for memory in memories],
        },
        required=("buffers",),
    )


def _lines(head: dict[str, Any], lists: dict[str, list[Any]], required: Sequence[str]) -> str:
    """JSON with one line per item of a list; empty lists that are not required are left out."""
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, items in lists.items():
        if items or key in required:
            lines = ",\n".join(json.dumps(item) for item in items)
            parts.append(f'"{key}": [\n{lines}\n]' if lines else f'"{key}": []')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _buffer_json(buffer: Buffer) -> dict[str, Any]:
    result: dict[str, Any] = {"name": buffer.name} if buffer.name else {}
    result["size"] = buffer.size_bytes
    result["lifetime"] = [[a.start, a.end] for a in merge(buffer.lifetime)]
    if buffer.alignment != 1:
        result["alignment"] = buffer.alignment
    arenas = [buffer.arena, *buffer.arenas]
    if arenas != [DEFAULT_ARENA]:
        result["arenas"] = arenas
    for key, value in (("offset", buffer.offset), ("hint", buffer.hint)):
        if value is not None:
            result[key] = value
    if buffer.windows:
        result["windows"] = [
            {"lifetime": [w.lifetime.start, w.lifetime.end], "bytes": [w.start_byte, w.end_byte]}
            for w in buffer.windows
        ]
    if buffer.region is not None:
        result["region"] = [buffer.region.start, buffer.region.end]
    if buffer.is_last:
        result["last"] = True
    return result


def _memory_json(memory: Memory) -> dict[str, Any]:
    result = {"arena": memory.arena}
    if memory.capacity_bytes is not None:
        result["capacity"] = memory.capacity_bytes
    if memory.weight != 1:
        result["weight"] = memory.weight
    return result


def parse_plan(text: str, name: str) -> Plan:
    """The plan that a file's content describes.

    Raises:
        FormatError: with `name` and the path of what is wrong.
        UnsupportedError: it is of another format, or of a version that is not known.
    """
    root = parse_json(text, name)
    _check_format(root, PLAN_FORMAT, name)
    members = root.members(("format", "method", "optimal", "arenas", "buffers"), ())
    heights: dict[int, int] = {}
    bounds: dict[int, int] = {}
    for node in members["arenas"].items():
        entry = node.members(("arena", "height", "lower_bound"), ())
        arena = entry["arena"].integer(0)
        if arena in heights:
            entry["arena"].fail(f"arena {arena} is there already")
        heights[arena] = entry["height"].integer(0)
        bounds[arena] = entry["lower_bound"].integer(0)
    offsets: list[int] = []
    arenas: list[int] = []
    for node in members["buffers"].items():
        entry = node.members(("offset",), ("arena", "name"))
        offsets.append(entry["offset"].integer(0))
        if "arena" in entry:
            arenas.append(entry["arena"].integer(0))
        if "name" in entry:
            entry["name"].string()
    if arenas and len(arenas) < len(offsets):
        members["buffers"].fail("some name an arena, others do not")
    method, is_optimal = members["method"].string(), members["optimal"].boolean()
    return Plan(tuple(offsets), heights, bounds, method, is_optimal, tuple(arenas))


def plan_text(plan: Plan, problem: Problem | None = None) -> str:
    """A plan as a file's content; with the problem, buffers have their names."""
    buffers: list[dict[str, Any]] = []
    for k, offset in enumerate(plan.offsets):
        name = problem.buffers[k].name if problem else ""
        buffers.append({"name": name} if name else {})
        buffers[-1]["offset"] = offset
        if plan.arenas:
            buffers[-1]["arena"] = plan.arenas[k]
    arenas = [
        {"arena": arena, "height": height, "lower_bound": plan.lower_bound_bytes[arena]}
        for arena, height in plan.height_bytes.items()
    ]
    head = {"format": PLAN_FORMAT, "method": plan.method, "optimal": plan.optimal}
    return _lines(head, {"arenas": arenas, "buffers": buffers}, required=("arenas", "buffers"))
