"""Masks that are made again, on the real runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from onearena.options import Options
from onearena.pipeline import optimize, verify
from onearena.pte.reader import open_pte
from onearena.record import read_record
from tests.cases.checking import check
from tests.cases.conftest import Program
from tests.cases.lowering import Module, lower, portable, xnnpack
from tests.cases.running import difference, play, random_calls

TOKENS = 96
INPUTS = (torch.zeros(1, TOKENS, 16), torch.zeros(1, TOKENS, dtype=torch.bool))


class _Masked(Module):
    """Layers of attention that all see one mask."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.wide = nn.ModuleList(nn.Linear(16, 256) for _ in range(3))

    def forward(self, x: Any, seen: Any) -> Any:
        mask = torch.where(seen.view(1, 1, TOKENS).expand(1, TOKENS, TOKENS), 0.0, -100.0)
        for layer, wide in zip(self.layers, self.wide, strict=True):
            weights = torch.softmax(x @ layer(x).transpose(1, 2) + mask, -1)
            y = wide(weights @ x)
            x = torch.cumsum(y, 2)[:, :, ::16] * 0.1
        return x


def _order(path: Path) -> tuple[int, ...]:
    """Of the instructions; empty in a program that was only copied."""
    with open_pte(path) as file:
        record = read_record(file)
        return record.methods["forward"].order if record is not None else ()


@pytest.mark.parametrize("partitioners", [xnnpack, portable])
def test_a_mask_is_made_again(partitioners: Any, program: Program, tmp_path: Path) -> None:
    stock = program(lambda: lower(_Masked(), INPUTS, partitioners=partitioners))
    calls = random_calls(*INPUTS)
    check(stock, calls)
    sizes = {}
    for switch in (False, True):
        target = tmp_path / f"{switch}.pte"
        options = Options(rematerialise=switch, max_latency=1.5)
        (method,) = optimize(stock, target, options).methods
        assert method.after is not None
        sizes[switch] = method.after.total_bytes
        assert verify(target).violations == ()
        assert difference(play(stock, calls), play(target, calls)) is None
        order = _order(target)
        assert switch == (len(order) > len(set(order)))
    assert sizes[True] < sizes[False] - TOKENS * TOKENS * 2
