"""Random payloads, computed with numpy before and after: every argument gets the same bits.

Nodes that move elements really move them. All others are stood in for by a function of their
operands' bits and their attributes that no two different nodes share, so that a wrong operand,
a lost attribute or another order of elements shows in every output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node
from onearena.delegates.xnnpack.normalise import normalise
from onearena.delegates.xnnpack.simplify_names import content_names
from onearena.delegates.xnnpack.simplify_switches import Simplifications
from tests.delegates.nets import Net

Dims = tuple[int, ...]
_SIDES = ("padding_top", "padding_bottom", "padding_left", "padding_right")


def outputs(graph: Graph) -> dict[int, Any]:
    """By argument position, what a run writes."""
    known: dict[int, Any] = {}
    for value in graph.values.values():
        if value.id not in graph.producer:
            seed = value.tensor.constant_buffer_idx or 1000 + value.tensor.external_id
            known[value.id] = np.random.default_rng(seed).random(value.dims)
    for node in graph.nodes:
        (output,) = node.outputs
        known[output] = _computed(graph, node, known)
    return {
        position: known[value]
        for position, value in graph.externals.items()
        if value in graph.producer
    }


def _computed(graph: Graph, node: Node, known: Mapping[int, Any]) -> Any:
    union = node.xnode.xnode_union
    operands = [known[value] for value in node.inputs]
    dims = graph.values[node.outputs[0]].dims
    if isinstance(union, x.XNNStaticTranspose):
        return operands[0].transpose(union.perm)
    if isinstance(union, x.XNNStaticReshape):
        shape = tuple(-1 if size == 0 else size for size in union.new_shape or ())
        return operands[0].reshape(shape)
    if isinstance(union, x.XNNCopy):
        return operands[0]
    if isinstance(union, x.XNNStaticConstantPad):
        margins = list(zip(union.pre_paddings or (), union.post_paddings or (), strict=True))
        return np.pad(operands[0], margins, constant_values=union.padding_value)
    if isinstance(union, x.Convolution):
        top, bottom, left, right = (getattr(union, side) for side in _SIDES)
        operands[0] = np.pad(operands[0], ((0, 0), (top, bottom), (left, right), (0, 0)))
        union = replace(union, **dict.fromkeys(_SIDES, 0))
    if isinstance(union, x.XNNBatchMatrixMultiply) and union.flags:
        operands[1] = operands[1].swapaxes(-1, -2)
        union = replace(union, flags=0)
    return _opaque(union, node.xnode.output_min_max, operands, dims)


def _opaque(union: Any, bounds: Any, operands: list[Any], dims: Dims) -> Any:
    names = [m.name for m in fields(union) if not m.name.endswith("_id")]
    seen = blake2b(repr((type(union), bounds, [getattr(union, n) for n in names])).encode())
    for operand in operands:
        seen.update(repr(operand.shape).encode())
        seen.update(np.ascontiguousarray(operand).tobytes())
    seed = int.from_bytes(seen.digest()[:8], "little")
    return np.random.default_rng(seed).random(dims)


class _Grower:
    """Grows a net whose shapes make sense."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw
        self.net = Net()
        self.values: list[tuple[int, Dims]] = []

    def start(self) -> None:
        for dims in ((1, 4, 4, 2), (1, 1, 8, 2), (2, 4, 4))[: self._draw(st.integers(1, 3))]:
            self.values.append((self.net.input(*dims), dims))

    def _pick(self) -> tuple[int, Dims]:
        # mostly the newest: chains are what gets shorter
        newest = self._draw(st.integers(0, 3)) > 0
        return self.values[-1] if newest else self._draw(st.sampled_from(self.values))

    def _target(self, dims: Dims) -> int:
        make = self.net.output if self._draw(st.integers(0, 5)) == 0 else self.net.inner
        value = make(*dims)
        self.values.append((value, dims))
        return value

    def grow(self) -> None:
        kinds = ("transpose", "transpose", "reshape", "reshape", "copy", "pad", "opaque", "conv")
        kind = self._draw(st.sampled_from((*kinds, "matmul", "twice")))
        source, dims = self._pick()
        getattr(self, f"_{kind}")(source, dims)

    def _transpose(self, source: int, dims: Dims) -> None:
        perm = tuple(self._draw(st.permutations(range(len(dims)))))
        self.net.transpose(source, self._target(tuple(dims[axis] for axis in perm)), *perm)

    def _reshape(self, source: int, dims: Dims) -> None:
        count = prod(dims)
        shapes = [(count,), (1, count), (count // 2, 2), (1, 4, count // 8, 2), (2, count // 2)]
        shape = self._draw(st.sampled_from([*(s for s in shapes if prod(s) == count), dims]))
        self.net.reshape(source, self._target(shape))

    def _copy(self, source: int, dims: Dims) -> None:
        self.net.unary(x.XNNCopy, source, self._target(dims))

    def _pad(self, source: int, dims: Dims) -> None:
        if len(dims) != 4 or prod(dims) > 200:
            return self._copy(source, dims)
        after = self._draw(st.sampled_from(((0, 0, 0, 0), (0, 1, 2, 0), (0, 1, 0, 1))))
        target = self._target(tuple(d + a for d, a in zip(dims, after, strict=True)))
        self.net.pad(source, target, (0, 0, 0, 0), after)
        return None

    def _opaque(self, source: int, dims: Dims) -> None:
        kinds = (x.XNNSoftmax, x.XNNSigmoid, x.XNNSquare, x.XNNGlobalAvgPooling2d)
        self.net.unary(self._draw(st.sampled_from(kinds)), source, self._target(dims))

    def _twice(self, source: int, dims: Dims) -> None:
        kind = self._draw(st.sampled_from((x.XNNSoftmax, x.XNNTanh)))
        first, second = self._target(dims), self._target(dims)
        self.net.unary(kind, source, first)
        self.net.unary(kind, source, second)
        self.net.binary(x.XNNAdd, first, second, self._target(dims))

    def _conv(self, source: int, dims: Dims) -> None:
        if len(dims) != 4:
            return self._opaque(source, dims)
        size = self._draw(st.sampled_from((1, 3)))
        kind = self._draw(st.sampled_from((x.XNNConv2d, x.XNNDepthwiseConv2d)))
        self.net.conv(source, self._target(dims), kind, size)
        return None

    def _matmul(self, source: int, dims: Dims) -> None:
        if len(dims) != 3 or dims[1] != dims[2]:
            return self._transpose(source, dims)
        turned = self.net.inner(*dims)
        self.net.transpose(source, turned, 0, 2, 1)
        self.values.append((turned, dims))
        self.net.matmul(source, turned, self._target(dims), self._draw(st.sampled_from((0, 1))))
        return None


@st.composite
def nets(draw: DrawFn) -> Net:
    """A net of up to ten nodes, mostly of those that move elements."""
    grower = _Grower(draw)
    grower.start()
    for _ in range(draw(st.integers(1, 10))):
        grower.grow()
    value, dims = grower.values[-1]
    grower.net.unary(x.XNNSoftmax, value, grower.net.output(*dims))
    return grower.net


switches = st.builds(Simplifications, *[st.booleans()] * 5)


@given(nets(), st.one_of(st.just(Simplifications()), switches), st.booleans())
def test_every_argument_is_computed_as_before(
    net: Net, chosen: Simplifications, is_static: bool
) -> None:
    before = net.index()
    after, _ = normalise(before, "net", chosen, is_static)
    expected, found = outputs(before), outputs(after)
    assert expected.keys() == found.keys()
    for position, array in expected.items():
        np.testing.assert_array_equal(found[position], array)
    for value in after.values.values():
        if value.id in after.producer or value.is_external:
            assert value.element_count > 0
    shapes = {p: after.values[v].dims for p, v in after.externals.items()}
    assert shapes == {p: before.values[v].dims for p, v in before.externals.items()}


@given(nets(), st.booleans())
def test_arguments_keep_their_names(net: Net, is_static: bool) -> None:
    """The verifier tells bytes apart by them."""
    before = net.index()
    after, _ = normalise(before, "net", is_static=is_static)
    names, found = content_names(before, is_static), content_names(after, is_static)
    for value in before.externals.values():
        assert found[value] == names[value]


@given(nets(), st.booleans())
def test_there_are_never_more_transposes_nor_more_work(net: Net, is_static: bool) -> None:
    before = net.index()
    after, _ = normalise(before, "net", is_static=is_static)
    for kind in (x.XNNStaticTranspose, x.XNNStaticConstantPad, x.XNNSoftmax, x.XNNConv2d):
        count = sum(node.kind is kind for node in before.nodes)
        assert sum(node.kind is kind for node in after.nodes) <= count
    again, changes = normalise(after, "net", is_static=is_static)
    assert again.source == after.source
    assert not any(vars(changes.simplified).values())
