"""`onearena optimize --memory`: exit codes, one line for what is wrong, nothing half written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onearena.cli.main import main
from onearena.errors import InfeasibleError
from onearena.memory_map import parse_memory_map
from onearena.memory_map.misfit import DoesNotFitError
from onearena.options import Options
from onearena.pipeline import optimize
from onearena.pte.reader import open_pte
from tests.cli.programs import spread_out
from tests.cortex_m.programs import committed
from tests.pte.build import DYNAMIC_UNBOUND, Method, file_bytes, pte_file


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(args)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_regions_in_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.pte"
    source = str(committed("conv2d_x3", "cortex-m55"))
    memory = ("--memory", "dtcm:1K:1,sram:4K:3")
    target = ("--target", "cortex-m55")
    code, out, err = run(capsys, "optimize", source, "-o", str(output), *memory, *target, "--json")
    assert (code, err) == (0, "")
    (method,) = json.loads(out)["methods"]
    dtcm, sram = method["memory_map"]["regions"]
    assert method["memory_map"]["is_cheapest"] is True
    assert 0 < dtcm["size_bytes"] <= dtcm["capacity_bytes"] == 1024
    assert 0 < sram["size_bytes"] <= 4096
    assert method["memory_map"]["access_cost"] == dtcm["access_bytes"] + 2 * sram["access_bytes"]
    with open_pte(output) as file:
        (plan,) = file.program.execution_plan or ()
        assert plan.non_const_buffer_sizes == (0, dtcm["size_bytes"], 0, sram["size_bytes"])
    for command in ("inspect", "report"):
        code, out, _ = run(capsys, command, str(output))
        assert code == 0
        assert f"{dtcm['size_bytes']:,}" in out
        assert f"{sram['size_bytes']:,}" in out
    assert run(capsys, "verify", str(output))[0] == 0
    code, out, _ = run(capsys, "sizes", str(output), *target)
    assert code == 0
    assert "memory_id 1" in out
    assert "memory_id 3" in out


def test_text_names_the_regions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = str(spread_out(tmp_path)), str(tmp_path / "out.pte")
    memory = "fast:20K:2,slow:1M:5"
    # two tensors are alive at once, and one fits into the fast memory
    options = ("--no-in-place", "--memory", memory)
    code, out, _ = run(capsys, "optimize", source, "-o", output, *options)
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines() if "fast" in line] == [["fast", "2"]]
    assert "proven least" in out
    code, out, _ = run(capsys, "inspect", output)
    assert "2 (fast)" in out
    assert "5 (slow)" in out


def test_everything_fits_into_the_fastest(tmp_path: Path) -> None:
    memory_map = parse_memory_map("fast:1M:1,slow:1M:2")
    report = optimize(spread_out(tmp_path), tmp_path / "o.pte", Options(memory_map=memory_map))
    use = report.methods[0].memory_map
    assert use is not None
    assert use.regions[1].size_bytes == use.regions[1].tensors == 0


def test_what_does_not_fit_is_said_before_writing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.pte"
    source = str(committed("conv2d_x3", "cortex-m55"))
    args = ("optimize", source, "-o", str(output), "--memory", "dtcm:1K:1,sram:1K:2", "--json")
    code, out, err = run(capsys, *args)
    assert code == 1
    assert not output.exists()
    assert err.count("\n") == 1
    assert "does not fit into dtcm (1,024 B) + sram (1,024 B)" in err
    found = json.loads(out)
    assert found["fits"] is False
    assert found["is_proven"] is True
    least = found["enlargements"][0]
    assert f"{least['region']} needs {least['over_bytes']:,} B more and not less" in err
    for tensor in found["peak"]["tensors"][:4]:
        assert f"value {tensor['value']} {tensor['description']}" in err

    # with what it says it fits, with 16 bytes less it does not
    for short, expected in ((0, 0), (16, 1)):
        sizes = {"dtcm": 1024, "sram": 1024}
        sizes[least["region"]] += least["over_bytes"] - short
        memory = f"dtcm:{sizes['dtcm']}:1,sram:{sizes['sram']}:2"
        assert run(capsys, "optimize", source, "-o", str(output), "--memory", memory)[0] == expected
        assert output.exists() == (expected == 0)
        output.unlink(missing_ok=True)


def test_error_of_the_library(tmp_path: Path) -> None:
    memory_map = parse_memory_map("only:100:1")
    with pytest.raises(InfeasibleError) as error:
        optimize(spread_out(tmp_path), tmp_path / "o.pte", Options(memory_map=memory_map))
    assert isinstance(error.value, DoesNotFitError)
    (change,) = error.value.misfit.enlargements
    assert change.region == "only"
    # one tensor of 16 KiB is alive at once, and 64 bytes stay free behind it
    assert change.over_bytes == 16384 + 64 - 100
    assert change.is_least


@pytest.mark.parametrize(
    "memory", ["nonsense", "a:0:1", "a:1K:0", "a:1K:1,a:1K:2", "a:1K:1,b:1K:1", ""]
)
def test_bad_maps(memory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.pte"
    source = str(spread_out(tmp_path))
    code, out, err = run(capsys, "optimize", source, "-o", str(output), "--memory", memory)
    assert (code, out) == (2, "")
    assert err.startswith("onearena: memory map: ")
    assert err.count("\n") == 1
    assert not output.exists()


def test_what_stays_must_be_in_the_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    method = Method()
    a = method.tensor(8, offset=0)
    b = method.tensor(8, offset=64, shape_dynamism=DYNAMIC_UNBOUND)
    method.input(a).output(b)
    method.call("aten::relu.out", a, b, b)
    path, output = tmp_path / "pinned.pte", tmp_path / "out.pte"
    path.write_bytes(file_bytes(pte_file(method)))
    code, _, err = run(capsys, "optimize", str(path), "-o", str(output), "--memory", "a:1K:2")
    assert code == 2
    assert "must stay in memory_id 1, which the memory map does not have" in err
    assert not output.exists()
    memory = "a:1K:2,b:1K:1"
    assert run(capsys, "optimize", str(path), "-o", str(output), "--memory", memory)[0] == 0
    with open_pte(output) as file:
        (plan,) = file.program.execution_plan or ()
    assert plan.non_const_buffer_sizes == (0, 96, 32)
    code, _, err = run(capsys, "optimize", str(path), "-o", str(output), "--memory", "b:64:1")
    assert code == 1
    assert "b needs 32 B more" in err


def test_methods_without_memory_stay_as_they_are(tmp_path: Path) -> None:
    constant = Method("number")
    constant.output(constant.integer(42))
    path, output = tmp_path / "constant.pte", tmp_path / "out.pte"
    path.write_bytes(file_bytes(pte_file(constant)))
    report = optimize(path, output, Options(memory_map=parse_memory_map("a:16:1")))
    assert report.methods[0].memory_map is None
    assert output.read_bytes() == path.read_bytes()


def test_tensors_of_no_bytes_lie_in_the_map(tmp_path: Path) -> None:
    method = Method()
    a, b = method.tensor(0, offset=0), method.tensor(0, offset=0)
    method.input(a).output(b)
    method.call("aten::relu.out", a, b, b)
    path, output = tmp_path / "empty.pte", tmp_path / "out.pte"
    path.write_bytes(file_bytes(pte_file(method)))
    optimize(path, output, Options(memory_map=parse_memory_map("a:16:3")))
    with open_pte(output) as file:
        (plan,) = file.program.execution_plan or ()
    assert plan.non_const_buffer_sizes == (0, 0, 0, 0)


def test_same_file_twice(tmp_path: Path) -> None:
    options = Options(memory_map=parse_memory_map("a:20K:1,b:1M:2"))
    source = spread_out(tmp_path)
    first, second = tmp_path / "first.pte", tmp_path / "second.pte"
    optimize(source, first, options)
    optimize(source, second, options)
    assert first.read_bytes() == second.read_bytes()
