"""Programs of real networks: their bounds, and the same networks exported for smaller shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from onearena import Options, optimize
from onearena.errors import UsageError
from onearena.program import AnalysedMethod
from onearena.pte.schema import DelegateCall, KernelCall, Tensor
from onearena.shapes.effects import Dimension, live_footprint
from onearena.shapes.live import LiveShapes, live_sizes
from onearena.shapes.live_plan import plan_at
from onearena.shapes.rules.call import Dims
from onearena.timeline.roles import kernel_roles
from tests.cases.lowering import NEEDS_1_5
from tests.shapes.exported import PARTITIONERS, analysed, dynamic_method, program_bytes
from tests.shapes.nets import CASES, by_position

pytestmark = NEEDS_1_5


def declared(method: AnalysedMethod) -> dict[int, Dims]:
    """The sizes that the file gives its tensors."""
    return {
        value: entry.val.sizes or ()
        for value, entry in enumerate(method.plan.values or ())
        if isinstance(entry.val, Tensor)
    }


def differing_inside(method: AnalysedMethod, live: LiveShapes) -> list[str]:
    """Values of payloads whose derived shape is not the declared one; a number that is declared
    as a vector of one counts as equal."""
    found: list[str] = []
    for position, shapes in live.inner.items():
        call = method.steps.instructions[position]
        assert isinstance(call, DelegateCall)
        graph = method.payloads[call.delegate_index].graph
        assert graph is not None
        for identifier, dims in shapes.items():
            wanted = graph.values[identifier].dims
            if dims != wanted and (dims, wanted) != ((), (1,)):
                found.append(f"call {position} value {identifier}: {dims} is declared {wanted}")
    return found


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@pytest.mark.parametrize("name", CASES)
def test_the_bound_gives_the_sizes_in_the_file(name: str, partitioner: str) -> None:
    method = dynamic_method(name, partitioner)
    live = live_sizes(method, {})
    assert not live.unknown
    assert live.dims == declared(method)
    assert not differing_inside(method, live)


def written(method: AnalysedMethod, dims: Mapping[int, Dims]) -> Iterator[tuple[str, Any]]:
    """What each kernel and delegate call writes, in order; numbers and views left out."""
    steps = method.steps
    for position, args in enumerate(steps.instructions):
        step = steps.steps[steps.first_step[position]]
        if isinstance(args, KernelCall):
            outputs = kernel_roles(steps.plan, args).writes
            if outputs:
                yield step.label, [dims[value] for value in outputs]
        elif isinstance(args, DelegateCall):
            graph = method.payloads[args.delegate_index].graph
            assert graph is not None
            named = args.args or ()
            outside = {p: v for p, v in graph.externals.items() if v in graph.producer}
            yield "delegate", sorted(dims[named[position]] for position in outside)


def inside(method: AnalysedMethod, live: LiveShapes) -> list[tuple[str, Any]]:
    """The nodes of the payloads with the shapes that they write, in order."""
    found: list[tuple[str, Any]] = []
    for position, shapes in live.inner.items():
        call = method.steps.instructions[position]
        assert isinstance(call, DelegateCall)
        graph = method.payloads[call.delegate_index].graph
        assert graph is not None
        found += [(node.name, [shapes[v] for v in node.outputs]) for node in graph.nodes]
    return found


# XNNPACK takes more of some programs when their shapes are static; portable kernels do not care
ALIKE = [name for name, case in CASES.items() if case.is_alike]


def test_live_sizes_are_those_of_a_smaller_program() -> None:
    """The same kernels, in an order of their own, write tensors of the same sizes."""
    live = CASES["attention"].live
    dynamic = dynamic_method("attention", "portable")
    static = analysed(program_bytes("attention", "portable", live))
    found = sorted(written(dynamic, live_sizes(dynamic, by_position(live)).dims))
    assert found == sorted(written(static, live_sizes(static, {}).dims))


@pytest.mark.parametrize("name", ALIKE)
def test_live_plan_is_that_of_a_smaller_program(name: str, tmp_path: Path) -> None:
    """The network exported for the live shapes alone: its operators write tensors of the same
    sizes in the same order; planned alike, it needs the same arena and workspace; and so it
    does when both were optimized."""
    case = CASES[name]
    sources = [program_bytes(name, "xnnpack"), program_bytes(name, "xnnpack", case.live)]
    dynamic, static = map(analysed, sources)
    found, wanted = plan_at(dynamic, by_position(case.live)), plan_at(static, {})
    assert not found.live.unknown
    assert list(written(dynamic, found.live.dims)) == list(written(static, wanted.live.dims))
    assert inside(dynamic, found.live) == inside(static, wanted.live)
    assert found.footprint == wanted.footprint
    assert found.optimal
    assert not found.notes
    after = []
    for number, source in enumerate(sources):
        path, output = tmp_path / f"{number}.pte", tmp_path / f"{number}_small.pte"
        path.write_bytes(source)
        optimize(path, output, Options(strips=False))  # strips depend on the sizes
        shapes = by_position(case.live)
        after.append(plan_at(analysed(output.read_bytes()), shapes).footprint)
    assert after[0] == after[1]
    assert after[0].total_bytes <= found.footprint.total_bytes


def test_responsible_dimension() -> None:
    """An image: both sides count, in proportion. Two lengths: one is tied to a third input."""
    effects = live_footprint(dynamic_method("unet"), by_position(CASES["unet"].live))
    assert [effect.dimensions for effect in effects.by_dimension] == [
        (Dimension(0, 3, "input 0", 64, 16),),
        (Dimension(0, 2, "input 0", 64, 24),),
    ]
    assert effects.live.total_bytes < effects.bound_exactly.total_bytes <= effects.bound.total_bytes
    assert effects.bound.total_bytes <= effects.in_file.total_bytes
    first, second = (effect.saved_bytes or 0 for effect in effects.by_dimension)
    whole = effects.bound_exactly.total_bytes - effects.live.total_bytes
    assert whole > first > second > 0

    lengths = live_footprint(dynamic_method("lengths"), by_position(CASES["lengths"].live))
    assert [effect.dimensions for effect in lengths.by_dimension] == [
        (Dimension(0, 0, "input 0", 32, 9), Dimension(2, 0, "input 2", 32, 9)),
        (Dimension(1, 0, "input 1", 16, 4),),
    ]
    untouched = live_footprint(dynamic_method("lengths"), {})
    assert untouched.by_dimension == ()
    assert untouched.live == untouched.bound_exactly


def test_shapes_that_the_program_refuses() -> None:
    """Sides that the network cannot halve, an input shorter than the one it is added to."""
    method = dynamic_method("unet")
    with pytest.raises(UsageError, match=r"cannot run with these shapes: instruction \d+ \("):
        live_sizes(method, {0: (1, 3, 64, 33)})
    with pytest.raises(UsageError, match="cannot run with these shapes"):
        live_sizes(dynamic_method("lengths", "portable"), {0: (9, 16)})
