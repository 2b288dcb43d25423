"""What nodes count: multiplications, and never more than a floating point number holds."""

from __future__ import annotations

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import index_graph
from onearena.delegates.xnnpack.work import graph_work, row_work
from tests.delegates.nets import Net


def _sigmoids(*dims: int) -> x.XNNGraph:
    net = Net()
    values = [net.input(*dims), net.inner(*dims), net.output(*dims)]
    net.unary(x.XNNSigmoid, values[0], values[1])
    net.unary(x.XNNSigmoid, values[1], values[2])
    return net.graph()


def test_elements_count() -> None:
    graph = index_graph(_sigmoids(1, 8, 4, 3), "net")
    assert row_work(graph, graph.nodes[0]) * 8 == 8 * 4 * 3 * 4
    assert graph_work(graph) == 2 * 8 * 4 * 3 * 4


def test_dimensions_of_a_corrupt_payload() -> None:
    graph = index_graph(_sigmoids(*[1 << 60] * 30), "net")
    assert 0 < float(graph_work(graph)) < float("inf")
    assert graph_work(graph) / graph_work(graph) == 1
