"""How instructions read and write: with random bytes where a real kernel may leave some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onearena.errors import ExecutionError
from onearena.simulator.arenas import Arenas, Place, WriteKind
from onearena.simulator.log import Overrun, RunLog, WrongRead
from onearena.simulator.memory import Memory, Wrong
from onearena.simulator.scratch import ScratchNeed
from onearena.simulator.sharing import may_share_place, only_moves
from onearena.simulator.slots import Cell, Slots
from onearena.timeline.steps import MethodSteps, where_text


class Access:
    """The memory of a method, as its instructions see it, and what was wrong with it."""

    def __init__(
        self,
        method: MethodSteps,
        slots: Slots,
        memory: Memory,
        arenas: Arenas,
        need: ScratchNeed,
    ) -> None:
        """`need` tells how much scratch kernels write."""
        self.method, self.slots, self.memory = method, slots, memory
        self.log = RunLog()
        self._arenas, self._need = arenas, need

    def what(self, position: int) -> str:
        """How errors name an instruction."""
        label = self.method.steps[self.method.first_step[position]].label
        count = len(self.method.instructions)
        return f"{self.method.what}: {where_text(position, count, label, None)}"

    def read_all(self, values: Sequence[int], position: int) -> dict[int, Any]:
        """The contents of all tensors among the values, by `id` of their cells."""
        found: dict[int, Any] = {}
        for value in values:
            for cell in self.slots.cells(value):
                if id(cell) not in found:
                    raw, wrong = self.memory.read(cell)
                    self.log.wrong += [WrongRead(position, one) for one in wrong]
                    self.log.read_last[self.memory.root_of(cell.home)] = position
                    found[id(cell)] = cell.layout.tensor(raw, cell.sizes)
        return found

    def scramble_outs(
        self, position: int, name: str, operands: Sequence[Cell], outs: Sequence[tuple[int, Cell]]
    ) -> Sequence[Cell]:
        """Random bytes for the outputs, except where they lie over an operand for a reason;
        returns the operands whose bytes are only moved."""
        places = [p for p in map(self.memory.place_of, operands) if p is not None]
        moving = only_moves(name)
        for _, cell in outs:
            place = self.memory.place_of(cell)
            if place is None:
                continue
            if moving:
                spare = [p for p in places if p.contains(place) or place.contains(p)]
            else:
                spare = [p for p in places if p == place and may_share_place(name)]
            kind = WriteKind.OUTPUT
            self.memory.scramble(place, position, cell.home, kind, spare)
        return operands if moving else ()

    def write(self, position: int, cell: Cell, result: Any, moved: Sequence[Cell]) -> None:
        """Writes an output.

        Args:
            moved: see :meth:`Memory.write`.

        Raises:
            ExecutionError: the tensor does not have the sizes that the file says.
        """
        sizes = tuple(result.shape)
        if not cell.layout.admits(sizes):
            raise ExecutionError(
                f"{self.what(position)}: makes a tensor of {list(sizes)} where the file has "
                f"{list(cell.layout.sizes)}"
            )
        cell.sizes = sizes
        wrong = self.memory.write(cell, cell.layout.raw(result), position, moved=moved)
        self.log.wrong += [WrongRead(position, one) for one in wrong]

    def write_in_place(
        self, position: int, args: tuple[int, ...], result: Any, operands: Sequence[Cell]
    ) -> None:
        """Writes the new content of an in-place operator's first argument; the value that it
        returns becomes a name of it."""
        target = self.slots[args[0]]
        raw = target.layout.raw(result.reshape(target.sizes))
        self.memory.write(target, raw, position, in_place=True)
        self.slots[args[-1]] = target
        place = self.memory.place_of(target)
        # one element after the other is read and written: exactly the same place is fine
        self.check(position, [c for c in operands if self.memory.place_of(c) != place])

    def check(self, position: int, cells: Sequence[Cell]) -> None:
        """What an instruction wrote, or read while it wrote, must still be there."""
        for cell in cells:
            _, wrong = self.memory.read(cell)
            self.log.wrong += [WrongRead(position, one) for one in wrong]

    def use_scratch(self, position: int, used: Sequence[tuple[int, str]]) -> None:
        """What a kernel does to its scratch: anything, and over all that it needs.

        Args:
            used: values, and the names of the arguments that they are passed as.
        """
        places = [self._use_scratch(position, value, argument) for value, argument in used]
        for (value, _), place in zip(used, places, strict=True):
            for piece, mark in self._arenas.marks(place) if place is not None else ():
                if mark is not None and mark.value != value:  # it lies over the other scratch
                    lost = Wrong(piece, value, value, mark, position)
                    self.log.wrong.append(WrongRead(position, lost))

    def _use_scratch(self, position: int, value: int, argument: str) -> Place | None:
        (cell,) = self.slots.cells(value)
        place = self.memory.place_of(cell)
        need = self._need(position, argument) or 0
        declared = cell.layout.capacity_bytes
        if place is None and not need:
            return None
        if place is None:
            info = self.method.tensor(value).allocation_info
            if info is None or info.memory_id >= len(self.method.plan.non_const_buffer_sizes or ()):
                return None  # memory of the caller's, whose size nobody knows
            place = Place(info.memory_id, info.offset, info.offset + declared)
        whole = Place(place.arena, place.start, place.start + max(declared, need))
        behind = Place(place.arena, place.end, whole.end)
        holders = self.memory.holders(behind)
        self.memory.scramble(whole, position, value, WriteKind.SCRATCH, ())
        if behind.size_bytes:
            damaged = self._arenas.damaged()
            self.log.overruns.append(
                Overrun(position, value, need, place, behind, holders, damaged)
            )
        return place
