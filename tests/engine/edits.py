"""Programs changed so that they cannot be run, each in its own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from onearena.pte import open_pte, write_pte
from onearena.pte.schema import Bool, EValue, ExecutionPlan, Instruction, JumpFalseCall, Program

SEEDS = Path(__file__).parents[1] / "fuzz" / "seeds"


def changed(source: Path, target: Path, change: Callable[[ExecutionPlan], ExecutionPlan]) -> Path:
    """Writes `source` with its first method changed to `target`."""

    def first(program: Program) -> Program:
        plan, *rest = program.execution_plan or ()
        return replace(program, execution_plan=(change(plan), *rest))

    with open_pte(source) as file:
        write_pte(file.with_program(first(file.program), file.segments), target)
    return target


def other_backend(plan: ExecutionPlan) -> ExecutionPlan:
    """Its delegates are of a backend that nobody has."""
    delegates = tuple(replace(d, id="AbsentBackend") for d in plan.delegates or ())
    return replace(plan, delegates=delegates)


def other_operator(plan: ExecutionPlan) -> ExecutionPlan:
    """Its first operator is one that nobody has."""
    first, *rest = plan.operators or ()
    return replace(plan, operators=(replace(first, name="absent::operator"), *rest))


def endless(plan: ExecutionPlan) -> ExecutionPlan:
    """A single instruction, which jumps to itself."""
    values = (*(plan.values or ()), EValue(Bool(bool_val=False)))
    (chain,) = plan.chains or ()
    loop = (Instruction(JumpFalseCall(len(values) - 1, 0)),)
    return replace(plan, values=values, chains=(replace(chain, instructions=loop),))


def short_arena(plan: ExecutionPlan) -> ExecutionPlan:
    """Tensors lie outside."""
    return replace(plan, non_const_buffer_sizes=(0, 16))


def broken_payload(source: Path, target: Path) -> Path:
    """Writes `source` with zeros where its first delegate's payload has its graph."""
    data = bytearray(source.read_bytes())
    with open_pte(source) as file:
        plan = (file.program.execution_plan or ())[0]
        where = (plan.delegates or ())[0].processed
        assert where is not None
        (piece,) = file.segments[where.index].data
        assert not isinstance(piece, bytes)
        start, end = piece.offset, piece.offset + piece.size_bytes
    data[start + 8 : end] = bytes(end - start - 8)
    target.write_bytes(bytes(data))
    return target
