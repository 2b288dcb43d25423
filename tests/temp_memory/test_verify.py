"""Planted faults: everything that would destroy a tensor is found, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from onearena import Options, optimize, verify
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.pte.schema import AllocationDetails, EValue, SubsegmentOffsets, Tensor
from onearena.record import read_record
from onearena.verification.memory_state import extents_in
from onearena.verification.program import verify_program
from tests.pte.build import CHAR, Method, file_bytes, pte_file, read_bytes
from tests.temp_memory.programs import BACKEND, payload, two_calls, two_calls_file, write
from tests.temp_memory.test_region import changed_record

LIVES = {"x": (-1, 0), "q": (0, 2), "kept": (1, 4), "r": (2, 3), "wide": (3, 4), "s": (4, 5)}
LIVES |= {"t": (5, 6), "y": (6, 7)}
"""By value of `two_calls`, the instructions that write it first and read it last."""
CALLS = (2, 5)
SIZES = dict.fromkeys(LIVES, 64) | {"x": 256, "wide": 256, "y": 256}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two calls that take 256 and 128 bytes, optimized in their order, which `LIVES` says."""
    directory = tmp_path_factory.mktemp("planned")
    source = write(two_calls_file(256, 128), directory / "a.pte")
    optimize(source, directory / "b.pte", Options(reorder=False))
    return directory / "b.pte"


def offsets_of(file: PteFile) -> dict[str, int]:
    _, values = two_calls()
    found: dict[str, int] = {}
    for name, index in values.items():
        tensor = ((file.program.execution_plan or ())[0].values or ())[index].val
        assert isinstance(tensor, Tensor)
        assert tensor.allocation_info
        found[name] = tensor.allocation_info.offset
    return found


def overlapped(offsets: Mapping[str, int], start: int, size_bytes: int) -> set[str]:
    """The values that lose bytes to the region: alive at a call that uses it."""
    return {
        name
        for name, offset in offsets.items()
        if offset < start + size_bytes and start < offset + SIZES[name]
        if any(LIVES[name][0] <= call <= LIVES[name][1] for call in CALLS)
    }


def region_of(file: PteFile) -> tuple[int, int]:
    record = read_record(file)
    assert record
    temp = record.methods["forward"].temp
    assert temp
    return temp.offset, temp.size_bytes


def test_what_was_planned_is_safe(planned: Path) -> None:
    assert verify(planned).violations == ()
    with open_pte(planned) as file:
        assert overlapped(offsets_of(file), *region_of(file)) == set()


def test_the_region_at_every_offset(planned: Path, tmp_path: Path) -> None:
    with open_pte(planned) as file:
        offsets, (_, size) = offsets_of(file), region_of(file)
        arena = ((file.program.execution_plan or ())[0].non_const_buffer_sizes or ())[1]
    verdicts: set[bool] = set()
    for size_bytes in (size, size + 16):
        for start in range(0, arena - size_bytes + 1, 16):
            where = {"offset": start, "size_bytes": size_bytes}
            report = verify(changed_record(planned, tmp_path / "moved.pte", **where))
            expected = not overlapped(offsets, start, size_bytes)
            assert report.safe == expected, (where, report.violations)
            verdicts.add(expected)
    assert verdicts == {True, False}


def moved(file: PteFile, index: int, offset: int) -> PteFile:
    plan = (file.program.execution_plan or ())[0]
    values = list(plan.values or ())
    tensor = values[index].val
    assert isinstance(tensor, Tensor)
    values[index] = EValue(replace(tensor, allocation_info=AllocationDetails.at(1, offset)))
    program = replace(file.program, execution_plan=(replace(plan, values=tuple(values)),))
    return file.with_program(program, file.segments)


def clashes(offsets: Mapping[str, int]) -> Iterable[tuple[str, str]]:
    """Pairs of values that share bytes while both are alive."""
    for one, start in offsets.items():
        for other, at in offsets.items():
            apart = at + SIZES[other] <= start or start + SIZES[one] <= at
            lives = LIVES[one], LIVES[other]
            together = max(lives[0][0], lives[1][0]) <= min(lives[0][1], lives[1][1])
            if one < other and together and not apart:
                yield one, other


def test_every_tensor_at_every_offset(planned: Path) -> None:
    _, values = two_calls()
    lost = kept = 0
    with open_pte(planned) as file:
        offsets, (start, size) = offsets_of(file), region_of(file)
        arena = ((file.program.execution_plan or ())[0].non_const_buffer_sizes or ())[1]
        for name, index in values.items():
            for offset in range(0, arena - SIZES[name] + 1, 16):
                new = {**offsets, name: offset}
                report = verify_program(read_bytes(file_bytes(moved(file, index, offset))))
                if name in overlapped(new, start, size):
                    lost += 1
                    assert not report.safe, (name, offset)
                elif not any(clashes(new)):
                    kept += 1
                    assert report.safe, (name, offset, report.violations)
    assert min(lost, kept) > 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offset": 8}, "is not aligned to 16"),
        ({"size_bytes": 240}, "takes 256 bytes of temp memory, the region has 240"),
        ({"arena": 3}, "lies in arena 3, which does not exist"),
        ({"offset": 1 << 20}, "the temp region ends at byte"),
    ],
)
def test_regions_that_cannot_be(
    planned: Path, tmp_path: Path, changes: dict[str, int], message: str
) -> None:
    report = verify(changed_record(planned, tmp_path / "wrong.pte", **changes))
    assert any(message in str(violation) for violation in report.violations), report.violations


def test_state_is_never_inside(tmp_path: Path) -> None:
    """State of the method itself, and of another one that shares its arena."""
    for own in (True, False):
        first, values = two_calls()
        second, _ = two_calls()
        second.name = "second"
        owner = first if own else second
        cache = owner.tensor(16, offset=1088, data_buffer_idx=1)
        owner.call("aten::one.out", cache, values["y"], values["y"])
        methods = (first, second)
        file = pte_file(
            *methods,
            segments=[payload(256), payload(128), bytes(64)],
            mutable_data_segments=(SubsegmentOffsets(2, (0, 0)),),
        )
        before, after = write(file, tmp_path / "a.pte"), tmp_path / "b.pte"
        optimize(before, after)
        assert verify(after).safe
        with open_pte(after) as found:
            record = read_record(found)
            assert record
            plan = (found.program.execution_plan or ())[0 if own else 1]
            state = (plan.values or ())[cache].val
            assert isinstance(state, Tensor)
            assert state.allocation_info
            offset = state.allocation_info.offset
            temp = record.methods["forward"].temp
            assert temp
            assert offset >= temp.offset + temp.size_bytes or temp.offset >= offset + 64
        wrong = changed_record(after, tmp_path / "c.pte", offset=offset - offset % 16)
        kinds = {violation.kind for violation in verify(wrong).violations}
        assert "state" in kinds


def looping() -> tuple[Method, dict[str, int]]:
    """A call inside a loop. `kept` is read in every round, `late` after the last."""
    method = Method()
    names = ("x", "q", "kept", "late", "r", "s", "flag", "y")
    v = {
        name: method.tensor(64, scalar_type=CHAR, offset=64 * position)
        for position, name in enumerate(names)
    }
    method.input(v["x"]).output(v["y"])
    call = method.delegate(BACKEND, 0)
    method.call("aten::one.out", v["x"], v["q"], v["q"])
    method.call("aten::one.out", v["x"], v["kept"], v["kept"])
    method.call("aten::one.out", v["x"], v["late"], v["late"])
    method.call_delegate(call, v["q"], v["r"])
    method.call("aten::one.out", v["r"], v["s"], v["s"])
    method.call("aten::two.out", v["s"], v["kept"], v["flag"], v["flag"])
    method.jump_if_false(v["flag"], 3)
    method.call("aten::two.out", v["s"], v["late"], v["y"], v["y"])
    return method, v


def test_a_call_in_a_loop(tmp_path: Path) -> None:
    method, values = looping()
    before = write(pte_file(method, segments=[payload(192)]), tmp_path / "a.pte")
    after = tmp_path / "b.pte"
    report = optimize(before, after).methods[0]
    assert report.after
    assert report.after.arena_bytes >= 192 + 4 * 64
    assert verify(after).safe
    with open_pte(after) as file:
        plan = (file.program.execution_plan or ())[0]
        arena = (plan.non_const_buffer_sizes or ())[1]
        places = extents_in(plan)
    alive = [places[values[name]] for name in ("q", "kept", "late", "r")]
    verdicts: set[bool] = set()
    for start in range(0, arena - 192 + 1, 16):
        expected = not any(p.start < start + 192 and start < p.end for p in alive)
        report_ = verify(changed_record(after, tmp_path / "c.pte", offset=start))
        assert report_.safe == expected, (start, report_.violations)
        verdicts.add(expected)
    assert verdicts == {True, False}
