"""Random programs, optimized and compared on the stock runtime.

``python -m tests.cases.random_programs --count 300 --seed 1000`` checks many, each kind of
failure is shrunk and printed as a graph that `reproduce` runs. A program runs in a child
process, so that a crash of the runtime is a finding and not the end.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from executorch.exir import ExecutorchBackendConfig
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy, naive
from executorch.exir.passes import MemoryPlanningPass

from onearena.errors import OnearenaError
from onearena.pipeline import verify
from onearena.pte.schema import AllocationDetails, EValue, ExecutionPlan, Tensor
from onearena.pte.tensors import tensor_bytes
from tests.cases.checking import optimize_and_verify
from tests.cases.editing import edited
from tests.cases.forced_strips import force_strips
from tests.cases.lowering import lower, quantized, quiet, xnnpack, xnnpack_per_op
from tests.cases.random_graphs import Graph, Network, Shape, Step, draw_graph
from tests.cases.running import Call, difference, play, random_calls

RUNS = 3
FAULTS = 4
STRIPS = 2


@dataclass(frozen=True)
class Variant:
    """How a graph becomes a program.

    Attributes:
        int8: quantized.
        per_op: one XNNPACK call per operator.
        dynamic: the height may be anything up to the example's.
        plans_inputs, plans_outputs: False when the caller brings their memory.
        elides_views: views cost nothing.
        in_place: some kernels overwrite their operand.
        reuses: False for a plan that gives every tensor its own place.
        arenas: over how many arenas the tensors are spread.
    """

    int8: bool = False
    per_op: bool = False
    dynamic: bool = False
    plans_inputs: bool = True
    plans_outputs: bool = True
    elides_views: bool = True
    in_place: bool = False
    reuses: bool = True
    arenas: int = 1


def draw_variant(rng: random.Random) -> Variant:
    """Mostly the default, each unusual thing now and then."""
    int8 = rng.random() < 0.25
    return Variant(
        int8=int8,
        per_op=rng.random() < 0.15,
        dynamic=not int8 and rng.random() < 0.2,
        plans_inputs=rng.random() < 0.85,
        plans_outputs=rng.random() < 0.85,
        elides_views=rng.random() < 0.9,
        in_place=rng.random() < 0.1,
        reuses=rng.random() < 0.9,
        arenas=rng.choice([1, 1, 1, 1, 1, 1, 2, 3]),
    )


def configuration(variant: Variant) -> ExecutorchBackendConfig:
    """The exporter's configuration of a variant."""

    def plan(
        alignment: int, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: int = 0
    ) -> Any:
        ordered = sorted(specs, key=lambda s: (s.allocated_memory, tuple(s.shape)))
        for number, spec in enumerate(ordered):
            if variant.arenas > 1:
                spec.mem_id = 1 + number % variant.arenas
        algorithm = greedy if variant.reuses else naive
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


@dataclass(frozen=True)
class Case:
    """One program. `str` gives what `reproduce` takes."""

    graph: Graph
    variant: Variant = Variant()

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """Example inputs."""
        return tuple(torch.zeros(shape) for shape in self.graph.inputs)


class UnusableError(Exception):
    """Not a finding: the exporter or the stock runtime does not take the program."""


class FindingError(Exception):
    """Something is wrong with the optimized program, or with what is said about it."""


def draw_case(seed: int) -> Case:
    """The case of a seed."""
    variant = draw_variant(random.Random(seed))
    return Case(draw_graph(seed, int8=variant.int8, dynamic=variant.dynamic), variant)


def build(case: Case) -> bytes:
    """The program of a case.

    Raises:
        UnusableError: the exporter fails.
    """
    variant = case.variant
    try:
        with quiet():
            net: Any = Network(case.graph)
            if variant.int8:
                (call,) = random_calls(*case.inputs, runs=1, seed=case.graph.seed)
                net = quantized(net, call.inputs)
        return lower(
            net,
            case.inputs,
            dynamic=_dynamic_shapes(case),
            partitioners=xnnpack_per_op if variant.per_op else xnnpack,
            config=configuration(variant),
        )
    except Exception as error:  # whatever it is, the exporter is not what we test
        raise UnusableError(f"export: {type(error).__name__}") from error


def _dynamic_shapes(case: Case) -> Any:
    """Heights of inputs; a height of 1 is there to be broadcast."""
    if not case.variant.dynamic:
        return None
    height = torch.export.Dim("height", min=4, max=case.graph.inputs[0][2])
    return (tuple({2: height} if shape[2] > 1 else {} for shape in case.graph.inputs),)


def calls_of(case: Case) -> list[Call]:
    """Runs with random inputs, at several sizes where they may differ."""
    if not case.variant.dynamic:
        return random_calls(*case.inputs, runs=RUNS, seed=case.graph.seed)
    most = case.graph.inputs[0][2]
    return [
        call
        for height in (most, 4, most - 1, 6, most)
        for call in random_calls(
            *(torch.zeros(_with_height(s, height)) for s in case.graph.inputs), runs=1, seed=height
        )
    ]


def _with_height(shape: Shape, height: int) -> Shape:
    return (*shape[:2], height if shape[2] > 1 else 1, *shape[3:])


def examine(case: Case, directory: Path, note: Callable[[str], None] = lambda _: None) -> None:
    """Exports, optimizes and compares a case.

    Args:
        note: told what comes next.

    Raises:
        UnusableError, FindingError: see there.
    """
    note("export")
    stock, small = directory / "stock.pte", directory / "small.pte"
    stock.write_bytes(build(case))
    calls = calls_of(case)
    note("stock")
    try:
        expected = play(stock, calls)
    except OnearenaError as error:
        raise UnusableError("the stock runtime refuses it") from error
    note("optimize")
    try:
        report = optimize_and_verify(stock, small)
    except (OnearenaError, AssertionError) as error:
        kinds = {violation.kind for violation in verify(stock).violations}
        raise FindingError(f"optimize: {error} {kinds or ''}") from error
    note("optimized")
    try:
        found = play(small, calls)
    except OnearenaError as error:
        raise FindingError(f"cannot run: {error}") from error
    problem = difference(expected, found)
    if problem is not None:
        raise FindingError(f"differs: {problem}")
    if report.changed:
        note("faults")
        _plant_faults(case, small, lambda faulty: difference(expected, play(faulty, calls)))
    note("strips")
    _run_in_strips(case, stock, lambda path: difference(expected, play(path, calls)))


def _run_in_strips(case: Case, stock: Path, differs: Callable[[Path], str | None]) -> None:
    """Runs random parts in strips: bits must not change, whether it pays or not."""
    rng = random.Random(case.graph.seed)
    for number in range(STRIPS):
        target = stock.with_name(f"strips-{number}.pte")
        try:
            pieces = force_strips(stock, target, rng)
            if not pieces:
                continue
            violations = verify(target).violations
            problem = differs(target)
        except OnearenaError as error:
            raise FindingError(f"strips: {error}") from error
        if violations:
            raise FindingError(f"strips: {violations[0]}")
        if problem is not None:
            raise FindingError(f"strips differ: {problem}")
        _plant_faults(case, target, differs)


def _plant_faults(case: Case, small: Path, differs: Callable[[Path], str | None]) -> None:
    """Moves a tensor somewhere else: `verify` must object, or it must not matter."""
    rng = random.Random(case.graph.seed)
    for _ in range(FAULTS):
        faulty = edited(small, small.with_name("faulty.pte"), lambda plan: _misplaced(plan, rng))
        try:
            is_safe = verify(faulty).safe
        except OnearenaError:
            is_safe = False
        if is_safe and (problem := differs(faulty)) is not None:
            shutil.copy(faulty, small.with_name(f"missed-{case.graph.seed}.pte"))
            raise FindingError(f"verify misses a fault: {problem}")


def _misplaced(plan: ExecutionPlan, rng: random.Random) -> ExecutionPlan:
    """The method with one tensor at another place in its arena."""
    entries = list(plan.values or ())
    sizes = plan.non_const_buffer_sizes or ()
    planned = [k for k, e in enumerate(entries) if isinstance(e.val, Tensor) and _size(e.val)]
    value = rng.choice(planned)
    tensor = entries[value].val
    assert isinstance(tensor, Tensor)
    assert tensor.allocation_info is not None
    arena = tensor.allocation_info.memory_id
    room = max(0, sizes[arena] - _size(tensor)) // 16
    place = AllocationDetails.at(arena, rng.randint(0, room) * 16)
    entries[value] = EValue(replace(tensor, allocation_info=place))
    return replace(plan, values=tuple(entries))


def _size(tensor: Tensor) -> int:
    """Bytes of a planned tensor; 0 for others."""
    return (tensor_bytes(tensor) or 0) if tensor.allocation_info is not None else 0


def reproduce(case: Case) -> None:
    """Examines a case that was printed."""
    with tempfile.TemporaryDirectory() as name:
        examine(case, Path(name))


# -- shrinking ----------------------------------------------------------------------------


def shrunk(case: Case, fails: Callable[[Case], bool], limit: int = 60) -> Case:
    """A smaller case that still fails."""
    tried = 0
    again = True
    while again:
        again = False
        for candidate in _smaller(case):
            if tried >= limit:
                return case
            if not _is_sound(candidate):
                continue
            tried += 1
            if fails(candidate):
                case, again = candidate, True
                break
    return case


def _is_sound(case: Case) -> bool:
    try:
        with torch.no_grad():
            Network(case.graph)(*case.inputs)
    except (RuntimeError, ValueError, IndexError):
        return False
    return True


def _smaller(case: Case) -> Iterator[Case]:
    graph = case.graph
    plain = Variant()
    for member in fields(Variant):
        usual = replace(case.variant, **{member.name: getattr(plain, member.name)})
        if usual != case.variant:
            yield replace(case, variant=usual)
    for last in range(len(graph.inputs), len(graph.inputs) + len(graph.steps)):
        if len(graph.outputs) > 1 or graph.outputs != (last,):
            yield replace(case, graph=_pruned(replace(graph, outputs=(last,))))
    for position in range(len(graph.outputs)):
        if len(graph.outputs) > 1:
            kept = graph.outputs[:position] + graph.outputs[position + 1 :]
            yield replace(case, graph=_pruned(replace(graph, outputs=kept)))
    for number in reversed(range(len(graph.steps))):
        yield replace(case, graph=_without(graph, number))


def _without(graph: Graph, number: int) -> Graph:
    """The graph without a step: its first operand takes its place."""
    value = len(graph.inputs) + number
    instead = graph.steps[number].operands[0]

    def moved(k: int) -> int:
        k = instead if k == value else k
        return k - 1 if k > value else k

    steps = [s for k, s in enumerate(graph.steps) if k != number]
    made = tuple(replace(s, operands=tuple(moved(k) for k in s.operands)) for s in steps)
    return _pruned(replace(graph, steps=made, outputs=tuple(moved(k) for k in graph.outputs)))


def _pruned(graph: Graph) -> Graph:
    """The graph without steps that no output depends on."""
    needed = set(graph.outputs)
    first = len(graph.inputs)
    for number in reversed(range(len(graph.steps))):
        if first + number in needed:
            needed.update(graph.steps[number].operands)
    kept = [k for k in range(len(graph.steps)) if first + k in needed]
    place = {first + k: first + position for position, k in enumerate(kept)}
    place.update({k: k for k in range(first)})
    steps = (graph.steps[k] for k in kept)
    return replace(
        graph,
        steps=tuple(replace(s, operands=tuple(place[k] for k in s.operands)) for s in steps),
        outputs=tuple(place[k] for k in graph.outputs),
    )


# -- many ---------------------------------------------------------------------------------


def _child(first: int, count: int, directory: Path) -> None:
    """Examines seeds one after another; every verdict is a line of `verdicts.jsonl`."""

    def write(**entry: Any) -> None:
        with open(directory / "verdicts.jsonl", "a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")

    for seed in range(first, first + count):
        case = draw_case(seed)

        def note(doing: str, seed: int = seed) -> None:
            write(seed=seed, doing=doing)

        verdict, what = _verdict(case, directory, note)
        write(seed=seed, verdict=verdict, what=what)
        if verdict == "finding":
            small = shrunk(case, lambda c: _verdict(c, directory)[0] == "finding")
            write(seed=seed, shrunk=repr(small), what=_verdict(small, directory)[1])


def _verdict(
    case: Case, directory: Path, note: Callable[[str], None] = lambda _: None
) -> tuple[str, str]:
    try:
        examine(case, directory, note)
    except UnusableError as error:
        return "unusable", str(error)
    except FindingError as error:
        return "finding", str(error)
    return "fine", ""


def run_many(seed: int, count: int, tell: Callable[[str], None], batch: int = 40) -> Counter[str]:
    """Examines `count` seeds in children; a crash of one is a verdict like the others."""
    verdicts: Counter[str] = Counter()
    position, end = seed, seed + count
    while position < end:
        amount = min(batch, end - position)
        with tempfile.TemporaryDirectory(prefix="onearena-random-") as name:
            code = _run_child(position, amount, name)
            entries = _entries(Path(name))
        for entry in entries:
            _tally(entry, verdicts, tell)
        position += amount
        if code != 0:
            nothing: dict[str, Any] = {"seed": position - amount, "doing": "start"}
            last = entries[-1] if entries else nothing
            position = last["seed"] + 1
            if "doing" in last:
                before = last["doing"] in ("start", "export", "stock")
                kind = "unusable" if before else "finding"
                verdicts[kind] += 1
                tell(f"seed {last['seed']}: {kind}: child died ({code}) at {last['doing']}")
    return verdicts


def _run_child(seed: int, count: int, directory: str) -> int:
    command = [sys.executable, "-m", "tests.cases.random_programs", "--child", directory]
    finished = subprocess.run(
        [*command, "--seed", str(seed), "--count", str(count)],
        check=False,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    return finished.returncode


def _entries(directory: Path) -> list[dict[str, Any]]:
    path = directory / "verdicts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def _tally(entry: dict[str, Any], verdicts: Counter[str], tell: Callable[[str], None]) -> None:
    if "verdict" in entry:
        verdicts[entry["verdict"]] += 1
        if entry["verdict"] != "fine":
            tell(f"seed {entry['seed']}: {entry['verdict']}: {entry['what']}")
    elif "shrunk" in entry:
        tell(f"seed {entry['seed']}: shrunk to {entry['shrunk']}: {entry['what']}")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        _child(options.seed, options.count, options.child)
        return 0
    start = time.monotonic()
    verdicts = run_many(options.seed, options.count, lambda line: print(line, flush=True))
    print(f"{dict(verdicts)} in {time.monotonic() - start:.0f} s")
    return 1 if verdicts["finding"] else 0


__all__ = ["Case", "Graph", "Step", "Variant", "draw_case", "examine", "reproduce", "run_many"]

if __name__ == "__main__":
    sys.exit(main())
