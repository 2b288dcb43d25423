"""Where the numbers of a method's inputs arrive, and what survives from run to run.

One forward walk over the instructions. An input's numbers are followed through copies and
views, also through views that have no instruction of their own (a value read before
anything wrote it, whose bytes something else wrote). It serves to choose good random
inputs; planning has its own, exact timeline.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from onearena.delegates.xnnpack.payload import read_payload
from onearena.errors import AnalysisError, OnearenaError
from onearena.pte import PteFile
from onearena.pte.schema import (
    DelegateCall,
    ExecutionPlan,
    InstructionArguments,
    KernelCall,
    MoveCall,
    OptionalTensorList,
    Tensor,
    TensorList,
)
from onearena.pte.tensors import tensor_bytes
from onearena.timeline.roles import VIEW_OPERATOR, flatten, kernel_roles, operator_name

_SAME_NUMBERS = frozenset(
    f"aten::{name}"
    for name in (
        *("_local_scalar_dense", "_to_copy", "alias_copy", "clone", "detach_copy", "expand_copy"),
        *("lift_fresh_copy", "permute_copy", "repeat", "select_copy", "slice_copy"),
        *("squeeze_copy", "t_copy", "transpose_copy", "unsqueeze_copy", "view_copy"),
    )
) | {VIEW_OPERATOR, "dim_order_ops::_to_dim_order_copy", "dim_order_ops::_clone_dim_order"}
"""Operators whose result holds the numbers of their first argument, in any shape and type."""
_JOINS = frozenset({"aten::cat", "aten::stack"})
_COPIES_SECOND = frozenset({"aten::copy", "aten::copy_"})


@dataclass(frozen=True)
class Use:
    """The numbers of `inputs` (positions in the method's inputs) arrive at an argument.

    Attributes:
        operator: its name and overload; the backend's id for a delegate call.
        is_delegate: whether it is one.
        args: the value indices of all its arguments.
        position: which argument.
        item: which item of the argument when that is a list, else None.
    """

    operator: str
    is_delegate: bool
    args: tuple[int, ...]
    position: int
    item: int | None
    inputs: frozenset[int]


@dataclass(frozen=True)
class MethodFlow:
    """`state`: values read before anything wrote them, so their content is an earlier run's."""

    uses: tuple[Use, ...]
    state: frozenset[int]


def method_flow(file: PteFile, plan: ExecutionPlan) -> MethodFlow:
    """Walks the instructions of `plan`, a method of `file`.

    Raises:
        AnalysisError: an index of the method is out of range.
    """
    instructions = tuple(
        instruction.instr_args
        for chain in plan.chains or ()
        for instruction in chain.instructions or ()
    )
    try:
        walk = _Walk(file, plan)
        for arguments in instructions:
            walk.step(arguments)
        for value in flatten(plan, plan.outputs or ()):
            walk.read(value)
    except IndexError:
        raise AnalysisError(
            f"{file.path}: method {plan.name!r} names a value, operator or delegate that does "
            "not exist"
        ) from None
    return MethodFlow(tuple(walk.uses), frozenset(walk.state))


@dataclass
class _Walk:
    file: PteFile
    plan: ExecutionPlan
    uses: list[Use] = field(default_factory=list)
    state: set[int] = field(default_factory=set)
    _origin: dict[int, frozenset[int]] = field(default_factory=dict)
    _touched: set[int] = field(default_factory=set)
    _written: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(memory_id, first byte, end byte, value), in the order of writing."""
    _delegate_inputs: dict[int, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for position, value in enumerate(self.plan.inputs or ()):
            self._write(value, frozenset((position,)))

    def step(self, arguments: InstructionArguments | None) -> None:
        """Follows the numbers through one instruction."""
        if isinstance(arguments, KernelCall):
            self._kernel(arguments)
        elif isinstance(arguments, DelegateCall):
            self._delegate(arguments)
        elif isinstance(arguments, MoveCall):
            self._write(arguments.move_to, self.read(arguments.move_from))

    def read(self, value: int) -> frozenset[int]:
        """The inputs whose numbers `value` holds, when it is read now."""
        if value not in self._touched:
            self._touched.add(value)
            self._origin[value] = self._origin_of_bytes(value)
        return self._origin.get(value, frozenset())

    def _origin_of_bytes(self, value: int) -> frozenset[int]:
        """Of a value read before it was written: an elided view, a constant, or state."""
        tensor = self._value(value)
        if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
            return frozenset()  # a constant, a number, or an output that the caller places
        if not tensor_bytes(tensor):
            return frozenset()
        where = tensor.allocation_info
        if tensor.data_buffer_idx == 0:
            for memory, first, end, writer in reversed(self._written):
                if memory == where.memory_id and first <= where.offset < end:
                    return self._origin.get(writer, frozenset())
        self.state.add(value)
        return frozenset()

    def _kernel(self, call: KernelCall) -> None:
        operator = (self.plan.operators or ())[call.op_index]
        args = call.args or ()
        roles = kernel_roles(self.plan, call)
        reads = set(roles.reads) if roles.understood else set()
        self._note(operator_name(operator), args, reads, is_delegate=False)
        result = self._result(operator.name or "", args)
        written = (*roles.writes, *(view for _, view in roles.aliases))
        for value in written or args[-1:]:  # an operator that returns a number writes none
            self._write(value, result)

    def _result(self, name: str, args: tuple[int, ...]) -> frozenset[int]:
        if name in _SAME_NUMBERS and args:
            return self._read_all(args[0])
        if name in _JOINS and args:
            return self._read_all(args[0])
        if name in _COPIES_SECOND and len(args) > 1:
            return self._read_all(args[1])
        return frozenset()

    def _read_all(self, value: int) -> frozenset[int]:
        items = flatten(self.plan, (value,)) or (value,)
        return frozenset().union(*(self.read(item) for item in items))

    def _note(
        self, operator: str, args: tuple[int, ...], reads: set[int], *, is_delegate: bool
    ) -> None:
        """Records at which arguments the numbers of inputs arrive."""
        for position, argument in enumerate(args):
            for item, index in self._items(argument):
                if isinstance(self._value(index), Tensor) and index not in reads:
                    continue
                origin = self.read(index)
                if origin:
                    self.uses.append(Use(operator, is_delegate, args, position, item, origin))

    def _items(self, argument: int) -> list[tuple[int | None, int]]:
        """(place in the list, value) of each item of a tensor list, (None, argument) otherwise."""
        value = self._value(argument)
        if isinstance(value, TensorList | OptionalTensorList):
            return [(place, item) for place, item in enumerate(value.items or ()) if item >= 0]
        return [(None, argument)]

    def _delegate(self, call: DelegateCall) -> None:
        args = call.args or ()
        delegate = (self.plan.delegates or ())[call.delegate_index]
        count = self._input_count(call.delegate_index)
        if count is None:  # outputs come last, and nothing touched them before
            fresh = [position for position, arg in enumerate(args) if arg not in self._touched]
            count = fresh[0] if fresh else len(args)
        self._note(delegate.id or "", args, set(flatten(self.plan, args[:count])), is_delegate=True)
        for value in args[count:]:
            self._write(value, frozenset())

    def _input_count(self, index: int) -> int | None:
        """How many of an XNNPACK call's arguments are inputs; None when that is not known."""
        if index not in self._delegate_inputs:
            self._delegate_inputs[index] = self._count_inputs(index)
        return self._delegate_inputs[index]

    def _count_inputs(self, index: int) -> int | None:
        delegate = (self.plan.delegates or ())[index]
        if delegate.id != "XnnpackBackend" or delegate.processed is None:
            return None
        place = delegate.processed
        if place.location == 1:
            data = self.file.segments[place.index].data
        else:
            data = (self.file.program.backend_delegate_data or ())[place.index].data or ()
        try:
            graph = read_payload(data, self.file.path).graph
        except OnearenaError:
            return None  # what does not concern inputs is reported by others
        return len(graph.input_ids or ())

    def _write(self, value: int, origin: frozenset[int]) -> None:
        self._touched.add(value)
        self._origin[value] = origin
        tensor = self._value(value)
        if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
            where = tensor.allocation_info
            end = where.offset + (tensor_bytes(tensor) or 0)
            self._written.append((where.memory_id, where.offset, end, value))

    def _value(self, index: int) -> object:
        if index < 0:
            raise IndexError(index)
        return (self.plan.values or ())[index].val
