"""The values of a method while it runs: numbers, and tensors that know where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onearena.engine.ranges import constant_range, initial_range
from onearena.errors import FormatError, UnsupportedError
from onearena.flatbuf.data import read_data
from onearena.pte.container import PteFile
from onearena.pte.schema import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    ExecutionPlan,
    Int,
    IntList,
    Null,
    OptionalTensorList,
    String,
    Tensor,
    TensorList,
)
from onearena.runtime.bindings import import_torch
from onearena.simulator.tensors import Layout, layout_of


@dataclass
class Cell:
    """A tensor at run time.

    Attributes:
        home: the value whose memory it names now: its own, or what a view or move made of it.
        layout: how the bytes are to be read.
        sizes: its sizes at the moment.
    """

    home: int
    layout: Layout
    sizes: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        """How many bytes it has at the moment."""
        return self.layout.bytes_of(self.sizes)


Slot = Any
"""A `Cell`, a number, a text, None, or one of the program's lists."""
_EXTERNAL = 1
"""`TensorDataLocation.EXTERNAL` of `schema/program.fbs`."""
_LISTS = TensorList | OptionalTensorList | IntList | DoubleList | BoolList


class Slots:
    """All values of a method. Like the runtime, it keeps them from run to run."""

    def __init__(self, plan: ExecutionPlan, what: str) -> None:
        """Reads the values.

        Raises:
            UnsupportedError: a tensor has an element type that torch does not have.
        """
        self._slots: list[Slot] = []
        for index, entry in enumerate(plan.values or ()):
            self._slots.append(_slot(index, entry.val, f"{what}: value {index}"))

    def __getitem__(self, index: int) -> Slot:
        return self._slots[index]

    def __setitem__(self, index: int, slot: Slot) -> None:
        self._slots[index] = slot

    def cells(self, index: int) -> tuple[Cell, ...]:
        """The tensors that a value is or lists."""
        slot = self._slots[index]
        if isinstance(slot, Cell):
            return (slot,)
        if isinstance(slot, TensorList | OptionalTensorList):
            return tuple(self._cell(item) for item in slot.items or () if item >= 0)
        return ()

    def argument(self, index: int, tensors: Mapping[int, Any]) -> Any:
        """A value as torch takes it; `tensors` are the contents, by `id` of the cell."""
        slot = self._slots[index]
        if isinstance(slot, Cell):
            return tensors[id(slot)]
        if isinstance(slot, TensorList | OptionalTensorList):
            items = slot.items or ()
            return [tensors[id(self._cell(k))] if k >= 0 else None for k in items]
        if isinstance(slot, IntList):  # the numbers are values of their own
            return [self._slots[k] for k in slot.items or ()]
        if isinstance(slot, DoubleList | BoolList):
            return list(slot.items or ())
        return slot

    def _cell(self, index: int) -> Cell:
        cell = self._slots[index]
        assert isinstance(cell, Cell)
        return cell


def _slot(index: int, value: object, what: str) -> Slot:
    if isinstance(value, Tensor):
        layout = layout_of(value, what)
        return Cell(index, layout, layout.sizes)
    if isinstance(value, Int):
        return value.int_val
    if isinstance(value, Double):
        return value.double_val
    if isinstance(value, Bool):
        return value.bool_val
    if isinstance(value, String):
        return value.string_val or ""
    if isinstance(value, Null) or value is None:
        return None
    assert isinstance(value, _LISTS)
    return value


def has_stored_bytes(tensor: Tensor) -> bool:
    """Whether a program has data for a tensor: a constant, or the initial content of state."""
    return tensor.data_buffer_idx != 0 or _is_external(tensor)


def stored_bytes(file: PteFile, tensor: Tensor, size_bytes: int, what: str) -> Any:
    """The bytes that a file holds for a tensor, as a uint8 tensor of its own.

    Raises:
        FormatError: the file has none, or too few.
        UnsupportedError: they are in another file.
    """
    torch = import_torch()
    if not size_bytes:
        return torch.empty(0, dtype=torch.uint8)
    if _is_external(tensor):
        raw = bytearray(_named_bytes(file, tensor, what))
        if len(raw) < size_bytes:
            raise FormatError(f"{what}: needs {size_bytes} bytes, its data has {len(raw)}")
        return torch.frombuffer(raw, dtype=torch.uint8)[:size_bytes]
    find = initial_range if tensor.allocation_info is not None else constant_range
    found = find(file, tensor, size_bytes, what)
    raw = bytearray(file.source.view(found.offset, found.size_bytes))
    return torch.frombuffer(raw, dtype=torch.uint8)


def _is_external(tensor: Tensor) -> bool:
    info = tensor.extra_tensor_info
    return info is not None and info.location == _EXTERNAL


def _named_bytes(file: PteFile, tensor: Tensor, what: str) -> bytes:
    assert tensor.extra_tensor_info is not None
    key = tensor.extra_tensor_info.fully_qualified_name
    for entry in file.program.named_data or ():
        if entry.key == key and entry.segment_index < len(file.segments):
            return read_data(file.segments[entry.segment_index].data)
    raise UnsupportedError(f"{what}: its data {key!r} is in another file, which cannot be given")
