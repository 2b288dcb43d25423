"""Predicted savings against the change itself: the changed model is exported, and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from onearena import optimize
from onearena.advice.explain import explain
from onearena.advice.model import Advice, AdviceKind, Explanation
from onearena.summary.build import summarize
from tests.advice import nets
from tests.cases.lowering import (
    Method,
    lower,
    lower_methods,
    planned,
    portable,
    quantized,
    quiet,
)


def write(folder: Path, content: bytes, name: str = "model.pte") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def optimized_bytes(path: Path) -> int:
    """Arenas and workspace of the first method, after `optimize`."""
    method = optimize(path, path.with_suffix(".out.pte")).methods[0]
    return (method.after or method.before).total_bytes


def the(explanation: Explanation, kind: AdviceKind) -> Advice:
    (found,) = (a for a in explanation.methods[0].advice if a.kind is kind)
    return found


def test_optimize_saves_what_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, lower(nets.Upsampling("nearest"), (torch.zeros(1, 3, 64, 64),)))
    advice = the(explain(path), AdviceKind.OPTIMIZE)
    assert advice.before_bytes == summarize(path).methods[0].total_bytes
    assert advice.after_bytes == optimized_bytes(path)
    assert advice.saved_bytes > advice.before_bytes // 4


@pytest.mark.parametrize("size", [64, 96])
def test_without_the_graph_break(tmp_path: Path, size: int) -> None:
    """The same network with an operator that XNNPACK takes, on the stock runtime."""
    inputs = (torch.zeros(1, 3, size, size),)
    broken = write(tmp_path, lower(nets.Upsampling("nearest"), inputs))
    whole = write(tmp_path, lower(nets.Upsampling("bilinear"), inputs), "whole.pte")
    advice = the(explain(broken), AdviceKind.GRAPH_BREAK)
    after = summarize(whole).methods[0].total_bytes
    assert after is not None
    assert advice.after_bytes == pytest.approx(after, rel=0.01)
    assert advice.saved_bytes > advice.before_bytes // 4


def test_unplanned_inputs(tmp_path: Path) -> None:
    inputs = (torch.zeros(1, 3, 64, 64),)
    path = write(tmp_path, lower(nets.Narrowing(), inputs))
    advice = the(explain(path), AdviceKind.UNPLANNED_INPUTS)
    changed = lower(nets.Narrowing(), inputs, config=planned(alloc_graph_input=False))
    assert advice.before_bytes == optimized_bytes(path)
    assert advice.after_bytes == optimized_bytes(write(tmp_path, changed, "changed.pte"))


def test_unplanned_outputs(tmp_path: Path) -> None:
    inputs = (torch.zeros(1, 4, 32, 32),)
    path = write(tmp_path, lower(nets.Widening(), inputs))
    advice = the(explain(path), AdviceKind.UNPLANNED_OUTPUTS)
    changed = lower(nets.Widening(), inputs, config=planned(alloc_graph_output=False))
    assert advice.after_bytes == optimized_bytes(write(tmp_path, changed, "changed.pte"))


def _int8(module: torch.nn.Module, inputs: tuple[Any, ...], boundary: Any = None) -> bytes:
    """Quantized and lowered to XNNPACK, with an int8 boundary where a pass makes one."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge

    with quiet():
        exported = torch.export.export(quantized(module, inputs), inputs, strict=False)
        edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
        if boundary is not None:
            edge = edge.transform([boundary(edge, [0])])
        return bytes(edge.to_backend(XnnpackPartitioner()).to_executorch().buffer)


def test_int8_inputs(tmp_path: Path) -> None:
    from executorch.exir.passes.quantize_io_pass import QuantizeInputs

    inputs = (torch.rand(1, 3, 64, 64),)
    path = write(tmp_path, _int8(nets.Narrowing(), inputs))
    changed = write(tmp_path, _int8(nets.Narrowing(), inputs, QuantizeInputs), "changed.pte")
    assert "char" in {t.dtype for t in summarize(changed).methods[0].tensors if t.kind == "input"}
    advice = the(explain(path), AdviceKind.INT8_INPUTS)
    assert advice.after_bytes == optimized_bytes(changed)


def test_int8_outputs(tmp_path: Path) -> None:
    from executorch.exir.passes.quantize_io_pass import QuantizeOutputs

    inputs = (torch.rand(1, 4, 32, 32),)
    path = write(tmp_path, _int8(nets.Widening(), inputs))
    changed = write(tmp_path, _int8(nets.Widening(), inputs, QuantizeOutputs), "changed.pte")
    advice = the(explain(path), AdviceKind.INT8_OUTPUTS)
    assert advice.after_bytes == optimized_bytes(changed)


@pytest.mark.parametrize("tokens", [8, 33])
def test_last_token_only(tmp_path: Path, tokens: int) -> None:
    inputs = (torch.zeros(1, tokens, dtype=torch.long),)
    path = write(tmp_path, lower(nets.Language(False), inputs))
    changed = write(tmp_path, lower(nets.Language(True), inputs), "changed.pte")
    advice = the(explain(path), AdviceKind.LAST_TOKEN)
    assert advice.after_bytes == pytest.approx(optimized_bytes(changed), rel=0.02)
    assert advice.saved_bytes > advice.before_bytes // 2


def test_concatenation_without_copies(tmp_path: Path) -> None:
    """No exporter makes this change; the bytes that are alive with it can be counted."""
    inputs = (torch.zeros(2, 4096), torch.zeros(2, 4096))
    path = write(tmp_path, lower(nets.JoiningAcross(), inputs))
    advice = the(explain(path), AdviceKind.CONCAT)
    half, tail, lead = 2 * 4096 * 4, 64, 48  # 48 in front of arenas of 128 KiB
    # both halves and the result at the concatenation; without copies the kernels write over the
    # inputs, and what is left of the copy takes one place of the least size
    assert advice.before_bytes == 4 * half + lead + advice.after_bytes - 2 * half - 16
    assert advice.after_bytes == 2 * half + 2 * 16 + tail


def test_what_optimize_joins_itself_needs_no_advice(tmp_path: Path) -> None:
    inputs = (torch.zeros(2, 4096), torch.zeros(2, 4096))
    path = write(tmp_path, lower(nets.Joining(), inputs, partitioners=portable))
    found = explain(path)
    half = 2 * 4096 * 4
    assert AdviceKind.CONCAT not in {advice.kind for advice in found.advice}
    assert found.methods[0].optimized_bytes == 3 * half  # the inputs, one of them in the result


def test_methods_that_share_their_arenas(tmp_path: Path) -> None:
    methods = {
        "small": Method(nets.Narrowing(), (torch.zeros(1, 3, 32, 32),)),
        "large": Method(nets.Narrowing(), (torch.zeros(1, 3, 64, 64),)),
    }
    path = write(tmp_path, lower_methods(methods))
    found = explain(path)
    sizes = [method.arena_bytes for method in found.summary.methods]
    (advice,) = found.advice
    assert advice.kind is AdviceKind.SHARE_ARENAS
    assert (advice.before_bytes, advice.after_bytes) == (sum(sizes), max(sizes))
