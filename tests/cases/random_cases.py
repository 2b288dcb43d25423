"""What is drawn for one test of a random program: graph, exporter, and switches of `optimize`."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from typing import Any

import torch
from executorch.exir import ExecutorchBackendConfig
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy, naive
from executorch.exir.passes import MemoryPlanningPass

from onearena.exporting.planning import planning_algorithm
from onearena.memory_map import MemoryMap, parse_memory_map
from onearena.options import ARENA_BASES, Options, Pointers
from tests.cases.random_graphs import Graph, Step, draw_graph
from tests.cases.random_operations import Shape
from tests.cases.running import Call, random_calls

RUNS = 3
MOST_IMAGES = 4
DEFAULTS = Options()


@dataclass(frozen=True)
class Variant:
    """How a graph becomes a program.

    Attributes:
        int8: quantized: "static" with PT2E, "dynamic" for linear layers whose inputs are
            quantized in each run, "" not at all.
        per_op: one XNNPACK call per operator.
        any_height: the height may be anything up to the example's.
        any_batch: the number of images, too.
        plans_inputs, plans_outputs: False when the caller brings their memory.
        elides_views: views cost nothing.
        in_place: some kernels overwrite their operand.
        reuses: False for a plan that gives every tensor its own place.
        arenas: over how many arenas the tensors are spread.
    """

    int8: str = ""
    per_op: bool = False
    any_height: bool = False
    any_batch: bool = False
    plans_inputs: bool = True
    plans_outputs: bool = True
    elides_views: bool = True
    in_place: bool = False
    reuses: bool = True
    arenas: int = 1

    @property
    def is_dynamic(self) -> bool:
        """Some sizes are known only at run time."""
        return self.any_height or self.any_batch


@dataclass(frozen=True)
class Case:
    """A program, and how to optimize it. :func:`text_of` gives Python that makes it.

    Attributes:
        number: tells the draws for one program apart; decides which faults are planted and
            which parts are forced into strips.
    """

    graph: Graph
    variant: Variant = Variant()
    options: Options = DEFAULTS
    number: int = 0

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """Example inputs."""
        return tuple(torch.zeros(shape) for shape in self.graph.inputs)

    def rng(self) -> random.Random:
        """For what is random in a test of this case."""
        return random.Random(f"{self.graph.seed} {self.number}")


def draw_case(seed: int, number: int = 0) -> Case:
    """Draw `number` of switches for the program of a seed."""
    rng = random.Random(seed)
    variant = draw_variant(rng)
    batch = MOST_IMAGES if variant.any_batch else rng.choice([1] * 9 + [2])
    graph = draw_graph(seed, int8=bool(variant.int8), dynamic=variant.is_dynamic, batch=batch)
    return Case(graph, variant, draw_options(random.Random(f"{seed} {number}")), number)


def draw_variant(rng: random.Random) -> Variant:
    """Mostly the default, each unusual thing now and then."""
    int8 = rng.choice(["", "", "", "", "", "", "", "static", "static", "dynamic"])
    dynamic = not int8 and rng.random() < 0.25
    return Variant(
        int8=int8,
        per_op=rng.random() < 0.15,
        any_height=dynamic and rng.random() < 0.7,
        any_batch=dynamic and rng.random() < 0.6,
        plans_inputs=rng.random() < 0.85,
        plans_outputs=rng.random() < 0.85,
        elides_views=rng.random() < 0.9,
        in_place=rng.random() < 0.1,
        reuses=rng.random() < 0.9,
        arenas=rng.choice([1, 1, 1, 1, 1, 1, 2, 3]),
    )


NOT_DRAWN = frozenset({"measure_latency"})
"""Switches that let the machine's mood decide, see `tests/latency`."""


def draw_options(rng: random.Random) -> Options:
    """Every switch on or off; the defaults now and then."""
    if rng.random() < 0.15:
        return DEFAULTS
    return Options(
        open_delegates=rng.random() < 0.88,
        reorder=rng.random() < 0.7,
        time_limit_s=rng.choice([0.0, 0.02, 0.1, 0.5]),
        target=rng.choice([None] * 12 + ["cortex-m4", "cortex-m55"]),
        memory_map=_memory_map(rng) if rng.random() < 0.12 else None,
        strips=rng.random() < 0.75,
        simplify=rng.random() < 0.7,
        in_place_kernels=rng.random() < 0.7,
        transient_indirection=_pointers(rng.random()),
        max_latency=rng.choice([1.0, 1.02, 1.02, 1.2, 2.0]),
        join_in_place=rng.random() < 0.7,
        rematerialise=rng.random() < 0.7,
        arena_base=rng.choice([None, None, *ARENA_BASES]),
    )


def _pointers(draw: float) -> Pointers:
    return Pointers.ON if draw < 0.3 else Pointers.OFF if draw < 0.55 else Pointers.AUTO


def _memory_map(rng: random.Random) -> MemoryMap:
    """A small fast memory and a large one, or only that."""
    fast = f"fast:{rng.choice([1, 4, 16, 64])}K:1," if rng.random() < 0.8 else ""
    return parse_memory_map(f"{fast}slow:16M:{2 if fast else 1}")


def configuration(variant: Variant, own_plan: bool = False) -> ExecutorchBackendConfig:
    """The exporter's configuration of a variant.

    Args:
        own_plan: planned by onearena's algorithm, not by ExecuTorch's.
    """

    def plan(
        alignment: int, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: int = 0
    ) -> Any:
        ordered = sorted(specs, key=lambda s: (s.allocated_memory, tuple(s.shape)))
        for number, spec in enumerate(ordered):
            if variant.arenas > 1:
                spec.mem_id = 1 + number % variant.arenas
        algorithm = greedy if variant.reuses else naive
        if own_plan:
            algorithm = planning_algorithm
        return algorithm(alignment, specs, graph_module, graph_signature, extra_padding)

    return ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(
            memory_planning_algo=MemoryPlanningAlgorithmSuite([plan]),
            alloc_graph_input=variant.plans_inputs,
            alloc_graph_output=variant.plans_outputs,
        ),
        remove_view_copy=variant.elides_views,
        run_reinplace_pass=variant.in_place,
    )


def dynamic_shapes(case: Case) -> Any:
    """As `torch.export` takes them. A height of 1 is there to be broadcast."""
    variant, (images, _, most, _) = case.variant, case.graph.inputs[0]
    if not variant.is_dynamic:
        return None
    height = torch.export.Dim("height", min=4, max=most) if variant.any_height else None
    batch = torch.export.Dim("batch", min=1, max=images) if variant.any_batch else None
    return (
        tuple(
            {
                axis: size
                for axis, size in ((0, batch), (2, height if shape[2] > 1 else None))
                if size is not None
            }
            for shape in case.graph.inputs
        ),
    )


def calls_of(case: Case) -> list[Call]:
    """Runs with random inputs, at several sizes where they may differ."""
    variant, (images, _, most, _) = case.variant, case.graph.inputs[0]
    if not variant.is_dynamic:
        return random_calls(*case.inputs, runs=RUNS, seed=case.graph.seed)
    heights = (most, 4, most - 1, 6, most) if variant.any_height else (most,) * 5
    batches = (images, 2, 1, images, images - 1) if variant.any_batch else (images,) * 5
    return [
        call
        for run, sizes in enumerate(zip(batches, heights, strict=True))
        for call in random_calls(
            *(torch.zeros(_with_sizes(shape, *sizes)) for shape in case.graph.inputs),
            runs=1,
            seed=run,
        )
    ]


def _with_sizes(shape: Shape, batch: int, height: int) -> Shape:
    return (batch, shape[1], height if shape[2] > 1 else 1, *shape[3:])


# -- as text ------------------------------------------------------------------------------


def text_of(case: Case) -> str:
    """Python that makes the case: only what differs from the defaults."""
    return _text(case)


def _text(thing: Any) -> str:
    if isinstance(thing, MemoryMap):
        return f"parse_memory_map({str(thing)!r})"
    if isinstance(thing, Pointers):
        return f"Pointers.{thing.name}"
    if isinstance(thing, tuple):
        inside = ", ".join(_text(part) for part in thing)
        return f"({inside},)" if len(thing) == 1 else f"({inside})"
    if not isinstance(thing, Case | Graph | Step | Variant | Options):
        return repr(thing)
    named = [
        (member.name, getattr(thing, member.name))
        for member in fields(thing)
        if getattr(thing, member.name) != member.default
    ]
    if isinstance(thing, Graph | Step):
        return f"{type(thing).__name__}({', '.join(_text(value) for _, value in named)})"
    inside = ", ".join(f"{name}={_text(value)}" for name, value in named)
    return f"{type(thing).__name__}({inside})"


def case_of(text: str) -> Case:
    """The case that :func:`text_of` wrote. It is Python: run only what you trust.

    Raises:
        ValueError: it is no case.
    """
    known = (Case, Graph, Step, Variant, Options, Pointers, parse_memory_map)
    made = eval(text, {"__builtins__": {}}, {thing.__name__: thing for thing in known})
    if not isinstance(made, Case):
        raise ValueError(f"not a case: {text}")
    return made
