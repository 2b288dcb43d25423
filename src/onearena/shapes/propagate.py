"""The shapes of all tensors of a method, from the shapes of its inputs.

Instructions are followed in the order in which they run. A jump whose condition is computed
from sizes is followed; where a condition depends on the data, both ways are walked, and what
differs between them is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from onearena.payloads import DelegatePayload, argument_problem
from onearena.pte.schema import (
    DelegateCall,
    InstructionArguments,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Tensor,
)
from onearena.shapes.environment import Environment, Known, logical_dims, stored_dims
from onearena.shapes.kernels import Refusal, kernel_effect
from onearena.shapes.rules.call import Cause, ContradictionError, Dims
from onearena.shapes.xnnpack import payload_shapes
from onearena.timeline.steps import ENTRY, MethodSteps

_T = TypeVar("_T")
_MAX_OPERANDS = 200_000
"""Operands looked at, loop by loop, before loops are summed up, and again before giving up."""


class RefusedShapeError(Exception):
    """The program refuses these inputs; `cause` says where."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass(frozen=True)
class Propagation:
    """Shapes by value.

    Attributes:
        dims: by tensor value; the largest that the value has in the run.
        unknown: by tensor value without a known shape, where the ignorance began.
        inner: by instruction of an XNNPACK call, the shape of each value of the payload, in
            storage order.
    """

    dims: Mapping[int, Dims]
    unknown: Mapping[int, Cause]
    inner: Mapping[int, Mapping[int, Dims | Cause]]


def propagate(
    steps: MethodSteps, payloads: Mapping[int, DelegatePayload], inputs: Mapping[int, Dims]
) -> Propagation:
    """Derives the shapes of a method's tensors.

    Args:
        steps: the method.
        payloads: its delegates' payloads.
        inputs: the shapes of its dynamic inputs, by value; the others have the file's shapes.

    Raises:
        RefusedShapeError: the program cannot run at these shapes.
    """
    start = Environment(steps.plan)
    try:
        for value, dims in inputs.items():
            start.set_shape(value, dims)
    except ContradictionError as error:
        raise RefusedShapeError(Cause(ENTRY, "inputs", str(error))) from None
    walk = _Walk(steps, payloads, inputs)
    if not walk.follow(start.copy()):
        walk = _Walk(steps, payloads, inputs, is_exact=False)
        walk.sum_up(start.with_numbers())
    return walk.result()


class _Walk:
    """One pass over the instructions; `is_exact` while every jump's direction is known."""

    def __init__(
        self,
        steps: MethodSteps,
        payloads: Mapping[int, DelegatePayload],
        inputs: Mapping[int, Dims],
        is_exact: bool = True,
    ) -> None:
        self._steps = steps
        self._payloads = payloads
        self._inputs = inputs
        self._is_exact = is_exact
        self._seen: dict[int, list[Known]] = {value: [dims] for value, dims in inputs.items()}
        self._inner: dict[int, Mapping[int, Dims | Cause]] = {}
        self._operands = 0

    # -- control flow ---------------------------------------------------------------------

    def follow(self, environment: Environment) -> bool:
        """Runs through the method; False when a jump depends on the data, or after too long."""
        position = 0
        while position < len(self._steps.instructions):
            args = self._steps.instructions[position]
            targets = self._next(environment, position, args)
            if len(targets) != 1 or self._is_tired(position):
                return False
            self._run(environment, position, args)
            position = targets[0]
        return True

    def sum_up(self, start: Environment) -> None:
        """Walks all ways; what differs where they meet is unknown."""
        before: dict[int, Environment] = {0: start}
        pending = {0}
        while pending:
            position = min(pending)
            pending.remove(position)
            if position == len(self._steps.instructions):
                continue
            if self._is_tired(position):
                self._give_up()
                return
            # what is known is kept only where ways meet: copies cost
            meets = not position or len(self._steps.flow.predecessors[position]) > 1
            environment = before[position].copy() if meets else before.pop(position)
            args = self._steps.instructions[position]
            targets = self._next(environment, position, args)
            self._run(environment, position, args)
            pending.update(t for t in targets if _join(before, t, environment, position))

    def _is_tired(self, position: int) -> bool:
        """Counts the work; True when it is too much (a hostile program, or an endless one)."""
        self._operands += 1 + len(self._steps.steps[self._steps.first_step[position]].roles.reads)
        return self._operands > _MAX_OPERANDS

    def _give_up(self) -> None:
        cause = Cause(ENTRY, "inputs", "the method's loops take too long to follow")
        values = range(len(self._steps.plan.values or ()))
        given: dict[int, list[Known]] = {v: [dims] for v, dims in self._inputs.items()}
        self._seen, self._inner = {**{value: [cause] for value in values}, **given}, {}

    def _next(
        self, environment: Environment, position: int, args: InstructionArguments
    ) -> Sequence[int]:
        if not isinstance(args, JumpFalseCall):
            return (position + 1,)
        condition = environment.argument(args.cond_value_index, position, "jump")
        if isinstance(condition, int):
            return (position + 1,) if condition else (args.destination_instruction,)
        return self._steps.flow.successors[position]

    # -- instructions ---------------------------------------------------------------------

    def _run(self, environment: Environment, position: int, args: InstructionArguments) -> None:
        if isinstance(args, KernelCall):
            effect = kernel_effect(environment, position, args)
            for value, shape in effect.shapes:
                self._set(environment, position, value, self._checked(shape))
            for value, number in effect.numbers:
                environment.known[value] = self._checked(number)
        elif isinstance(args, DelegateCall):
            self._delegate(environment, position, args)
        elif isinstance(args, MoveCall):
            if environment.tensor(args.move_from) is not None:
                dims = environment.dims(args.move_from, position, "move")
                self._set(environment, position, args.move_to, dims)
                return
            found = environment.argument(args.move_from, position, "move")
            if isinstance(found, int | float | Cause):
                environment.known[args.move_to] = found

    def _delegate(self, environment: Environment, position: int, args: DelegateCall) -> None:
        named = args.args or ()
        payload = self._payloads.get(args.delegate_index)
        graph = payload.graph if payload is not None else None
        label = _label(self._steps, position)
        if graph is None or argument_problem(self._steps.plan, named, graph) is not None:
            cause = Cause(position, label, "its payload is not understood")
            for value in self._steps.steps[self._steps.first_step[position]].roles.writes:
                self._set(environment, position, value, cause)
            return
        stored = {
            k: stored_dims(environment, value, environment.dims(value, position, label))
            for k, value in enumerate(named)
            if graph.externals[k] not in graph.producer
        }
        try:
            shapes: Mapping[int, Dims | Cause] = payload_shapes(graph, stored, position)
        except ContradictionError as error:
            cause = self._checked(Refusal(Cause(position, label, str(error))))
            shapes = dict.fromkeys(graph.values, cause)
        earlier = self._inner.get(position, shapes)  # a call in a loop
        self._inner[position] = {k: _largest((earlier[k], shapes[k])) for k in shapes}
        for k, identifier in graph.externals.items():
            if identifier in graph.producer:
                dims = logical_dims(environment, position, label, named[k], shapes[identifier])
                self._set(environment, position, named[k], dims)

    # -- results --------------------------------------------------------------------------

    def _checked(self, found: _T | Refusal) -> _T | Cause:
        """On a way that may not be taken, a contradiction is no more than ignorance."""
        if not isinstance(found, Refusal):
            return found
        if self._is_exact:
            raise RefusedShapeError(found.cause)
        return found.cause

    def _set(self, environment: Environment, position: int, value: int, dims: Dims | Cause) -> None:
        try:
            environment.set_shape(value, dims)
        except ContradictionError as error:
            refusal = Refusal(Cause(position, _label(self._steps, position), str(error)))
            dims = self._checked(refusal)
            environment.set_shape(value, dims)
        seen = self._seen.setdefault(value, [])
        if dims not in seen:
            seen.append(dims)

    def result(self) -> Propagation:
        """What the walk found."""
        dims: dict[int, Dims] = {}
        unknown: dict[int, Cause] = {}
        environment = Environment(self._steps.plan)
        for value, entry in enumerate(self._steps.plan.values or ()):
            if not isinstance(entry.val, Tensor):
                continue
            found = entry.val.sizes or () if environment.is_static(value) else self._shape(value)
            if isinstance(found, Cause):
                unknown[value] = found
            else:
                dims[value] = found
        return Propagation(dims, unknown, self._inner)

    def _shape(self, value: int) -> Dims | Cause:
        seen = [known for known in self._seen.get(value, ()) if isinstance(known, tuple | Cause)]
        if not seen:
            return Cause(ENTRY, "inputs", "no instruction gives it a shape")
        found = _largest(seen)
        if len(seen) > 1 and not self._is_exact and not isinstance(found, Cause):
            return Cause(ENTRY, "inputs", "its shape depends on the data")
        return found


def _largest(shapes: Sequence[Dims | Cause]) -> Dims | Cause:
    """The shape with most elements; unknown when any is."""
    cause = next((known for known in shapes if isinstance(known, Cause)), None)
    known = [dims for dims in shapes if not isinstance(dims, Cause)]
    return cause or max(known, key=prod)


def _label(steps: MethodSteps, position: int) -> str:
    """What the instruction runs."""
    args = steps.instructions[position]
    if isinstance(args, DelegateCall):
        return (steps.plan.delegates or ())[args.delegate_index].id or "delegate"
    return steps.steps[steps.first_step[position]].label


def _join(
    before: dict[int, Environment], target: int, environment: Environment, position: int
) -> bool:
    """Merges what is known into what was known at `target`; True when that changed."""
    if target not in before:
        before[target] = environment.copy()
        return True
    known, changed = before[target].known, False
    for value, found in environment.known.items():
        if value not in known:
            known[value] = found
            changed = True
        elif known[value] != found and not isinstance(known[value], Cause):
            reason = f"depends on which way leads to instruction {target}"
            known[value] = found if isinstance(found, Cause) else Cause(position, "jump", reason)
            changed = True
    return changed
