"""The operators of a program, found in torch and in the operator libraries of executorch.

Arguments of an instruction follow the operator's schema; outputs come last among them, and the
returned value is named once more behind (`exir/emit/_emitter.py`).
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onearena.cortex_m.schemas import SCRATCH_NAMES
from onearena.errors import ExecutionError, RuntimeUnavailableError
from onearena.pte.schema import Operator
from onearena.runtime.bindings import import_torch
from onearena.runtime.signature import TORCH_NAMES
from onearena.simulator.tensors import Layout
from onearena.timeline.roles import operator_name

_LIBRARIES = {
    # the passes import the operators' module, which cannot be the first of the two
    "cortex_m": ("executorch.backends.cortex_m.passes", "onearena[cortex-m]"),
    "llama": ("executorch.extension.llm.custom_ops.custom_ops", "onearena[run]"),
    "quantized_decomposed": ("executorch.kernels.quantized", "onearena[run]"),
}
"""By namespace: the module that defines its operators, and what to install for it."""
_QUANTIZED = ("quantized_decomposed", "torch.ao.quantization.fx._decomposed")
"""Where torch has operators of this namespace that need no library of executorch."""
_MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
"""By number, as the exporter writes them (c10::MemoryFormat)."""


@dataclass(frozen=True)
class Argument:
    """A parameter of an operator: `kind` is its type as the schema has it."""

    name: str
    kind: str
    is_out: bool
    is_keyword: bool

    @property
    def is_scratch(self) -> bool:
        """Whether the operator uses it as memory of its own, and leaves nothing in it."""
        return self.kind == "Tensor" and self.name in SCRATCH_NAMES


@dataclass(frozen=True)
class TorchOperator:
    """An operator as torch knows it.

    Attributes:
        label: its name and overload.
        arguments: in order, outputs last.
        functional: the overload that returns what it computes; None when there is none.
        out: the overload that writes into its outputs; None when it has no implementation.
        is_in_place: whether it writes its first argument.
    """

    label: str
    arguments: tuple[Argument, ...]
    functional: Any
    out: Any
    is_in_place: bool

    @property
    def outs(self) -> tuple[int, ...]:
        """Positions of the outputs among the arguments."""
        return tuple(k for k, argument in enumerate(self.arguments) if argument.is_out)

    def call(self, given: Sequence[Any], outs: Sequence[Layout | list[Layout]]) -> list[Any]:
        """Runs it on torch values.

        Args:
            given: the arguments before the outputs.
            outs: the layout of each output, or of each of its items.

        Returns:
            A tensor, or a list of tensors, for each output; of an in-place operator, the new
            content of its first argument.
        """
        values = [_converted(a, v) for a, v in zip(self.arguments, given, strict=False)]
        pairs = list(zip(self.arguments, values, strict=False))
        positional = [value for argument, value in pairs if not argument.is_keyword]
        keywords = {argument.name: value for argument, value in pairs if argument.is_keyword}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.is_in_place:
                return [self.functional(*positional, **keywords)]
            if self.out is not None:
                targets = [_private(layout) for layout in outs]
                names = [self.arguments[k].name for k in self.outs]
                self.out(*positional, **keywords, **dict(zip(names, targets, strict=True)))
                return targets
            found = self.functional(*positional, **keywords)
        several = len(outs) > 1 and isinstance(found, list | tuple)
        return list(found) if several else [found]


def find_operator(operator: Operator, what: str) -> TorchOperator:
    """Finds an operator, loading the library that defines it when there is one.

    Args:
        what: how errors name the instruction.

    Raises:
        RuntimeUnavailableError: what defines the operator is not installed.
        ExecutionError: nothing that is installed defines it.
    """
    label = operator_name(operator)
    namespace, _, name = (operator.name or "").partition("::")
    _load(namespace, what, label)
    overload = operator.overload or "default"
    packet, known = _packet(namespace, name, overload)
    if overload not in known:
        raise ExecutionError(f"{what}: nothing that is installed defines {label}")
    found = getattr(packet, overload)
    arguments = _arguments(found)
    if not any(argument.is_out for argument in arguments):
        in_place = name.endswith("_") and not name.endswith("__")
        return TorchOperator(label, arguments, found, None, in_place)
    functional = _functional(packet, known, arguments)
    # out variants elsewhere are for the exporter only, or kernels that end the process when
    # they do not like an argument
    out = found if namespace == "aten" or functional is None else None
    return TorchOperator(label, arguments, functional, out, False)


def _packet(namespace: str, name: str, overload: str) -> tuple[Any, Sequence[str]]:
    """All overloads of an operator, and their names."""
    operators = getattr(import_torch().ops, namespace)
    packet = getattr(operators, name, None) if name else None
    if packet is not None and overload not in packet.overloads():
        # torch remembers the overloads that there were when it was first asked, and a library
        # may have been loaded since
        packet = getattr(type(operators)(namespace), name)
    return packet, packet.overloads() if packet is not None else ()


def _arguments(overload: Any) -> tuple[Argument, ...]:
    return tuple(
        Argument(a.name, str(a.real_type), bool(a.is_out), bool(a.kwarg_only))
        for a in overload._schema.arguments
    )


def _functional(packet: Any, known: Sequence[str], arguments: tuple[Argument, ...]) -> Any:
    """The overload with the same arguments and no outputs."""
    wanted = [(a.name, a.kind) for a in arguments if not a.is_out]
    for name in known:
        overload = getattr(packet, name)
        if [(a.name, a.kind) for a in _arguments(overload)] == wanted:
            return overload
    return None


def _private(layout: Layout | list[Layout]) -> Any:
    """Memory for an output; of a tensor whose size is not known, torch makes it itself."""
    if isinstance(layout, list):
        return [item.empty() for item in layout]
    if layout.is_dynamic:
        return import_torch().empty(0, dtype=layout.dtype)
    return layout.empty()


def _converted(argument: Argument, value: Any) -> Any:
    """A number that stands for an element type or a memory format, as torch's own."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if "ScalarType" in argument.kind:
        return getattr(import_torch(), TORCH_NAMES.get(value, ""), value)
    if "MemoryFormat" in argument.kind and 0 <= value < len(_MEMORY_FORMATS):
        return getattr(import_torch(), _MEMORY_FORMATS[value])
    return value


def _load(namespace: str, what: str, label: str) -> None:
    if namespace == _QUANTIZED[0]:
        with contextlib.suppress(ImportError), quiet():
            importlib.import_module(_QUANTIZED[1])
    library = _LIBRARIES.get(namespace)
    if library is None:
        return
    module, package = library
    hint = f"install it with: pip install '{package}'"
    try:
        with quiet():
            importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise RuntimeUnavailableError(
            f"{what}: simulating {label} needs {_missing(error)}; {hint}"
        ) from error
    except (ImportError, OSError, RuntimeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise RuntimeUnavailableError(
            f"{what}: the library of {label} cannot be loaded: {reason}; {hint}"
        ) from error


def _missing(error: ModuleNotFoundError) -> str:
    return f"the package {error.name}" if error.name else "a package that is missing"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing of what libraries say while they are loaded: it does not concern the program."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
