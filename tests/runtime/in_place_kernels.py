"""Kernel calls made twice by the stock runtime, into memory of their own and over an operand.

All calls of a batch are one method over one arena. The arena is the method's only input and its
only output, as bytes, so one run shows every byte that the kernels left behind: the results, and
that nothing else was touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onearena.pte.schema import AllocationDetails, SubsegmentOffsets, Tensor
from onearena.pte.tensors import ELEMENT_BYTES, ScalarType
from onearena.runtime.session import Session
from tests.pte.build import BYTE, Method, file_bytes, pte_file

Bytes = npt.NDArray[np.uint8]
ALIGNMENT = 64
_FLOATS: dict[int, Any] = {
    ScalarType.HALF: np.float16,
    ScalarType.FLOAT: np.float32,
    ScalarType.DOUBLE: np.float64,
}


@dataclass(frozen=True)
class Operand:
    """A tensor that a kernel reads.

    Attributes:
        bound: for integers, the largest magnitude plus one; 0 for all that there are. Indices
            are drawn from 0 to this.
        order: the dim order, by default the last dimension innermost.
    """

    sizes: tuple[int, ...]
    scalar_type: int
    bound: int = 0
    order: tuple[int, ...] | None = None
    is_index: bool = False

    @property
    def size_bytes(self) -> int:
        return prod(self.sizes) * ELEMENT_BYTES[self.scalar_type]


@dataclass(frozen=True)
class Tensors:
    """An argument that lists operands, by number; None where one is left out."""

    operands: tuple[int | None, ...]


@dataclass(frozen=True)
class At:
    """An argument that is one of the operands, by number."""

    operand: int


Argument = At | Tensors | int | float | bool | str | tuple[int, ...] | None


@dataclass(frozen=True)
class Case:
    """One kernel call.

    Attributes:
        arguments: as the operator's schema has them, without the outputs.
        outputs: like operands; the first one is laid over operand `taken`.
        is_copy: the output must have the operand's bytes.
    """

    operator: str
    operands: tuple[Operand, ...]
    arguments: tuple[Argument, ...]
    outputs: tuple[Operand, ...]
    taken: int
    is_copy: bool = False

    def __str__(self) -> str:
        tensors = " ".join(
            f"{ScalarType(t.scalar_type).name.lower()}{list(t.sizes)}" for t in self.operands
        )
        return f"{self.operator} {tensors} {self.arguments}, output over operand {self.taken}"


@dataclass
class Batch:
    """The method that makes the calls of some cases, twice each."""

    method: Method = field(default_factory=Method)
    size_bytes: int = 0
    inputs: list[tuple[int, Operand, int]] = field(default_factory=list)
    results: list[tuple[Case, int, list[tuple[int, int, int]]]] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def add(self, case: Case) -> None:
        """Adds both calls; what is over an operand gets a copy of the operand."""
        places = [self._place(operand) for operand in case.operands]
        taken, source = case.operands[case.taken], places[case.taken]
        copy = self._place(taken, source)
        apart = [self._reserve(output) for output in case.outputs]
        over = [copy, *(self._reserve(output) for output in case.outputs[1:])]
        self._call(case, places, apart)
        moved = [copy if place == source else place for place in places]
        self._call(case, moved, over)
        found = zip(apart, over, case.outputs, strict=True)
        self.results.append((case, source, [(a, b, output.size_bytes) for a, b, output in found]))

    def place_of(self, value: int) -> int:
        """Where a tensor of the method lies."""
        tensor = self.method.values[value].val
        assert isinstance(tensor, Tensor)
        assert tensor.allocation_info is not None
        return tensor.allocation_info.offset

    def _reserve(self, operand: Operand) -> int:
        start = self.size_bytes
        self.size_bytes += -(-max(operand.size_bytes, 1) // ALIGNMENT) * ALIGNMENT
        return start

    def _place(self, operand: Operand, same_as: int | None = None) -> int:
        start = self._reserve(operand)
        self.inputs.append((start, operand, start if same_as is None else same_as))
        return start

    def _tensor(self, operand: Operand, offset: int) -> int:
        order = operand.order or tuple(range(len(operand.sizes)))
        return self.method.value(
            Tensor(
                scalar_type=operand.scalar_type,
                sizes=operand.sizes,
                dim_order=order,
                allocation_info=AllocationDetails.at(1, offset),
            )
        )

    def _call(self, case: Case, places: Sequence[int], outs: Sequence[int]) -> None:
        by_place: dict[int, int] = {}
        tensors = [
            by_place.setdefault(place, self._tensor(operand, place))
            for operand, place in zip(case.operands, places, strict=True)
        ]
        outputs = [
            self._tensor(output, place) for output, place in zip(case.outputs, outs, strict=True)
        ]
        args = [self._argument(argument, tensors) for argument in case.arguments]
        returned = outputs[0] if len(outputs) == 1 else self.method.tensor_list(*outputs)
        self.method.call(case.operator, *args, *outputs, returned)

    def _argument(self, argument: Argument, tensors: Sequence[int]) -> int:
        if isinstance(argument, At):
            return tensors[argument.operand]
        if isinstance(argument, Tensors):
            items = (-1 if k is None else tensors[k] for k in argument.operands)
            return self.method.optional_list(*items)
        key = (type(argument), argument if argument == argument else "nan", str(argument))
        if key not in self._numbers:
            self._numbers[key] = self._plain(argument)
        return self._numbers[key]

    def _plain(self, argument: int | float | bool | str | tuple[int, ...] | None) -> int:
        method = self.method
        if argument is None:
            return method.none()
        if isinstance(argument, bool):
            return method.boolean(argument)
        if isinstance(argument, int):
            return method.integer(argument)
        if isinstance(argument, float):
            return method.double(argument)
        if isinstance(argument, str):
            return method.text(argument)
        return method.int_list(*(method.integer(number) for number in argument))

    def write(self, path: Path) -> Path:
        """Writes the program: the whole arena is its input and its output."""
        arena = self.method.tensor(self.size_bytes, scalar_type=BYTE, offset=0)
        self.method.input(arena).output(arena)
        constants = SubsegmentOffsets(0, (0,))
        file = pte_file(self.method, segments=[bytes(16)], constant_segment=constants)
        path.write_bytes(file_bytes(file))
        return path

    def content(self, generator: np.random.Generator) -> Bytes:
        """An arena with operands drawn at random, special numbers among them."""
        arena = generator.integers(0, 256, self.size_bytes, dtype=np.uint8)
        for start, operand, source in self.inputs:
            size = operand.size_bytes
            if source != start:
                arena[start : start + size] = arena[source : source + size]
            else:
                arena[start : start + size] = drawn(operand, generator)
        return arena


def drawn(operand: Operand, generator: np.random.Generator) -> Bytes:
    """The bytes of a tensor: numbers of all magnitudes, infinities, NaNs, zeros of both signs."""
    count, kind = prod(operand.sizes), operand.scalar_type
    if kind == ScalarType.BOOL:
        return generator.integers(0, 2, count, dtype=np.uint8)
    if kind not in _FLOATS and kind != ScalarType.BFLOAT16:
        return _integers(operand, count, generator)
    numbers = generator.standard_normal(count) * 10.0 ** generator.integers(-3, 4, count)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 1e-42, 3e38, 2.0, 0.5])
    where = generator.random(count) < 0.3
    numbers[where] = generator.choice(special, int(where.sum()))
    if kind == ScalarType.BFLOAT16:
        words = numbers.astype(np.float32).view(np.uint32) >> 16
        return words.astype(np.uint16).view(np.uint8)
    with np.errstate(over="ignore"):
        return numbers.astype(_FLOATS[kind]).view(np.uint8)


def _integers(operand: Operand, count: int, generator: np.random.Generator) -> Bytes:
    is_signed = operand.scalar_type not in (ScalarType.BYTE,)
    kind = np.dtype(f"{'i' if is_signed else 'u'}{ELEMENT_BYTES[operand.scalar_type]}")
    if operand.is_index:
        return generator.integers(0, operand.bound, count).astype(kind).view(np.uint8)
    if operand.bound:
        # never 0: what divides by it fails
        numbers = generator.integers(1, operand.bound, count)
        if is_signed:
            numbers *= generator.choice([-1, 1], count)
        return numbers.astype(kind).view(np.uint8)
    return generator.integers(0, 256, count * kind.itemsize, dtype=np.uint8)


def faults(cases: Sequence[Case], directory: Path, runs: int = 2) -> list[Case]:
    """The cases whose result over an operand differs from the one apart, or that touch more.

    Raises:
        ExecutionError: a kernel refuses its arguments.
    """
    batch = Batch()
    for case in cases:
        batch.add(case)
    path = batch.write(directory / "batch.pte")
    found: dict[int, Case] = {}
    with Session(path) as session:
        for run in range(runs):
            before = batch.content(np.random.default_rng(run))
            (result,) = session.run("forward", [before.copy()])
            after: Bytes = result.numpy()
            found.update(_different(batch, before, after))
    path.unlink()
    return [found[k] for k in sorted(found)]


def _different(batch: Batch, before: Bytes, after: Bytes) -> Iterator[tuple[int, Case]]:
    expected = before.copy()
    for number, (case, source, places) in enumerate(batch.results):
        for apart, over, size in places:
            wanted = before[source : source + size]
            if case.is_copy and not np.array_equal(after[apart : apart + size], wanted):
                yield number, case
            if not np.array_equal(after[apart : apart + size], after[over : over + size]):
                yield number, case
            for start in (apart, over):
                expected[start : start + size] = after[start : start + size]
    if not np.array_equal(expected, after):
        at = int(np.flatnonzero(expected != after)[0])
        owner = max(
            (place, number)
            for number, (_, _, places) in enumerate(batch.results)
            for apart, over, _ in places
            for place in (apart, over)
            if place <= at
        )
        yield owner[1], batch.results[owner[1]][0]
