"""Exports a random case, optimizes it with its switches, and checks what came out."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onearena.errors import OnearenaError
from onearena.memory_map.misfit import DoesNotFitError
from onearena.pipeline import verify
from onearena.pte.schema import AllocationDetails, EValue, ExecutionPlan, Tensor
from onearena.pte.tensors import tensor_bytes
from tests.cases.checking import optimize_and_verify
from tests.cases.editing import edited
from tests.cases.forced_strips import force_strips
from tests.cases.lowering import lower, quantized, quiet, xnnpack, xnnpack_per_op
from tests.cases.quick_export import kept_facts
from tests.cases.random_cases import Case, Variant, calls_of, configuration, dynamic_shapes
from tests.cases.random_graphs import Graph, Network, Step
from tests.cases.running import Call, Outputs, difference, play, random_calls

FAULTS = 4
"""So many are planted in the optimized program, and again in each with forced strips."""


class UnusableError(Exception):
    """Not a finding: the exporter or the stock runtime does not take the program."""


class FindingError(Exception):
    """Something is wrong with the optimized program, or with what is said about it."""


@dataclass
class Outcome:
    """What was checked in one case.

    Attributes:
        smaller: `optimize` wrote another program than the one that it got.
        fits: it is False when a memory map was too small.
        faults: planted.
        noticed: by `verify`; the others made no difference.
        pieces: that forced strips cut values into.
    """

    smaller: bool = False
    fits: bool = True
    faults: int = 0
    noticed: int = 0
    pieces: int = 0


Note = Callable[[str], None]


def build(case: Case, directory: Path, own_plan: bool = False) -> Path:
    """The program of a case; exported once for all cases of one graph and variant.

    Args:
        own_plan: planned by onearena's algorithm, not by ExecuTorch's.

    Raises:
        UnusableError: the exporter fails.
    """
    name = hashlib.sha256(repr((case.graph, case.variant)).encode()).hexdigest()[:16]
    path = directory / f"{'own' if own_plan else 'stock'}-{name}.pte"
    if not path.exists():
        try:
            with kept_facts():
                content = exported(case.graph, case.variant, own_plan)
        except Exception as error:  # whatever it is, the exporter is not what we test
            raise UnusableError(f"export: {type(error).__name__}") from error
        path.write_bytes(content)
    return path


def exported(graph: Graph, variant: Variant, own_plan: bool = False) -> bytes:
    """The program of a graph; `own_plan` as in `build`."""
    case = Case(graph, variant)
    with quiet():
        net: Any = Network(graph)
    if variant.int8:
        (call,) = random_calls(*case.inputs, runs=1, seed=graph.seed)
        net = quantized(net, call.inputs, dynamic=variant.int8 == "dynamic")
    return lower(
        net,
        case.inputs,
        dynamic=dynamic_shapes(case),
        partitioners=xnnpack_per_op if variant.per_op else xnnpack,
        config=configuration(variant, own_plan),
    )


def warm_up() -> None:
    """Lets children, forked from this process, know what exporting finds out the first time."""
    graph = Graph(0, ((1, 2, 4, 4),), (Step("relu", (0,)),), (1,))
    with kept_facts():
        exported(graph, Variant(int8="static"))


def examine(case: Case, directory: Path, note: Note = lambda _: None) -> Outcome:
    """Exports, optimizes and compares a case.

    Args:
        directory: for files, emptied by the caller.
        note: told what comes next.

    Raises:
        UnusableError, FindingError: see there.
    """
    note("export")
    stock = build(case, directory)
    note("stock")
    calls = calls_of(case)
    try:
        expected = play(stock, calls)
    except OnearenaError as error:
        raise UnusableError("the stock runtime refuses it") from error
    if verify(stock).violations:
        note("own plan")
        stock, expected = _planned_well(case, directory, calls, expected)
    trial = _Trial(case, stock, expected, lambda path: play(path, calls), Outcome())
    note("optimize")
    small = trial.optimized()
    if small is not None:
        note("optimized")
        trial.compare(small, "optimized")
        if trial.outcome.smaller:
            note("faults")
            trial.plant_faults(small)
    note("strips")
    trial.run_in_strips()
    return trial.outcome


def _planned_well(
    case: Case, directory: Path, calls: list[Call], expected: list[Outputs]
) -> tuple[Path, list[Outputs]]:
    """The program without the fault that `verify` sees in ExecuTorch's plan, and what it computes.

    ExecuTorch lets a branch overwrite the result of a branch before it, while that is still read
    (pytorch/executorch#21490); onearena's planning algorithm does not.

    Raises:
        FindingError: the fault changes nothing, so it may be none.
    """
    stock = build(case, directory, own_plan=True)
    found = play(stock, calls)
    if difference(expected, found) is None:
        raise FindingError("verify objects to a program that computes the right thing")
    return stock, found


@dataclass(frozen=True)
class _Trial:
    case: Case
    stock: Path
    expected: list[Outputs]
    play: Callable[[Path], list[Outputs]]
    outcome: Outcome

    def optimized(self) -> Path | None:
        """The optimized program; None when its memory map is too small."""
        small = self.stock.with_name("small.pte")
        try:
            report = optimize_and_verify(self.stock, small, options=self.case.options)
        except DoesNotFitError:
            self.outcome.fits = False
            return None
        except (OnearenaError, AssertionError) as error:
            kinds = {violation.kind for violation in verify(self.stock).violations}
            raise FindingError(f"optimize: {error} {kinds or ''}") from error
        for text in report.notes:
            if text.startswith("without strips"):
                raise FindingError(f"optimize: {text}")
        self.outcome.smaller = report.changed
        return small

    def compare(self, program: Path, what: str) -> None:
        """Plays a program: bits must not change."""
        try:
            problem = difference(self.expected, self.play(program))
        except OnearenaError as error:
            raise FindingError(f"{what} cannot run: {error}") from error
        if problem is not None:
            raise FindingError(f"{what} differs: {problem}")

    def run_in_strips(self) -> None:
        """Runs random parts in strips, whether it pays or not."""
        target = self.stock.with_name("strips.pte")
        options = replace(self.case.options, memory_map=None, target=None)
        try:
            pieces = force_strips(self.stock, target, self.case.rng(), options)
            violations = verify(target).violations if pieces else ()
        except OnearenaError as error:
            raise FindingError(f"strips: {error}") from error
        if not pieces:
            return
        if violations:
            raise FindingError(f"strips: {violations[0]}")
        self.compare(target, "strips")
        self.outcome.pieces += pieces
        self.plant_faults(target)

    def plant_faults(self, program: Path) -> None:
        """Moves a tensor somewhere else: `verify` must object, or it must not matter."""
        rng = self.case.rng()
        for _ in range(FAULTS):
            faulty = program.with_name("faulty.pte")
            edited(program, faulty, lambda plan: _misplaced(plan, rng))
            self.outcome.faults += 1
            try:
                is_safe = verify(faulty).safe
            except OnearenaError:
                is_safe = False
            if not is_safe:
                self.outcome.noticed += 1
            elif (problem := difference(self.expected, self.play(faulty))) is not None:
                shutil.copy(faulty, program.with_name(f"missed-{self.case.graph.seed}.pte"))
                raise FindingError(f"verify misses a fault: {problem}")


def _misplaced(plan: ExecutionPlan, rng: random.Random) -> ExecutionPlan:
    """The method with one tensor at another place in its arena."""
    entries = list(plan.values or ())
    sizes = plan.non_const_buffer_sizes or ()
    planned = [k for k, e in enumerate(entries) if isinstance(e.val, Tensor) and _size(e.val)]
    if not planned:
        return plan
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
