"""Methods as scheduling problems: what the model says of an order is what its timeline says."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.strips import Region
from onearena.drafts import Draft, Drafter
from onearena.method_report import inspect_method
from onearena.opening import OpenedMethod
from onearena.options import Options
from onearena.payloads import called_delegates
from onearena.planners import plan
from onearena.problem import Problem
from onearena.program import analyse_method
from onearena.pte.container import PteFile
from onearena.schedule import in_order, model_opened
from onearena.scheduling.core import ScheduleProblem, find_schedule, peak_bytes
from onearena.timeline.build import build_timeline
from onearena.timeline.steps import method_steps
from tests.delegates.nets import Net
from tests.pte.build import Method
from tests.timeline.build import program
from tests.verify.programs import Space, random_programs

WIDE, NARROW = (1, 8, 8, 64), (1, 8, 8, 2)
WIDE_BYTES, NARROW_BYTES = 8 * 8 * 64 * 4, 8 * 8 * 2 * 4
RELU = "aten::relu.out"


def drafter(file: PteFile, options: Options = Options()) -> Drafter:  # noqa: B008
    plans = file.program.execution_plan or ()
    analysed = {k: analyse_method(file, plan) for k, plan in enumerate(plans)}
    return Drafter(file, analysed, 0, options)


def any_order(problem: ScheduleProblem, random: Random) -> list[int]:
    """An order that keeps dependences and blocks in one piece."""
    count = len(problem.operations)
    before: list[set[int]] = [set() for _ in range(count)]
    for first, second in problem.precedes:
        before[second].add(first)
    members: dict[int | None, set[int]] = {}
    for k, operation in enumerate(problem.operations):
        members.setdefault(operation.block, set()).add(k)
    for block, own in members.items():
        if block is not None:
            outside = set[int]().union(*(before[k] for k in own)) - own
            for k in own:
                before[k] |= outside
    order: list[int] = []
    while len(order) < count:
        done = set(order)
        block = problem.operations[order[-1]].block if order else None
        is_open = block is not None and not members[block] <= done
        free = [k for k in range(count) if k not in done and before[k] <= done]
        order.append(random.choice([k for k in free if not is_open or k in members[block]]))
    return order


def planned_bytes(problem: Problem) -> int:
    """The bytes of its best plan."""
    return plan(problem).total_bytes


def bytes_in_order(draft: Draft, opened: OpenedMethod) -> int:
    """The bytes of the best plan of a method in another order."""
    steps = method_steps(opened.plan, opened.calls, "test")
    timeline = build_timeline(steps, opened.added, storage=draft.timeline.storage)
    return planned_bytes(timeline.problem)


@given(random_programs(), st.integers(0, 1 << 30))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_plan_is_below_the_model(file: PteFile, seed: int) -> None:
    """In the order that was chosen, in that of the file, and in any other."""
    found = drafter(file).opened({})
    assert all((d.order_bound_bytes or 0) <= planned_bytes(d.timeline.problem) for d in found)
    model = model_opened(found[0].opened, found[0].timeline, True)
    delegates = list(called_delegates(found[0].opened.plan).values())
    if len(delegates) > len(set(delegates)):
        return  # the calls of one payload cannot have an order each
    random = Random(seed)
    for _ in range(3):
        order = any_order(model.problem, random)
        moved = in_order(found[0].opened, model, order, "test")
        opened = moved.opened if moved else found[0].opened
        assert peak_bytes(model.problem, order) <= bytes_in_order(found[0], opened)


def test_operands_that_other_values_name_parts_of() -> None:
    """What is written over such an operand takes its place byte by byte."""
    method = Method()
    space = Space(method)
    source = space.tensor(16)
    method.input(source)
    whole = space.kernel("test::use.out", source, dims=(1024,))
    part = space.view(whole, 512, at=256)
    kept = space.kernel(RELU, part, dims=(512,))
    method.output(space.kernel(RELU, whole, dims=(1024,)))
    method.output(kept)
    (draft, *_) = drafter(program(method)).opened({})
    assert draft.order_bound_bytes == planned_bytes(draft.timeline.problem) == 4096 + 2048


def test_outputs_over_two_views_of_one_value() -> None:
    """Which of the bytes they share the output takes is not clear: they do not count twice, and
    the output does not count as if it were there all the time."""
    method = Method()
    space = Space(method)
    given_ = space.tensor(2048)
    method.input(given_)
    large = space.kernel("test::use.out", given_, dims=(4096,))
    source = space.kernel("test::use.out", large, dims=(112,))
    views = space.view(source, 96), space.view(source, 96, at=64)
    output = space.tensor(96)
    method.call("aten::add.out", *views, method.integer(1), output, output)
    method.output(output)
    for draft in drafter(program(method)).opened({}):
        assert draft.order_bound_bytes == planned_bytes(draft.timeline.problem) == 6144 * 4


def two_branches(method: Method) -> Net:
    """A call whose nodes run layer by layer: two branches, wide inside, narrow at their ends."""
    net = Net()
    source = net.input(*NARROW)
    wide = [net.inner(*WIDE), net.inner(*WIDE)]
    mixed = [net.inner(*WIDE), net.inner(*WIDE)]
    ends = [net.inner(*NARROW), net.inner(*NARROW)]
    for layer in ((source, source, *wide), (*wide, *mixed), (*mixed, *ends)):
        net.conv(layer[0], layer[2])
        net.conv(layer[1], layer[3])
    net.binary(x.XNNAdd, ends[0], ends[1], net.output(*NARROW))
    Space(method).only_call(*NARROW)
    return net


def test_branches_of_a_call_run_one_after_another() -> None:
    method = Method()
    plain, better = drafter(program(method, two_branches(method))).opened({})
    assert plain.bound_bytes == 3 * WIDE_BYTES
    # the operands of a convolution and its result, and the other branch's input or result
    assert better.bound_bytes == better.order_bound_bytes == 2 * WIDE_BYTES + NARROW_BYTES
    assert [node.outputs[0] for node in better.opened.payloads[0].graph.nodes][:3] != [
        node.outputs[0] for node in plain.opened.payloads[0].graph.nodes
    ][:3]


def test_state_keeps_what_touches_it_in_order() -> None:
    method = Method()
    space = Space(method)
    given_ = space.tensor(64)
    cache = space.tensor(64, data_buffer_idx=1)
    method.input(given_)
    large = space.kernel(RELU, cache, dims=(64,))
    method.call("aten::add_.Tensor", cache, given_, method.integer(1), cache)
    method.output(space.kernel("aten::add.out", large, cache, dims=(64,)))
    file = program(method)
    analysed = analyse_method(file, (file.program.execution_plan or ())[0])
    report = inspect_method(analysed, None)
    assert report.order_bound_bytes == report.lower_bound_bytes == 3 * 256
    assert [d.order for d in drafter(file).opened({})] == [()]


def test_strips_keep_their_order() -> None:
    net = Net()
    image = (1, 16, 8, 4)
    source, inside, target = net.input(*image), net.inner(*image), net.output(*image)
    net.conv(source, inside)
    net.conv(inside, target)
    method = Method()
    Space(method).only_call(*image)
    draft = drafter(program(method, net)).opened({0: (Region(frozenset({inside}), 4),)})[0]
    model = model_opened(draft.opened, draft.timeline, True)
    assert [unit.in_strips for unit in model.units] == [True] * 8
    assert find_schedule(model.problem).order == tuple(range(8))
    # rows are alive on their own
    assert draft.order_bound_bytes is not None
    assert draft.order_bound_bytes <= draft.bound_bytes < 2 * 16 * 8 * 4 * 4


def test_order_is_kept_on_demand() -> None:
    method = Method()
    file = program(method, two_branches(method))
    (plain,) = drafter(file, Options(reorder=False)).opened({})
    assert plain.order_bound_bytes is None


@pytest.mark.parametrize("in_place", [True, False])
def test_kernels_in_place_count_once(in_place: bool) -> None:
    method = Method()
    space = Space(method)
    source = space.tensor(1024)
    method.input(source)
    middle = space.kernel(RELU, source, dims=(1024,))
    method.output(space.kernel(RELU, middle, dims=(1024,)))
    (draft,) = drafter(program(method), Options(in_place_kernels=in_place)).opened({})
    assert draft.order_bound_bytes == draft.bound_bytes == (4096 if in_place else 8192)
