"""`onearena plan`: golden output, stable JSON keys, exit codes, one line for bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from onearena.cli.main import main
from onearena.cli.plan import parse_size
from onearena.errors import InfeasibleError, PlanTimeoutError
from onearena.lifetime import Interval
from onearena.planners.native import DEFAULT_TIME_LIMIT_S
from onearena.problem import Buffer, Memory, Plan, Problem
from onearena.problem_files import read_plan, read_problem, write_problem
from tests.cli.test_cli import check_golden, run
from tests.planners.problems import network

CSV = "id,lower,upper,size\na,0,4,64\nb,2,6,32\nc,4,8,64\n"
_KEYS = {
    "path",
    "status",
    "optimal",
    "height_bytes",
    "lower_bound_bytes",
    "gap",
    "method",
    "buffers",
    "seconds",
    "conflict",
    "written",
}


def make_problem(directory: Path, text: str = CSV) -> Path:
    path = directory / "problem.csv"
    path.write_text(text)
    return path


def _two_arenas(directory: Path) -> Path:
    path = directory / "two.json"
    lives = (Interval(0, 4),)
    problem = Problem((Buffer(0, 64, 1, 1, lives, None, "a"), Buffer(1, 32, 1, 2, lives)))
    write_problem(path, problem, (Memory(2, 1024),))
    return path


def fake_planner(monkeypatch: pytest.MonkeyPatch, answer: Plan | Exception) -> None:
    def plan(problem: Problem, **options: Any) -> Plan:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("onearena.planners.native.plan", plan)


def _without_time(text: str) -> str:
    text = re.sub(r'("seconds":) [0-9.e-]+', r"\1 0.0", text)
    return re.sub(r"(time +)[0-9.]+ s", r"\g<1>0.00 s", text)


def test_a_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_planner(monkeypatch, Plan((0, 64, 0), {0: 96}, {0: 96}, "first fit", True))
    source, target = make_problem(tmp_path), tmp_path / "plan.csv"
    code, out, err = run(capsys, "plan", str(source), "-o", str(target))
    assert (code, err) == (0, "")
    assert target.read_text() == "id,lower,upper,size,offset\na,0,4,64,0\nb,2,6,32,64\nc,4,8,64,0\n"
    check_golden("plan.txt", _without_time(out), tmp_path)
    code, out, err = run(capsys, "plan", str(source), "-o", str(target), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out).keys() == _KEYS
    check_golden("plan.json", _without_time(out), tmp_path)


def test_a_plan_in_several_arenas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_planner(monkeypatch, Plan((0, 16), {1: 64, 2: 48}, {1: 64, 2: 32}, "by hand"))
    source = _two_arenas(tmp_path)
    code, out, _ = run(capsys, "plan", str(source))
    assert code == 0
    check_golden("plan_arenas.txt", _without_time(out), tmp_path)
    code, out, _ = run(capsys, "plan", str(source), "--json")
    assert json.loads(out).keys() == {*_KEYS, "arenas"}
    check_golden("plan_arenas.json", _without_time(out), tmp_path)


def test_no_plan_is_possible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_planner(monkeypatch, InfeasibleError("no", (0, 2)))
    source, target = make_problem(tmp_path), tmp_path / "plan.csv"
    arguments = ("plan", str(source), "-o", str(target), "--capacity", "80")
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (1, "")
    check_golden("plan_infeasible.txt", out, tmp_path)
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 1
    assert json.loads(out).keys() == _KEYS
    check_golden("plan_infeasible.json", _without_time(out), tmp_path)
    assert not target.exists()


def test_no_plan_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_planner(monkeypatch, PlanTimeoutError("no"))
    source = make_problem(tmp_path)
    code, out, err = run(capsys, "plan", str(source), "--time-limit", "0.5")
    assert (code, err) == (1, "")
    check_golden("plan_timeout.txt", out, tmp_path)
    code, out, _ = run(capsys, "plan", str(source), "--json")
    assert (code, json.loads(out)["status"], json.loads(out)["conflict"]) == (1, "timeout", [])


def test_the_options_reach_the_planner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    def plan(problem: Problem, **options: Any) -> Plan:
        seen.append(options)
        return Plan((0, 64, 0), {0: 96}, {0: 96}, "by hand")

    monkeypatch.setattr("onearena.planners.native.plan", plan)
    arguments = ["plan", str(make_problem(tmp_path))]
    main(arguments)
    main([*arguments, "--capacity", "1K", "--time-limit", "3", "--threads", "2", "--seed", "5"])
    usual = {"time_limit_s": DEFAULT_TIME_LIMIT_S, "threads": 1, "seed": 0}
    assert seen == [
        {**usual, "memories": (), "fit_only": False},
        {
            "time_limit_s": 3.0,
            "threads": 2,
            "seed": 5,
            "memories": (Memory(0, 1024),),
            "fit_only": True,
        },
    ]


def test_progress_is_for_terminals_and_cleared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_problem(tmp_path)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "300")
    code, out, err = run(capsys, "plan", str(source))
    assert code == 0
    assert "planning 3 buffers" in err
    assert err.endswith("\r\x1b[K")
    assert "\x1b" not in out
    assert run(capsys, "plan", str(source), "--json")[2] == ""


def test_a_wrong_plan_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_planner(monkeypatch, Plan((0, 32, 0), {0: 96}, {0: 96}, "wrong", True))
    source, target = make_problem(tmp_path), tmp_path / "plan.csv"
    for extra in ([], ["-o", str(target)], ["--png", str(tmp_path / "x.png")]):
        code, out, err = run(capsys, "plan", str(source), *extra)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "a at [0, 64) and b at [32, 64) of arena 0 are alive at once" in err
    assert list(tmp_path.iterdir()) == [source]


def test_the_real_planner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = make_problem(tmp_path)
    for name in ("plan.csv", "plan.json"):
        code, out, _ = run(capsys, "plan", str(source), "-o", str(tmp_path / name), "--json")
        report = json.loads(out)
        assert code == 0
        assert (report["status"], report["height_bytes"], report["gap"]) == ("optimal", 96, 0.0)
        assert report["written"] == [str(tmp_path / name)]
    offsets = read_plan(tmp_path / "plan.json").offsets
    pinned = tuple(buffer.offset for buffer in read_problem(tmp_path / "plan.csv").problem.buffers)
    assert offsets == pinned
    # a plan is a problem in which nothing may move
    code, out, _ = run(capsys, "plan", str(tmp_path / "plan.csv"), "--json")
    assert (code, json.loads(out)["height_bytes"]) == (0, 96)


@pytest.mark.parametrize(("capacity", "code"), [("96", 0), ("95", 1), ("1K", 0), ("0", 1)])
def test_capacity(
    capacity: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make_problem(tmp_path)
    found, out, _ = run(capsys, "plan", str(source), "--capacity", capacity, "--json")
    report = json.loads(out)
    assert found == code
    if code:
        assert report["status"] == "infeasible"
        assert {*report["conflict"]} <= {"a", "b", "c"}
        assert report["conflict"]
    else:
        assert report["height_bytes"] <= parse_size(capacity)


def test_capacities_of_several_arenas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(_two_arenas(tmp_path))
    code, out, _ = run(capsys, "plan", source, "--capacity", "1=64", "--capacity", "2=1K", "--json")
    arenas = json.loads(out)["arenas"]
    assert code == 0
    assert [entry["capacity_bytes"] for entry in arenas] == [64, 1024]
    code, out, _ = run(capsys, "plan", source, "--capacity", "1=63", "--json")
    assert (code, json.loads(out)["conflict"]) == (1, ["a"])
    for extra, words in (
        (["--capacity", "64"], "several arenas (1, 2)"),
        (["--capacity", "3=64"], "has no arena 3"),
        (["--capacity", "1=64", "--capacity", "1=65"], "arena 1 twice"),
    ):
        code, out, err = run(capsys, "plan", source, *extra)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err


def test_contradicting_pins_are_infeasible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make_problem(
        tmp_path, "id,lower,upper,size,offset\nx,0,4,64,0\ny,0,9,9,\nz,2,6,32,32\n"
    )
    code, out, _ = run(capsys, "plan", str(source), "--json")
    assert (code, json.loads(out)["status"]) == (1, "infeasible")
    assert {*json.loads(out)["conflict"]} >= {"x", "z"}


def test_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("PIL")
    source, picture = make_problem(tmp_path), tmp_path / "plan.png"
    code, out, _ = run(capsys, "plan", str(source), "--png", str(picture))
    assert code == 0
    assert f"written: {picture}" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_same_input_gives_the_same_output(tmp_path: Path) -> None:
    source = tmp_path / "problem.json"
    write_problem(source, network(3))
    plans = []
    for k, threads in enumerate((1, 1, 2)):
        target = tmp_path / f"{k}.json"
        arguments = ["plan", str(source), "-o", str(target), "--threads", str(threads)]
        assert main([*arguments, "--seed", "7", "--time-limit", "60"]) == 0
        plans.append(target.read_bytes())
    assert plans[0] == plans[1] == plans[2]


def test_ids_of_any_characters_can_be_printed(tmp_path: Path) -> None:
    source = make_problem(tmp_path, 'id,lower,upper,size\n"\x1b[2J\u20ac\ufffe",0,1,99\n')
    command = [sys.executable, "-m", "onearena", "plan", str(source), "--capacity", "9"]
    for encoding in ("ascii", "utf-8"):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
        assert b"\x1b" not in done.stdout


def test_other_commands_do_not_load_the_planner() -> None:
    code = (
        "import sys, onearena.cli.main\n"
        "print([m for m in sys.modules if m.startswith(('onearena.problem_files', 'PIL'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def _wait_for_work(pid: int, cpu_s: float) -> None:
    """Until a process has computed for so long: on a busy machine it may not even have begun."""
    tick = os.sysconf("SC_CLK_TCK")
    for _ in range(3000):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if fields[0] == "Z" or int(fields[11]) + int(fields[12]) >= cpu_s * tick:
            return
        time.sleep(0.02)


def _hear() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_interrupting_a_search(tmp_path: Path) -> None:
    """A signal from the keyboard ends a long search at once; nothing is left behind."""
    source = tmp_path / "problem.csv"
    rows = ["id,lower,upper,size"]
    for k in range(400):
        start, size = k * 7919 % 1009, 1 + k * 104729 % 9973
        rows.append(f"{k},{start},{start + 1 + k * 31 % 257},{size}")
    source.write_text("\n".join(rows))
    command = [sys.executable, "-m", "onearena", "plan", str(source), "--time-limit", "120"]
    command += ["-o", str(tmp_path / "plan.csv")]
    pipe = subprocess.PIPE
    # where the tests run in the background of a shell, children would not hear the signal
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, preexec_fn=_hear) as process:
        _wait_for_work(process.pid, 2.0)
        if process.poll() is not None:
            pytest.skip("the problem is too easy")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b"onearena: interrupted\n"
    assert list(tmp_path.iterdir()) == [source]
