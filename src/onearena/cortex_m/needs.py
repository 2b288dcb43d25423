"""What every call of a cortex_m operator needs on a core: scratch, temp memory, sums of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from onearena.cortex_m import sizes
from onearena.cortex_m.calls import CortexCall, UnknownPropertyError, cortex_calls
from onearena.cortex_m.cores import Isa
from onearena.cortex_m.schemas import NAMESPACE, SCRATCH_NAMES
from onearena.pte.schema import ExecutionPlan

TEMP_ALIGNMENT = 16
"""Of temp memory that kernels take (`kCortexMMveAlignment`, `cortex_m_ops_common.h`)."""


@dataclass(frozen=True)
class MemoryNeed:
    """What a call has and needs under one name.

    Attributes:
        instruction: position of the call.
        operator: its name and overload.
        argument: "scratch", "output_scratch", or "kernel_sum" for the sums of the weights.
        value: the value passed; None where the operator's form has no such argument.
        planned_bytes: what the program gives.
        needed_bytes: what the kernel writes or reads there; None when the file does not tell.
        note: why it is not known.
    """

    instruction: int
    operator: str
    argument: str
    value: int | None
    planned_bytes: int
    needed_bytes: int | None
    note: str = ""

    @property
    def missing_bytes(self) -> int:
        """How much too little the program gives, as far as is known."""
        return max(0, (self.needed_bytes or 0) - self.planned_bytes)


@dataclass(frozen=True)
class TempNeed:
    """What a call takes from the temp allocator while it runs.

    Attributes:
        instruction: position of the call.
        operator: its name and overload.
        size_bytes: from an address aligned to :data:`TEMP_ALIGNMENT`; None when the file does
            not tell.
        note: what the number rests on, or why there is none.
    """

    instruction: int
    operator: str
    size_bytes: int | None
    note: str


Amounts = Mapping[str, int]
"""Bytes by argument name."""

_Rule = Callable[[CortexCall, Isa], Amounts]


def _convolution(call: CortexCall, isa: Isa) -> Amounts:
    return {"scratch": sizes.convolution_bytes(call.convolution(), isa)}


def _depthwise(call: CortexCall, isa: Isa) -> Amounts:
    return {"scratch": sizes.depthwise_bytes(call.convolution(), isa)}


def _transpose_convolution(call: CortexCall, isa: Isa) -> Amounts:
    convolution = call.convolution()
    return {
        "scratch": sizes.transpose_convolution_bytes(convolution, isa),
        "output_scratch": sizes.reversed_weights_bytes(convolution),
    }


def _average_pool(call: CortexCall, isa: Isa) -> Amounts:
    return {"scratch": sizes.average_pool_bytes(call.image("input").channels, isa)}


def _batch_matmul(call: CortexCall, isa: Isa) -> Amounts:
    return {"scratch": sizes.column_sum_bytes(call.shape("rhs_transposed", 3)[1], isa)}


def _linear(call: CortexCall, isa: Isa) -> Amounts:
    return {"kernel_sum": sizes.column_sum_bytes(call.shape("weights", 2)[0], isa)}


_RULES: Mapping[str, _Rule] = {
    NAMESPACE + name: rule
    for name, rule in (
        ("quantized_conv2d", _convolution),
        ("quantized_conv2d_nhwc", _convolution),
        ("quantized_depthwise_conv2d", _depthwise),
        ("quantized_depthwise_conv2d_nhwc", _depthwise),
        ("quantized_transpose_conv2d", _transpose_convolution),
        ("quantized_transpose_conv2d_nhwc", _transpose_convolution),
        ("quantized_avg_pool2d", _average_pool),
        ("quantized_avg_pool2d_nhwc", _average_pool),
        ("quantized_batch_matmul", _batch_matmul),
        ("quantized_linear", _linear),
    )
}

_BARE_POOL = (NAMESPACE + "quantized_avg_pool2d", "scratch")
"""Without a scratch argument (up to ExecuTorch 1.3) its kernel takes no memory at all."""


def memory_needs(plan: ExecutionPlan, isa: Isa) -> tuple[MemoryNeed, ...]:
    """What the calls of a method are given and need, by instruction.

    Calls of older forms that take temp memory are not among them, see :func:`temp_needs`.

    Raises:
        AnalysisError: an instruction names something that is not there.
    """
    return tuple(need for call in cortex_calls(plan) for need in _memory(call, isa))


def _memory(call: CortexCall, isa: Isa) -> Iterable[MemoryNeed]:
    schema = call.schema
    if schema is None:
        note = f"no form of it with {len(call.args)} arguments is known here"
        yield MemoryNeed(call.instruction, call.operator, "scratch", None, 0, None, note)
        return
    rule = _RULES.get(schema.name)
    named = [name for name in schema.arguments if name in (SCRATCH_NAMES | {"kernel_sum"})]
    if rule is None and not named:
        return
    try:
        amounts = {} if rule is None else rule(call, isa)
        note = "" if rule is not None else "how much it needs is not known here"
    except UnknownPropertyError as error:
        amounts, note = {}, str(error)
    for name in named or _bare(schema.name):
        value = call.value(name) if name in named else None
        given, needed = 0, amounts.get(name)
        try:
            if value is not None and call.has(name):
                given = call.size_bytes(name)
        except UnknownPropertyError as error:
            needed, note = None, str(error)
        yield MemoryNeed(call.instruction, call.operator, name, value, given, needed, note)


def _bare(name: str) -> list[str]:
    operator, argument = _BARE_POOL
    return [argument] if name == operator else []


def temp_needs(plan: ExecutionPlan, isa: Isa) -> tuple[TempNeed, ...]:
    """What the calls of a method take from the temp allocator, by instruction.

    Only those of operators without scratch arguments, as ExecuTorch 1.1 to 1.3 exports them: of
    the kernels of these releases the ones that take more are assumed. The allocator is emptied
    after every instruction, so a region is as large as the largest of them.

    Raises:
        AnalysisError: an instruction names something that is not there.
    """
    return tuple(need for call in cortex_calls(plan) for need in _temp(call, isa))


def _temp(call: CortexCall, isa: Isa) -> Iterable[TempNeed]:
    schema = call.schema
    if schema is None or schema.scratch or "kernel_sum" in schema.arguments:
        return
    rule = _RULES.get(schema.name)
    if rule is None or rule is _average_pool:
        return
    try:
        amounts = dict(rule(call, isa))
        if rule is _convolution:
            # ExecuTorch 1.1 and 1.2 ask for what the general kernel needs, whichever runs
            general = sizes.general_convolution_bytes(call.convolution(), isa)
            amounts["scratch"] = max(amounts["scratch"], general)
    except UnknownPropertyError as error:
        yield TempNeed(call.instruction, call.operator, None, str(error))
        return
    total = 0
    for size in amounts.values():
        total += -total % TEMP_ALIGNMENT + size
    note = f"for the {isa.value} kernels of ExecuTorch 1.1 to 1.3"
    yield TempNeed(call.instruction, call.operator, total, note)


def temp_region_bytes(plan: ExecutionPlan, isa: Isa) -> int | None:
    """The largest temp need of a method; None when one is not known.

    Raises:
        AnalysisError: an instruction names something that is not there.
    """
    needs = temp_needs(plan, isa)
    known = [need.size_bytes for need in needs if need.size_bytes is not None]
    return max(known, default=0) if len(known) == len(needs) else None
