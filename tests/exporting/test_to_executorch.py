"""`onearena.to_executorch`: one line in an export script."""

from __future__ import annotations

import errno
import gc
import io
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.exir import (
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge_transform_and_lower,
)

import onearena
from onearena.errors import UsageError
from tests.cases.lowering import portable, quiet, xnnpack
from tests.cases.running import difference, forward, play
from tests.exporting import nets


@cache
def planned() -> Any:
    with quiet():
        return onearena.to_executorch(nets.breaks())


def stock_file(path: Path) -> Path:
    with quiet():
        path.write_bytes(nets.breaks().to_executorch().buffer)
    return path


def test_smaller_and_the_same(tmp_path: Path) -> None:
    program = planned()
    stock, small = stock_file(tmp_path / "stock.pte"), tmp_path / "small.pte"
    program.save(str(small))
    (method,) = program.report.methods
    assert method.after is not None
    assert method.after.total_bytes < 0.7 * method.before.total_bytes
    assert onearena.verify(small).safe
    calls = [forward(nets.IMAGE * k) for k in range(1, 4)]
    assert difference(play(small, calls), play(stock, calls)) is None
    assert "total" in program.summary


def test_it_is_what_the_command_line_makes(tmp_path: Path) -> None:
    stock, small = stock_file(tmp_path / "stock.pte"), tmp_path / "small.pte"
    report = onearena.optimize(stock, small)
    (ours,), (theirs,) = planned().report.methods, report.methods
    assert ours.after == theirs.after


def test_everything_that_executorch_gives(tmp_path: Path) -> None:
    program = planned()
    assert isinstance(program, ExecutorchProgramManager)
    assert program.methods == {"forward"}
    assert program.config_methods == set()
    written = io.BytesIO()
    program.write_to_file(written)
    assert written.getvalue() == program.buffer
    program.write_tensor_data_to_file(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    assert program.exported_program().graph_signature.buffers_to_mutate
    printed = io.StringIO()
    program.dump_executorch_program(out=printed)
    assert "XnnpackBackend" in printed.getvalue()


def test_a_file_that_cannot_be_written_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "small.pte"
    path.write_bytes(b"of before")
    with pytest.raises(ValueError, match=r"does not end with \.pte"):
        planned().save(str(tmp_path / "small.bin"))
    with pytest.raises(UsageError, match="there is no directory"):
        planned().save(str(tmp_path / "missing" / "small.pte"))

    def full(*arguments: Any, **keywords: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("copy_file_range", "write"):
        monkeypatch.setattr(os, name, full)
    with pytest.raises(UsageError, match="No space left"):
        planned().save(str(path))
    monkeypatch.undo()
    assert path.read_bytes() == b"of before"
    assert list(tmp_path.iterdir()) == [path]
    planned().save(str(path))
    assert path.read_bytes() == planned().buffer


def test_the_objects_are_those_of_the_planned_program() -> None:
    (plan,) = planned().executorch_program.execution_plan
    (method,) = planned().report.methods
    assert method.after is not None
    assert sum(plan.non_const_buffer_sizes) == method.after.arena_bytes
    (before,) = planned().stock.executorch_program.execution_plan
    assert sum(before.non_const_buffer_sizes) == method.before.arena_bytes


def test_executorch_can_bundle_it() -> None:
    case = MethodTestCase(inputs=[nets.IMAGE], expected_outputs=[torch.zeros(1, 8, 16, 16)])
    bundled = BundledProgram(planned(), [MethodTestSuite("forward", [case])])
    assert bundled.serialize_to_schema().program == planned().buffer


def test_a_config_is_used(tmp_path: Path) -> None:
    config = ExecutorchBackendConfig(
        memory_planning_pass=onearena.MemoryPlanningPass(alloc_graph_input=False),
        external_constants=True,
    )
    with quiet():
        net = nets.Breaks()
        edge = nets.edge_of(net, (nets.IMAGE,), portable)
        program = onearena.to_executorch(edge, config)
    program.save(str(tmp_path / "small.pte"))
    program.write_tensor_data_to_file(str(tmp_path))
    (data,) = tmp_path.glob("*.ptd")
    assert data.stat().st_size > 4 * 8 * 8 * 9
    (plan,) = program.executorch_program.execution_plan
    assert plan.values[plan.inputs[0]].val.allocation_info is None
    model = onearena.Runtime().load(tmp_path / "small.pte", data_files=[data])
    torch.testing.assert_close(model(nets.IMAGE), net(nets.IMAGE))


def test_options_and_a_program_that_is_made_already() -> None:
    with quiet():
        stock = nets.breaks().to_executorch()
        closed = onearena.to_executorch(stock, open_delegates=False)
        again = onearena.to_executorch(closed)
    assert closed.report.methods[0].opened_calls == 0
    assert again.report.methods[0].after == planned().report.methods[0].after


def test_several_methods() -> None:
    with quiet(), torch.no_grad():
        exported = {
            name: torch.export.export(net.eval(), inputs, strict=False)
            for name, net, inputs in (
                ("forward", nets.Breaks(), (nets.IMAGE,)),
                ("other", nets.Moves(), (nets.X[None],)),
            )
        }
        edge = to_edge_transform_and_lower(
            exported,
            partitioner={name: xnnpack() for name in exported},
            constant_methods={"answer": 42},
        )
        program = onearena.to_executorch(edge)
    assert program.methods == {"forward", "other"}
    assert program.config_methods == {"answer"}
    assert {method.name for method in program.report.methods} >= {"forward", "other"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: onearena.to_executorch(nets.breaks(), strip=True), "there is no option 'strip'"),
        (lambda: onearena.to_executorch(7), "not an object of int"),
        (lambda: onearena.to_executorch(nets.breaks(), max_latency=0.5), "max_latency"),
        (lambda: onearena.to_executorch(nets.breaks(), memory_map="x"), "memory map"),
        (
            lambda: onearena.to_executorch(planned(), ExecutorchBackendConfig()),
            "a config comes too late",
        ),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with quiet(), pytest.raises(UsageError, match=message):
        call()


def test_the_file_goes_with_the_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with quiet():
        program = onearena.to_executorch(nets.breaks())
    assert len(list(tmp_path.glob("onearena-*/*"))) == 1
    del program
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    with quiet(), pytest.raises(UsageError):
        onearena.to_executorch(nets.breaks(), max_latency=0.5)
    assert list(tmp_path.iterdir()) == []


def test_importing_onearena_imports_no_torch() -> None:
    code = (
        "import sys, onearena; from onearena import to_executorch, planning_algorithm; "
        "from onearena import *; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'executorch')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
