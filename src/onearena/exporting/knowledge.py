"""Collects what an exported program knows and its file does not say; see `onearena.export_record`.

Everything is looked up in the graphs that ExecuTorch emitted (1.5.1: after emission a node's
`debug_handle` is the number of its instruction) and is checked against the emitted instructions:
what does not match is left out.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onearena.export_record import ExportedLine, ExportedMethod, ExportRecord
from onearena.exporting.formulas import formula_of
from onearena.exporting.source_lines import SourceLines
from onearena.pte.container import PteFile
from onearena.pte.schema import (
    DelegateCall,
    ExecutionPlan,
    InstructionArguments,
    KernelCall,
    Tensor,
)
from onearena.size_formula import Formula


def collect(stock: Any, file: PteFile, tool: str, target: str | None) -> ExportRecord:
    """The record of a program.

    Args:
        stock: the `ExecutorchProgramManager` that made it.
        file: the program, as a file.
        tool: who writes the record.
        target: what the program is for.
    """
    lines = SourceLines()
    methods = {
        plan.name or "": _Method(stock.exported_program(plan.name), plan, lines).collect()
        for plan in file.program.execution_plan or ()
        if plan.name in stock.methods
    }
    return ExportRecord(tool, methods, target)


class _Method:
    def __init__(self, exported: Any, plan: ExecutionPlan, lines: SourceLines) -> None:
        self._exported, self._plan, self._source = exported, plan, lines
        chains = plan.chains or ()
        instructions = (chains[0].instructions or ()) if len(chains) == 1 else ()
        self._calls = [instruction.instr_args for instruction in instructions]
        self._lines: list[tuple[ExportedLine, ...]] = [()] * len(self._calls)
        self._handles: dict[int, ExportedLine] = {}
        self._sizes: dict[int, tuple[Formula | None, ...]] = {}

    def collect(self) -> ExportedMethod:
        for owner, node in _call_nodes(self._exported.graph_module):
            number = node.meta.get("debug_handle")
            if isinstance(number, int) and 0 <= number < len(self._calls):
                self._instruction(owner, node, number, self._calls[number])
        for value, node in self._inputs():
            self._size(value, node.meta.get("val"))
        return ExportedMethod(tuple(self._lines), self._handles, self._state(), self._sizes)

    def _instruction(
        self, owner: Any, node: Any, number: int, call: InstructionArguments | None
    ) -> None:
        if isinstance(call, KernelCall):
            if self._operator(call) != _operator(node):
                return
            line = self._source.of(node)
            self._lines[number] = (line,) if line else ()
            self._results(node, (call.args or ())[-1:])
        elif isinstance(call, DelegateCall):
            lowered = _lowered_module(owner, node)
            if lowered is None:
                return
            found = dict(self._inner_lines(lowered))
            self._handles.update(found)
            self._lines[number] = tuple(dict.fromkeys(found.values()))
            self._results(node, call.args or ())

    def _operator(self, call: KernelCall) -> str | None:
        operators = self._plan.operators or ()
        return operators[call.op_index].name if call.op_index < len(operators) else None

    def _inner_lines(self, lowered: Any) -> Iterator[tuple[int, ExportedLine]]:
        for node in lowered.original_module.graph.nodes:
            handle = node.meta.get("debug_handle")
            line = self._source.of(node) if node.op == "call_function" else None
            if isinstance(handle, int) and handle > 0 and line is not None:
                yield handle, line

    def _results(self, node: Any, args: Sequence[int]) -> None:
        """The results of a call are its last arguments."""
        found = node.meta.get("val")
        values = list(found) if isinstance(found, list | tuple) else [found]
        if len(values) <= len(args):
            for value, tensor in zip(args[len(args) - len(values) :], values, strict=True):
                self._size(value, tensor)

    def _size(self, value: int, tensor: Any) -> None:
        shape = getattr(tensor, "shape", None)
        values = self._plan.values or ()
        known = values[value].val if 0 <= value < len(values) else None
        if shape is None or not isinstance(known, Tensor) or len(shape) != len(known.sizes or ()):
            return
        if all(isinstance(size, int) for size in shape):
            return
        self._sizes[value] = tuple(formula_of(size) for size in shape)

    def _inputs(self) -> Iterator[tuple[int, Any]]:
        placeholders = {
            node.name: node for node in self._exported.graph.nodes if node.op == "placeholder"
        }
        names, values = self._exported.graph_signature.user_inputs, self._plan.inputs or ()
        if len(names) == len(values):
            for name, value in zip(names, values, strict=True):
                if name in placeholders:
                    yield value, placeholders[name]

    def _state(self) -> dict[str, tuple[int, ...]]:
        """By name, the values at the place that a mutable buffer was given."""
        signature = self._exported.graph_signature
        mutated = set(signature.buffers_to_mutate.values())
        places = self._places()
        found: dict[str, tuple[int, ...]] = {}
        for node in self._exported.graph.nodes:
            name = signature.inputs_to_buffers.get(node.name) if node.op == "placeholder" else None
            spec = node.meta.get("spec")
            if name in mutated and getattr(spec, "mem_offset", None) is not None:
                values = places.get((spec.mem_id, spec.mem_offset, tuple(spec.shape)), ())
                if values:
                    found[str(name)] = tuple(values)
        return found

    def _places(self) -> Mapping[tuple[int, int, tuple[int, ...]], list[int]]:
        found: dict[tuple[int, int, tuple[int, ...]], list[int]] = {}
        for number, entry in enumerate(self._plan.values or ()):
            tensor = entry.val
            if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
                info = tensor.allocation_info
                key = (info.memory_id, info.offset, tuple(tensor.sizes or ()))
                found.setdefault(key, []).append(number)
        return found


def _call_nodes(module: Any) -> Iterator[tuple[Any, Any]]:
    """All calls of a graph and of its submodules, each with the module that it is in."""
    import torch

    for part in module.modules():
        if isinstance(part, torch.fx.GraphModule):
            for node in part.graph.nodes:
                if node.op == "call_function" and node.target is not operator.getitem:
                    yield part, node


def _operator(node: Any) -> str | None:
    return getattr(getattr(node.target, "_schema", None), "name", None)


def _lowered_module(owner: Any, node: Any) -> Any:
    """The delegate that a node calls; None when it calls something else."""
    from executorch.exir.delegate import executorch_call_delegate

    if node.target is not executorch_call_delegate or not node.args:
        return None
    lowered = getattr(owner, str(node.args[0].target), None)
    return lowered if hasattr(lowered, "original_module") else None
