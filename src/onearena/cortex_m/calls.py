"""Reads the properties of cortex_m operators from the calls of a program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from onearena.cortex_m.schemas import NAMESPACE, Schema, find_schema
from onearena.cortex_m.sizes import Convolution, HeightWidth, Image
from onearena.errors import AnalysisError
from onearena.pte.schema import ExecutionPlan, Int, IntList, KernelCall, Tensor
from onearena.pte.tensors import is_dynamic, tensor_bytes


class UnknownPropertyError(Exception):
    """A property that the file does not tell; the text says which and why."""


@dataclass(frozen=True)
class CortexCall:
    """One call of a cortex_m operator.

    Attributes:
        plan: the method.
        instruction: its position.
        operator: name and overload.
        schema: None when no form that is known here has so many arguments.
        args: the values it names.
    """

    plan: ExecutionPlan
    instruction: int
    operator: str
    schema: Schema | None
    args: tuple[int, ...]

    def value(self, argument: str) -> int:
        """The value that is passed as `argument`, which the schema has."""
        assert self.schema is not None
        return self.args[self.schema.positions[argument]]

    def has(self, argument: str) -> bool:
        """Whether `argument` is a tensor, not left out."""
        return isinstance(self._found(self.value(argument)), Tensor)

    def integers(self, argument: str) -> tuple[int, ...]:
        """A list of integers.

        Raises:
            UnknownPropertyError: it is none, or computed when the program runs.
        """
        found = self._found(self.value(argument))
        if not isinstance(found, IntList):
            raise UnknownPropertyError(f"its {argument} is no list of numbers")
        items = tuple(self._found(index) for index in found.items or ())
        numbers = tuple(item.int_val for item in items if isinstance(item, Int))
        if len(numbers) != len(items):
            raise UnknownPropertyError(f"its {argument} is computed when it runs")
        return numbers

    def pair(self, argument: str) -> HeightWidth:
        """Two integers.

        Raises:
            UnknownPropertyError: there are not two.
        """
        numbers = self.integers(argument)
        if len(numbers) != 2:
            raise UnknownPropertyError(f"its {argument} has {len(numbers)} numbers, not 2")
        return numbers[0], numbers[1]

    def shape(self, argument: str, rank: int) -> tuple[int, ...]:
        """The sizes of a tensor, as the file has them.

        Raises:
            UnknownPropertyError: it is no tensor of this rank, or its shape is not fixed.
        """
        index = self.args[-1] if argument == "out" else self.value(argument)
        tensor = self._found(index)
        if not isinstance(tensor, Tensor) or len(tensor.sizes or ()) != rank:
            raise UnknownPropertyError(f"its {argument} is no tensor of {rank} dimensions")
        sizes = tensor.sizes or ()
        if is_dynamic(tensor):
            raise UnknownPropertyError(f"the shape of its {argument} is known when it runs")
        if min(sizes, default=0) < 0:
            raise UnknownPropertyError(f"its {argument} has a negative size")
        return sizes

    def image(self, argument: str) -> Image:
        """A 4-dimensional tensor.

        Raises:
            UnknownPropertyError: see :meth:`shape`.
        """
        assert self.schema is not None
        batch, *rest = self.shape(argument, 4)
        height, width, channels = rest if self.schema.layout == "NHWC" else (*rest[1:], rest[0])
        return Image(batch, height, width, channels)

    def convolution(self) -> Convolution:
        """The properties of a convolution; the weights are OHWI, of a depthwise one IHWO.

        Raises:
            UnknownPropertyError: one of them is not known, or the stride is not positive.
        """
        _, height, width, channels = self.shape("weight", 4)
        stride, padding = self.pair("stride"), self.pair("padding")
        if min(stride) < 1:
            raise UnknownPropertyError("its stride is not positive")
        return Convolution(
            self.image("input"),
            self.image("out"),
            (height, width),
            channels,
            stride,
            padding,
            self.pair("dilation"),
        )

    def size_bytes(self, argument: str) -> int:
        """The size of a tensor.

        Raises:
            UnknownPropertyError: it is no tensor, or of an unknown element type.
        """
        tensor = self._found(self.value(argument))
        size = tensor_bytes(tensor) if isinstance(tensor, Tensor) else None
        if size is None:
            raise UnknownPropertyError(f"its {argument} is no tensor of a known size")
        return size

    def _found(self, index: int) -> object:
        values = self.plan.values or ()
        if not 0 <= index < len(values):
            raise AnalysisError(f"an instruction names value {index} of {len(values)}")
        return values[index].val


def cortex_calls(plan: ExecutionPlan) -> Iterable[CortexCall]:
    """The calls of cortex_m operators, in the order of the instructions.

    Raises:
        AnalysisError: an instruction names an operator or a value that is not there.
    """
    operators, values = plan.operators or (), plan.values or ()
    for chain in (plan.chains or ())[:1]:
        for position, instruction in enumerate(chain.instructions or ()):
            call = instruction.instr_args
            if not isinstance(call, KernelCall):
                continue
            if not 0 <= call.op_index < len(operators):
                message = f"an instruction names operator {call.op_index} of {len(operators)}"
                raise AnalysisError(message)
            operator = operators[call.op_index]
            name, args = operator.name or "", call.args or ()
            if not name.startswith(NAMESPACE):
                continue
            for index in args:
                if not 0 <= index < len(values):
                    raise AnalysisError(f"an instruction names value {index} of {len(values)}")
            schema = find_schema(name, operator.overload, len(args))
            label = f"{name}.{operator.overload}" if operator.overload else name
            yield CortexCall(plan, position, label, schema, args)
