"""Small random networks as data: drawn from a seed, runnable, and easy to shrink."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from tests.cases.lowering import Module
from tests.cases.random_operations import OPERATIONS, Params, Shape

MAX_ELEMENTS = 8192


@dataclass(frozen=True)
class Step:
    """One operation: its name in `OPERATIONS`, its operands (by value number), its parameters."""

    name: str
    operands: tuple[int, ...]
    params: Params = ()


@dataclass(frozen=True)
class Graph:
    """A network. Values are numbered: the inputs first, then one per step."""

    seed: int
    inputs: tuple[Shape, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]


class Network(Module):
    """Runs a graph.

    Raises:
        RuntimeError, ValueError, IndexError: an operation does not suit its operands.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.layers = nn.ModuleDict()
        shapes = list(graph.inputs)
        for number, step in enumerate(graph.steps):
            layer, shape = _applied(step, [shapes[k] for k in step.operands], _seed(graph, number))
            if layer is not None:
                self.layers[str(number)] = layer
            shapes.append(shape)
        self.shapes = shapes

    def forward(self, *inputs: Any) -> Any:
        values = list(inputs)
        for number, step in enumerate(self.graph.steps):
            layer = getattr(self.layers, str(number), None)
            operands = [values[k] for k in step.operands]
            values.append(OPERATIONS[step.name].apply(layer, step.params, *operands))
        return tuple(values[k] for k in self.graph.outputs)


def _seed(graph: Graph, number: int) -> int:
    """Of the weights of a step."""
    return graph.seed * 1000 + number


def _applied(step: Step, operands: Sequence[Shape], seed: int) -> tuple[Any, Shape]:
    """The layer that a step needs, and the shape of its result."""
    operation = OPERATIONS[step.name]
    torch.manual_seed(seed)
    layer = operation.make(step.params, operands[0]) if operation.make is not None else None
    result = operation.apply(layer, step.params, *(torch.zeros(shape) for shape in operands))
    return layer, tuple(result.shape)


def draw_graph(seed: int, *, int8: bool = False, dynamic: bool = False, batch: int = 1) -> Graph:
    """A random graph of what can be quantized, or can have dynamic shapes."""
    rng = random.Random(seed)
    channels = rng.choice([2, 4, 8])
    inputs: list[Shape] = [(batch, channels, rng.choice([8, 12, 17]), rng.choice([8, 16]))]
    if rng.random() < 0.4:
        inputs.append(inputs[0] if rng.random() < 0.7 else (batch, channels, 1, inputs[0][3]))
    names = [
        name
        for name, operation in OPERATIONS.items()
        if (operation.int8 or not int8) and not (operation.sized and dynamic)
    ]
    names += [name for name in names if "conv" in name] * 2
    drawn = _Drawing(rng, seed, inputs, names)
    for _ in range(rng.choice([rng.randint(2, 6), rng.randint(6, 13)])):
        drawn.add_step()
    return drawn.finished()


@dataclass
class _Drawing:
    rng: random.Random
    seed: int
    inputs: list[Shape]
    names: list[str]
    steps: list[Step] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shapes = list(self.inputs)

    def add_step(self) -> None:
        """Adds one operation that suits some value; gives up after a few attempts."""
        for _ in range(30):
            name = self.rng.choice(self.names)
            first = self._some_value()
            operation = OPERATIONS[name]
            params = operation.draw(self.rng, self.shapes[first])
            if params is None:
                continue
            operands = (first, *(self._partner(first) for _ in range(operation.partners)))
            shape = self._shape(Step(name, operands, params))
            if shape is not None:
                self.steps.append(Step(name, operands, params))
                self.shapes.append(shape)
                return

    def _some_value(self) -> int:
        """Mostly one of the last values, sometimes an old one."""
        count = len(self.shapes)
        if self.rng.random() < 0.7:
            return self.rng.randrange(max(0, count - 2), count)
        return self.rng.randrange(count)

    def _partner(self, first: int) -> int:
        """A value of the same shape: possibly the same one."""
        same = [k for k, shape in enumerate(self.shapes) if shape == self.shapes[first]]
        return self.rng.choice(same)

    def _shape(self, step: Step) -> Shape | None:
        try:
            with torch.no_grad():
                _, shape = _applied(step, [self.shapes[k] for k in step.operands], 0)
        except (RuntimeError, ValueError, IndexError):
            return None
        return shape if 0 < math.prod(shape) <= MAX_ELEMENTS else None

    def finished(self) -> Graph:
        """The last value and a few others come out; one of them perhaps twice."""
        count = len(self.shapes)
        made = range(len(self.inputs), count)
        others = [self.rng.choice(made) for _ in range(self.rng.choice([0, 0, 1, 2, 3]))]
        outputs = (count - 1, *others)
        return Graph(self.seed, tuple(self.inputs), tuple(self.steps), outputs)
