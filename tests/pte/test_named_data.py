"""Our own data in a file never takes the place of somebody else's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onearena.flatbuf.data import read_data
from onearena.pte.container import PteFile, Segment
from onearena.pte.named_data import segment_users, with_named_data
from onearena.pte.schema import NamedData, SubsegmentOffsets
from tests.pte.samples import everything, smallest

OURS = "ours"


def _file(*named: NamedData, segments: int = 2) -> PteFile:
    file = smallest()
    data = tuple(Segment((bytes([k]) * 8,)) for k in range(segments))
    return file.with_program(replace(file.program, named_data=named), data)


def _contents(file: PteFile, content: bytes) -> dict[str | None, bytes]:
    program, segments = with_named_data(file.program, file.segments, OURS, content)
    named = program.named_data or ()
    return {entry.key: read_data(segments[entry.segment_index].data) for entry in named}


def test_new_data_goes_behind_all_other() -> None:
    file = _file(NamedData("theirs", 1))
    assert _contents(file, b"new") == {"theirs": bytes([1]) * 8, OURS: b"new"}


def test_old_data_is_replaced_where_it_is() -> None:
    file = _file(NamedData("theirs", 1), NamedData(OURS, 0))
    program, segments = with_named_data(file.program, file.segments, OURS, b"new")
    assert program == file.program
    assert [read_data(segment.data) for segment in segments] == [b"new", bytes([1]) * 8]


def test_a_segment_with_two_names_is_left_alone() -> None:
    file = _file(NamedData("theirs", 1), NamedData(OURS, 1))
    assert _contents(file, b"new") == {"theirs": bytes([1]) * 8, OURS: b"new"}


def test_a_segment_of_state_is_left_alone() -> None:
    file = _file(NamedData(OURS, 1))
    state = (SubsegmentOffsets(segment_index=1, offsets=(0,)),)
    file = file.with_program(replace(file.program, mutable_data_segments=state), file.segments)
    program, segments = with_named_data(file.program, file.segments, OURS, b"new")
    assert read_data(segments[1].data) == bytes([1]) * 8
    assert program.named_data == (NamedData(OURS, 2),)


@pytest.mark.parametrize("number", [2, 1 << 31])
def test_a_segment_that_is_not_there(number: int) -> None:
    assert _contents(_file(NamedData(OURS, number)), b"new") == {OURS: b"new"}


def test_all_users_of_segments_are_counted() -> None:
    file = everything()
    program = file.program
    state = {piece.segment_index for piece in program.mutable_data_segments or ()}
    named = {entry.segment_index for entry in program.named_data or ()}
    assert program.constant_segment is not None
    found = {program.constant_segment.segment_index, *state, *named}
    assert state
    assert named
    assert found < set(segment_users(program)) <= set(range(len(file.segments)))  # and payloads
