"""What delegates and kernels take for themselves is part of the plan."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import onearena.payloads
from onearena.delegates.xnnpack.workspace import WorkspacePrediction, predict_workspace
from onearena.engine.arena import Arena
from onearena.engine.errors import ArenaLimitError
from onearena.engine.runtime import Runtime
from onearena.joint import called_graphs, joint_bound, workspaces
from onearena.program import analyse_method
from onearena.pte.reader import open_pte
from tests.cases.conftest import Program
from tests.cases.lowering import Module, lower, portable
from tests.cases.running import difference, play
from tests.engine.agreeing import run_call
from tests.engine.shaped import BOUND, Convolutions, UNet, at, check_exact, images, load, sequences
from tests.native.test_sanitized import COMPILER

GUARD_BYTES = 64
SIDE = 48


def bound_of(path: Path) -> int:
    """What no plan of tensors and closed calls can be below."""
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        method = analyse_method(file, plan)
        return joint_bound(method.timeline, workspaces(called_graphs(method)))


class Breaks(Module):
    """Calls with much inside and little around them, and the other way round."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 2, 3, padding=1)
        self.c, self.d = nn.Conv2d(2, 24, 3, padding=1), nn.Conv2d(24, 24, 1)

    def forward(self, x: Any) -> Any:
        x = self.b(functional.relu(self.a(x)))
        y = functional.interpolate(x, scale_factor=2.0, mode="nearest")
        z = self.d(functional.relu(self.c(functional.avg_pool2d(y, 2))))
        return functional.interpolate(z, scale_factor=2.0, mode="nearest")


def static(program: Program, net: Any) -> Path:
    def make() -> bytes:
        torch.manual_seed(0)
        return lower(net(), (torch.zeros(1, 3, SIDE, SIDE),))

    return program(make, f"closed_{net.__name__}")


@pytest.mark.parametrize("net", [Breaks, UNet, Convolutions])
def test_closed_calls_and_tensors_share_one_arena(program: Program, net: Any) -> None:
    path = static(program, net)
    model = load(path)
    check_exact(model, path, at([(1, 3, SIDE, SIDE)] * 2))
    memory, bound = model.memory(), bound_of(path)
    assert memory.planning == "shapes"
    assert memory.workspace_bytes == memory.temp_elsewhere_bytes == 0 < memory.delegate_bytes
    assert bound <= memory.arena_bytes <= 1.02 * bound + GUARD_BYTES


def test_the_file_s_plan_and_one_workspace_would_take_more(program: Program) -> None:
    path = static(program, Breaks)
    model = load(path)
    check_exact(model, path, at([(1, 3, SIDE, SIDE)]))
    apart = load(path, "static")
    check_exact(apart, path, at([(1, 3, SIDE, SIDE)]))
    left_alone = apart.memory()
    assert left_alone.delegate_bytes == 0 < left_alone.workspace_bytes
    assert model.memory().arena_bytes < 0.8 * (left_alone.arena_bytes + left_alone.workspace_bytes)


@pytest.mark.parametrize("known", [True, False])
def test_workspaces_shrink_with_the_shapes(program: Program, known: bool) -> None:
    """XNNPACK by itself never takes less than at the largest shapes so far."""
    path = images(program, UNet)
    sizes = [(1, 3, 8, 8), (1, 3, BOUND, BOUND), (1, 3, 16, 8), (1, 3, 8, 8)]
    model, found = load(path, known=known), []
    for size in sizes:
        for call in at([size] * 3):
            assert difference(play(path, [call]), [run_call(model, call)]) is None
        found.append((model.memory().arena_bytes, model.memory().delegate_bytes))
        assert model.memory().workspace_bytes == 0
    assert found[3] == found[0]
    assert found[0] < found[2] < found[1]
    for size, numbers in zip(sizes, found, strict=True):
        fresh = load(path, known=known)
        for call in at([size] * 3):
            run_call(fresh, call)
        assert (fresh.memory().arena_bytes, fresh.memory().delegate_bytes) == numbers


@pytest.mark.parametrize("planning", ["shapes", "simple"])
def test_many_shapes_of_a_transformer(program: Program, planning: Any) -> None:
    path = sequences(program)
    lengths = [2, 64, 3, 40, 40, 3, 64, 2, 5, 40, 2]
    model = load(path, planning, cached_plans=3)
    check_exact(model, path, at((1, length, 16) for length in lengths))
    assert model.memory().delegate_bytes > 0 == model.memory().workspace_bytes


def test_what_kernels_ask_for_is_planned(program: Program) -> None:
    class Sorted(Module):
        def forward(self, x: Any) -> Any:
            best, _ = torch.topk(x.cumsum(0), 5, 1)
            return best.cumsum(0)

    x = torch.zeros(16, 64)
    path = program(lambda: lower(Sorted(), (x,), partitioners=portable))
    model = load(path, "shapes")
    first, second = at([(16, 64)] * 2)
    run_call(model, first)
    before = model.memory()
    assert before.temp_elsewhere_bytes > 0 < before.temp_bytes
    run_call(model, second)
    after = model.memory()
    assert after.temp_elsewhere_bytes == 0 < after.temp_bytes == before.temp_bytes
    assert after.plans == before.plans == 2
    check_exact(model, path, at([(16, 64)] * 2))
    assert model.memory().plans == 2


def test_a_limit_counts_what_delegates_need(program: Program) -> None:
    path = static(program, Breaks)
    needed = bound_of(path) + GUARD_BYTES
    (call,) = at([(1, 3, SIDE, SIDE)])
    model = Runtime(Arena(limit_bytes=needed - GUARD_BYTES - 1)).load(path)
    with pytest.raises(ArenaLimitError, match=r"needs \d+ bytes of the arena"):
        run_call(model, call)
    assert model.memory().runs == 0
    run_call(Runtime(Arena(limit_bytes=needed)).load(path), call)


@pytest.mark.parametrize("known", [True, False])
def test_a_limit_counts_them_also_at_shapes_seen_for_the_first_time(
    program: Program, known: bool
) -> None:
    path, (call,) = images(program, UNet), at([(1, 3, 32, 32)])
    free = load(path, known=known)
    for _ in range(2):
        expected = run_call(free, call)
    memory = free.memory()
    assert memory.delegate_bytes > 0
    for less, runs in ((0, 3), (memory.delegate_bytes // 2, 0)):
        model = Runtime(Arena(limit_bytes=memory.arena_bytes - less)).load(path)
        if not known:
            model.method("forward")._sizes = None
        for _ in range(3):
            if less:
                with pytest.raises(ArenaLimitError, match="limit is"):
                    run_call(model, call)
            else:
                assert difference([expected], [run_call(model, call)]) is None
        assert model.memory().runs == runs


@pytest.mark.parametrize("factor", [0, 0.5, 2])
def test_a_wrong_expectation_does_no_harm(
    program: Program, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    path = static(program, Breaks)
    right = load(path)
    check_exact(right, path, at([(1, 3, SIDE, SIDE)]))
    true = predict_workspace

    def wrong(graph: Any) -> WorkspacePrediction:
        prediction = true(graph)
        return replace(prediction, total_bytes=int(prediction.total_bytes * factor))

    monkeypatch.setattr(onearena.payloads, "predict_workspace", wrong)
    monkeypatch.setattr("onearena.engine.method_description._PREDICTED_NODE_BYTES", -1)  # all
    model = load(path)
    check_exact(model, path, at([(1, 3, SIDE, SIDE)] * 2))
    found, expected = model.memory().delegate_bytes, right.memory().delegate_bytes
    assert found == (expected * factor if factor > 1 else expected)


def test_another_user_of_xnnpack_is_not_disturbed(program: Program) -> None:
    """The stock runtime's workspace is one for all; ours are apart from it."""
    path = static(program, Breaks)
    calls = at([(1, 3, SIDE, SIDE)] * 3)
    model = load(path)
    for call in calls:
        expected = play(path, [call])
        assert difference(expected, [run_call(model, call)]) is None
    del model
    assert difference(play(path, calls), play(path, calls)) is None


SHIM = """
#include <dlfcn.h>
/* An XNNPACK that refuses the operator which the probe uses, and nothing else. */
int xnn_define_unary(void* graph, int type, const void* params, unsigned in, unsigned out,
                     unsigned flags) {
  int (*next)(void*, int, const void*, unsigned, unsigned, unsigned) =
      (int (*)(void*, int, const void*, unsigned, unsigned, unsigned))dlsym(
          RTLD_NEXT, "xnn_define_unary");
  return type == 0 ? 2 : next(graph, type, params, in, out, flags);
}
"""
CHECK = """
import sys
from pathlib import Path
from tests.engine.shaped import at, check_exact, load
path = Path(sys.argv[1])
model = load(path)
check_exact(model, path, at([(1, 3, 48, 48)] * 2))
memory = model.memory()
print(memory.planning, memory.delegate_bytes, memory.workspace_bytes)
"""


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_an_unknown_xnnpack_keeps_its_workspace(program: Program, tmp_path: Path) -> None:
    path = static(program, UNet)
    source, shim = tmp_path / "shim.cc", tmp_path / "shim.so"
    source.write_text('#define _GNU_SOURCE\nextern "C" {' + SHIM + "}\n")
    assert COMPILER is not None
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(path)],
        env={**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": f"{root}/src:{root}"},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    planning, in_arena, outside = done.stdout.split()
    assert (planning, int(in_arena)) == ("static", 0)
    assert int(outside) > 0
