"""Runs an operator on PyTorch's meta device: shapes without numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from onearena.shapes.rules.call import Argument, Call, Dims, Sized
from onearena.shapes.rules.table import shape_rule

_SCALAR_TYPES = {torch.float32: 6, torch.int64: 4, torch.bool: 11, torch.int8: 1, torch.uint8: 0}
_SCALAR_TYPES |= {torch.complex64: 9}


@dataclass(frozen=True)
class T:
    """A tensor argument: its shape, and its element type."""

    dims: Dims
    dtype: torch.dtype = torch.float32

    def meta(self) -> torch.Tensor:
        return torch.empty(self.dims, dtype=self.dtype, device="meta")


def t(*dims: int) -> T:
    """A tensor of floats."""
    return T(dims)


def index(*dims: int) -> T:
    """A tensor of indices."""
    return T(dims, torch.int64)


def ours(operator: str, args: Sequence[Any], outputs: int) -> tuple[Dims, ...]:
    """What the rule says; `operator` is written as in a file, e.g. `aten::add.out`."""
    name, overload = operator.split(".")
    rule = shape_rule(name, overload)
    assert rule is not None, operator
    return tuple(rule(Call(tuple(map(_argument, args)), outputs)))


def theirs(operator: str, args: Sequence[Any]) -> tuple[Dims, ...]:
    """What PyTorch does for the same arguments, in the order of the out variant's schema."""
    overload = _overload(operator)
    given = [a for a in overload._schema.arguments if not a.is_out]
    assert len(given) == len(args), f"{overload._schema}"
    values = [_meta(argument) for argument in args]
    positional = [v for v, a in zip(values, given, strict=True) if not a.kwarg_only]
    named = {a.name: v for v, a in zip(values, given, strict=True) if a.kwarg_only}
    functional = _functional(overload)
    names = {argument.name for argument in functional._schema.arguments}
    result = functional(*positional, **{k: v for k, v in named.items() if k in names})
    tensors = [result] if isinstance(result, torch.Tensor) else list(result)
    return tuple(tuple(tensor.shape) for tensor in tensors)


def _overload(operator: str) -> Any:
    namespace, rest = operator.split("::")
    name, overload = rest.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def _functional(overload: Any) -> Any:
    """The overload without outputs that takes the same arguments."""
    wanted = [str(a.type) for a in overload._schema.arguments if not a.is_out]
    candidates = [getattr(overload.overloadpacket, n) for n in overload.overloadpacket.overloads()]
    for candidate in candidates:
        arguments = candidate._schema.arguments
        types = [str(a.type) for a in arguments if a.name not in _OF_FACTORIES]
        plain = [str(a.type) for a in arguments if a.name not in {*_OF_FACTORIES, "dtype"}]
        if not any(a.is_out for a in arguments) and wanted in (types, plain):
            return candidate
    raise AssertionError(f"no functional variant of {overload}: {wanted}")


_OF_FACTORIES = frozenset({"layout", "device", "pin_memory"})
"""Arguments that out variants do not have: the output has them."""


def _argument(argument: Any) -> Argument:
    if isinstance(argument, T):
        return Sized(argument.dims, _SCALAR_TYPES[argument.dtype])
    if isinstance(argument, list | tuple):
        return tuple(_argument(item) for item in argument)  # type: ignore[misc]
    if isinstance(argument, torch.dtype):
        return _SCALAR_TYPES[argument]
    return argument  # type: ignore[no-any-return]


def _meta(argument: Any) -> Any:
    if isinstance(argument, T):
        return argument.meta()
    if isinstance(argument, list | tuple):
        return [_meta(item) for item in argument]
    return argument
