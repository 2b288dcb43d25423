"""The flag that moves pointers from the heap into scratch: which nodes get it, what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.heap import flag_file
from torch import nn
from torch.nn import functional

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.indirection import TRANSIENT_INDIRECTION, with_transient_indirection
from onearena.delegates.xnnpack.workspace import predict_workspace
from onearena.delegates.xnnpack.workspace_target import X86_64_AVX2, X86_64_AVX512
from onearena.payloads import read_payloads
from onearena.pipeline import inspect, optimize, verify
from onearena.pte.reader import open_pte
from onearena.runtime.workspace import measure_workspace
from tests.cases.lowering import HAS_AVX512, NEEDS_AVX512, Module, lower
from tests.cases.running import difference, play, random_calls
from tests.delegates.nets import Net

IMAGE = (1, 8, 8, 4)
SIZE = 160


def _flags(net: Net) -> list[int]:
    graph, count = with_transient_indirection(net.index(), "net")
    flags = [getattr(node.xnode.xnode_union, "flags", 0) for node in graph.nodes]
    assert count == sum(bool(flag & TRANSIENT_INDIRECTION) for flag in flags)
    return flags


@pytest.mark.parametrize(
    ("kind", "size", "flag"),
    [
        (x.XNNConv2d, 3, 0x20),
        (x.XNNDepthwiseConv2d, 3, 0x20),
        (x.XNNDepthwiseConv2d, 1, 0x20),
        (x.XNNConv2d, 1, 0),  # runs as a fully connected layer
        (x.XNNConvTranspose2d, 3, 0),
    ],
)
def test_convolutions_with_pointers_get_the_flag(kind: Any, size: int, flag: int) -> None:
    net = Net()
    net.conv(net.input(*IMAGE), net.output(*IMAGE), kind, size)
    assert _flags(net) == [flag]


def test_strided_and_grouped_kernels_of_one_pixel_have_pointers() -> None:
    net = Net()
    a = net.input(*IMAGE)
    net.conv(a, net.output(*IMAGE), size=1, groups=2)
    net.conv(a, net.output(1, 4, 8, 4), size=1, subsampling_height=2)
    assert _flags(net) == [0x20, 0x20]


def test_resizes_get_the_flag_and_poolings_do_not() -> None:
    net = Net()
    a = net.input(*IMAGE)
    net.node(x.XNNStaticResizeBilinear2D(4, 4, a, net.output(1, 4, 4, 4), 0x8))
    net.pool(x.XNNMaxPooling2d, a, net.output(1, 4, 4, 4))
    assert _flags(net) == [0x28, 0]


def test_a_second_time_changes_nothing() -> None:
    net = Net()
    net.conv(net.input(*IMAGE), net.output(*IMAGE))
    once, count = with_transient_indirection(net.index(), "net")
    assert count == 1
    again, count = with_transient_indirection(once, "net")
    assert (again, count) == (once, 0)


class Resizing(Module):
    """Three kinds of nodes with pointers, and one without."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.convs = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(3))
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.point = nn.Conv2d(8, 8, 1)

    def forward(self, image: Any) -> Any:
        for conv in self.convs:
            image = conv(image).relu()
        image = self.point(self.depthwise(image))
        return functional.interpolate(image, scale_factor=2, mode="bilinear", align_corners=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A program, and the same with the flag."""
    directory = tmp_path_factory.mktemp("flag")
    stock, flagged = directory / "stock.pte", directory / "flagged.pte"
    stock.write_bytes(lower(Resizing(), (torch.zeros(1, 8, SIZE, SIZE),)))
    assert flag_file(stock, flagged) == 5
    return stock, flagged


def test_outputs_keep_their_bits(files: tuple[Path, Path]) -> None:
    calls = random_calls(torch.zeros(1, 8, SIZE, SIZE))
    assert difference(play(files[0], calls), play(files[1], calls)) is None


def _predicted(path: Path) -> int:
    """For this processor."""
    target = X86_64_AVX512 if HAS_AVX512 else X86_64_AVX2
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        graphs = [found.graph for found in read_payloads(file, plan).values()]
    return max(
        predict_workspace(graph, target).total_bytes for graph in graphs if graph is not None
    )


def test_pointers_become_scratch_that_is_predicted(files: tuple[Path, Path]) -> None:
    """On the heap is their sum, in scratch the largest."""
    growth = []
    for path in files:
        measured = measure_workspace(path)
        assert measured.bytes is not None
        assert measured.heap_growth_bytes is not None
        assert _predicted(path) == measured.bytes
        if HAS_AVX512:  # for which `inspect` predicts
            (method,) = inspect(path).methods
            assert method.before.workspace_bytes == measured.bytes
        growth.append(measured.heap_growth_bytes)
    one_table = 9 * 8 * SIZE * SIZE
    assert growth[0] - growth[1] > 2 * one_table


@NEEDS_AVX512
def test_an_optimized_program_takes_the_flag_too(files: tuple[Path, Path]) -> None:
    optimized = files[0].with_name("optimized.pte")
    both = files[0].with_name("both.pte")
    optimize(files[0], optimized)
    assert flag_file(optimized, both) >= 5
    assert verify(both).violations == ()
    calls = random_calls(torch.zeros(1, 8, SIZE, SIZE))
    assert difference(play(files[0], calls), play(both, calls)) is None
    measured = measure_workspace(both)
    (method,) = inspect(both).methods
    assert method.before.workspace_bytes == measured.bytes
