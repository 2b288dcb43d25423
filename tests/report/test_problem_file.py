"""The planning problem as a file: `onearena plan` reads it back and finds the same bound."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from onearena.errors import UsageError
from onearena.lifetime import Interval
from onearena.planners.native import lower_bound_bytes, plan
from onearena.problem import Buffer, Member, Plan, Problem
from onearena.problem_files import check_plan, read_problem
from onearena.report.flat_problem import flat_problem
from onearena.report.problem_file import method_problem, problem_text
from onearena.summary.build import summarize
from onearena.verification.plan import verify_plan
from tests.cli.programs import spread_out
from tests.pte.build import Method, file_bytes, pte_file
from tests.report.programs import rich_file


def life(*pairs: tuple[int, int]) -> tuple[Interval, ...]:
    return tuple(Interval(*pair) for pair in pairs)


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_reads_back_with_the_bound_of_the_summary(tmp_path: Path, suffix: str) -> None:
    source = rich_file(tmp_path)
    for method in summarize(source).methods:
        text, lost = problem_text(source, method.name, suffix == ".csv")
        target = tmp_path / f"{method.name}{suffix}"
        target.write_text(text, encoding="utf-8")
        problem = read_problem(target).problem
        found = plan(problem)
        # pairs that may share an address are lost in CSV, and with them a lower bound
        assert all("may share an address" in remark for remark in lost)
        assert lost == () or suffix == ".csv"
        assert not verify_plan(problem, found)
        bounds = {arena.memory_id: arena.bound_bytes for arena in method.arenas}
        assert lost or found.lower_bound_bytes == bounds
        assert all(found.lower_bound_bytes[arena] >= least for arena, least in bounds.items())


def with_view(directory: Path) -> Path:
    """A view of the second half of a tensor, with a lifetime of its own."""
    method = Method()
    x, whole = method.tensor(64, offset=0), method.tensor(64, offset=256)
    half, out = method.tensor(32, offset=384), method.tensor(32, offset=512)
    method.input(x).output(out)
    method.call("aten::relu.out", x, whole, whole)
    method.call("aten::relu.out", half, out, out)
    path = directory / "view.pte"
    path.write_bytes(file_bytes(pte_file(method)))
    return path


def test_json_keeps_what_csv_has_to_make_plain(tmp_path: Path) -> None:
    source = with_view(tmp_path)
    exact = method_problem(source, "forward")
    assert exact.groups
    text, lost = problem_text(source, "forward", False)
    (tmp_path / "p.json").write_text(text, encoding="utf-8")
    assert read_problem(tmp_path / "p.json").problem == exact
    assert lost == ()
    text, lost = problem_text(source, "forward", True)
    (tmp_path / "p.csv").write_text(text, encoding="utf-8")
    problem = read_problem(tmp_path / "p.csv").problem
    pairs = "without 2 pairs that may share an address"
    assert lost == ("1 alias group as plain buffers", pairs)
    names = {buffer.name for buffer in problem.buffers}
    assert names == {"value 0", "value 3", "value 1 + value 2"}
    # here nothing is lost but words
    assert lower_bound_bytes(problem, 1) == lower_bound_bytes(exact, 1)
    assert plan(problem).total_bytes == plan(exact).total_bytes


def test_a_group_takes_the_bytes_from_its_first_live_member_to_its_last() -> None:
    buffers = (
        Buffer(0, 100, 4, 1, life((0, 4)), None, "low"),
        Buffer(1, 100, 8, 1, life((2, 6)), None, "high"),
        Buffer(2, 50, 16, 1, life((6, 8), (9, 10)), None, "middle"),
        Buffer(3, 7, 1, 1, life((1, 3)), None, "other"),
    )
    group = (Member(0, 64), Member(1, 264), Member(2, 128))
    flat, lost = flat_problem(Problem(buffers, (group,), ((0, 3),)))
    other, joined = flat.buffers
    assert [b.id for b in flat.buffers] == [0, 1]
    assert (other.name, joined.name) == ("other", "low + high + middle")
    assert (joined.size_bytes, joined.alignment) == (300, 16)
    assert joined.lifetime == life((0, 8), (9, 10))
    taken = [(w.lifetime.start, w.lifetime.end, w.start_byte, w.end_byte) for w in joined.windows]
    assert taken == [(0, 2, 0, 100), (4, 6, 200, 300), (6, 8, 64, 114), (9, 10, 64, 114)]
    assert lost == (
        "1 alias group as plain buffers",
        "without 1 pair that may share an address",
    )


def test_members_that_keep_their_offsets_become_the_ranges_that_they_take() -> None:
    whole = life((0, 9))
    buffers = tuple(
        Buffer(k, size, 1, 1, whole, offset, f"b{k}")
        for k, (offset, size) in enumerate([(0, 10), (5, 10), (40, 8), (40, 0), (48, 2)])
    )
    group = tuple(Member(b.id, b.offset or 0) for b in buffers)
    flat, _ = flat_problem(Problem(buffers, (group,)))
    assert [(b.name, b.offset, b.size_bytes) for b in flat.buffers] == [
        ("pinned 0:15 of arena 1", 0, 15),
        ("pinned 40:50 of arena 1", 40, 10),
    ]
    assert not verify_plan(flat, plan(flat))


def test_plans_of_the_flat_problem_are_plans_of_the_groups(tmp_path: Path) -> None:
    exact = method_problem(with_view(tmp_path), "forward")
    flat, _ = flat_problem(exact)
    found = plan(flat)
    at = {b.name: offset for b, offset in zip(flat.buffers, found.offsets, strict=True)}
    origin = at["value 1 + value 2"]
    offsets = (at["value 0"], origin, origin + 128, at["value 3"])
    back = type(found)(offsets, found.height_bytes, found.lower_bound_bytes, "flat")
    assert not verify_plan(exact, back)


def random_problem(seed: int) -> Problem:
    """Buffers, some in groups at distances that their alignments allow, some pinned together."""
    rng = random.Random(seed)
    buffers: list[Buffer] = []

    def add(offset: int | None, alignment: int) -> int:
        cuts = sorted(rng.sample(range(12), rng.choice((2, 4))))
        lives = life(*zip(cuts[::2], cuts[1::2], strict=True))
        size = rng.randrange(1, 200)
        number = len(buffers)
        buffers.append(Buffer(number, size, alignment, 1, lives, offset, f"b{number}"))
        return number

    groups = []
    for _ in range(rng.randrange(1, 4)):
        alignments = [rng.choice((1, 4, 16)) for _ in range(rng.randrange(1, 5))]
        groups.append(
            tuple(Member(add(None, a), a * rng.randrange(0, 300 // a)) for a in alignments)
        )
    offsets = [rng.randrange(0, 500) for _ in range(rng.randrange(0, 4))]
    if offsets:
        groups.append(tuple(Member(add(offset, 1), offset) for offset in offsets))
    for _ in range(rng.randrange(0, 6)):
        add(None, 16)
    return Problem(tuple(buffers), tuple(groups))


@pytest.mark.parametrize("seed", range(60))
def test_every_plan_of_the_flat_problem_is_one_of_the_groups(seed: int) -> None:
    exact = random_problem(seed)
    flat, _ = flat_problem(exact)
    assert not flat.groups
    found = plan(flat, time_limit_s=0.1)
    check_plan(flat, found, ())
    at = {b.name: offset for b, offset in zip(flat.buffers, found.offsets, strict=True)}
    offsets = [at.get(b.name, b.offset or 0) for b in exact.buffers]
    for group in exact.groups:
        name = " + ".join(exact.buffers[m.buffer].name for m in group)
        if name in at:
            lowest = min(m.delta for m in group)
            aligned = math.lcm(*(exact.buffers[m.buffer].alignment for m in group))
            origin = at[name] - lowest // aligned * aligned
            for m in group:
                offsets[m.buffer] = origin + m.delta
    back = Plan(tuple(offsets), found.height_bytes, {1: 0}, "flat")
    assert not verify_plan(exact, back)


def test_a_method_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no method 'backward'"):
        problem_text(spread_out(tmp_path), "backward", True)
