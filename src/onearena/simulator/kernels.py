"""Runs kernel calls: what the runtime itself defines here, everything else in torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onearena.cortex_m.schemas import SCRATCH_NAMES, find_schema
from onearena.errors import ExecutionError, OnearenaError
from onearena.pte.schema import ExecutionPlan, KernelCall
from onearena.runtime.bindings import import_torch
from onearena.simulator.access import Access
from onearena.simulator.operators import TorchOperator, find_operator
from onearena.simulator.primitives import COPIES, EMPTY, NUMBER_OPERATORS, WITHOUT_EFFECT
from onearena.simulator.slots import Cell
from onearena.timeline.roles import COPY_INDEX_OPERATOR, COPY_OPERATOR, VIEW_OPERATOR

ABSENT: Mapping[str, Callable[[], Any]] = {
    **dict.fromkeys(SCRATCH_NAMES, lambda: import_torch().empty(0, dtype=import_torch().uint8)),
    "ceil_mode": lambda: False,
    "activation_min": lambda: -128,
    "activation_max": lambda: 127,
}
"""What arguments that older forms of cortex_m operators do not have stand for."""
_SHAPE_ONLY = frozenset({"aten::sym_size", "aten::sym_numel", "aten::sym_stride"})


class Kernels:
    """The kernels of a method."""

    def __init__(self, plan: ExecutionPlan, access: Access) -> None:
        """Operators are looked up when they are first called."""
        self._plan, self._access = plan, access
        self._operators: dict[int, TorchOperator] = {}

    def run(self, position: int, call: KernelCall) -> None:
        """Runs a kernel.

        Raises:
            ExecutionError: it fails, or nothing that is installed defines the operator.
            RuntimeUnavailableError: its library is not installed.
        """
        try:
            self._run(position, call)
        except OnearenaError:
            raise
        except Exception as error:  # torch's operators raise what they like
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ExecutionError(f"{self._access.what(position)}: failed: {reason}") from error

    def _run(self, position: int, call: KernelCall) -> None:
        name = (self._plan.operators or ())[call.op_index].name or ""
        args = call.args or ()
        special: dict[str, Callable[[int, tuple[int, ...]], None]] = {
            VIEW_OPERATOR: self._view,
            COPY_INDEX_OPERATOR: self._copy_row,
        }
        if name in special:
            special[name](position, args)
        elif name in NUMBER_OPERATORS:
            self._access.slots[args[-1]] = self._number(position, name, args[:-1])
        elif name in COPIES or name == EMPTY:
            self._copy(position, name, args)
        elif name not in WITHOUT_EFFECT:
            self._torch(position, name, call)

    def _number(self, position: int, name: str, args: tuple[int, ...]) -> Any:
        if name in _SHAPE_ONLY:
            cells = [cell for value in args for cell in self._access.slots.cells(value)]
            tensors = {id(cell): _shape_of(cell) for cell in cells}
        else:
            tensors = self._access.read_all(args, position)
        number = NUMBER_OPERATORS[name](*(self._access.slots.argument(v, tensors) for v in args))
        if not isinstance(number, int | float):
            raise ExecutionError(f"{self._access.what(position)}: its result is no number")
        return number

    def _view(self, position: int, args: tuple[int, ...]) -> None:
        """The output becomes a name of the operand's memory."""
        base, sizes, view = (
            self._access.slots[args[0]],
            self._access.slots.argument(args[1], {}),
            args[2],
        )
        shape = import_torch().empty(base.sizes, device="meta").view(sizes).shape
        cell = self._access.slots[view]
        cell.home, cell.sizes = base.home, tuple(shape)

    def _copy_row(self, position: int, args: tuple[int, ...]) -> None:
        """Fills row `args[2]` of the first argument, which grows with it."""
        target, row = self._access.slots[args[0]], self._access.slots[args[2]]
        tensors = self._access.read_all(args[1:2], position)
        source = self._access.slots[args[1]]
        if target.layout.is_dynamic:
            target.sizes = (row + 1, *target.sizes[1:])
        raw = target.layout.raw(tensors[id(source)].reshape(1, *target.sizes[1:]))
        self._access.memory.write_part(target, row * raw.numel(), raw, position)

    def _copy(self, position: int, name: str, args: tuple[int, ...]) -> None:
        """Operators of `dim_order_ops`: source (or sizes) first, the output twice at the end."""
        (out,) = self._access.slots.cells(args[-1])
        reads = self._access.slots.cells(args[0])
        moved = self._access.scramble_outs(position, name, reads, [(args[-1], out)])
        tensors = self._access.read_all(args[:1] if reads else (), position)
        if reads:
            result = tensors[id(reads[0])]
        else:
            result = import_torch().empty(
                self._access.slots.argument(args[0], {}), dtype=out.layout.dtype
            )
        self._access.write(position, out, result, moved)

    def _torch(self, position: int, name: str, call: KernelCall) -> None:
        operator = self._operator(position, call.op_index)
        given, outs = self._split(position, operator, call)
        scratch = [
            (value, argument.name)
            for value, argument in zip(given, operator.arguments, strict=False)
            if argument.is_scratch and value is not None
        ]
        used = {value for value, _ in scratch}
        reads = tuple(value for value in given if value is not None and value not in used)
        targets = [(value, cell) for value in outs for cell in self._access.slots.cells(value)]
        operands = [cell for value in reads for cell in self._access.slots.cells(value)]
        moved = self._access.scramble_outs(position, name, operands, targets)
        self._access.use_scratch(position, scratch)
        tensors = self._access.read_all(reads[name == COPY_OPERATOR :], position)
        results = operator.call(self._arguments(operator, given, tensors), self._layouts(outs))
        if operator.is_in_place:
            self._access.write_in_place(position, call.args or (), results[0], operands)
        else:
            flat = [r for result in results for r in _items(result)]
            for (_, cell), result in zip(targets, flat, strict=True):
                self._access.write(position, cell, result, moved)
        self._access.use_scratch(position, scratch)
        if scratch or len(targets) > 1:  # they may lie over each other
            self._access.check(position, [cell for _, cell in targets])
        self._access.log.scratch_calls += bool(scratch)

    def _split(
        self, position: int, operator: TorchOperator, call: KernelCall
    ) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """The values before the outputs, and the outputs. A call that follows an older form of a
        cortex_m operator leaves arguments out: they are None."""
        found = (self._plan.operators or ())[call.op_index]
        args, count = call.args or (), len(operator.arguments)
        inputs = operator.arguments[: count - len(operator.outs)]
        schema = find_schema(found.name, found.overload, len(args))
        if schema is not None:
            positions = {name: args[k] for name, k in schema.positions.items()}
            given = tuple(positions.get(argument.name) for argument in inputs)
            absent = [a.name for a, v in zip(inputs, given, strict=True) if v is None]
            extra = positions.keys() - {argument.name for argument in inputs}
            if not extra and all(name in ABSENT for name in absent):
                return given, args[-1:]
        if len(args) < count:
            raise ExecutionError(
                f"{self._access.what(position)}: has {len(args)} arguments, the installed "
                f"operator {count}"
            )
        return args[: len(inputs)], args[len(inputs) : count]

    def _operator(self, position: int, index: int) -> TorchOperator:
        if index not in self._operators:
            found = (self._plan.operators or ())[index]
            self._operators[index] = find_operator(found, self._access.what(position))
        return self._operators[index]

    def _arguments(
        self, operator: TorchOperator, given: Sequence[int | None], tensors: dict[int, Any]
    ) -> list[Any]:
        """Torch values for the arguments before the outputs. What no kernel may look at (the
        content of scratch, the old content of what is overwritten) is undefined."""
        slots, content = self._access.slots, dict(tensors)
        values = []
        for argument, value in zip(operator.arguments, given, strict=False):
            if value is None:
                values.append(ABSENT[argument.name]())
                continue
            for cell in slots.cells(value):
                content.setdefault(id(cell), cell.layout.empty())
            values.append(slots.argument(value, content))
        if operator.is_in_place:
            values[0] = values[0].clone()
        return values

    def _layouts(self, outs: Sequence[int]) -> list[Any]:
        found: list[Any] = []
        for value in outs:
            layouts = [cell.layout for cell in self._access.slots.cells(value)]
            found.append(layouts[0] if isinstance(self._access.slots[value], Cell) else layouts)
        return found


def _shape_of(cell: Cell) -> Any:
    """A tensor of the cell's sizes whose content is undefined."""
    torch = import_torch()
    return cell.layout.tensor(torch.empty(cell.size_bytes, dtype=torch.uint8), cell.sizes)


def _items(result: Any) -> Sequence[Any]:
    return result if isinstance(result, list | tuple) else (result,)
