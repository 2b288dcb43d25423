"""The temp region: planned with the tensors, recorded, found by whoever needs it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onearena import Options, inspect, optimize
from onearena.cortex_m.cores import Isa
from onearena.cortex_m.needs import temp_region_bytes
from onearena.errors import AnalysisError
from onearena.pte.container import Segment
from onearena.pte.reader import open_pte
from onearena.pte.schema import NamedData
from onearena.record import KEY, Record, TempRecord, encode_record, read_record
from onearena.sizes.program import program_sizes
from onearena.sizes.results import TempPlace
from tests.cortex_m.programs import committed, older_bytes
from tests.pte.build import CHAR, Method, file_bytes, pte_file, read_bytes
from tests.temp_memory.programs import BACKEND, payload, two_calls_file, write


def recorded(path: Path, method: str = "forward") -> TempRecord | None:
    with open_pte(path) as file:
        record = read_record(file)
        return record.methods[method].temp if record else None


def test_one_region_holds_what_the_largest_call_takes(tmp_path: Path) -> None:
    before = write(two_calls_file(512, 256), tmp_path / "before.pte")
    after = tmp_path / "after.pte"
    report = optimize(before, after).methods[0]
    assert (report.before.arena_bytes, report.before.temp_bytes) == (1088, 512)
    assert report.after
    # at the first call: what it takes, and its two operands; `kept` is made behind it
    assert (report.after.arena_bytes, report.after.temp_bytes) == (512 + 2 * 64, 0)
    assert report.optimal
    assert report.lower_bound_bytes == report.after.total_bytes
    assert any("the application must build it there" in note for note in report.notes)
    assert report.unknown_backends == ()
    region = recorded(after)
    assert region
    assert (region.arena, region.size_bytes, region.target) == (1, 512, None)
    assert region.offset % 16 == 0


def test_what_is_said_of_the_file_afterwards(tmp_path: Path) -> None:
    before = write(two_calls_file(), tmp_path / "before.pte")
    after = tmp_path / "after.pte"
    optimize(before, after)
    found = inspect(after).methods[0]
    assert (found.before.arena_bytes, found.before.temp_bytes) == (640, 0)
    assert found.optimal
    assert found.peak
    assert found.peak.live_bytes == 640
    assert "with 512 B of temp memory" in found.peak.step
    assert inspect(before).methods[0].before.temp_bytes == 512


def test_no_byte_is_left_behind_the_last_tensor(tmp_path: Path) -> None:
    """Only XNNPACK reads past the end of its tensors."""
    method = Method()
    values = [method.tensor(64, scalar_type=CHAR, offset=200 * k) for k in range(2)]
    method.input(values[0]).output(values[1])
    method.call_delegate(method.delegate(BACKEND, 0), *values)
    before = write(pte_file(method, segments=[payload(128)]), tmp_path / "before.pte")
    report = optimize(before, tmp_path / "after.pte").methods[0]
    assert report.after
    assert report.after.arena_bytes == 128 + 2 * 64


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([b"vela", payload(256)], "ends inside the header"),
        ([payload(256, [(64, 0)], [])] * 2, "it takes 1 arguments and is given 2"),
    ],
)
def test_what_is_not_known_is_not_planned(
    tmp_path: Path, segments: list[bytes], message: str
) -> None:
    file = two_calls_file()
    broken = replace(file, segments=tuple(Segment((data,)) for data in segments))
    before = write(broken, tmp_path / "before.pte")
    report = optimize(before, tmp_path / "after.pte").methods[0]
    assert report.before.temp_bytes == 0
    note = next(note for note in report.notes if "temp memory is not planned" in note)
    assert message in note
    assert not any("must build it there" in note for note in report.notes)


def test_kernels_that_take_more_than_the_calls(tmp_path: Path) -> None:
    method = Method()
    values = [method.tensor(64, scalar_type=CHAR, offset=64 * k) for k in range(2)]
    picked = [method.tensor(1, scalar_type=CHAR, offset=128 + 16 * k) for k in range(2)]
    numbers = [method.integer(n) for n in (1, 0)]
    method.input(values[0]).output(*picked)
    method.call_delegate(method.delegate(BACKEND, 0), *values)
    flags = [method.boolean(True)] * 2
    both = method.tensor_list(*picked)
    method.call("aten::topk.values", values[1], *numbers, *flags, *picked, both)
    before = write(pte_file(method, segments=[payload(256)]), tmp_path / "before.pte")
    optimize(before, tmp_path / "after.pte")
    region = recorded(tmp_path / "after.pte")
    assert region
    assert region.size_bytes == 16 * 64


# -- sizes --------------------------------------------------------------------------------


def test_sizes_of_a_file_before_and_after(tmp_path: Path) -> None:
    before = write(two_calls_file(), tmp_path / "before.pte")
    optimize(before, tmp_path / "after.pte")
    old = program_sizes(before, "cortex-m55").methods[0]
    assert (old.temp_bytes, old.temp_region) == (512, None)
    assert old.total.size_bytes
    new = program_sizes(tmp_path / "after.pte", "cortex-m55").methods[0]
    region = recorded(tmp_path / "after.pte")
    assert region
    assert new.temp_region == TempPlace(1, region.offset, 512)
    assert (new.temp_bytes, new.arena_bytes) == (512, 640)
    assert new.total.size_bytes == old.total.size_bytes - 512 - 1088 + 640
    assert new.to_json()["temp_allocator"]["region"] == {
        "memory_id": 1,
        "offset": region.offset,
        "bytes": 512,
    }


def test_a_region_that_is_smaller_than_what_loading_takes(tmp_path: Path) -> None:
    """Kernels are looked up with the temp allocator; if it is too small the other one pays."""
    small = Segment((payload(64, [(64, 0)], [(64, 0)]),))
    before = write(replace(two_calls_file(), segments=(small, small)), tmp_path / "before.pte")
    optimize(before, tmp_path / "after.pte")
    old = program_sizes(before, "cortex-m55").methods[0]
    new = program_sizes(tmp_path / "after.pte", "cortex-m55").methods[0]
    assert new.temp_region
    assert new.temp_region.size_bytes == 64 < new.resolve_temp_bytes
    assert (new.method_allocator_bytes or 0) > (old.method_allocator_bytes or 0)


# -- programs of ExecuTorch 1.1 to 1.3 for Cortex-M ----------------------------------------


@pytest.fixture
def older_program(tmp_path: Path) -> Path:
    path = tmp_path / "older.pte"
    path.write_bytes(older_bytes(committed("conv2d_x3", "cortex-m55")))
    return path


def test_older_programs_need_a_target(older_program: Path, tmp_path: Path) -> None:
    free, planned = tmp_path / "free.pte", tmp_path / "planned.pte"
    assert optimize(older_program, free).methods[0].before.temp_bytes == 0
    with open_pte(older_program) as file:
        needed = temp_region_bytes((file.program.execution_plan or ())[0], Isa.MVE)
    report = optimize(older_program, planned, Options(target="cortex-m55")).methods[0]
    assert report.before.temp_bytes == needed == 576
    assert report.after
    assert report.after.total_bytes == report.before.arena_bytes == report.lower_bound_bytes
    region = recorded(planned)
    assert region
    assert (region.size_bytes, region.target) == (576, "cortex-m55")
    pools = program_sizes(planned, "cortex-m55").methods[0]
    assert pools.temp_region == TempPlace(1, region.offset, 576)
    # on the host it is what it was planned for
    assert program_sizes(planned).methods[0].temp_region == pools.temp_region


def changed_record(path: Path, output: Path, **changed: Any) -> Path:
    """The file with another temp region in its record, written by another version."""
    with open_pte(path) as file:
        record = read_record(file)
        assert record
        entry = record.methods["forward"]
        assert entry.temp
        new = replace(entry, temp=replace(entry.temp, **changed))
        content = encode_record(Record("0.0.1", {"forward": new}))
        index = next(e.segment_index for e in file.program.named_data or () if e.key == KEY)
        segments = list(file.segments)
        segments[index] = Segment((content,), 16)
        output.write_bytes(file_bytes(file.with_program(file.program, tuple(segments))))
    return output


def test_the_target_is_remembered(older_program: Path, tmp_path: Path) -> None:
    planned = tmp_path / "planned.pte"
    optimize(older_program, planned, Options(target="cortex-m55"))
    older_version = changed_record(planned, tmp_path / "again.pte")
    optimize(older_version, tmp_path / "third.pte")
    assert recorded(tmp_path / "third.pte") == recorded(planned)


def test_a_region_too_small_for_another_target(older_program: Path, tmp_path: Path) -> None:
    planned = tmp_path / "planned.pte"
    optimize(older_program, planned, Options(target="cortex-m55"))
    small = changed_record(planned, tmp_path / "small.pte", size_bytes=64)
    with pytest.raises(AnalysisError, match="the temp region has 64 B: optimize the program"):
        program_sizes(small, "cortex-m55")
    report = optimize(small, tmp_path / "large.pte", Options(target="cortex-m55")).methods[0]
    assert report.before.temp_bytes == 576
    region = recorded(tmp_path / "large.pte")
    assert region
    assert region.size_bytes == 576


def test_a_region_outside_of_its_arena(tmp_path: Path) -> None:
    before = write(two_calls_file(), tmp_path / "before.pte")
    optimize(before, tmp_path / "after.pte")
    for changes in ({"offset": 4096}, {"arena": 2}):
        wrong = changed_record(tmp_path / "after.pte", tmp_path / "wrong.pte", **changes)
        with pytest.raises(AnalysisError, match="its temp region lies outside of memory_id"):
            program_sizes(wrong, "cortex-m55")


# -- the record ---------------------------------------------------------------------------


def test_records_without_a_region_are_as_before(tmp_path: Path) -> None:
    before = write(two_calls_file(), tmp_path / "before.pte")
    optimize(before, tmp_path / "after.pte")
    with open_pte(tmp_path / "after.pte") as file:
        record = read_record(file)
    assert record
    entry = record.methods["forward"]
    assert b"temp_region" in encode_record(record)
    plain = Record("1", {"forward": replace(entry, temp=None)})
    assert b"temp_region" not in encode_record(plain)
    for found in (record, plain):
        data = encode_record(found)
        method = Method()
        a = method.tensor(4, offset=0)
        method.input(a).output(a)
        file = read_bytes(_with_record(method, data))
        assert read_record(file) == found


@pytest.mark.parametrize(
    "wrong",
    [
        b'"offset":-16',
        b'"offset":"x"',
        b'"offset":[]',
        b'"other":1',
        b'"offset":1e400',
        b'"offset":1e40',
    ],
)
def test_malformed_regions_in_a_record(wrong: bytes) -> None:
    method = Method()
    a = method.tensor(4, offset=0)
    method.input(a).output(a)
    data = (
        b'{"format":1,"tool":"onearena 1","methods":{"forward":{"arena_bytes_before":[0,16],'
        b'"workspace_bytes_before":0,"aliases":[],"state":[],"opened":[1,1],"order":[],'
        b'"temp_region":{"memory_id":1,"offset":0,"bytes":16,"target":null}}}}'
    )
    assert read_record(read_bytes(_with_record(method, data)))
    broken = data.replace(b'"offset":0', wrong)
    assert read_record(read_bytes(_with_record(method, broken))) is None


def _with_record(method: Method, data: bytes) -> bytes:
    return file_bytes(pte_file(method, segments=[data], named_data=(NamedData(KEY, 0),)))
