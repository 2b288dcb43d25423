"""Builders of small programs for tests: values, instructions, segments, whole files.

method = Method()
x, y = method.tensor(2, 3, offset=0), method.tensor(2, 3, offset=64)
method.input(x).output(y)
method.call("aten::relu.out", x, y, y)
data = file_bytes(pte_file(method))
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from onearena.flatbuf.data import ByteSource, read_data
from onearena.pte.container import PteFile, Segment
from onearena.pte.reader import read_pte
from onearena.pte.schema import (
    AllocationDetails,
    BackendDelegate,
    BackendDelegateDataReference,
    Bool,
    Chain,
    CompileSpec,
    ContainerMetadata,
    DelegateCall,
    Double,
    EValue,
    ExecutionPlan,
    FreeCall,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    Operator,
    OptionalTensorList,
    Program,
    String,
    Tensor,
    TensorList,
)
from onearena.pte.writer import layout

BYTE, CHAR, SHORT, INT, LONG, HALF, FLOAT, DOUBLE, BOOL = 0, 1, 2, 3, 4, 5, 6, 7, 11
ITEM_BYTES = {BYTE: 1, CHAR: 1, SHORT: 2, INT: 4, LONG: 8, HALF: 2, FLOAT: 4, DOUBLE: 8, BOOL: 1}
STATIC, DYNAMIC_BOUND, DYNAMIC_UNBOUND = 0, 1, 2
INLINE, SEGMENT = 0, 1


class Method:
    """Collects one method. Adding a value, an operator or a delegate returns its index."""

    def __init__(self, name: str = "forward") -> None:
        self.name = name
        self.values: list[EValue] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.instructions: list[Instruction] = []
        self.operators: list[Operator] = []
        self.delegates: list[BackendDelegate] = []
        self.arenas: dict[int, int] = {0: 0}

    def value(self, val: Any) -> int:
        """Adds a value of any kind."""
        self.values.append(EValue(val))
        return len(self.values) - 1

    def tensor(
        self,
        *sizes: int,
        scalar_type: int = FLOAT,
        offset: int | None = None,
        memory_id: int = 1,
        **fields: Any,
    ) -> int:
        """Adds a tensor; planned when it has an offset. `fields` go to the Tensor table."""
        allocation = None
        if offset is not None:
            allocation = AllocationDetails.at(memory_id, offset)
            end = offset + prod(sizes) * ITEM_BYTES[scalar_type]
            self.arenas[memory_id] = max(self.arenas.get(memory_id, 0), end)
        fields.setdefault("dim_order", tuple(range(len(sizes))))
        return self.value(
            Tensor(scalar_type=scalar_type, sizes=sizes, allocation_info=allocation, **fields)
        )

    def none(self) -> int:
        return self.value(Null())

    def integer(self, number: int) -> int:
        return self.value(Int(number))

    def boolean(self, truth: bool) -> int:
        return self.value(Bool(truth))

    def double(self, number: float) -> int:
        return self.value(Double(number))

    def text(self, text: str) -> int:
        return self.value(String(text))

    def int_list(self, *values: int) -> int:
        """A list of integers: as ExecuTorch stores it, the indices of `Int` values."""
        return self.value(IntList(values))

    def tensor_list(self, *tensors: int) -> int:
        return self.value(TensorList(tensors))

    def optional_list(self, *tensors: int) -> int:
        """A list of tensors, -1 for None."""
        return self.value(OptionalTensorList(tensors))

    def input(self, *values: int) -> Method:
        self.inputs.extend(values)
        return self

    def output(self, *values: int) -> Method:
        self.outputs.extend(values)
        return self

    def operator(self, name: str) -> int:
        """The index of operator `aten::add.out` (name and overload), added when new."""
        base, _, overload = name.partition(".")
        found = Operator(base, overload)
        if found not in self.operators:
            self.operators.append(found)
        return self.operators.index(found)

    def call(self, operator: str, *args: int) -> int:
        """Adds a kernel call and returns its instruction index."""
        return self.instruction(KernelCall(self.operator(operator), args))

    def delegate(
        self, backend: str, index: int, location: int = SEGMENT, specs: Sequence[CompileSpec] = ()
    ) -> int:
        """Adds a delegate whose payload is segment (or inline data) number `index`."""
        reference = BackendDelegateDataReference(location, index)
        self.delegates.append(BackendDelegate(backend, reference, tuple(specs)))
        return len(self.delegates) - 1

    def call_delegate(self, delegate: int, *args: int) -> int:
        return self.instruction(DelegateCall(delegate, args))

    def move(self, source: int, target: int) -> int:
        return self.instruction(MoveCall(source, target))

    def jump_if_false(self, condition: int, destination: int) -> int:
        return self.instruction(JumpFalseCall(condition, destination))

    def free(self, value: int) -> int:
        return self.instruction(FreeCall(value))

    def instruction(self, arguments: Any) -> int:
        self.instructions.append(Instruction(arguments))
        return len(self.instructions) - 1

    def plan(self) -> ExecutionPlan:
        """The finished method; arenas are as large as its tensors need."""
        sizes = tuple(self.arenas.get(index, 0) for index in range(max(self.arenas) + 1))
        chain = Chain(
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            instructions=tuple(self.instructions),
        )
        return ExecutionPlan(
            name=self.name,
            container_meta_type=ContainerMetadata("in", "out"),
            values=tuple(self.values),
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            chains=(chain,),
            operators=tuple(self.operators),
            delegates=tuple(self.delegates),
            non_const_buffer_sizes=sizes,
        )


def pte_file(*methods: Method, segments: Sequence[bytes | Segment] = (), **fields: Any) -> PteFile:
    """A file of these methods; `fields` go to the Program table."""
    plans = tuple(method.plan() for method in methods)
    pieces = tuple(s if isinstance(s, Segment) else Segment((s,)) for s in segments)
    program = Program(execution_plan=plans, **fields)
    return PteFile(ByteSource.from_bytes(b""), program, pieces)


def file_bytes(file: PteFile) -> bytes:
    """The file as it would be written."""
    return read_data(layout(file))


def read_bytes(data: bytes, name: str = "test.pte") -> PteFile:
    """Opens a file that is in memory."""
    return read_pte(ByteSource.from_bytes(data, name))
