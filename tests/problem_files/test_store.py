"""Files on disk: suffixes, what is no file, targets that must not be overwritten."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from onearena.errors import (
    FormatError,
    OnearenaError,
    PlanError,
    UsageError,
    VerificationError,
)
from onearena.lifetime import Interval
from onearena.planners import plan
from onearena.problem import Buffer, Member, Memory, Plan, Problem
from onearena.problem_files import (
    ProblemFile,
    read_plan,
    read_problem,
    write_plan,
    write_problem,
)
from tests.problem_files.problems import everything

_CSV = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n"
_PLAN = Plan((0, 64), {0: 96}, {0: 96}, "by hand", True)


def _source(directory: Path) -> Path:
    path = directory / "x.csv"
    path.write_text(_CSV)
    return path


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.CSV", "x.Json"])
def test_problems_come_back(name: str, tmp_path: Path) -> None:
    write_problem(tmp_path / name, everything())
    file = read_problem(tmp_path / name)
    assert file.problem == everything()
    assert file.memories == ()
    assert file.path == str(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_memories_have_json_only(tmp_path: Path) -> None:
    memories = (Memory(0, 4096, 2),)
    write_problem(tmp_path / "x.json", everything(), memories)
    assert read_problem(tmp_path / "x.json").memories == memories
    with pytest.raises(UsageError, match="only as JSON"):
        write_problem(tmp_path / "x.csv", everything(), memories)


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    problem = everything()
    wrong = replace(problem, buffers=(replace(problem.buffers[0], size_bytes=1 << 63),))
    twice = Problem((problem.buffers[0], replace(problem.buffers[0], id=1)))
    for name, bad in (("x.csv", wrong), ("x.json", wrong), ("x.csv", twice)):
        with pytest.raises(PlanError, match=name):
            write_problem(tmp_path / name, bad)
    grouped = replace(problem, groups=((Member(0, 0),),))
    with pytest.raises(UsageError, match=r"x\.csv: groups .* only as JSON"):
        write_problem(tmp_path / "x.csv", grouped)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x", "x.txt", "x.csv.gz", "csv", ""])
def test_other_suffixes(name: str, tmp_path: Path) -> None:
    for action in (
        lambda: read_problem(name),
        lambda: read_plan(name),
        lambda: write_problem(tmp_path / f"a{name}", everything()),
    ):
        with pytest.raises(UsageError, match=r"\.json"):
            action()


def test_plans_are_read_from_json_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a CSV file is a problem"):
        read_plan(_source(tmp_path))


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_what_cannot_be_read(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo, directory = tmp_path / f"fifo{suffix}", tmp_path / f"dir{suffix}"
    os.mkfifo(fifo)
    directory.mkdir()
    broken, large = tmp_path / f"broken{suffix}", tmp_path / f"large{suffix}"
    broken.write_bytes(b"id,\n\xff\n")
    large.write_bytes(b"x" * 101)
    monkeypatch.setattr("onearena.problem_files.disk.MAX_FILE_BYTES", 100)
    for path, message in (
        (tmp_path / f"none{suffix}", "no such file"),
        (fifo, "is not a file"),
        (directory, "is not a file"),
        (broken, "line 2: byte 4 is not UTF-8"),
        (large, "is larger than"),
        (Path(f"nul\0{suffix}"), "no such file|null byte"),
        (tmp_path / f"{'x' * 300}{suffix}", "too long"),
    ):
        with pytest.raises(FormatError, match=message):
            read_problem(path)


def test_a_huge_file_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    with path.open("wb") as out:
        out.truncate(1 << 40)
    with pytest.raises(FormatError, match="is larger than 256 MiB"):
        read_problem(path)


def test_plans_are_written(tmp_path: Path) -> None:
    file = read_problem(_source(tmp_path))
    write_plan(tmp_path / "plan.json", _PLAN, file)
    assert read_plan(tmp_path / "plan.json") == _PLAN
    write_plan(tmp_path / "plan.csv", _PLAN, file)
    assert (tmp_path / "plan.csv").read_text() == (
        "id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,32,64\n"
    )
    pinned = read_problem(tmp_path / "plan.csv").problem
    assert [buffer.offset for buffer in pinned.buffers] == [0, 64]
    write_plan(tmp_path / "bare.csv", _PLAN, file.problem)
    assert (tmp_path / "bare.csv").read_text() == (tmp_path / "plan.csv").read_text()
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "plan.csv").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (replace(_PLAN, offsets=(0, 32)), "are alive at once"),
        (replace(_PLAN, height_bytes={0: 95}), "b at .* is outside of arena 0"),
        (replace(_PLAN, offsets=(0,)), "1 offsets for 2 buffers"),
        (replace(_PLAN, arenas=(0, 1)), "b must not lie in arena 1"),
    ],
)
def test_wrong_plans_are_not_written(plan: Plan, message: str, tmp_path: Path) -> None:
    file = read_problem(_source(tmp_path))
    with pytest.raises(VerificationError, match=message):
        write_plan(tmp_path / "plan.csv", plan, file)
    small = replace(file, memories=(Memory(0, 95),))
    with pytest.raises(VerificationError, match="arena 0 cannot have 96 bytes"):
        write_plan(tmp_path / "plan.csv", _PLAN, small)
    assert not (tmp_path / "plan.csv").exists()


def test_a_plan_that_no_file_can_hold(tmp_path: Path) -> None:
    file = read_problem(_source(tmp_path))
    with pytest.raises(PlanError, match="64 bits"):
        write_plan(tmp_path / "plan.csv", replace(_PLAN, offsets=(0, 1 << 70)), file)


def test_unprintable_names_in_messages(tmp_path: Path) -> None:
    buffer = replace(everything().buffers[0], name="a\x1b[2J\n")
    with pytest.raises(VerificationError) as caught:
        write_plan(tmp_path / "plan.csv", Plan((0,), {0: 9}, {0: 9}, ""), Problem((buffer,)))
    assert str(caught.value).isprintable()


def test_targets(tmp_path: Path) -> None:
    source = _source(tmp_path)
    file = read_problem(source)
    link, hard, fifo = tmp_path / "link.csv", tmp_path / "hard.csv", tmp_path / "fifo.csv"
    link.symlink_to(source)
    hard.hardlink_to(source)
    os.mkfifo(fifo)
    (tmp_path / "dir.csv").mkdir()
    before = sorted(tmp_path.iterdir())
    for target in (
        source,
        link,
        hard,
        fifo,
        tmp_path / "dir.csv",
        tmp_path / "missing" / "x.csv",
        "",
        "-",
        "nul\0.csv",
        "/dev/null",
    ):
        with pytest.raises(UsageError) as caught:
            write_plan(target, _PLAN, file)
        assert str(caught.value).isprintable() or "\0" in str(caught.value)
    assert source.read_text() == _CSV
    assert sorted(tmp_path.iterdir()) == before


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    behind, link = tmp_path / "behind.json", tmp_path / "link.json"
    behind.write_text("old")
    link.symlink_to(behind)
    write_problem(link, everything())
    assert link.is_symlink()
    assert read_problem(behind).problem == everything()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_write_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UsageError, match="cannot be written"):
            write_problem(tmp_path / "x.json", everything())
    finally:
        tmp_path.chmod(0o700)


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(UsageError, match=r"x\.json: cannot be written \(No space left on device\)"):
        write_problem(tmp_path / "x.json", everything())
    assert list(tmp_path.iterdir()) == []


def test_a_problem_file_is_made_of_a_problem_alone() -> None:
    assert ProblemFile(everything()).memories == ()
    assert issubclass(VerificationError, OnearenaError)


def test_a_plan_that_csv_could_not_name_is_not_written(tmp_path: Path) -> None:
    """Names of a JSON problem need not differ; ids must."""
    buffers = tuple(Buffer(k, 8, 1, 0, (Interval(0, 4),), name="same") for k in range(2))
    problem = Problem(buffers)
    with pytest.raises(UsageError, match="same name"):
        write_plan(tmp_path / "x.csv", plan(problem), problem)
    write_plan(tmp_path / "x.json", plan(problem), problem)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.json"]


def test_leading_zeros_are_no_digits(tmp_path: Path) -> None:
    """Python refuses to read thousands of them."""
    path = tmp_path / "zeros.csv"
    path.write_text(f"id,lower,upper,size\na,-{'0' * 5000}1,1,{'0' * 5000}7\n")
    (buffer,) = read_problem(path).problem.buffers
    assert (buffer.size_bytes, buffer.lifetime) == (7, (Interval(-1, 1),))
