"""A method as a list of steps, each with the tensors it reads and writes.

Step 0 is the moment before the first instruction (the caller has set the inputs), the last
step the moment after the last one (the caller reads the outputs). Between them an instruction
is one step, a delegate call that is understood node by node as many steps as it has nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from onearena.delegates.xnnpack.call import XnnpackCall
from onearena.delegates.xnnpack.graph import Node
from onearena.errors import AnalysisError
from onearena.pte.schema import (
    DelegateCall,
    ExecutionPlan,
    InstructionArguments,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    OptionalTensorList,
    Tensor,
    TensorList,
)
from onearena.pte.tensors import ScalarType
from onearena.timeline.control import ControlFlow, control_flow, instructions_of
from onearena.timeline.roles import Roles, flatten, kernel_roles, list_items, operator_name

_CALLS = (KernelCall, DelegateCall)
_LISTS = (TensorList, OptionalTensorList)
ENTRY = -1
"""The instruction number of step 0."""


@dataclass(frozen=True)
class Step:
    """One instant. Reads come before writes.

    Attributes:
        instruction: position in the chain; -1 at the entry, the count at the exit.
        label: what a person calls it.
        roles: the program values it touches.
        call, node: the delegate call and node, when the step is inside an understood call.
        late_reads: values read here that may still be read at a later step: (value, step).
        early_writes: values written here that may be written at an earlier step.
    """

    instruction: int
    label: str
    roles: Roles
    call: XnnpackCall | None = None
    node: Node | None = None
    late_reads: tuple[tuple[int, int], ...] = ()
    early_writes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class MethodSteps:
    """A method with its steps. `first_step[i]` is the first step of instruction i;
    `first_step[n]` is the exit step; `calls` are the understood delegate calls by instruction;
    `sources` are, by value that no step writes, the values whose bytes it has, see `elision.py`;
    `remade` are values that are written again before some of their reads, see `repetition.py`."""

    what: str
    plan: ExecutionPlan
    instructions: tuple[InstructionArguments, ...]
    flow: ControlFlow
    steps: tuple[Step, ...]
    first_step: tuple[int, ...]
    calls: Mapping[int, XnnpackCall]
    sources: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    remade: frozenset[int] = frozenset()
    known_state: frozenset[int] = frozenset()
    """Values that the exporter says are state; others may be, too."""

    @property
    def exit_step(self) -> int:
        """The last step."""
        return len(self.steps) - 1

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The tensor values among the method's inputs."""
        return flatten(self.plan, self.plan.inputs or ())

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The tensor values among the method's outputs."""
        return flatten(self.plan, self.plan.outputs or ())

    def tensor(self, value: int) -> Tensor:
        """The tensor of a value that is one."""
        found = (self.plan.values or ())[value].val
        assert isinstance(found, Tensor)
        return found


def debug_handle(step: Step) -> int:
    """What the exporter calls the node that runs at a step inside a call; 0 elsewhere."""
    return step.node.xnode.debug_handle if step.node is not None else 0


def where_text(instruction: int, count: int, label: str, node: int | None) -> str:
    """A step in words.

    Args:
        instruction: its instruction; -1 at the entry, `count` at the exit.
        count: of the method's instructions.
    """
    if instruction < 0:
        return "before the first instruction"
    if instruction >= count:
        return "after the last instruction"
    inner = f" (node {node})" if node is not None else ""
    return f"instruction {instruction}: {label}{inner}"


Boundary = tuple[tuple[int, ...], tuple[int, ...]]
"""The values that a closed call reads, and those that it writes."""


def method_steps(
    plan: ExecutionPlan,
    calls: Mapping[int, XnnpackCall],
    what: str,
    boundaries: Mapping[int, Boundary] | None = None,
    known_state: frozenset[int] = frozenset(),
) -> MethodSteps:
    """Lists the steps of a method.

    Args:
        calls: by instruction, the delegate calls that are understood node by node.
        boundaries: by instruction, what a closed call reads and writes, where that is known.
        known_state: values that the exporter says are state.

    Raises:
        AnalysisError: the method's indices or jumps are out of range.
    """
    instructions = instructions_of(plan, what)
    _check_lists(plan, what)
    flow = control_flow(plan, instructions, what)
    inputs = flatten(plan, plan.inputs or ())
    steps: list[Step] = [Step(ENTRY, "inputs", Roles((), inputs))]
    first_step: list[int] = []
    touched = set(inputs)
    edges = boundaries or {}
    delegated = [k for k, args in enumerate(instructions) if isinstance(args, DelegateCall)]
    last_opaque = max((k for k in delegated if k not in calls and k not in edges), default=-1)
    for position, args in enumerate(instructions):
        first_step.append(len(steps))
        call = calls.get(position)
        if call is not None:
            steps.extend(_node_steps(plan, position, call, len(steps)))
        else:
            edge = edges.get(position)
            steps.append(_instruction_step(plan, position, args, touched, edge))
        if position >= last_opaque:
            continue  # nobody asks any more
        if isinstance(args, _CALLS):
            touched.update(flatten(plan, args.args or ()))
        elif isinstance(args, MoveCall):
            touched.update(flatten(plan, (args.move_from, args.move_to)))
    first_step.append(len(steps))
    outputs = flatten(plan, plan.outputs or ())
    steps.append(Step(len(instructions), "outputs", Roles(outputs, ())))
    return MethodSteps(
        what,
        plan,
        instructions,
        flow,
        tuple(steps),
        tuple(first_step),
        calls,
        known_state=known_state,
    )


def _check_lists(plan: ExecutionPlan, what: str) -> None:
    values = plan.values or ()
    for name, indices in (("input", plan.inputs), ("output", plan.outputs)):
        for index in indices or ():
            if not 0 <= index < len(values):
                raise AnalysisError(f"{what}: {name} names value {index}, there are {len(values)}")
    for index, entry in enumerate(values):
        if not isinstance(entry.val, _LISTS):
            continue
        for item in list_items(entry.val):
            if item >= len(values) or not isinstance(values[item].val, Tensor):
                raise AnalysisError(f"{what}: list value {index} names {item}, not a tensor")


def _instruction_step(
    plan: ExecutionPlan,
    position: int,
    args: InstructionArguments,
    touched: set[int],
    edge: Boundary | None,
) -> Step:
    if isinstance(args, KernelCall):
        name = operator_name((plan.operators or ())[args.op_index])
        return Step(position, name, kernel_roles(plan, args))
    if isinstance(args, DelegateCall):
        backend = (plan.delegates or ())[args.delegate_index].id or "delegate"
        roles = Roles(*edge) if edge is not None else _opaque_roles(plan, args, touched)
        return Step(position, backend, roles)
    if isinstance(args, MoveCall):
        return Step(position, "move", _move_roles(plan, args))
    if isinstance(args, JumpFalseCall):
        return Step(position, "jump", Roles(flatten(plan, (args.cond_value_index,)), ()))
    named = flatten(plan, (args.value_index,))
    return Step(position, "free", Roles(named, named, understood=not named))


def _opaque_roles(plan: ExecutionPlan, args: DelegateCall, touched: set[int]) -> Roles:
    """Roles of a call that is not understood.

    Arguments are inputs, then outputs; where the outputs begin is not recorded. A value that
    was touched before is an input. One that was not may be an output, or an input that is a
    view nobody wrote under this name: it counts as both. The last argument is an output,
    since a delegate without any would do nothing.
    """
    values = flatten(plan, args.args or ())
    fresh = tuple(value for value in values if value not in touched)
    last = values[-1:] if values and values[-1:] == fresh[-1:] else ()
    reads = tuple(value for value in values if value not in last)
    maybe = tuple(value for value in fresh if value not in last)
    return Roles(reads, fresh, maybe_reads=maybe)


def _move_roles(plan: ExecutionPlan, args: MoveCall) -> Roles:
    source, target = flatten(plan, (args.move_from,)), flatten(plan, (args.move_to,))
    if len(source) == 1 and len(target) == 1:
        return Roles(source, (), ((source[0], target[0]),))
    if not source and not target:
        return Roles((), ())
    return Roles((*source, *target), (*source, *target), understood=False)


def _node_steps(plan: ExecutionPlan, position: int, call: XnnpackCall, first: int) -> list[Step]:
    steps: list[Step] = []
    last = len(call.graph.nodes) - 1
    order = (call.order.read_until, call.order.write_from)
    for node, until, since in zip(call.graph.nodes, *order, strict=True):
        index = node.index
        reads, writes = call.values(node.inputs), call.values(node.outputs)
        late = tuple([(value, first + until) for value in reads]) if until > index else ()
        early = tuple([(v, first + since) for v in writes]) if since < index else ()
        # int64 outputs are widened in place after the last node (XNNExecutor::convert_outputs)
        if writes and index < last:
            late += tuple([(v, first + last) for v in writes if _is_widened(plan, v)])
        roles = Roles(reads, writes)
        steps.append(Step(position, f"XNNPACK {node.name}", roles, call, node, late, early))
    if not steps:
        steps.append(Step(position, "XNNPACK (empty)", Roles((), ())))
    return steps


def _is_widened(plan: ExecutionPlan, value: int) -> bool:
    tensor = (plan.values or ())[value].val
    return isinstance(tensor, Tensor) and tensor.scalar_type == ScalarType.LONG
