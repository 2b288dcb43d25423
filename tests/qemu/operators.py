"""Random operators, each as a program of its own, with as much scratch as it needs."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onearena.cortex_m.cores import Isa
from onearena.cortex_m.needs import memory_needs
from onearena.pte.container import PteFile
from onearena.pte.schema import Buffer
from tests.pte.build import BYTE, CHAR, FLOAT, INT, Method, file_bytes, pte_file, read_bytes
from tests.verify.planting import first_plan

_CHANNELS_LAST = (0, 2, 3, 1)
_ALIGNMENT = 16


class _Builder(Method):
    """A method whose tensors lie one behind the other, and its constants."""

    def __init__(self, rng: random.Random, scratch_bytes: int) -> None:
        super().__init__()
        self.rng = rng
        self._scratch_bytes = scratch_bytes
        self._constants: list[bytes] = []

    def image(self, *sizes: int, scalar_type: int = CHAR) -> int:
        """A tensor in the arena; with channels last when it has 4 dimensions."""
        end = self.arenas.get(1, 0)
        order = _CHANNELS_LAST if len(sizes) == 4 else tuple(range(len(sizes)))
        return self.tensor(
            *sizes,
            scalar_type=scalar_type,
            offset=end + -end % _ALIGNMENT,
            dim_order=order,
        )

    def scratch(self) -> int:
        return self.image(self._scratch_bytes, scalar_type=BYTE)

    def weights(self, *sizes: int) -> int:
        count = 1
        for size in sizes:
            count *= size
        data = bytes(self.rng.randrange(256) for _ in range(count))
        return self._constant(data, CHAR, sizes)

    def numbers(self, numbers: list[int], *sizes: int) -> int:
        data = struct.pack(f"<{len(numbers)}i", *numbers)
        return self._constant(data, INT, sizes or (len(numbers),))

    def biases(self, count: int) -> int:
        return self.numbers([self.rng.randrange(-9000, 9000) for _ in range(count)])

    def any_biases(self, count: int) -> int:
        return self.biases(count) if self.rng.random() < 0.7 else self.none()

    def integers(self, *numbers: int) -> int:
        return self.int_list(*(self.integer(number) for number in numbers))

    def scales(self, count: int) -> tuple[int, int]:
        """Multipliers and shifts that bring sums of products into the range of int8."""
        multipliers = [self.rng.randrange(1 << 30, 1 << 31) for _ in range(count)]
        shifts = [self.rng.randrange(-11, -6) for _ in range(count)]
        return self.numbers(multipliers), self.numbers(shifts)

    def offsets(self) -> tuple[int, int]:
        return (
            self.integer(self.rng.randrange(-127, 129)),
            self.integer(self.rng.randrange(-128, 128)),
        )

    def limits(self) -> tuple[int, int]:
        lowest = self.rng.choice((-128, -128, self.rng.randrange(-128, 0)))
        return self.integer(lowest), self.integer(self.rng.choice((127, 100)))

    def file(self) -> PteFile:
        empty, *rest = (Buffer((data,) if data else ()) for data in (b"", *self._constants))
        return read_bytes(file_bytes(pte_file(self, constant_buffer=(empty, *rest))))

    def _constant(self, data: bytes, scalar_type: int, sizes: tuple[int, ...]) -> int:
        self._constants.append(data)
        index = len(self._constants)
        return self.tensor(*sizes, scalar_type=scalar_type, data_buffer_idx=index)


_Build = Callable[[_Builder, Isa], None]


def _extent(size: int, kernel: int, stride: int, pad: int) -> int:
    return (size + 2 * pad - kernel) // stride + 1


class _Window:
    """Sizes of an image and of a filter that fits into it."""

    def __init__(self, rng: random.Random, max_pad: Callable[[int], int]) -> None:
        self.dilation = [1, 1]  # others the reference implementation cannot compute
        while True:
            self.size = [rng.randrange(2, 9) for _ in range(2)]
            self.kernel = [rng.randrange(1, 4) for _ in range(2)]
            self.stride = [rng.randrange(1, 3) for _ in range(2)]
            self.pad = [rng.randrange(0, max_pad(kernel) + 1) for kernel in self.kernel]
            parts = (self.size, self.kernel, self.stride, self.pad)
            self.out = [_extent(*each) for each in zip(*parts, strict=True)]
            if min(self.out) >= 1:
                return


def _finish(b: _Builder, operator: str, inputs: list[int], arguments: list[int], out: int) -> None:
    b.input(*inputs).output(out)
    b.call(f"cortex_m::{operator}.out", *arguments, out, out)


def _convolution(b: _Builder, isa: Isa) -> None:
    rng, w = b.rng, _Window(b.rng, lambda kernel: 2)
    batch, before, after = rng.randrange(1, 3), rng.randrange(1, 21), rng.randrange(1, 9)
    x = b.image(batch, before, *w.size)
    weights, bias = b.weights(after, *w.kernel, before), b.any_biases(after)
    shape = [b.integers(*pair) for pair in (w.stride, w.pad, w.dilation)]
    tail = [*b.offsets(), *b.scales(after), *b.limits()]
    scratch, out = b.scratch(), b.image(batch, after, *w.out)
    _finish(b, "quantized_conv2d", [x], [x, weights, bias, *shape, *tail, scratch], out)


def _depthwise(b: _Builder, isa: Isa) -> None:
    rng, w = b.rng, _Window(b.rng, lambda kernel: 2)
    batch, before = rng.choice((1, 1, 2)), rng.choice((1, 1, 3, 8, 130))
    multiplier = rng.choice((1, 1, 2, 5)) if before < 9 else 1
    after = before * multiplier
    x = b.image(batch, before, *w.size)
    weights, bias = b.weights(1, *w.kernel, after), b.any_biases(after)
    shape = [b.integers(*pair) for pair in (w.stride, w.pad, w.dilation)]
    tail = [*b.offsets(), *b.scales(after), *b.limits()]
    scratch, out = b.scratch(), b.image(batch, after, *w.out)
    arguments = [x, weights, bias, *shape, b.integer(multiplier), *tail, scratch]
    _finish(b, "quantized_depthwise_conv2d", [x], arguments, out)


def _linear(b: _Builder, isa: Isa) -> None:
    rng = b.rng
    rows, before, after = rng.randrange(1, 4), rng.randrange(1, 40), rng.randrange(1, 9)
    x = b.image(rows, before)
    sums = b.biases(after) if isa is Isa.MVE else b.none()
    bias = b.none() if isa is Isa.MVE else b.any_biases(after)
    lowest, highest = b.limits()
    arguments = [
        *(x, b.weights(after, before), bias, sums),
        *(b.integer(rng.randrange(-127, 129)), b.integer(rng.randrange(-3, 4))),
        b.integer(rng.randrange(-128, 128)),
        *(b.integers(rng.randrange(1 << 30, 1 << 31)), b.integers(rng.randrange(-11, -6))),
        *(highest, lowest),
    ]
    _finish(b, "quantized_linear", [x], arguments, b.image(rows, after))


def _average_pool(b: _Builder, isa: Isa) -> None:
    rng, w = b.rng, _Window(b.rng, lambda kernel: kernel // 2)
    batch, channels = rng.randrange(1, 3), rng.randrange(1, 20)
    x, scratch = b.image(batch, channels, *w.size), b.scratch()
    shape = [b.integers(*pair) for pair in (w.kernel, w.stride, w.pad)]
    scale = [b.integer(rng.randrange(1 << 30, 1 << 31)), b.integer(rng.randrange(-20, 2))]
    zero_point = b.integer(rng.randrange(-128, 128))
    arguments = [x, *shape, b.boolean(False), zero_point, *scale, scratch]
    _finish(b, "quantized_avg_pool2d", [x], arguments, b.image(batch, channels, *w.out))


def _add(b: _Builder, isa: Isa) -> None:
    sizes = [b.rng.randrange(1, 6) for _ in range(4)]
    x, y = b.image(*sizes), b.image(*sizes)
    numbers = []
    for _ in range(2):  # of the operands; the result of the second keeps a bit for the sum
        numbers += [b.integer(b.rng.randrange(-128, 128))]
        numbers += [b.integer(b.rng.randrange(1 << 30, 1 << 31)), b.integer(b.rng.randrange(-3, 0))]
    output = [b.integer(b.rng.randrange(-128, 128))]
    output += [b.integer(b.rng.randrange(1 << 30, 1 << 31)), b.integer(b.rng.randrange(-20, -17))]
    arguments = [x, *numbers[:3], y, *numbers[3:], *output, *b.limits()]
    _finish(b, "quantized_add", [x, y], arguments, b.image(*sizes))


def _pad(b: _Builder, isa: Isa) -> None:
    rng = b.rng
    sizes = [rng.randrange(2, 6) for _ in range(4)]
    before, after = ([rng.randrange(3) for _ in range(4)] for _ in range(2))  # NHWC
    grown = [size + before[k] + after[k] for size, k in zip(sizes, (0, 3, 1, 2), strict=True)]
    x = b.image(*sizes)
    arguments = [x, b.integers(*before), b.integers(*after), b.integer(rng.randrange(-128, 128))]
    _finish(b, "pad", [x], arguments, b.image(*grown))


def _conversion(b: _Builder, operator: str, before: int, after: int) -> None:
    sizes = [b.rng.randrange(1, 6) for _ in range(4)]
    x = b.image(*sizes, scalar_type=before)
    zero_point = b.integer(b.rng.randrange(-128, 128))
    limits = [b.integer(-128), b.integer(127), b.integer(CHAR)]
    arguments = [x, b.double(b.rng.uniform(0.002, 0.02)), zero_point, *limits]
    _finish(b, operator, [x], arguments, b.image(*sizes, scalar_type=after))


def _quantize(b: _Builder, isa: Isa) -> None:
    _conversion(b, "quantize_per_tensor", FLOAT, CHAR)


def _dequantize(b: _Builder, isa: Isa) -> None:
    _conversion(b, "dequantize_per_tensor", CHAR, FLOAT)


OPERATORS: Mapping[str, _Build] = {
    "conv2d": _convolution,
    "depthwise_conv2d": _depthwise,
    "linear": _linear,
    "avg_pool2d": _average_pool,
    "add": _add,
    "pad": _pad,
    "quantize": _quantize,
    "dequantize": _dequantize,
}
"""By name, those that the firmware has a kernel for."""


@dataclass(frozen=True)
class RandomOperator:
    """A program of one instruction.

    Attributes:
        file: with as much scratch as onearena says it needs.
        starved: the same with none.
        scratch_bytes: how much that is.
    """

    file: PteFile
    starved: PteFile
    scratch_bytes: int


def random_operator(name: str, isa: Isa, seed: int) -> RandomOperator:
    """A random operator for a kind of core."""
    starved = _built(name, isa, seed, 0)
    needs = memory_needs(first_plan(starved), isa)
    scratch = next((n.needed_bytes or 0 for n in needs if n.argument == "scratch"), 0)
    return RandomOperator(_built(name, isa, seed, scratch), starved, scratch)


def _built(name: str, isa: Isa, seed: int, scratch_bytes: int) -> PteFile:
    builder = _Builder(random.Random(f"{name} {seed}"), scratch_bytes)
    OPERATORS[name](builder, isa)
    return builder.file()
