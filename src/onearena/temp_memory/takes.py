"""What the instructions of a method take from the temp allocator while they run.

The runtime empties the temp allocator after every instruction (`runtime/executor/method.cpp`), so
a pool needs the largest of them. Which kernel library is linked is the application's choice:
assumed are ExecuTorch's own (portable, optimized, quantized, cortex_m, prim_ops, and the custom
operators for language models). In ExecuTorch 1.5 these ask `KernelRuntimeContext::allocate_temp`
only in the operators of the tables here; what they take from the heap is no pool and not counted.
Programs of ExecuTorch 1.1 to 1.3 for Cortex-M call kernels that took their scratch there. The
Ethos-U backend takes the scratch that Vela planned, at every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from onearena.cortex_m.cores import Isa
from onearena.cortex_m.needs import temp_needs
from onearena.delegates.ethosu.calls import EthosUDelegate, call_problem
from onearena.delegates.ethosu.payload import ETHOSU_BACKEND
from onearena.errors import AnalysisError
from onearena.pte.schema import DelegateCall, ExecutionPlan, Int, KernelCall, Tensor
from onearena.pte.tensors import is_dynamic
from onearena.timeline.roles import operator_name


@dataclass(frozen=True)
class TempTake:
    """What an instruction takes, or may take.

    Attributes:
        instruction: its position; those of a second chain, which no runtime runs, count from 0.
        name: operator or backend id.
        size_bytes: from an address aligned to 16; None when it cannot be computed.
        note: what the number rests on, or why there is none.
    """

    instruction: int
    name: str
    size_bytes: int | None
    note: str


Rule = Callable[[ExecutionPlan, tuple[int, ...]], tuple[int | None, str]]

_LIBRARIES = frozenset(
    {"aten", "cortex_m", "dim_order_ops", "et_copy", "executorch_prim", "quantized_decomposed"}
)
"""Namespaces whose operators take no temp memory but for those in :data:`_RULES`."""

_THREADS = "depends on the number of threads of the device (`extension/llm/custom_ops`)"
_NO_RULE: Mapping[str, str] = {
    "llama::sdpa_with_kv_cache": _THREADS,
    "llama::custom_sdpa": _THREADS,
    "llama::custom_quantized_sdpa": _THREADS,
    "llama::channelwise_gated_delta_rule": _THREADS,
    "llama::gated_delta_rule": _THREADS,
}
"""Operators, without overload, that are known to take temp memory."""

_NO_TEMP_OPERATORS = frozenset(
    {
        "llama::update_cache",
        "llama::update_cache_with_indices",
        "llama::fast_hadamard_transform",
    }
)
_NO_TEMP_BACKENDS = frozenset({"XnnpackBackend"})
_PAIR_BYTES = 16


def _topk(plan: ExecutionPlan, args: tuple[int, ...]) -> tuple[int | None, str]:
    """A queue of (element, int64 index) for one row (`kernels/portable/cpu/op_topk.cpp`).

    The pair has 16 bytes for every element type of at most 8, on 64 and on 32 bits.
    """
    if len(args) < 3:
        return None, "too few arguments"
    values = plan.values or ()
    tensor, dimension = values[args[0]].val, values[args[2]].val
    if not isinstance(tensor, Tensor) or not isinstance(dimension, Int):
        return None, "its arguments are not those of aten::topk.values"
    sizes = tensor.sizes or (1,)  # a number is a row of one
    if not -len(sizes) <= dimension.int_val < len(sizes):
        return None, f"its tensor has no dimension {dimension.int_val}"
    if min(sizes) < 0:
        return None, "its tensor has a negative size"
    length = sizes[dimension.int_val] if 0 not in sizes else 0
    bound = " at the upper bounds of its shape" if is_dynamic(tensor) else ""
    return _PAIR_BYTES * length, f"{_PAIR_BYTES} bytes for each of {length:,} elements{bound}"


_RULES: Mapping[str, Rule] = {"aten::topk.values": _topk}


Delegates = Mapping[int, EthosUDelegate]
"""The Ethos-U delegates of a method, by number."""


def temp_takes(
    plan: ExecutionPlan, delegates: Delegates, isa: Isa | None = None
) -> tuple[TempTake, ...]:
    """Every instruction that takes temp memory, or may.

    Args:
        delegates: see `delegates.ethosu.calls.read_delegates`.
        isa: what the kernels of a Cortex-M use; None for another machine.

    Raises:
        AnalysisError: an instruction names an operator, a delegate or a value that is not there.
    """
    return (*_takes(plan, delegates), *_cortex_takes(plan, isa))


def _takes(plan: ExecutionPlan, delegates: Delegates) -> Iterable[TempTake]:
    for chain in plan.chains or ():
        for position, instruction in enumerate(chain.instructions or ()):
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                yield from _kernel(plan, position, call)
            elif isinstance(call, DelegateCall):
                yield from _delegate(plan, position, call, delegates)


def _kernel(plan: ExecutionPlan, position: int, call: KernelCall) -> Iterable[TempTake]:
    operators = plan.operators or ()
    _check("operator", call.op_index, len(operators))
    for index in call.args or ():
        _check("value", index, len(plan.values or ()))
    operator = operators[call.op_index]
    name, base = operator_name(operator), operator.name or ""
    rule = _RULES.get(name)
    if rule is not None:
        yield TempTake(position, name, *rule(plan, call.args or ()))
    elif base in _NO_RULE:
        yield TempTake(position, name, None, _NO_RULE[base])
    elif base.partition("::")[0] not in _LIBRARIES and base not in _NO_TEMP_OPERATORS:
        yield TempTake(position, name, None, "an operator of no library that is known here")


def _delegate(
    plan: ExecutionPlan, position: int, call: DelegateCall, delegates: Delegates
) -> Iterable[TempTake]:
    ids = plan.delegates or ()
    _check("delegate", call.delegate_index, len(ids))
    backend = ids[call.delegate_index].id or ""
    if backend == ETHOSU_BACKEND and call.delegate_index in delegates:
        size, note = _ethosu(plan, call, delegates[call.delegate_index])
        yield TempTake(position, backend, size, f"instruction {position}: {note}")
    elif backend not in _NO_TEMP_BACKENDS:
        yield TempTake(position, backend, None, "a delegate whose temp memory is not known here")


def _ethosu(
    plan: ExecutionPlan, call: DelegateCall, delegate: EthosUDelegate
) -> tuple[int | None, str]:
    payload = delegate.payload
    if payload is None:
        return None, delegate.problem
    problem = call_problem(plan, call, payload)
    return (payload.scratch_bytes, "Vela's scratch") if problem is None else (None, problem)


def _cortex_takes(plan: ExecutionPlan, isa: Isa | None) -> Iterable[TempTake]:
    for need in temp_needs(plan, isa or Isa.SCALAR):
        if isa is None:
            note = "depends on the core: give a Cortex-M as target"
            yield TempTake(need.instruction, need.operator, None, note)
        else:
            note = f"instruction {need.instruction}: {need.note}"
            yield TempTake(need.instruction, need.operator, need.size_bytes, note)


def _check(what: str, index: int, count: int) -> None:
    if not 0 <= index < count:
        raise AnalysisError(f"an instruction names {what} {index} of {count}")
