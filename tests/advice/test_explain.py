"""What `explain` says: the peak in words, the source line, JSON, bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from executorch.exir import ExecutorchBackendConfig

from onearena.advice.explain import explain
from onearena.advice.model import AdviceKind
from onearena.cli.main import main
from onearena.report.explain_json import explain_json
from onearena.report.explain_text import explain_text
from onearena.summary.model import ProgramSummary, SourceLine
from tests.advice import nets
from tests.cases.lowering import lower, portable
from tests.report.golden_files import check_golden
from tests.report.programs import rich_file


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Portable kernels, with the stack traces of the exporter."""
    inputs = (torch.zeros(2, 4096), torch.zeros(2, 4096))
    config = ExecutorchBackendConfig(emit_stacktrace=True)
    path = tmp_path_factory.mktemp("explain") / "joining.pte"
    path.write_bytes(lower(nets.Joining(), inputs, partitioners=portable, config=config))
    return path


@pytest.fixture(scope="module")
def across(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A concatenation that `optimize` does not join itself."""
    inputs = (torch.zeros(2, 4096), torch.zeros(2, 4096))
    path = tmp_path_factory.mktemp("explain") / "across.pte"
    path.write_bytes(lower(nets.JoiningAcross(), inputs))
    return path


def test_the_peak_is_named_with_its_source_line(program: Path) -> None:
    (method,) = explain(program).methods
    (peak,) = method.peaks
    assert peak.step.label == "aten::cat.out"
    assert peak.step.source is not None
    assert peak.step.source.file.endswith("nets.py")
    assert "torch.cat" in peak.step.source.text
    assert [t.size_bytes for t in peak.tensors] == [65536, 32768, 32768]
    assert peak.live_bytes == sum(t.size_bytes for t in peak.tensors)


def test_text(program: Path) -> None:
    lines = explain_text(explain(program)).splitlines()
    assert any("Arena 1 peaks while instruction 2: aten::cat.out runs" in line for line in lines)
    assert any("nets.py:" in line and "torch.cat" in line for line in lines)
    assert any(line.split()[-4:-1] == ["50%", "float", "4x4096"] for line in lines)


def test_what_would_be_saved(across: Path) -> None:
    lines = explain_text(explain(across)).splitlines()
    assert any("saves 65.57 kB (65,568 B): write the inputs" in line for line in lines)


def test_json_has_every_number(program: Path, across: Path) -> None:
    found = json.loads(json.dumps(explain_json(explain(program))))
    assert found["methods"][0]["peaks"][0]["source"]["line"] > 0
    found = json.loads(json.dumps(explain_json(explain(across))))
    (method,) = found["methods"]
    assert method["total_bytes"] == method["arena_bytes"] + method["workspace_bytes"]
    (concat,) = (a for a in method["advice"] if a["kind"] == AdviceKind.CONCAT)
    assert concat["saved_bytes"] == concat["before_bytes"] - concat["after_bytes"] == 65568


def test_command(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(program)]) == 0
    assert "What would lower it" in capsys.readouterr().out
    assert main(["explain", str(program), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(program)


@pytest.mark.parametrize("content", [b"", b"not a program", bytes(200)])
def test_bad_input_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "bad.pte"
    path.write_bytes(content)
    assert main(["explain", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_hostile_names_do_not_reach_the_terminal(program: Path) -> None:
    found = explain(program)
    peak = found.methods[0].peaks[0]
    source = SourceLine("a\x1b[31m.py", 1, "f\n", "\x07" * 500)
    peak = replace(peak, step=replace(peak.step, source=source, label="op\x1b[2J"))
    method = replace(found.methods[0], name="m\r\x1b", peaks=(peak,))
    summary: ProgramSummary = replace(found.summary, path="p\x1b.pte")
    text = explain_text(replace(found, summary=summary, methods=(method,)))
    assert all(line.isprintable() for line in text.splitlines())
    assert max(len(line) for line in text.splitlines()) < 400


def test_an_optimized_program_is_not_told_to_optimize(program: Path, tmp_path: Path) -> None:
    inputs = (torch.zeros(1, 3, 32, 32),)
    path = tmp_path / "model.pte"
    path.write_bytes(lower(nets.Upsampling("nearest"), inputs))
    assert main(["optimize", str(path), "-o", str(tmp_path / "out.pte")]) == 0
    before, after = explain(path).methods[0], explain(tmp_path / "out.pte").methods[0]
    assert AdviceKind.OPTIMIZE in {a.kind for a in before.advice}
    assert AdviceKind.OPTIMIZE not in {a.kind for a in after.advice}
    assert after.total_bytes == before.optimized_bytes


def test_a_shape_below_the_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {2: torch.export.Dim("h", min=4, max=64), 3: torch.export.Dim("w", min=4, max=64)}
    path = tmp_path / "dynamic.pte"
    inputs = (torch.zeros(1, 3, 64, 64),)
    path.write_bytes(lower(nets.Narrowing(), inputs, dynamic=(sizes,), partitioners=portable))
    small = tmp_path / "small.pte"
    small.write_bytes(lower(nets.Narrowing(), (torch.zeros(1, 3, 32, 16),), partitioners=portable))
    (method,) = explain(path, shapes=["x=1x3x32x16"]).methods
    assert method.live is not None
    assert method.live.live.total_bytes == explain(small).methods[0].optimized_bytes
    bounds = {a.title: a for a in method.advice if a.kind is AdviceKind.DYNAMIC_BOUND}
    assert len(bounds) == 2
    assert explain(path, shapes="x=1x3x32x16").methods[0].live == method.live
    assert max(bounds.values(), key=lambda a: a.saved_bytes).title.endswith("3 of input 0")
    assert main(["explain", str(path), "--shape", "1x3x32x16"]) == 0
    assert "At input 0=1x3x32x16" in capsys.readouterr().out
    assert main(["explain", str(path), "--shape", "1x3x32x16", "--json"]) == 0
    live = json.loads(capsys.readouterr().out)["methods"][0]["live"]
    assert live["shapes"] == {"0": [1, 3, 32, 16]}


@pytest.mark.parametrize(
    "arguments",
    [["--shape", "x=1x2"], ["--shape", "nonsense"], ["--method", "other"], ["--shape", "y=4"]],
)
def test_shapes_and_methods_that_are_not_there(
    program: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["explain", str(program), *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_golden(tmp_path: Path) -> None:
    found = explain(rich_file(tmp_path))
    found = replace(found, summary=replace(found.summary, path="rich.pte"))
    check_golden("explain.txt", explain_text(found) + "\n")
    check_golden("explain.json", json.dumps(explain_json(found), indent=1) + "\n")
