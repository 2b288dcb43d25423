"""Which tables of pointers leave the heap, and what that does to the memory of a real run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, index_graph
from onearena.delegates.xnnpack.indirection import TRANSIENT_INDIRECTION
from onearena.delegates.xnnpack.strips import Region, cut_into_strips
from onearena.delegates.xnnpack.work import POINTER_BYTES, POINTER_WORK, graph_work
from onearena.delegates.xnnpack.workspace import indirection_bytes, pointer_tables
from onearena.options import Options, Pointers
from onearena.payloads import read_payloads
from onearena.pipeline import optimize, verify
from onearena.pte.reader import open_pte
from onearena.runtime.workspace import measure_workspace
from onearena.verification.strips import strip_fault
from tests.cases.lowering import NEEDS_AVX512, Module, lower
from tests.cases.running import difference, play, random_calls
from tests.delegates.nets import Net

IMAGE = (torch.zeros(1, 8, 64, 64),)


class Shrinking(Module):
    """A wide convolution with a large table, and many behind it with small ones."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(8, 48, 3, padding=1)
        self.down = nn.Conv2d(48, 48, 8, stride=8)  # no two rows of it need the same row
        self.small = nn.ModuleList(nn.Conv2d(48, 48, 3, padding=1) for _ in range(12))
        self.pool = nn.MaxPool2d(2)

    def forward(self, image: Any) -> Any:
        image = self.down(self.first(image).relu())
        for conv in self.small:
            image = conv(image).relu()
        return self.pool(image)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pointers") / "stock.pte"
    path.write_bytes(lower(Shrinking(), IMAGE))
    return path


def graphs(path: Path) -> list[Graph]:
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        return [p.graph for p in read_payloads(file, plan).values() if p.graph is not None]


def is_flagged(graph: Graph) -> dict[int, bool]:
    return {
        node.index: bool(getattr(node.xnode.xnode_union, "flags", 0) & TRANSIENT_INDIRECTION)
        for node in graph.nodes
    }


@NEEDS_AVX512
def test_the_smallest_tables_leave_the_heap(stock: Path, tmp_path: Path) -> None:
    files = {}
    notes: tuple[str, ...] = ()
    for choice in (Pointers.OFF, Pointers.AUTO):
        files[choice] = tmp_path / f"{choice}.pte"
        options = Options(transient_indirection=choice)
        (method,) = optimize(stock, files[choice], options).methods
        assert method.after is not None
        assert measure_workspace(files[choice]).bytes == method.after.workspace_bytes
        notes = method.notes
    (note,) = (note for note in notes if "tables of pointers" in note)
    found = re.match(r"(\d+) nodes .* ([\d,]+) B less on the heap", note)
    assert found is not None
    (graph,) = graphs(files[Pointers.AUTO])
    (plain,) = graphs(files[Pointers.OFF])
    flagged, tables = is_flagged(graph), pointer_tables(plain.source)
    moved = {size for node, size in tables.items() if flagged[node]}
    kept = {size for node, size in tables.items() if not flagged[node]}
    assert moved
    assert kept
    assert max(moved) < min(kept)
    assert int(found[1]) == sum(flagged.values())
    less = int(found[2].replace(",", ""))
    assert less == sum(size for node, size in tables.items() if flagged[node])
    assert less == indirection_bytes(plain.source) - indirection_bytes(graph.source)
    calls = random_calls(*IMAGE)
    assert difference(play(stock, calls), play(files[Pointers.AUTO], calls)) is None
    assert verify(files[Pointers.AUTO]).safe


def test_the_work_of_pointers_is_in_the_model(stock: Path, tmp_path: Path) -> None:
    tables, ratios = [], []
    for choice in (Pointers.OFF, Pointers.AUTO):
        path = tmp_path / f"{choice}.pte"
        (method,) = optimize(stock, path, Options(transient_indirection=choice)).methods
        assert method.latency is not None
        ratios.append(method.latency.ratio)
        (graph,) = graphs(path)
        tables.append(indirection_bytes(graph.source))
    (before,) = graphs(stock)
    moved = tables[0] - tables[1]
    assert moved > 0
    share = moved / POINTER_BYTES * POINTER_WORK / graph_work(before)
    assert ratios[1] - ratios[0] == pytest.approx(share, rel=0.01)
    assert share <= 0.02


@pytest.mark.parametrize("limit", [1.0, 1.002])
def test_pointers_keep_to_the_limit(stock: Path, tmp_path: Path, limit: float) -> None:
    path = tmp_path / "small.pte"
    (method,) = optimize(stock, path, Options(max_latency=limit)).methods
    assert method.latency is not None
    assert method.latency.ratio <= limit
    if limit == 1:
        assert not any(any(is_flagged(graph).values()) for graph in graphs(path))


def test_closed_calls_are_left_as_they_are(stock: Path, tmp_path: Path) -> None:
    path = tmp_path / "closed.pte"
    optimize(stock, path, Options(open_delegates=False))
    assert not any(any(is_flagged(graph).values()) for graph in graphs(path))


def test_the_verifier_ignores_where_pointers_are_and_no_other_flag() -> None:
    net = Net()
    image, first, last = net.input(1, 16, 8, 4), net.inner(1, 16, 8, 4), net.output(1, 16, 8, 4)
    net.conv(image, first)
    net.conv(first, last)
    before = net.index()
    strips = cut_into_strips(before, (Region(frozenset({first}), 2),), "net")
    assert strips is not None
    assert strip_fault(before, strips.graph, strips.pieces) is None
    for flag, is_fine in ((TRANSIENT_INDIRECTION, True), (0x4, False)):
        nodes = list(strips.graph.source.xnodes or ())
        union = nodes[0].xnode_union
        assert isinstance(union, x.XNNConv2d)
        nodes[0] = replace(nodes[0], xnode_union=replace(union, flags=union.flags | flag))
        changed = index_graph(replace(strips.graph.source, xnodes=tuple(nodes)), "net")
        assert (strip_fault(before, changed, strips.pieces) is None) == is_fine
