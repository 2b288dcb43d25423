"""A summary as a trace that chrome://tracing and ui.perfetto.dev open.

The format is Chrome's "Trace Event Format" in its form of a JSON object
(https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): `ts` and `dur`
count microseconds, phase X is a complete slice, C a counter, M a name. Slices of one thread must
be apart or nested, so that lifetimes, which overlap in any way, get as many threads as tensors
are alive at once. Perfetto knows threads by their number alone, whatever the process, and appends
the key to a counter's name (`json_trace_parser_impl.cc` there).
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any

from onearena import __version__
from onearena.lifetime import Interval
from onearena.report.plain import plain
from onearena.summary.model import (
    ArenaSummary,
    MethodSummary,
    ProgramSummary,
    StepKind,
    StepSummary,
    TensorSummary,
)

STEP_MICROSECONDS = 1000
"""How long a step takes in the trace: a file says nothing about time."""

Event = dict[str, Any]


def trace_json(summary: ProgramSummary) -> str:
    """The trace: a process per method.

    Threads are the instructions, with the nodes of understood delegate calls inside them, and
    per arena the lifetimes of its tensors. Counters are the live bytes of every arena, and the
    workspace that the running delegate needs, unless that of some delegate is not known.
    """
    events: list[Event] = []
    # unique in the whole trace, and no process's number
    threads = count(len(summary.methods) + 1)
    for number, method in enumerate(summary.methods):
        events += _method_events(method, number + 1, threads)
    about = {
        "program": plain(summary.path),
        "producer": f"onearena {__version__}",
        "time": "one step of the program is 1 ms; real times are not known",
        "counters": "bytes",
    }
    # an event per line: small, and two traces can be compared
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    head = f'{{"displayTimeUnit":"ms",\n"otherData":{json.dumps(about)},\n'
    return f'{head}"traceEvents":[\n{lines}\n]}}\n'


def _method_events(method: MethodSummary, process: int, threads: Iterator[int]) -> Iterator[Event]:
    yield _metadata("process_name", process, {"name": f"method {plain(method.name)}"})
    yield _metadata("process_sort_index", process, {"sort_index": process})
    unknown = method.workspace.unknown
    if unknown:
        labels = f"workspace not known: {', '.join(map(plain, unknown))}"
        yield _metadata("process_labels", process, {"labels": labels})
    thread = _Thread(process, next(threads))
    yield from _thread(thread, "instructions")
    yield from _instruction_slices(method, thread)
    for arena in method.arenas:
        yield from _counter(process, f"arena {arena.memory_id} live", arena.live_bytes)
    if None not in method.workspace_by_step and any(method.workspace_by_step):
        known = [size or 0 for size in method.workspace_by_step]
        yield from _counter(process, "delegate workspace", known)
    for arena in method.arenas:
        for number, lane in enumerate(_lanes(method, arena)):
            thread = _Thread(process, next(threads))
            yield from _thread(thread, f"arena {arena.memory_id} lifetimes {number}")
            for life in lane:
                yield _lifetime_slice(thread, life)


@dataclass(frozen=True, slots=True)
class _Thread:
    process: int
    number: int


def _metadata(kind: str, process: int, args: Event) -> Event:
    return {"name": kind, "ph": "M", "pid": process, "args": args}


def _thread(thread: _Thread, name: str) -> Iterator[Event]:
    for kind, args in (
        ("thread_name", {"name": name}),
        ("thread_sort_index", {"sort_index": thread.number}),
    ):
        yield {**_metadata(kind, thread.process, args), "tid": thread.number}


def _slice(name: str, category: str, thread: _Thread, steps: Interval, args: Event) -> Event:
    return {
        "name": plain(name),
        "cat": category,
        "ph": "X",
        "ts": steps.start * STEP_MICROSECONDS,
        "dur": (steps.end - steps.start) * STEP_MICROSECONDS,
        "pid": thread.process,
        "tid": thread.number,
        "args": args,
    }


def _counter(process: int, name: str, values: Sequence[int]) -> Iterator[Event]:
    """A value wherever it changes, and nothing at the end."""
    before: int | None = None
    for step, value in enumerate((*values, 0)):
        if value != before:
            time = step * STEP_MICROSECONDS
            yield {"name": name, "ph": "C", "ts": time, "pid": process, "args": {"bytes": value}}
        before = value


# -- instructions -----------------------------------------------------------------------------


def _instruction_slices(method: MethodSummary, thread: _Thread) -> Iterator[Event]:
    for instruction, group in groupby(method.steps, key=lambda step: step.instruction):
        steps = list(group)
        first = steps[0]
        if first.kind is StepKind.NODE:
            # the call comes first, so that its nodes are seen inside it
            assert first.delegate is not None
            backend = method.delegates[first.delegate].backend
            whole = Interval(first.number, steps[-1].number + 1)
            args = {"instruction": instruction, "delegate": first.delegate, **_source(first)}
            yield _slice(f"{backend} call", StepKind.DELEGATE.value, thread, whole, args)
        for step in steps:
            only = Interval(step.number, step.number + 1)
            yield _slice(step.label or step.kind.value, step.kind.value, thread, only, _args(step))


def _args(step: StepSummary) -> Event:
    args: Event = {"step": step.number, "instruction": step.instruction}
    if step.node is not None:
        args["node"] = step.node
    if step.delegate is not None:
        args["delegate"] = step.delegate
    return args | _source(step)


def _source(step: StepSummary) -> Event:
    if step.source is None:
        return {}
    return {"source": str(step.source), "function": step.source.function, "code": step.source.text}


# -- lifetimes --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Life:
    tensor: TensorSummary
    steps: Interval


def _lanes(method: MethodSummary, arena: ArenaSummary) -> list[list[_Life]]:
    """Lifetimes in as few lanes as possible, apart from each other in every lane."""
    lives = sorted(
        (
            _Life(tensor, steps)
            for tensor in method.tensors
            if tensor.arena == arena.memory_id
            for steps in tensor.lifetime
        ),
        key=lambda life: (life.steps.start, -life.tensor.size_bytes, life.tensor.value),
    )
    return _coloured(lives)


def _coloured(lives: Iterable[_Life]) -> list[list[_Life]]:
    """First come, first served: the lowest lane that is free."""
    lanes: list[list[_Life]] = []
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for life in lives:
        while busy and busy[0][0] <= life.steps.start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            free.append(len(lanes))
            lanes.append([])
        lane = heapq.heappop(free)
        lanes[lane].append(life)
        heapq.heappush(busy, (life.steps.end, lane))
    return lanes


def _lifetime_slice(thread: _Thread, life: _Life) -> Event:
    tensor = life.tensor
    args: Event = {
        "value": tensor.value,
        "bytes": tensor.size_bytes,
        "dtype": tensor.dtype,
        "shape": tensor.shape_text,
        "kind": tensor.kind.value,
        "memory_id": tensor.arena,
        "offset": tensor.offset,
        "block": tensor.block,
    }
    if tensor.pinned is not None:
        args["pinned"] = tensor.pinned
    return _slice(tensor.name, tensor.kind.value, thread, life.steps, args)
