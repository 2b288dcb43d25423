"""The tables of an ExecuTorch program, as dataclasses.

Facts (field order, types, defaults) from `schema/program.fbs` of ExecuTorch 1.5; a test
compares them with the schema file of the installed package. Field order is the format.
"""

from __future__ import annotations

from dataclasses import dataclass

from onearena.flatbuf.data import Data
from onearena.flatbuf.schema import blob, scalar, scalars, string, table, tables, union

FILE_IDENTIFIER = b"ET12"


@dataclass(frozen=True, slots=True)
class ContainerMetadata:
    """How to unflatten a method's inputs and outputs (opaque strings)."""

    encoded_inp_str: str | None = string()
    encoded_out_str: str | None = string()


@dataclass(frozen=True, slots=True)
class Null:
    """The value None."""


@dataclass(frozen=True, slots=True)
class AllocationDetails:
    """Where a planned tensor lives: arena `memory_id`, byte offset split in two halves."""

    memory_id: int = scalar("I")
    memory_offset_low: int = scalar("I")
    memory_offset_high: int = scalar("I")

    @property
    def offset(self) -> int:
        """The 64-bit byte offset inside the arena."""
        return self.memory_offset_high << 32 | self.memory_offset_low

    @classmethod
    def at(cls, memory_id: int, offset: int) -> AllocationDetails:
        """The allocation at a 64-bit byte offset."""
        return cls(memory_id, offset & 0xFFFFFFFF, offset >> 32)


@dataclass(frozen=True, slots=True)
class ExtraTensorInfo:
    """Rare attributes of a tensor."""

    mutable_data_segments_idx: int = scalar("Q")
    fully_qualified_name: str | None = string()
    location: int = scalar("b")
    device_type: int = scalar("b")
    device_index: int = scalar("b")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor value. `sizes` are upper bounds when `shape_dynamism` is 1."""

    scalar_type: int = scalar("b")
    storage_offset: int = scalar("i")
    sizes: tuple[int, ...] | None = scalars("i")
    dim_order: tuple[int, ...] | None = scalars("B")
    requires_grad: bool = scalar("?", False)
    data_buffer_idx: int = scalar("I")
    allocation_info: AllocationDetails | None = table(AllocationDetails)
    layout: int = scalar("b")
    shape_dynamism: int = scalar("b")
    extra_tensor_info: ExtraTensorInfo | None = table(ExtraTensorInfo)


@dataclass(frozen=True, slots=True)
class Int:
    """An integer value."""

    int_val: int = scalar("q")


@dataclass(frozen=True, slots=True)
class Bool:
    """A boolean value."""

    bool_val: bool = scalar("?", False)


@dataclass(frozen=True, slots=True)
class Double:
    """A floating-point value."""

    double_val: float = scalar("d", 0.0)


@dataclass(frozen=True, slots=True)
class String:
    """A string value."""

    string_val: str | None = string()


@dataclass(frozen=True, slots=True)
class IntList:
    """A list of integers (or, boxed, of value indices)."""

    items: tuple[int, ...] | None = scalars("q")


@dataclass(frozen=True, slots=True)
class DoubleList:
    """A list of numbers."""

    items: tuple[float, ...] | None = scalars("d")


@dataclass(frozen=True, slots=True)
class BoolList:
    """A list of booleans."""

    items: tuple[bool, ...] | None = scalars("?")


@dataclass(frozen=True, slots=True)
class TensorList:
    """Indices of tensor values."""

    items: tuple[int, ...] | None = scalars("i")


@dataclass(frozen=True, slots=True)
class OptionalTensorList:
    """Indices of tensor values; -1 stands for None."""

    items: tuple[int, ...] | None = scalars("i")


KernelType = (
    Null
    | Int
    | Bool
    | Double
    | Tensor
    | String
    | IntList
    | DoubleList
    | BoolList
    | TensorList
    | OptionalTensorList
)


@dataclass(frozen=True, slots=True)
class EValue:
    """One value of a method."""

    val: KernelType | None = union(
        Null,
        Int,
        Bool,
        Double,
        Tensor,
        String,
        IntList,
        DoubleList,
        BoolList,
        TensorList,
        OptionalTensorList,
    )


@dataclass(frozen=True, slots=True)
class Operator:
    """A kernel's registered name, e.g. `aten::add` with overload `out`."""

    name: str | None = string()
    overload: str | None = string()


@dataclass(frozen=True, slots=True)
class KernelCall:
    """Calls operator `op_index` with the values `args`, outputs last."""

    op_index: int = scalar("i")
    args: tuple[int, ...] | None = scalars("i")


@dataclass(frozen=True, slots=True)
class DelegateCall:
    """Calls delegate `delegate_index` with the values `args`, inputs first."""

    delegate_index: int = scalar("i")
    args: tuple[int, ...] | None = scalars("i")


@dataclass(frozen=True, slots=True)
class MoveCall:
    """Makes value `move_to` the same handle as `move_from`; moves no tensor bytes."""

    move_from: int = scalar("i")
    move_to: int = scalar("i")


@dataclass(frozen=True, slots=True)
class JumpFalseCall:
    """Jumps when the boolean value is false."""

    cond_value_index: int = scalar("i")
    destination_instruction: int = scalar("i")


@dataclass(frozen=True, slots=True)
class FreeCall:
    """Frees the memory of an unbounded tensor."""

    value_index: int = scalar("i")


InstructionArguments = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a chain."""

    instr_args: InstructionArguments | None = union(
        KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall
    )


@dataclass(frozen=True, slots=True)
class Frame:
    """One source line of a stack trace."""

    filename: str | None = string()
    lineno: int = scalar("i")
    name: str | None = string()
    context: str | None = string()


@dataclass(frozen=True, slots=True)
class FrameList:
    """The stack trace of one instruction."""

    items: tuple[Frame, ...] | None = tables(Frame)


@dataclass(frozen=True, slots=True)
class BackendDelegateDataReference:
    """Where a payload is: location 0 = `Program.backend_delegate_data`, 1 = `segments`."""

    location: int = scalar("b")
    index: int = scalar("I")


@dataclass(frozen=True, slots=True)
class CompileSpec:
    """One compile option of a backend."""

    key: str | None = string()
    value: tuple[int, ...] | None = scalars("B")


@dataclass(frozen=True, slots=True)
class BackendDelegate:
    """A backend's name and payload."""

    id: str | None = string()
    processed: BackendDelegateDataReference | None = table(BackendDelegateDataReference)
    compile_specs: tuple[CompileSpec, ...] | None = tables(CompileSpec)


@dataclass(frozen=True, slots=True)
class Chain:
    """Instructions to run in order; every known program has one chain per method."""

    inputs: tuple[int, ...] | None = scalars("i")
    outputs: tuple[int, ...] | None = scalars("i")
    instructions: tuple[Instruction, ...] | None = tables(Instruction)
    stacktrace: tuple[FrameList, ...] | None = tables(FrameList)


@dataclass(frozen=True, slots=True)
class NonConstBufferDevice:
    """The device of one arena."""

    buffer_idx: int = scalar("i")
    device_type: int = scalar("b")
    device_index: int = scalar("b")


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """One method. `non_const_buffer_sizes[k]` is the size of the arena with memory_id k."""

    name: str | None = string()
    container_meta_type: ContainerMetadata | None = table(ContainerMetadata)
    values: tuple[EValue, ...] | None = tables(EValue)
    inputs: tuple[int, ...] | None = scalars("i")
    outputs: tuple[int, ...] | None = scalars("i")
    chains: tuple[Chain, ...] | None = tables(Chain)
    operators: tuple[Operator, ...] | None = tables(Operator)
    delegates: tuple[BackendDelegate, ...] | None = tables(BackendDelegate)
    non_const_buffer_sizes: tuple[int, ...] | None = scalars("q")
    non_const_buffer_device: tuple[NonConstBufferDevice, ...] | None = tables(NonConstBufferDevice)


@dataclass(frozen=True, slots=True)
class Buffer:
    """Inline constant data (files written before September 2024)."""

    storage: Data | None = blob(alignment=16)


@dataclass(frozen=True, slots=True)
class BackendDelegateInlineData:
    """An inline payload."""

    data: Data | None = blob(alignment=16)


@dataclass(frozen=True, slots=True)
class DataSegment:
    """A byte range after the FlatBuffer; `offset` is relative to the segment base."""

    offset: int = scalar("Q")
    size: int = scalar("Q")


@dataclass(frozen=True, slots=True)
class SubsegmentOffsets:
    """Offsets of pieces inside one segment."""

    segment_index: int = scalar("I")
    offsets: tuple[int, ...] | None = scalars("Q")


@dataclass(frozen=True, slots=True)
class NamedData:
    """A key for the data of one segment."""

    key: str | None = string()
    segment_index: int = scalar("I")


@dataclass(frozen=True, slots=True)
class Program:
    """The root table."""

    version: int = scalar("I")
    execution_plan: tuple[ExecutionPlan, ...] | None = tables(ExecutionPlan)
    constant_buffer: tuple[Buffer, ...] | None = tables(Buffer)
    backend_delegate_data: tuple[BackendDelegateInlineData, ...] | None = tables(
        BackendDelegateInlineData
    )
    segments: tuple[DataSegment, ...] | None = tables(DataSegment)
    constant_segment: SubsegmentOffsets | None = table(SubsegmentOffsets)
    mutable_data_segments: tuple[SubsegmentOffsets, ...] | None = tables(SubsegmentOffsets)
    named_data: tuple[NamedData, ...] | None = tables(NamedData)
