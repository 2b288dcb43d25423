"""What a program computes, on the host: the simulator with ExecuTorch's reference kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onearena.pte.container import PteFile
from onearena.runtime.bindings import import_torch
from onearena.simulator.names import memory_names
from onearena.simulator.scratch import unknown_need
from onearena.simulator.simulate import build_machine
from onearena.simulator.tensors import layout_of
from onearena.timeline.steps import MethodSteps
from tests.qemu.decode import method_of
from tests.qemu.machine import Result
from tests.qemu.tables import Case, Method
from tests.verify.planting import first_plan, steps_in, with_plan

_HASH_START, _HASH_FACTOR, _WORD = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


@dataclass(frozen=True)
class Expected:
    """What a right run does, whatever the plan; see `machine.Result`."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    outputs: tuple[bytes, ...]

    def is_met_by(self, result: Result) -> bool:
        """Whether a run did all of this, in whatever order, and nothing beside it."""
        calls = sorted(zip(result.reads, result.writes, strict=True))
        return (
            result.refused is None
            and result.outputs == self.outputs
            and calls == sorted(zip(self.reads, self.writes, strict=True))
            and not result.damaged
        )


@dataclass(frozen=True)
class Reference:
    """A program on some inputs.

    Attributes:
        inputs: their bytes.
        expected: what every right plan must do.
    """

    inputs: tuple[bytes, ...]
    expected: Expected

    def case(self, name: str, file: PteFile) -> Case:
        """The same program, with the same inputs and the plan of `file`."""
        return Case(name, method_of(file), self.inputs)


def reference(file: PteFile, seed: int = 0) -> Reference:
    """Runs a program, whose plan must be right, on random inputs."""
    method, steps = method_of(file), steps_in(file)
    inputs = _random_inputs(steps, method.inputs, seed)
    contents = _contents(file, method, inputs)
    given = tuple(
        _raw(steps, value, tensor) for value, tensor in zip(method.inputs, inputs, strict=True)
    )
    reads = tuple(_hash(*(contents[v] for v in call.operands)) for call in method.calls)
    writes = tuple(_hash(contents[call.output]) for call in method.calls)
    outputs = tuple(contents[value] for value in method.outputs)
    return Reference(given, Expected(reads, writes, outputs))


def _random_inputs(steps: MethodSteps, values: Sequence[int], seed: int) -> list[Any]:
    """Any int8, and numbers from -1 to 1, which the networks were calibrated with."""
    torch = import_torch()
    generator = torch.Generator().manual_seed(seed)
    inputs = []
    for value in values:
        layout = layout_of(steps.tensor(value), f"value {value}")
        if layout.dtype == torch.int8:
            inputs.append(torch.randint(-128, 128, layout.sizes, generator=generator).char())
        else:
            assert layout.dtype == torch.float32
            inputs.append(torch.rand(layout.sizes, generator=generator) * 2 - 1)
    return inputs


def _contents(file: PteFile, method: Method, inputs: list[Any]) -> Mapping[int, bytes]:
    """What every tensor held when it was computed: the simulator keeps a copy of each."""
    touched = {value for call in method.calls for value in (*call.operands, call.output)}
    values = tuple(sorted(touched | set(method.outputs)))
    watched = with_plan(file, replace(first_plan(file), outputs=values))
    steps = steps_in(watched)
    machine, _ = build_machine(watched, steps, memory_names(steps, None), 0, unknown_need)
    tensors, _ = machine.run(inputs)
    return {
        value: _raw(steps, value, tensor) for value, tensor in zip(values, tensors, strict=True)
    }


def _raw(steps: MethodSteps, value: int, tensor: Any) -> bytes:
    layout = layout_of(steps.tensor(value), f"value {value}")
    return bytes(layout.raw(tensor).numpy().tobytes())


def _hash(*pieces: bytes) -> int:
    """FNV-1a of 32 bits, as in `firmware/runner.c`."""
    found = _HASH_START
    for piece in pieces:
        for byte in piece:
            found = (found ^ byte) * _HASH_FACTOR & _WORD
    return found
