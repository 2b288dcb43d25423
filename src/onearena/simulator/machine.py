"""Runs a method's instructions.

Kernels may write an output before they have read all of an operand, use scratch for anything,
and leave garbage in it. So outputs and scratch get random bytes before a kernel reads, scratch
again when it is done, and a value loses its bytes as soon as nobody needs it any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onearena.errors import ExecutionError
from onearena.pte.schema import (
    FreeCall,
    InstructionArguments,
    JumpFalseCall,
    KernelCall,
    MoveCall,
)
from onearena.simulator.access import Access
from onearena.simulator.arenas import WriteKind
from onearena.simulator.expiry import Expiry
from onearena.simulator.kernels import Kernels
from onearena.simulator.log import RunLog
from onearena.simulator.slots import Cell

MAX_INSTRUCTIONS = 1_000_000
"""Of one run; a loop that takes more does not end."""


class Machine:
    """A method with its memory; state stays from run to run."""

    def __init__(self, access: Access, expiry: Expiry) -> None:
        """Nothing runs yet."""
        self._access, self._expiry = access, expiry
        self._method, self._slots, self._memory = access.method, access.slots, access.memory
        self._kernels = Kernels(self._method.plan, access)

    def run(self, inputs: Sequence[Any]) -> tuple[list[Any], RunLog]:
        """Runs the method once.

        Returns:
            The outputs as they should be (tensors and numbers), and what was found.

        Raises:
            ExecutionError: an operator fails, or the run does not end.
            RuntimeUnavailableError: an operator's library is not installed.
        """
        log = self._access.log = RunLog()
        self._memory.begin()
        plan, count = self._method.plan, len(self._method.instructions)
        for value, given in zip(plan.inputs or (), inputs, strict=True):
            cell = self._slots[value]
            if isinstance(cell, Cell):
                cell.sizes = tuple(given.shape)
                self._memory.write(cell, cell.layout.raw(given), -1, WriteKind.INPUT)
        position = 0
        self._expiry.between(self._memory, -1, 0)
        while position < count:
            log.executed += 1
            if log.executed > MAX_INSTRUCTIONS:
                raise ExecutionError(f"{self._method.what}: a run does not end")
            following = self._instruction(position, self._method.instructions[position])
            self._expiry.between(self._memory, position, following)
            position = following
        outputs = [self._output(value, count) for value in plan.outputs or ()]
        self._expiry.after(self._memory, count)
        return outputs, log

    def _output(self, value: int, count: int) -> Any:
        tensors = self._access.read_all((value,), count)
        found = self._slots.argument(value, tensors)
        return found.clone() if isinstance(self._slots[value], Cell) else found

    def _instruction(self, position: int, args: InstructionArguments) -> int:
        """Executes one instruction; returns which comes next."""
        if isinstance(args, JumpFalseCall):
            return position + 1 if self._is_true(position, args) else args.destination_instruction
        if isinstance(args, MoveCall):
            self._slots[args.move_to] = self._slots[args.move_from]
        elif isinstance(args, KernelCall):
            self._kernels.run(position, args)
        else:
            assert isinstance(args, FreeCall)  # delegates are refused before
        return position + 1

    def _is_true(self, position: int, args: JumpFalseCall) -> bool:
        tensors = self._access.read_all((args.cond_value_index,), position)
        condition = self._slots.argument(args.cond_value_index, tensors)
        if isinstance(self._slots[args.cond_value_index], Cell):
            return bool(condition.all())
        if not isinstance(condition, bool):
            raise ExecutionError(f"{self._access.what(position)}: its condition is no boolean")
        return condition
