"""Data of our own in a program's segments, under a key that nobody else uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from onearena.flatbuf.data import Data
from onearena.pte.container import PteFile, Segment
from onearena.pte.schema import NamedData, Program

_SEGMENT = 1
"""`DataLocation.SEGMENT` of the program's schema."""
_ALIGNMENT = 16


def named_data(file: PteFile, key: str) -> Data | None:
    """What a file has under a key; None when it has nothing, or in a segment that is not there."""
    entry = next((e for e in file.program.named_data or () if e.key == key), None)
    if entry is None or entry.segment_index >= len(file.segments):
        return None
    return file.segments[entry.segment_index].data


def segments_of_data(program: Program) -> Iterator[int]:
    """The segments that hold named data, state and constants, as often as they are named."""
    yield from (entry.segment_index for entry in program.named_data or ())
    yield from (piece.segment_index for piece in program.mutable_data_segments or ())
    if program.constant_segment is not None:
        yield program.constant_segment.segment_index


def segment_users(program: Program) -> Counter[int]:
    """By segment, how many parts of the program name it."""
    users = Counter(segments_of_data(program))
    for plan in program.execution_plan or ():
        for delegate in plan.delegates or ():
            if delegate.processed is not None and delegate.processed.location == _SEGMENT:
                users[delegate.processed.index] += 1
    return users


def with_named_data(
    program: Program, segments: tuple[Segment, ...], key: str, content: bytes
) -> tuple[Program, tuple[Segment, ...]]:
    """The program with `content` under `key`: in place of what was there before, unless something
    else names the same segment, or there is no such segment."""
    segment = Segment((content,), _ALIGNMENT)
    named = program.named_data or ()
    old = next((entry for entry in named if entry.key == key), None)
    is_there = old is not None and old.segment_index < len(segments)
    if old is not None and is_there and segment_users(program)[old.segment_index] == 1:
        kept = list(segments)
        kept[old.segment_index] = segment
        return program, tuple(kept)
    others = tuple(entry for entry in named if entry is not old)
    entry = NamedData(key, len(segments))
    return replace(program, named_data=(*others, entry)), (*segments, segment)
