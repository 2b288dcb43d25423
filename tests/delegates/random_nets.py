"""Random payload graphs, rich in what XNNPACK rewrites. Shapes do not have to make sense."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from onearena.delegates.xnnpack import schema as x
from tests.delegates.nets import FP32, QDINT8, QINT8, RELU6, Net

DIMS = (1, 4, 4, 4)
OTHER_DIMS = (1, 4, 8, 2)
_FLOAT = ("unary", "clamp", "limit", "binary", "scalar", "square", "product", "mean", "conv")
_MORE_FLOAT = ("depthwise", "pool", "pad", "transpose", "matmul", "linear", "reshape", "copy")
_EIGHT_BIT = ("unary", "clamp", "limit", "binary", "scalar", "dequantize", "copy", "conv")
_KINDS = (*_FLOAT, *_MORE_FLOAT, "quantize", "dynamic")


class _Grower:
    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw
        self.net = Net()
        self.pool: dict[int, list[int]] = {FP32: [], QINT8: []}

    def grow(self, nodes: int) -> None:
        for datatype in (FP32, FP32, QINT8)[: self._draw(st.integers(1, 3))]:
            self.pool[datatype].append(self.net.input(*DIMS, datatype=datatype))
        for _ in range(nodes):
            self._add(self._draw(st.sampled_from(sorted(t for t, v in self.pool.items() if v))))

    def _source(self, datatype: int) -> int:
        pool = self.pool[datatype]
        # mostly the newest value: chains are what gets rewritten
        return pool[-1] if self._draw(st.integers(0, 2)) else self._draw(st.sampled_from(pool))

    def _target(self, datatype: int, dims: tuple[int, ...] = DIMS) -> int:
        make = self.net.output if self._draw(st.integers(0, 3)) == 0 else self.net.inner
        return make(*dims, datatype=datatype)

    def _add(self, datatype: int) -> None:
        kinds = _KINDS if datatype == FP32 else _EIGHT_BIT
        kind = self._draw(st.sampled_from(kinds))
        source = self._source(datatype)
        result = {"quantize": QINT8, "dequantize": FP32}.get(kind, datatype)
        dims = OTHER_DIMS if kind == "reshape" and self._draw(st.booleans()) else DIMS
        target = self._target(result, dims)
        getattr(self, f"_{kind}")(source, target, datatype)
        self.pool[result].append(target)

    def _unary(self, source: int, target: int, _: int) -> None:
        self.net.unary(self._draw(st.sampled_from((x.XNNSigmoid, x.XNNAbs))), source, target)

    def _quantize(self, source: int, target: int, _: int) -> None:
        self.net.unary(x.XNNConvert, source, target)

    _dequantize = _quantize

    def _copy(self, source: int, target: int, _: int) -> None:
        self.net.unary(x.XNNCopy, source, target)

    def _clamp(self, source: int, target: int, _: int) -> None:
        self.net.clamp(source, target)

    def _limit(self, source: int, target: int, datatype: int) -> None:
        kind = self._draw(st.sampled_from((x.XNNMinimum, x.XNNMaximum)))
        limit = self.net.scalar(0.5, datatype)
        first, second = (source, limit) if self._draw(st.booleans()) else (limit, source)
        self.net.binary(kind, first, second, target)

    def _binary(self, source: int, target: int, datatype: int) -> None:
        other = self._draw(st.sampled_from(self.pool[datatype]))
        bounds = RELU6 if self._draw(st.booleans()) else None
        kind = self._draw(st.sampled_from((x.XNNAdd, x.XNNMultiply)))
        self.net.binary(kind, source, other, target, bounds)

    def _scalar(self, source: int, target: int, datatype: int) -> None:
        bounds = RELU6 if self._draw(st.booleans()) else None
        self.net.binary(x.XNNAdd, source, self.net.scalar(2.0, datatype), target, bounds)

    def _square(self, source: int, target: int, _: int) -> None:
        self.net.unary(x.XNNSquare, source, target)

    def _product(self, source: int, target: int, _: int) -> None:
        self.net.binary(x.XNNMultiply, source, source, target)

    def _mean(self, source: int, target: int, _: int) -> None:
        bounds = RELU6 if self._draw(st.booleans()) else None
        self.net.node(x.XNNGlobalAvgPooling2d(source, target), bounds)

    def _conv(self, source: int, target: int, _: int) -> None:
        self.net.conv(source, target, size=self._draw(st.sampled_from((1, 3))))

    def _depthwise(self, source: int, target: int, _: int) -> None:
        self.net.conv(source, target, x.XNNDepthwiseConv2d)

    def _pool(self, source: int, target: int, _: int) -> None:
        self.net.pool(
            self._draw(st.sampled_from((x.XNNMaxPooling2d, x.XNNAvgPooling2d))), source, target
        )

    def _pad(self, source: int, target: int, _: int) -> None:
        after = self._draw(st.sampled_from(((0, 1, 1, 0), (0, 0, 0, 0))))
        self.net.pad(source, target, (0, 0, 0, 0), after)

    def _transpose(self, source: int, target: int, _: int) -> None:
        self.net.transpose(
            source, target, *self._draw(st.sampled_from(((0, 1, 3, 2), (0, 2, 1, 3))))
        )

    def _matmul(self, source: int, target: int, datatype: int) -> None:
        left = self._draw(st.sampled_from(self.pool[datatype]))
        self.net.matmul(left, source, target, self._draw(st.sampled_from((0, 1))))

    def _linear(self, source: int, target: int, datatype: int) -> None:
        left = self._draw(st.sampled_from(self.pool[datatype]))
        self.net.linear(left, target, source, self._draw(st.sampled_from((0, 1))))

    def _dynamic(self, source: int, target: int, _: int) -> None:
        quantized = self.net.inner(*DIMS, datatype=QDINT8, quant=x.PerTokenDynamicQuant(1))
        self.net.unary(x.XNNConvert, source, quantized)
        if self._draw(st.booleans()):
            between = self._target(FP32)
            self.net.unary(x.XNNAbs, source, between)
            self.pool[FP32].append(between)
        self.net.linear(quantized, target)

    def _reshape(self, source: int, target: int, _: int) -> None:
        self.net.reshape(source, target)


@st.composite
def random_nets(draw: DrawFn, max_nodes: int = 7) -> Net:
    """A graph of a few nodes whose last value is an output."""
    grower = _Grower(draw)
    grower.grow(draw(st.integers(1, max_nodes)))
    datatype = draw(st.sampled_from(sorted(t for t, v in grower.pool.items() if v)))
    final = grower.net.output(*DIMS, datatype=datatype)
    grower.net.unary(x.XNNTanh, grower.pool[datatype][-1], final)
    return grower.net
