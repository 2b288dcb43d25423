"""Following inputs through hand-made methods: no runtime needed."""

from __future__ import annotations

from collections.abc import Sequence

from onearena.flatbuf.data import ByteSource
from onearena.pte import PteFile
from onearena.pte.schema import (
    AllocationDetails,
    Chain,
    EValue,
    ExecutionPlan,
    Instruction,
    Int,
    KernelCall,
    KernelType,
    Operator,
    OptionalTensorList,
    Program,
    Tensor,
)
from onearena.runtime.flow import MethodFlow, method_flow
from onearena.runtime.ranges import IntRange, input_ranges

LONG, FLOAT, BYTE = 4, 6, 0


def _planned(scalar_type: int, offset: int, *sizes: int) -> Tensor:
    return Tensor(
        scalar_type=scalar_type, sizes=sizes, allocation_info=AllocationDetails.at(1, offset)
    )


def _constant(*sizes: int) -> Tensor:
    return Tensor(scalar_type=FLOAT, sizes=sizes, data_buffer_idx=1)


def _method(
    values: list[KernelType], calls: Sequence[tuple[str, tuple[int, ...]]], inputs: tuple[int, ...]
) -> ExecutionPlan:
    instructions = tuple(
        Instruction(KernelCall(index, args)) for index, (_, args) in enumerate(calls)
    )
    return ExecutionPlan(
        name="forward",
        values=tuple(EValue(value) for value in values),
        inputs=inputs,
        outputs=(),
        chains=(Chain(instructions=instructions),),
        operators=tuple(Operator(name, "out") for name, _ in calls),
    )


def _flow(plan: ExecutionPlan) -> MethodFlow:
    return method_flow(PteFile(ByteSource.from_bytes(b""), Program(), ()), plan)


def test_through_a_view_without_instruction() -> None:
    # value 1 is read, nobody wrote it, its bytes are those of input 0
    values: list[KernelType] = [
        _planned(LONG, 0, 2, 3),
        _planned(LONG, 0, 6),
        _constant(9, 4),
        _planned(FLOAT, 64, 6, 4),
    ]
    plan = _method(values, [("aten::embedding", (2, 1, 3, 3))], (0,))
    flow = _flow(plan)
    assert flow.state == frozenset()
    assert input_ranges(plan, flow) == {0: IntRange(0, 9)}


def test_a_later_writer_of_the_same_bytes_hides_the_input() -> None:
    values: list[KernelType] = [
        _planned(LONG, 0, 6),
        _planned(LONG, 0, 6),
        _planned(LONG, 0, 6),
        _constant(9, 4),
        _planned(FLOAT, 64, 6, 4),
    ]
    calls = [("aten::abs", (0, 1, 1)), ("aten::embedding", (3, 2, 4, 4))]
    plan = _method(values, calls, (0,))
    assert input_ranges(plan, _flow(plan)) == {}


def test_the_tightest_consumer_counts() -> None:
    values: list[KernelType] = [
        _planned(LONG, 0, 6),
        _constant(9, 4),
        _constant(5, 4),
        _planned(FLOAT, 64, 6, 4),
        _planned(FLOAT, 256, 6, 4),
    ]
    calls = [("aten::embedding", (1, 0, 3, 3)), ("aten::embedding", (2, 0, 4, 4))]
    plan = _method(values, calls, (0,))
    assert input_ranges(plan, _flow(plan)) == {0: IntRange(0, 5)}


def test_optional_index_lists_and_state() -> None:
    # index_put(cache, [None, position], row): the cache was never written in this run
    values: list[KernelType] = [
        _planned(LONG, 0, 1),
        _planned(FLOAT, 64, 1, 16, 8),
        OptionalTensorList((-1, 0)),
        _planned(FLOAT, 1024, 1, 1, 8),
        _planned(FLOAT, 2048, 1, 16, 8),
        _planned(FLOAT, 4096, 1, 1, 8),
    ]
    plan = _method(
        values,
        [("aten::abs", (5, 3, 3)), ("aten::index_put", (1, 2, 3, 4, 4))],
        (0, 5),
    )
    flow = _flow(plan)
    assert flow.state == {1}
    assert input_ranges(plan, flow) == {0: IntRange(0, 16, is_position=True)}


def test_a_start_in_a_cache_leaves_room_for_the_sequence() -> None:
    # _local_scalar_dense turns the tensor into a number; 4 rows go into 16
    values: list[KernelType] = [
        _planned(LONG, 0, 1),
        Int(0),
        _planned(FLOAT, 64, 1, 4, 8),
        _planned(FLOAT, 1024, 1, 16, 8),
    ]
    calls = [
        ("aten::_local_scalar_dense", (0, 1)),
        ("llama::update_cache", (2, 3, 1, 3, 3)),
    ]
    plan = _method(values, calls, (0, 2))
    assert input_ranges(plan, _flow(plan)) == {0: IntRange(0, 13, is_position=True)}


def test_bytes_taken_as_numbers_use_their_whole_range() -> None:
    values: list[KernelType] = [_planned(BYTE, 0, 4), _planned(FLOAT, 64, 4)]
    plan = _method(values, [("aten::_to_copy", (0, 1, 1))], (0,))
    assert input_ranges(plan, _flow(plan)) == {0: IntRange(0, 256)}
