"""One method of a description: values, instructions, and what the analysis of memory found."""

from __future__ import annotations

from itertools import accumulate

from onearena.delegates.xnnpack.graph import Graph, once_for_all_alike
from onearena.engine.analysis_description import write_analysis
from onearena.engine.binary import NONE_32, NONE_64, BinaryWriter
from onearena.engine.ranges import constant_range, initial_range, payload_range
from onearena.engine.state import StatePlan
from onearena.errors import AnalysisError, UnsupportedError
from onearena.program import AnalysedMethod, method_label
from onearena.pte.container import PteFile
from onearena.pte.schema import (
    BackendDelegate,
    Bool,
    BoolList,
    DelegateCall,
    Double,
    DoubleList,
    ExecutionPlan,
    InstructionArguments,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    OptionalTensorList,
    String,
    Tensor,
    TensorList,
)
from onearena.pte.tensors import tensor_bytes
from onearena.timeline.roles import operator_name

_KINDS = (
    Null,
    Int,
    Double,
    Bool,
    String,
    Tensor,
    IntList,
    DoubleList,
    BoolList,
    TensorList,
    OptionalTensorList,
)
"""A value's kind is its position here, the same as in `description.h`."""
_KIND_OF = {kind: position for position, kind in enumerate(_KINDS)}
_LISTS = (IntList, TensorList, OptionalTensorList)
_PLANNED, _CONSTANT, _CALLER, _EXTERNAL = range(4)
_KERNEL, _DELEGATE, _MOVE, _JUMP_FALSE, _FREE = range(5)
_EXTERNAL_LOCATION = 1
_PREDICTED_NODE_BYTES = 1 << 17
"""About as much memory as can be allocated, and cleared, while one node is looked at."""
_CPU = 0


def write_method(
    out: BinaryWriter,
    file: PteFile,
    method: AnalysedMethod,
    state: StatePlan,
    number: int,
    every_workspace: bool = True,
) -> None:
    """Writes method `number` of the file; `every_workspace` as in `describe`.

    Raises:
        AnalysisError: the method contradicts itself.
        FormatError: data that it needs is not in the file.
        UnsupportedError: it holds something that the runtime cannot run.
    """
    # where the plan in the file is used, or a delegate is not understood, workspaces stay with
    # XNNPACK, and the predictions are all that there is
    payloads, is_pinned = method.payloads.values(), bool(method.timeline.storage.pinned)
    every_workspace |= is_pinned or any(payload.graph is None for payload in payloads)
    _Method(out, file, method, state, number, every_workspace).write()


@once_for_all_alike
def _is_found_quickly(graph: Graph) -> bool:
    """Whether XNNPACK allocates its workspace (which it also clears) in less time than it takes to
    predict how large it is."""
    limit = _PREDICTED_NODE_BYTES * len(graph.nodes)
    internal = [value for value in graph.values.values() if value.is_internal]
    if sum([value.size_bytes or 0 for value in internal]) <= limit:
        return True
    changes = [0] * (len(graph.nodes) + 1)  # of the bytes alive, by node
    for value in internal:
        producer, size_bytes = graph.producer.get(value.id), value.size_bytes or 0
        if producer is not None:
            users = (producer, *graph.consumers.get(value.id, ()))
            changes[producer.index] += size_bytes
            changes[max([user.index for user in users]) + 1] -= size_bytes
    return max(accumulate(changes)) <= limit


def write_outline(out: BinaryWriter, file: PteFile, plan: ExecutionPlan) -> None:
    """Writes a method of delegates alone, whose payloads nobody has looked at: no values, no
    instructions, and of the memory what the format demands.

    Raises:
        FormatError: a payload is not in the file.
    """
    out.text(plan.name)
    out.u32(0)  # arenas
    out.u64(0)  # workspace
    out.u32(0)  # values
    out.u32(0)  # operators
    out.u32(len(plan.delegates or ()))
    for index, delegate in enumerate(plan.delegates or ()):
        _write_payload(out, file, delegate, f"{method_label(file, plan)}: delegate {index}")
        out.u8(True)  # so that its workspace can be planned, which the whole description decides
        out.u32s(())  # inputs
        out.u32(0)  # arguments
        out.u64(0)  # workspace
    out.u32(0)  # instructions
    out.u32s(())  # inputs
    out.u32s(())  # outputs
    out.u32(1)  # steps
    out.u32s((0,))  # the first one of the exit
    for _ in ("buffers", "groups", "may share", "handles"):
        out.u32(0)


def _write_payload(out: BinaryWriter, file: PteFile, delegate: BackendDelegate, what: str) -> None:
    where = payload_range(file, delegate, what)
    out.text(delegate.id)
    out.u64(where.offset)
    out.u64(where.size_bytes)
    out.u32(len(delegate.compile_specs or ()))
    for spec in delegate.compile_specs or ():
        out.text(spec.key)
        out.blob(bytes(spec.value or ()))


class _Method:
    def __init__(
        self,
        out: BinaryWriter,
        file: PteFile,
        method: AnalysedMethod,
        state: StatePlan,
        number: int,
        every_workspace: bool,
    ) -> None:
        self._out, self._file, self._method = out, file, method
        self._every_workspace = every_workspace
        self._plan, self._state, self._number = method.plan, state, number
        self._what = method_label(file, method.plan)
        self._leads = method.leads

    def write(self) -> None:
        out, plan = self._out, self._plan
        out.text(plan.name)
        sizes = plan.non_const_buffer_sizes or ()
        out.u32(len(sizes))
        for arena, size in enumerate(sizes):
            if size < 0:
                raise AnalysisError(f"{self._what}: an arena of {size} bytes")
            out.u64(max(size - self._leads.get(arena, 0), 0))
        out.u64(self._method.workspace_bytes if self._every_workspace else 0)
        values = plan.values or ()
        out.u32(len(values))
        for index, entry in enumerate(values):
            self._value(index, entry.val)
        out.u32(len(plan.operators or ()))
        for operator in plan.operators or ():
            out.text(operator_name(operator))
        self._delegates()
        out.u32(len(self._method.steps.instructions))
        for args in self._method.steps.instructions:
            self._instruction(args)
        out.u32s(plan.inputs or ())
        out.u32s(plan.outputs or ())
        write_analysis(out, self._method.timeline)

    # -- values ---------------------------------------------------------------------------

    def _value(self, index: int, value: object) -> None:
        out = self._out
        if value is None:
            value = Null()
        out.u8(_KIND_OF[type(value)])
        if isinstance(value, Tensor):
            self._tensor(index, value)
        elif isinstance(value, Int):
            out.i64(value.int_val)
        elif isinstance(value, Double):
            out.f64(value.double_val)
        elif isinstance(value, Bool):
            out.u8(value.bool_val)
        elif isinstance(value, String):
            out.text(value.string_val)
        elif isinstance(value, DoubleList):
            out.u32(len(value.items or ()))
            for item in value.items or ():
                out.f64(item)
        elif isinstance(value, BoolList):
            out.blob(bytes(value.items or ()))
        elif isinstance(value, _LISTS):
            self._indices(index, value)

    def _indices(self, index: int, value: IntList | TensorList | OptionalTensorList) -> None:
        items, count = value.items or (), len(self._plan.values or ())
        lowest = -1 if isinstance(value, OptionalTensorList) else 0
        for item in items:
            if not lowest <= item < count:
                raise AnalysisError(f"{self._what}: list value {index} names value {item}")
        self._out.u32s(NONE_32 if item < 0 else item for item in items)

    def _tensor(self, index: int, tensor: Tensor) -> None:
        out, what = self._out, f"{self._what}: value {index}"
        sizes = tensor.sizes or ()
        order = tensor.dim_order or tuple(range(len(sizes)))
        size_bytes = tensor_bytes(tensor)
        info = tensor.extra_tensor_info
        if size_bytes is None:
            raise UnsupportedError(
                f"{what}: a tensor of element type {tensor.scalar_type} and sizes {list(sizes)}"
            )
        if tensor.storage_offset or tensor.layout or (info and info.device_type != _CPU):
            raise UnsupportedError(f"{what}: its layout or device is not one that can be run")
        if sizes and not tensor.dim_order:
            raise AnalysisError(f"{what}: has no dimension order")
        usual = tuple(range(len(sizes)))
        if order != usual and sorted(order) != list(usual):
            raise AnalysisError(f"{what}: dimension order {list(order)} of sizes {list(sizes)}")
        head, rank = (tensor.scalar_type, tensor.shape_dynamism, len(sizes)), len(sizes)
        out.packed(f"BBB{rank}I{rank}BQ", *head, *sizes, *order, size_bytes)
        external = info is not None and info.location == _EXTERNAL_LOCATION
        name = info.fully_qualified_name if info is not None and external else None
        if tensor.allocation_info is not None:
            out.u8(_PLANNED)
            self._planned(index, tensor, size_bytes, what)
            out.text(name)
        elif external:
            out.u8(_EXTERNAL)
            out.text(name)
        elif tensor.data_buffer_idx > 0:
            out.u8(_CONSTANT)
            out.u64(constant_range(self._file, tensor, size_bytes, what).offset)
        else:
            out.u8(_CALLER)

    def _planned(self, index: int, tensor: Tensor, size_bytes: int, what: str) -> None:
        out, info = self._out, tensor.allocation_info
        assert info is not None
        arenas = self._plan.non_const_buffer_sizes or ()
        inside = 0 < info.memory_id < len(arenas)
        if not (inside and info.offset + size_bytes <= arenas[info.memory_id]):
            raise AnalysisError(f"{what}: does not lie inside an arena of the method")
        block, delta = self._state.places.get((self._number, index), (NONE_32, 0))
        initial = NONE_64
        if tensor.data_buffer_idx > 0:
            initial = initial_range(self._file, tensor, size_bytes, what).offset
        offset = max(info.offset - self._leads.get(info.memory_id, 0), 0)  # 0 of an empty tensor
        out.packed("IQIQQ", info.memory_id, offset, block, delta, initial)

    # -- the rest -------------------------------------------------------------------------

    def _delegates(self) -> None:
        out, delegates = self._out, self._plan.delegates or ()
        out.u32(len(delegates))
        for index, delegate in enumerate(delegates):
            _write_payload(out, self._file, delegate, f"{self._what}: delegate {index}")
            inputs = self._inputs_of(index)
            out.u8(inputs is not None)
            out.u32s(inputs or ())
            out.u32(self._argument_count(index))
            out.u64(self._workspace_of(index))

    def _inputs_of(self, delegate: int) -> tuple[int, ...] | None:
        """The positions of a call's arguments that are inputs, where the payload tells."""
        payload = self._method.payloads.get(delegate)
        if payload is None or payload.graph is None:
            return None
        externals = payload.graph.externals.items()
        return tuple(sorted(p for p, v in externals if v in (payload.graph.source.input_ids or ())))

    def _argument_count(self, delegate: int) -> int:
        """How many arguments a call has at least; 0 where that is not known."""
        payload = self._method.payloads.get(delegate)
        if payload is None or payload.graph is None:
            return 0
        return 1 + max(payload.graph.externals, default=-1)

    def _workspace_of(self, delegate: int) -> int:
        """What it needs at the sizes in the file, in bytes; 0 where that is not known."""
        payload = self._method.payloads.get(delegate)
        if payload is None or payload.graph is None:
            return 0
        if not self._every_workspace and _is_found_quickly(payload.graph):
            return 0
        predicted = payload.workspace
        return 0 if predicted is None else predicted.total_bytes

    def _instruction(self, args: InstructionArguments) -> None:
        out = self._out
        if isinstance(args, KernelCall):
            out.u8(_KERNEL)
            out.u32(args.op_index)
            out.u32s(args.args or ())
        elif isinstance(args, DelegateCall):
            given, needed = len(args.args or ()), self._argument_count(args.delegate_index)
            if given < needed:
                raise AnalysisError(
                    f"{self._what}: delegate {args.delegate_index} takes {needed} arguments, "
                    f"a call gives it {given}"
                )
            out.u8(_DELEGATE)
            out.u32(args.delegate_index)
            out.u32s(args.args or ())
        elif isinstance(args, MoveCall):
            out.u8(_MOVE)
            out.u32(args.move_from)
            out.u32(args.move_to)
        elif isinstance(args, JumpFalseCall):
            out.u8(_JUMP_FALSE)
            out.u32(args.cond_value_index)
            out.u32(args.destination_instruction)
        else:
            out.u8(_FREE)
            out.u32(args.value_index)
