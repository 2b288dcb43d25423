"""What an instruction does with the tensors it names.

ExecuTorch's emitter puts a kernel's arguments in the order of the operator's schema; the
outputs come last and the returned value is named once more behind them: `out, out`, or
`out0, out1, out2, [out0, out1, out2]` (`exir/emit/_emitter.py`, `_emit_operator`). An
operator whose name ends in `_` works in place on its first argument. Primitive operators
(`executorch_prim`, `aten::sym_size`) return nothing. Kernels of the cortex_m backend are also
given scratch, among their inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from onearena.cortex_m.schemas import find_schema
from onearena.pte.schema import (
    ExecutionPlan,
    KernelCall,
    Operator,
    OptionalTensorList,
    Tensor,
    TensorList,
)
from onearena.pte.tensors import tensor_bytes

PRIMITIVE_NAMESPACE = "executorch_prim::"
VIEW_OPERATOR = "executorch_prim::et_view"
COPY_OPERATOR = "aten::copy_"
"""Writes every element of its first argument and reads none of them."""
COPY_INDEX_OPERATOR = "executorch_prim::et_copy_index"
_LISTS = (TensorList, OptionalTensorList)
_SCALAR_OPERATORS = frozenset(
    {"aten::sym_size", "aten::sym_numel", "aten::sym_stride", "aten::_local_scalar_dense"}
)
"""Operators that read tensors and return a number."""


@dataclass(frozen=True)
class Roles:
    """Tensor values by what happens to them; a value may be in both.

    Attributes:
        reads: values whose bytes may be read.
        writes: values whose bytes are (all) written, after everything was read.
        aliases: pairs (base, view): from here on `view` names the bytes of `base`.
        in_place: the values among `writes` that an in-place operator writes.
        maybe_reads: the values among `reads` that may as well only be written.
        understood: False when the convention does not explain the arguments; then every
            value is in `reads` and in `writes`.
        scratch: the values among `writes` that are written while the operands are read, and
            whose bytes mean nothing afterwards.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    aliases: tuple[tuple[int, int], ...] = ()
    in_place: tuple[int, ...] = ()
    maybe_reads: tuple[int, ...] = ()
    understood: bool = True
    scratch: tuple[int, ...] = ()


def tensors_in(plan: ExecutionPlan, index: int) -> tuple[int, ...]:
    """The tensor values that value `index` is, or lists; empty for anything else."""
    value = (plan.values or ())[index].val
    if isinstance(value, Tensor):
        return (index,)
    return list_items(value) if isinstance(value, _LISTS) else ()


def list_items(value: TensorList | OptionalTensorList) -> tuple[int, ...]:
    """The tensors of a list, without those that are None."""
    return tuple([item for item in value.items or () if item >= 0])


def flatten(plan: ExecutionPlan, args: tuple[int, ...]) -> tuple[int, ...]:
    """All tensor values among `args`, lists expanded, each once."""
    values = plan.values or ()
    found: dict[int, None] = {}
    for index in args:
        value = values[index].val
        if isinstance(value, Tensor):
            found[index] = None
        elif isinstance(value, _LISTS):
            found.update(dict.fromkeys(list_items(value)))
    return tuple(found)


def operator_name(operator: Operator) -> str:
    """`name.overload`, as people write it."""
    name = operator.name or ""
    return f"{name}.{operator.overload}" if operator.overload else name


def kernel_roles(plan: ExecutionPlan, call: KernelCall) -> Roles:
    """The roles of a kernel call's tensor arguments."""
    operator = (plan.operators or ())[call.op_index]
    name = operator.name or ""
    args = call.args or ()
    everything = flatten(plan, args)
    if name == VIEW_OPERATOR:
        if len(args) == 3 and tensors_in(plan, args[0]) and tensors_in(plan, args[2]):
            return Roles((args[0],), (), ((args[0], args[2]),))
        return _unknown(everything)
    if name == COPY_INDEX_OPERATOR:
        # copies `args[1]` into row `args[2]` of `args[0]`, which a loop fills row by row
        return Roles(flatten(plan, args[1:2]), flatten(plan, args[0:1]))
    if name.startswith(PRIMITIVE_NAMESPACE) or name in _SCALAR_OPERATORS:
        return Roles(everything, ())
    if not everything:
        return Roles((), ())
    if name.endswith("_") and not name.endswith("__"):
        return _in_place(plan, args, everything, overwrites=name == COPY_OPERATOR)
    schema = find_schema(name, operator.overload, len(args))
    return _out_variant(plan, args, everything, schema.scratch if schema else ())


def _unknown(everything: tuple[int, ...]) -> Roles:
    return Roles(everything, everything, understood=False)


def _in_place(
    plan: ExecutionPlan, args: tuple[int, ...], everything: tuple[int, ...], overwrites: bool
) -> Roles:
    """`op_(self, ...) -> self`: the returned value is `self`, or a handle that becomes `self`."""
    target = tensors_in(plan, args[0])
    returned = tensors_in(plan, args[-1]) if len(args) > 1 else ()
    if len(target) != 1 or len(returned) != 1:
        return _unknown(everything)
    aliases = () if returned == target else ((target[0], returned[0]),)
    not_read = set(returned) - set(target)
    if overwrites:
        not_read |= set(target) - set(flatten(plan, args[1:-1]))
    reads = tuple(value for value in everything if value not in not_read)
    return Roles(reads, target, aliases, in_place=target)


def _out_variant(
    plan: ExecutionPlan,
    args: tuple[int, ...],
    everything: tuple[int, ...],
    scratch_positions: tuple[int, ...],
) -> Roles:
    outs = tensors_in(plan, args[-1])
    if not outs or len(args) < 2:
        return _unknown(everything)
    named = tensors_in(plan, args[-2])
    if named == outs:
        inputs = args[:-2]
    elif len(outs) < len(args) and args[-1 - len(outs) : -1] == outs:
        inputs = args[: -1 - len(outs)]
    else:
        return _unknown(everything)
    if not scratch_positions:
        return Roles(flatten(plan, inputs), outs)
    positions = frozenset(k for k in scratch_positions if _is_scratch(plan, args[k]))
    operands = tuple(value for k, value in enumerate(inputs) if k not in positions)
    roles = Roles(flatten(plan, operands), outs)
    # without a byte there is nothing to write
    scratch = tuple(dict.fromkeys(args[k] for k in sorted(positions) if _has_bytes(plan, args[k])))
    writes = tuple(dict.fromkeys((*scratch, *outs)))
    return replace(roles, writes=writes, scratch=scratch) if scratch else roles


def _is_scratch(plan: ExecutionPlan, index: int) -> bool:
    """Whether an argument that is scratch by name can be some: no constant, no list."""
    tensor = (plan.values or ())[index].val
    return isinstance(tensor, Tensor) and not tensor.data_buffer_idx


def _has_bytes(plan: ExecutionPlan, index: int) -> bool:
    tensor = (plan.values or ())[index].val
    return isinstance(tensor, Tensor) and tensor_bytes(tensor) != 0
