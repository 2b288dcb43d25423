"""Whole comparisons on the installed runtime."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from onearena.errors import (
    AnalysisError,
    ExecutionError,
    FormatError,
    OnearenaError,
    UsageError,
)
from onearena.runtime.compare import compare
from onearena.runtime.jobs import CrashError, JobTimeoutError
from tests.runtime import hostile

pytest.importorskip("executorch")

Program = Callable[[str], Path]


def test_a_program_equals_itself(program: Program) -> None:
    report = compare(program("network"), program("network"), runs=3)
    assert report.bit_exact
    assert report.max_abs_diff == 0.0
    assert report.latency_ratio_median > 0
    (method,) = report.methods
    assert (method.name, method.runs, method.outputs) == ("forward", 3, 1)
    assert method.first_difference is None
    assert method.sizes == (((1, 3, 16, 16),),)
    document = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert document["bit_exact"] is True
    assert document["runs"] == 3
    assert document["max_abs_diff"] == 0.0
    assert document["latency_ratio_median"] == report.latency_ratio_median


def test_it_tells_what_it_does(program: Program) -> None:
    told: list[str] = []
    compare(program("network"), program("network"), runs=1, progress=told.append)
    assert len(told) > 1  # it takes a second to start the runtime
    assert told[-1] == "measuring workspaces"


def test_workspaces_are_measured(program: Program) -> None:
    report = compare(program("network"), program("network"), runs=1)
    a, b = report.workspace_a, report.workspace_b
    assert a is not None
    assert b is not None
    assert (a.bytes is None) == (a.reason is not None)  # a number or a reason
    assert a.bytes == b.bytes
    assert report.to_json()["workspace_measured_bytes"].keys() == {"a", "b"}


def test_other_weights_are_noticed(program: Program) -> None:
    report = compare(program("network"), program("network_other_weights"), runs=2, measure=False)
    assert not report.bit_exact
    assert report.max_abs_diff is not None
    assert report.max_abs_diff > 0
    assert "run 0" in (report.methods[0].first_difference or "")
    assert report.workspace_a is None


def test_state_is_carried_over(program: Program) -> None:
    same = compare(program("cache"), program("cache"), runs=5, measure=False)
    assert same.bit_exact
    assert same.methods[0].is_stateful
    # a cache is read where this run wrote nothing: from the second run on, state matters
    other = compare(program("cache"), program("cache_other"), runs=5, measure=False)
    assert not other.bit_exact


def test_dynamic_shapes_are_tried_at_several_sizes(program: Program) -> None:
    report = compare(program("dynamic"), program("dynamic"), runs=5, measure=False)
    assert report.bit_exact
    sizes = [sizes[0] for sizes in report.methods[0].sizes]
    assert sizes[0] == (1, 3, 64, 64)
    assert (1, 3, 32, 32) in sizes
    assert len(sizes) >= 3
    assert all(size is not None and size[:2] == (1, 3) for size in sizes)


def test_integer_inputs_stay_in_range(program: Program) -> None:
    report = compare(program("lookup"), program("lookup"), runs=4, measure=False)
    assert report.bit_exact
    assert report.notes == ()  # the inferred ranges were accepted


def test_all_methods_are_compared(program: Program) -> None:
    report = compare(program("several"), program("several"), runs=2, measure=False)
    assert {method.name for method in report.methods} == {
        *("forward", "other", "count", "rate", "table")
    }
    one = compare(program("several"), program("several"), method="count", runs=2, measure=False)
    assert [method.name for method in one.methods] == ["count"]
    assert one.bit_exact


def test_numbers_among_the_inputs(program: Program) -> None:
    report = compare(program("scalars"), program("scalars"), runs=2, measure=False)
    assert report.bit_exact
    assert report.methods[0].sizes == (((3,), None, None, None, None),)


def test_programs_must_have_the_same_methods(program: Program) -> None:
    with pytest.raises(UsageError, match="methods"):
        compare(program("several"), program("network"))
    with pytest.raises(UsageError, match="no method 'absent'"):
        compare(program("network"), program("network"), method="absent")


def test_programs_must_take_the_same_inputs(program: Program, tmp_path: Path) -> None:
    changed = hostile.rewritten(
        program("network"), tmp_path / "changed.pte", hostile.other_input_size
    )
    with pytest.raises(UsageError, match="takes float32"):
        compare(program("network"), changed)


def test_a_crash_of_the_runtime_is_an_error(program: Program, tmp_path: Path) -> None:
    bad = hostile.rewritten(program("lookup"), tmp_path / "bad.pte", hostile.crashing)
    with pytest.raises(CrashError, match=r"bad\.pte.*crashed \(SIG") as caught:
        compare(program("lookup"), bad, runs=1, measure=False)
    assert "\n" not in str(caught.value)
    with pytest.raises(ExecutionError, match="crashed"):
        compare(bad, bad, runs=1, measure=False)


def test_a_program_that_never_ends_is_an_error(program: Program, tmp_path: Path) -> None:
    bad = hostile.rewritten(program("network"), tmp_path / "bad.pte", hostile.endless)
    with pytest.raises(JobTimeoutError, match="not done after"):
        compare(bad, bad, runs=1, measure=False, timeout_s=6)


def test_what_the_runtime_says_is_in_the_error(program: Program, tmp_path: Path) -> None:
    bad = hostile.rewritten(program("network"), tmp_path / "bad.pte", hostile.short_arena)
    with pytest.raises(ExecutionError, match=r"cannot be loaded.*allocator size"):
        compare(bad, bad, runs=1, measure=False)


def test_malformed_files_are_refused(program: Program, tmp_path: Path) -> None:
    bad = hostile.rewritten(program("network"), tmp_path / "bad.pte", hostile.out_of_range)
    with pytest.raises(AnalysisError, match="does not exist"):
        compare(bad, bad)
    cut = tmp_path / "cut.pte"
    cut.write_bytes(program("network").read_bytes()[:500])
    for path in (cut, tmp_path / "absent.pte", tmp_path):
        with pytest.raises(FormatError):
            compare(program("network"), path)


@pytest.mark.parametrize("options", [{"runs": 0}, {"seed": -1}])
def test_senseless_options(program: Program, options: dict[str, int]) -> None:
    with pytest.raises(OnearenaError):
        compare(program("network"), program("network"), **options)  # type: ignore[arg-type]


def test_command_line(program: Program, run_cli: Callable[..., tuple[int, str]]) -> None:
    path, other = program("network"), program("network_other_weights")
    code, text = run_cli(path, path, "--runs", 2, "--no-measure")
    assert code == 0
    assert text.splitlines()[0].split() == ["bit-exact", "yes"]
    code, text = run_cli(path, other, "--runs", 2, "--no-measure", "--json")
    assert code == 1
    assert json.loads(text)["bit_exact"] is False
    code, text = run_cli(path, other, "--runs", 1)
    assert code == 1
    assert "difference" in text
    assert "workspace a" in text
