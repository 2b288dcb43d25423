"""The arguments of a call in a program, by their names."""

from __future__ import annotations

from math import prod

from onearena.cortex_m.calls import CortexCall
from onearena.engine.ranges import constant_range
from onearena.errors import UnsupportedError
from onearena.pte.container import PteFile
from onearena.pte.schema import Bool, Double, Int, Tensor
from onearena.pte.tensors import ELEMENT_BYTES, ScalarType, is_dynamic
from tests.qemu.tables import Constant

_KINDS = {ScalarType.CHAR: "int8_t", ScalarType.INT: "int32_t"}
_CHANNELS_LAST = (0, 2, 3, 1)


class Arguments:
    """Reads what a call of a cortex_m operator is given."""

    def __init__(self, file: PteFile, call: CortexCall) -> None:
        """Nothing is read yet.

        Raises:
            UnsupportedError: no form of the operator has so many arguments.
        """
        self.what = f"{file.path}: instruction {call.instruction}: {call.operator}"
        if call.schema is None:
            raise UnsupportedError(f"{self.what}: no form with {len(call.args)} arguments is known")
        self.call, self._file, self._schema = call, file, call.schema

    def refuse(self, reason: str) -> UnsupportedError:
        """An error about this call."""
        return UnsupportedError(f"{self.what}: {reason}")

    @property
    def output(self) -> int:
        """The value that is written."""
        return self.call.args[-1]

    @property
    def scratch(self) -> int | None:
        """The value that is scratch."""
        return self.call.value("scratch") if "scratch" in self._schema.positions else None

    def integer(self, name: str) -> int:
        """A number or a truth."""
        found = self._value(self.call.value(name))
        if isinstance(found, Bool):
            return int(found.bool_val)
        if not isinstance(found, Int):
            raise self.refuse(f"its {name} is no integer")
        return found.int_val

    def double(self, name: str) -> float:
        """A number."""
        found = self._value(self.call.value(name))
        if not isinstance(found, Double):
            raise self.refuse(f"its {name} is no number")
        return found.double_val

    def integers(self, name: str, count: int) -> tuple[int, ...]:
        """A list of so many numbers."""
        found = self.call.integers(name)
        if len(found) != count:
            raise self.refuse(f"its {name} has {len(found)} numbers, not {count}")
        return found

    def tensor(self, value: int) -> Tensor:
        """A value that is a tensor of fixed shape."""
        found = self._value(value)
        if not isinstance(found, Tensor) or is_dynamic(found):
            raise self.refuse(f"value {value} is no tensor of a fixed shape")
        return found

    def operand(self, name: str, kind: ScalarType) -> int:
        """The value of a tensor that is computed or an input."""
        value = self.call.value(name)
        tensor = self.tensor(value)
        if tensor.scalar_type != kind or tensor.data_buffer_idx:
            raise self.refuse(f"its {name} is a constant, or not of type {kind.name}")
        return value

    def image(self, name: str, kind: ScalarType = ScalarType.CHAR) -> int:
        """The value of a tensor whose channels are the innermost dimension of the memory."""
        value = self.output if name == "out" else self.operand(name, kind)
        tensor = self.tensor(value)
        if len(tensor.sizes or ()) != 4 or not has_order(tensor, self._channels_last):
            raise self.refuse(f"its {name} is no image with channels last")
        return value

    def constant(self, name: str) -> Constant | None:
        """The content of a constant; None where the argument is left out."""
        if not self.call.has(name):
            return None
        tensor = self.tensor(self.call.value(name))
        kind, order = _KINDS.get(ScalarType(tensor.scalar_type)), tuple(tensor.dim_order or ())
        plain = has_order(tensor, tuple(range(len(order))))
        if kind is None or not tensor.data_buffer_idx or tensor.allocation_info or not plain:
            raise self.refuse(f"its {name} is no constant in the usual order")
        size = prod(tensor.sizes or ()) * ELEMENT_BYTES[tensor.scalar_type]
        found = constant_range(self._file, tensor, size, self.what)
        return Constant(kind, bytes(self._file.source.view(found.offset, found.size_bytes)))

    def required(self, name: str) -> Constant:
        """A constant that is there."""
        found = self.constant(name)
        if found is None:
            raise self.refuse(f"its {name} is missing")
        return found

    @property
    def _channels_last(self) -> tuple[int, ...]:
        return (0, 1, 2, 3) if self._schema.layout == "NHWC" else _CHANNELS_LAST

    def _value(self, index: int) -> object:
        return (self.call.plan.values or ())[index].val


def has_order(tensor: Tensor, wanted: tuple[int, ...]) -> bool:
    """Whether the dimensions lie in memory in the wanted order; those of size 1 do not count."""
    sizes = tensor.sizes or ()
    order = tuple(dim for dim in tensor.dim_order or () if sizes[dim] != 1)
    return order == tuple(dim for dim in wanted if sizes[dim] != 1)
