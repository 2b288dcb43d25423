"""What ExecuTorch takes from the method allocator while it loads a method.

Follows `Method::load` and `Method::init` of `runtime/executor/method.cpp` and the tensor parsers
beside it (ExecuTorch 1.5), allocation by allocation. The allocator hands out one piece after the
other, each aligned as its type wants (`runtime/core/memory_allocator.h`), so the order counts.
The pool itself must be aligned to 8 bytes or more, as the examples' pools are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onearena.errors import AnalysisError
from onearena.pte.schema import (
    BackendDelegate,
    BoolList,
    Chain,
    DelegateCall,
    DoubleList,
    EValue,
    ExecutionPlan,
    IntList,
    KernelCall,
    OptionalTensorList,
    String,
    Tensor,
    TensorList,
)
from onearena.pte.tensors import is_dynamic
from onearena.sizes.layout import BOOL, DIM_ORDER_TYPE, INT64, SIZES_TYPE, Abi, Layout

MAX_DIMENSIONS = 16
"""`kTensorDimensionLimit` (`runtime/core/exec_aten/util/tensor_dimension_limit.h`)."""

_EXTERNAL = 1  # `TensorDataLocation` (`schema/program.fbs`)
_NOTHING = Layout(0, 1)
_BACKENDS: Mapping[str, Mapping[str, Layout]] = {
    # `XNNExecutor` (`backends/xnnpack/runtime/XNNExecutor.h`) in a build with event tracing, as
    # the wheel's: vectors 5 x 24, `XNNProfiler` 96, shared and unique pointers 3 x 16, two flags
    "XnnpackBackend": {"64-bit": Layout(272, 8)},
    # its handle comes from the heap, and on bare metal nothing else is kept
    # (`backends/arm/runtime/EthosUBackend.cpp` and `EthosUBackend_Cortex_M.cpp`)
    "EthosUBackend": {"64-bit": _NOTHING, "32-bit Arm": _NOTHING},
}
"""What a backend's `init` takes through `BackendInitContext::get_runtime_allocator`, by ABI."""


@dataclass(frozen=True)
class MethodAllocation:
    """Bytes taken from the method allocator.

    Attributes:
        size_bytes: without what `unknown_backends` take for themselves.
        unknown_backends: ids of backends whose own structures are not known here.
    """

    size_bytes: int
    unknown_backends: tuple[str, ...]


class Cursor:
    """The allocator: where the next piece may start."""

    def __init__(self, used_bytes: int = 0) -> None:
        self.used_bytes = used_bytes

    def take(self, layout: Layout, count: int = 1) -> None:
        """Takes `count` pieces in a row."""
        start = -(-self.used_bytes // layout.alignment_bytes) * layout.alignment_bytes
        self.used_bytes = start + layout.size_bytes * count


def resolve_temp_bytes(plan: ExecutionPlan, abi: Abi) -> int:
    """What the temp allocator must have so that looking up kernels takes nothing elsewhere.

    `Method::resolve_operator` compares the size of the whole temp allocator with this, per call.
    """
    return max(
        (_resolve_bytes(len(call.args or ()), abi) for call in _kernel_calls(plan)), default=0
    )


def method_allocation(
    plan: ExecutionPlan,
    abi: Abi,
    temp_bytes: int | None,
    *,
    merges_data: bool = False,
    cursor: Cursor | None = None,
) -> MethodAllocation:
    """Bytes that loading the method takes from the method allocator.

    Args:
        plan: the method.
        abi: of the machine.
        temp_bytes: size of the temp allocator; None when the application gives none.
        merges_data: whether the program's named data is joined with those of a second file.
        cursor: the allocator, as far as it is used already; a new one when None.

    Raises:
        AnalysisError: a list or an instruction names a value that is not there.
    """
    cursor = cursor or Cursor()
    before = cursor.used_bytes
    loader = _Loader(plan, abi, temp_bytes, cursor)
    if temp_bytes is None:
        loader.cursor.take(abi.platform_allocator)
    loader.values()
    if merges_data:
        loader.cursor.take(abi.merged_data_map)
    loader.delegates()
    loader.chains()
    return MethodAllocation(cursor.used_bytes - before, tuple(dict.fromkeys(loader.unknown)))


def _kernel_calls(plan: ExecutionPlan) -> Iterable[KernelCall]:
    for chain in plan.chains or ():
        for instruction in chain.instructions or ():
            if isinstance(instruction.instr_args, KernelCall):
                yield instruction.instr_args


def _resolve_bytes(args: int, abi: Abi) -> int:
    return (abi.tensor_meta.size_bytes + MAX_DIMENSIONS * DIM_ORDER_TYPE.size_bytes) * args


class _Loader:
    """Loads a method without its data: only the allocator's cursor moves."""

    def __init__(
        self, plan: ExecutionPlan, abi: Abi, temp_bytes: int | None, cursor: Cursor
    ) -> None:
        self.cursor = cursor
        self.unknown: list[str] = []
        self._plan = plan
        self._abi = abi
        self._temp_bytes = temp_bytes

    def values(self) -> None:
        """`Method::parse_values`."""
        values = self._plan.values or ()
        self.cursor.take(self._abi.evalue, len(values))
        if self._plan.inputs:
            self.cursor.take(BOOL, len(self._plan.inputs))
        external = sum(_is_external_constant(entry.val) for entry in values)
        if external:
            self.cursor.take(self._abi.named_data, external)
        for entry in values:
            self._value(entry)

    def _value(self, entry: EValue) -> None:
        take, abi, value = self.cursor.take, self._abi, entry.val
        match value:
            case Tensor():
                self._tensor(value)
            case IntList():
                count = len(value.items or ())
                take(abi.pointer, count)
                take(INT64, count)
                take(abi.boxed_list)
            case TensorList():
                count = len(value.items or ())
                take(abi.pointer, count)  # the tensors
                take(abi.pointer, count)  # pointers to their values
                take(abi.boxed_list)
            case OptionalTensorList():
                count = len(value.items or ())
                take(abi.pointer, count)
                take(abi.optional_tensor, count)
                take(abi.boxed_list)
            case BoolList() | DoubleList() | String():
                take(abi.array_ref)

    def _tensor(self, tensor: Tensor) -> None:
        """`deserialization::parseTensor` (`executor/tensor_parser_portable.cpp`)."""
        rank = len(tensor.sizes or ())
        if is_dynamic(tensor):
            self.cursor.take(SIZES_TYPE, rank)
            self.cursor.take(DIM_ORDER_TYPE, rank)
        self.cursor.take(SIZES_TYPE, rank)  # strides
        self.cursor.take(self._abi.tensor_impl)

    def delegates(self) -> None:
        """`BackendDelegate::Init`, and what the backends' `init` take."""
        delegates = self._plan.delegates or ()
        self.cursor.take(self._abi.backend_delegate, len(delegates))
        for delegate in delegates:
            if delegate.compile_specs is not None:
                self.cursor.take(self._abi.compile_spec, len(delegate.compile_specs))
            self._backend(delegate)

    def _backend(self, delegate: BackendDelegate) -> None:
        layout = _BACKENDS.get(delegate.id or "", {}).get(self._abi.name)
        if layout is None:
            self.unknown.append(delegate.id or "")
        else:
            self.cursor.take(layout)

    def chains(self) -> None:
        """The last part of `Method::init`: kernels and arguments by instruction."""
        chains = self._plan.chains or ()
        self.cursor.take(self._abi.chain, len(chains))
        for chain in chains:
            self._chain(chain)

    def _chain(self, chain: Chain) -> None:
        instructions = chain.instructions or ()
        self.cursor.take(self._abi.pointer, len(instructions))  # `OpFunction`
        self.cursor.take(self._abi.array_ref, len(instructions))  # `InstructionArgs`
        for instruction in instructions:
            call = instruction.instr_args
            if isinstance(call, KernelCall | DelegateCall):
                self.cursor.take(self._abi.pointer, len(call.args or ()))
            if isinstance(call, KernelCall):
                self._resolve(call.args or ())

    def _resolve(self, args: Sequence[int]) -> None:
        """`Method::resolve_operator`: describes the arguments in the temp allocator, or here."""
        if self._temp_bytes and self._temp_bytes >= _resolve_bytes(len(args), self._abi):
            return
        self.cursor.take(self._abi.tensor_meta, len(args))
        values = self._plan.values or ()
        for index in args:
            if not 0 <= index < len(values):
                raise AnalysisError(f"a kernel call names value {index} of {len(values)}")
            value = values[index].val
            if isinstance(value, Tensor):
                self.cursor.take(DIM_ORDER_TYPE, len(value.sizes or ()))


def is_external(value: object) -> bool:
    """Whether it is a tensor whose data come from a second file."""
    if not isinstance(value, Tensor) or value.extra_tensor_info is None:
        return False
    return value.extra_tensor_info.location == _EXTERNAL


def _is_external_constant(value: object) -> bool:
    """As `Method::get_num_external_constants` counts them."""
    return isinstance(value, Tensor) and is_external(value) and value.allocation_info is None
