"""Memory follows the sizes of a run: same bits as the stock runtime, plans kept and dropped."""

from __future__ import annotations

import math
import os
import random
import threading
from typing import Any

import numpy as np
import pytest
import torch

from onearena.engine.arena import Arena
from onearena.engine.errors import ArenaLimitError, ExecutionError, UsageError
from onearena.engine.model import Model
from onearena.engine.runtime import Planning, Runtime
from tests.cases.conftest import Program
from tests.cases.lowering import Module, lower, portable, xnnpack
from tests.cases.running import Call, difference, forward, play, random_calls
from tests.engine.agreeing import run_call
from tests.engine.edits import SEEDS
from tests.engine.shaped import (
    BOUND,
    Convolutions,
    Transformer,
    UNet,
    at,
    check_exact,
    image_calls,
    images,
    is_close,
    load,
    recorder,
    sequence_calls,
    sequences,
)
from tests.engine.test_memory import LARGE, large

BACKENDS = pytest.mark.parametrize("backend", [portable, xnnpack])
MODES = pytest.mark.parametrize(
    ("planning", "known"),
    [("shapes", True), ("shapes", False), ("simple", True), ("simple", False)],
)
PAGE_BYTES = 4096


@MODES
@BACKENDS
@pytest.mark.parametrize("net", [Convolutions, UNet])
def test_images_of_any_size(
    program: Program, net: Any, backend: Any, planning: Planning, known: bool
) -> None:
    path = images(program, net, backend)
    check_exact(load(path, planning, known=known), path, image_calls(30))


@MODES
@BACKENDS
def test_sequences_of_any_length(
    program: Program, backend: Any, planning: Planning, known: bool
) -> None:
    path = sequences(program, backend)
    check_exact(load(path, planning, known=known), path, sequence_calls(30))


@MODES
def test_state_survives_other_shapes(program: Program, planning: Planning, known: bool) -> None:
    path = recorder(program)
    calls: list[Call] = []
    start = 0
    for number, length in enumerate([3, 5, 2, 3, 20, 5, 2]):
        (call,) = random_calls(torch.zeros(1, length, 8), runs=1, seed=number)
        calls.append(forward(*call.inputs, torch.arange(start, start + length)))
        start += length
    model = load(path, planning, known=known)
    found = [run_call(model, call) for call in calls]
    assert difference(play(path, calls), found) is None
    assert model.memory().state_bytes >= BOUND * 8 * 4


def test_plans_are_made_once_per_shape_and_forgotten_in_turn(program: Program) -> None:
    path = images(program, Convolutions)
    model = load(path, known=False, cached_plans=2)
    small, middle, large = at([(1, 3, 8, 8), (1, 3, 16, 16), (1, 3, 32, 32)])

    def counts(*calls: Call) -> tuple[int, int, int]:
        for call in calls:
            run_call(model, call)
        memory = model.memory()
        return memory.lazy_runs, memory.plans, memory.cached_plans

    assert model.memory().planning == "shapes"
    assert counts(small, small, small) == (1, 1, 1)
    assert counts(middle, small, middle, small) == (2, 2, 2)
    assert counts(large) == (3, 3, 2)  # instead of `middle`
    assert counts(small, large) == (3, 3, 2)
    assert counts(middle) == (4, 4, 2)  # instead of `small`
    assert counts(large, middle) == (4, 4, 2)


def test_known_sizes_make_a_plan_before_the_first_run(program: Program) -> None:
    for path, calls in (
        (images(program, Convolutions), image_calls(3)),
        (images(program, UNet), image_calls(3)),
        (sequences(program), sequence_calls(3)),
    ):
        model = load(path)
        for call in calls:
            run_call(model, call)
        memory = model.memory()
        assert (memory.lazy_runs, memory.plans) == (0, 3), path.name


def test_known_and_observed_sizes_are_the_same(program: Program) -> None:
    path = images(program, UNet)
    known, observed = load(path), load(path, known=False)
    for call in image_calls(6):
        sizes = set()
        for model in (known, observed):
            run_call(model, call)
            run_call(model, call)
            sizes.add(model.memory().arena_bytes)
        assert len(sizes) == 1


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("net", [Convolutions, UNet])
def test_memory_follows_the_input(program: Program, net: Any, known: bool) -> None:
    path = images(program, net)
    model, whole = load(path, known=known), load(path)
    (call,) = at([(1, 3, BOUND, BOUND)])
    run_call(whole, call)
    for side in (BOUND // 8, BOUND // 4, BOUND // 2, BOUND):
        (call,) = at([(1, 3, side, side)])
        run_call(model, call)
        run_call(model, call)
        # a quarter of the elements for half of the side
        most = whole.memory().arena_bytes * (side / BOUND) ** 2
        assert model.memory().arena_bytes <= most * 1.02 + PAGE_BYTES


def test_two_shapes_in_turn_take_no_more_memory(program: Program) -> None:
    arena = Arena()
    model = Runtime(arena).load(images(program, UNet))
    small, large = at([(1, 3, 8, 8), (1, 3, BOUND, BOUND)])
    run_call(model, large)
    before = arena.resident_bytes()
    for _ in range(20):
        run_call(model, small)
        run_call(model, large)
    assert arena.resident_bytes() == before


@MODES
def test_what_lies_in_the_arena_does_not_matter(
    program: Program, planning: Planning, known: bool
) -> None:
    """Another program fills the arena with other numbers, or none, before each run."""
    path = images(program, UNet)
    runtime = Runtime()
    model, filler = runtime.load(path, planning=planning), runtime.load(large(program))
    if not known:
        model.method("forward")._sizes = None
    calls = image_calls(12)
    for call, expected in zip(calls, play(path, calls), strict=True):
        for content in (torch.full_like(LARGE, math.nan), torch.randn_like(LARGE), LARGE):
            filler(content)
            assert difference([expected], [run_call(model, call)]) is None
    assert filler.memory().arena_bytes > model.memory().arena_bytes


def test_sizes_that_depend_on_the_data_are_never_planned(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            return torch.nonzero(x.cumsum(0) > 0), x.cumsum(1)

    x = torch.zeros(8, 16)
    path = program(lambda: lower(Net(), (x,), partitioners=portable))
    model = load(path, "shapes")
    calls = random_calls(x, runs=8)
    lengths = {out[0].shape[0] for out in check_exact(model, path, calls)}
    memory = model.memory()
    assert len(lengths) > 2
    assert (memory.lazy_runs, memory.cached_plans) == (16, 0)


def test_branches_of_other_sizes(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            return torch.cond(y.sum() > 0, lambda a: a.cumsum(1), lambda a: a * 2, (y,)).cumsum(0)

    rows = torch.export.Dim("rows", min=2, max=32)
    x = torch.zeros(8, 16)
    path = program(lambda: lower(Net(), (x,), dynamic=({0: rows},), partitioners=portable))
    check_exact(load(path), path, at([(8, 16), (8, 16), (30, 16), (2, 16), (30, 16)]))


def with_wrong_sizes(model: Model) -> Model:
    """Every tensor but the inputs is said to have 4 bytes, as if its size depended on data."""
    known = model.method("forward")._sizes
    assert known is not None
    true_sizes = known.of

    def wrong(given: Any) -> Any:
        ask = true_sizes(given)
        return ask and (lambda: [(value, 4, sizes) for value, _, sizes in ask()])

    known.of = wrong  # type: ignore[method-assign]
    return model


@BACKENDS
def test_a_tensor_that_outgrows_its_plan_is_stopped(program: Program, backend: Any) -> None:
    path = images(program, Convolutions, backend)
    calls = image_calls(3)
    model = with_wrong_sizes(load(path))
    expected = play(path, calls)
    assert difference(expected, [run_call(model, call) for call in calls]) is None
    assert model.memory().lazy_runs == 3


def test_with_state_it_is_an_error(program: Program) -> None:
    path = recorder(program)
    model = with_wrong_sizes(load(path))
    (call,) = random_calls(torch.zeros(1, 6, 8), runs=1)
    call = forward(*call.inputs, torch.arange(6))
    with pytest.raises(ExecutionError, match=r"outgrew the plan .* state may be half updated"):
        run_call(model, call)
    model.reset_state()
    model.method("forward")._sizes = None
    assert difference(play(path, [call]), [run_call(model, call)]) is None


def test_shapes_are_refused_as_ever(program: Program) -> None:
    model = load(images(program, Convolutions))
    with pytest.raises(UsageError, match=r"input 0 is float32 \[1, 3, 80, 80\], the method takes"):
        model(np.zeros((1, 3, 80, 80), np.float32))
    with pytest.raises(UsageError, match="input 0 is float32"):
        model(np.zeros((1, 3, 8), np.float32))
    with pytest.raises(UsageError, match="takes 1 inputs, 0 were given"):
        model()
    run_call(model, at([(1, 3, 8, 8)])[0])


@pytest.mark.parametrize("planning", ["auto", "simple", "static"])
def test_what_is_refused_leaves_nothing_behind(program: Program, planning: Planning) -> None:
    """No plan for the shapes of inputs that the method does not take: it would be too small."""
    path = images(program, Convolutions)
    model = load(path, planning=planning)
    (call,) = at([(1, 3, 16, 16)])
    (image,) = call.inputs
    plans = model.memory().plans
    for kind in (torch.float16, torch.uint8, torch.float64):
        with pytest.raises(UsageError, match="input 0 is"):
            model(image.to(kind))
    assert model.memory().plans == plans
    assert difference(play(path, [call]), [run_call(model, call)]) is None


class Unreadable:
    def __array__(self) -> Any:
        raise TypeError("no array after all")


def test_inputs_that_cannot_be_read() -> None:
    model = Runtime().load(SEEDS / "convnet.pte")
    endless: list[Any] = []
    endless.append(endless)
    for value, words in (
        ("\udcff", "input 0 cannot be read: 'utf-8' codec"),
        (Unreadable(), "input 0 cannot be read: no array after all"),
        (endless, "lists in lists"),
    ):
        with pytest.raises(UsageError, match=words):
            model(value)


def test_static_programs_and_options() -> None:
    runtime = Runtime()
    convnet = SEEDS / "convnet.pte"
    assert runtime.load(convnet).memory().planning == "shapes"  # it has an XNNPACK call
    assert runtime.load(SEEDS / "stateful.pte").memory().planning == "static"
    with pytest.raises(UsageError, match="planning must be one of auto, static, shapes, simple"):
        runtime.load(convnet, planning="best")  # type: ignore[arg-type]
    for count in (0, -1, 1 << 32, "3", 2.5, True):
        with pytest.raises(UsageError, match="cached_plans must be"):
            runtime.load(convnet, cached_plans=count)  # type: ignore[arg-type]
    for one in ("x.ptd", b"x.ptd", SEEDS / "x.ptd"):
        with pytest.raises(UsageError, match="data_files is a list of paths"):
            runtime.load(convnet, data_files=one)  # type: ignore[arg-type]
    names: tuple[Any, ...] = (3, [], None)
    for name in names:
        with pytest.raises(UsageError, match="the name of a method is a string"):
            runtime.load(convnet).method(name)
    for limit in ("5", 5.5, True):
        with pytest.raises(UsageError, match="limit_bytes must be from 1"):
            Arena(limit_bytes=limit)  # type: ignore[arg-type]
    assert runtime.load(os.fsencode(convnet)).methods  # type: ignore[arg-type]
    assert runtime.load(convnet).methods == ("forward",)
    image = np.ones(runtime.load(convnet).method("forward")._inputs[0][1], np.float32)
    static = runtime.load(convnet)(image)
    for planning in ("shapes", "simple"):
        model = runtime.load(convnet, planning=planning)
        assert np.array_equal(model(image), static)
        assert model.memory().planning == planning


@pytest.mark.parametrize("known", [True, False])
def test_a_limit_holds_for_each_shape(program: Program, known: bool) -> None:
    path = images(program, Convolutions)
    model = Runtime(Arena(limit_bytes=100_000)).load(path)
    if not known:
        model.method("forward")._sizes = None
    small, large = at([(1, 3, 8, 8), (1, 3, BOUND, BOUND)])
    expected = run_call(model, small)
    with pytest.raises(ArenaLimitError, match="limit is 100000"):
        run_call(model, large)
    assert difference([expected], [run_call(model, small)]) is None


@pytest.mark.parametrize("known", [True, False])
def test_threads_with_other_shapes(program: Program, known: bool) -> None:
    path = images(program, UNet)
    runtime = Runtime()
    model = runtime.load(path, cached_plans=3)
    if not known:
        model.method("forward")._sizes = None
    calls = image_calls(8)
    expected = play(path, calls)
    problems: list[str | None] = []

    def work(first: int) -> None:
        for k in range(24):
            number = (first + k * 3) % len(calls)
            found = run_call(model, calls[number])
            problems.append(difference([expected[number]], [found]))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [None] * 72


def test_a_thousand_changes_of_shape(program: Program) -> None:
    """Three programs in one arena, which takes no more than the largest plan: the bits of the stock
    runtime, and PyTorch's results but for the order of sums."""
    arena = Arena()
    runtime = Runtime(arena)
    jobs = [
        (images(program, Convolutions), Convolutions, image_calls(40)),
        (images(program, UNet), UNet, image_calls(40, seed=1)),
        (sequences(program), Transformer, sequence_calls(40)),
    ]
    models = [runtime.load(path, cached_plans=4) for path, _, _ in jobs]
    expected = [play(path, calls) for path, _, calls in jobs]
    for (_, net, calls), known in zip(jobs, expected, strict=True):
        torch.manual_seed(0)
        eager = net().eval()
        for call, outputs in zip(calls, known, strict=True):
            assert is_close(outputs, eager(*call.inputs))
    draw = random.Random(0)
    for _ in range(1000):
        which, number = draw.randrange(len(jobs)), draw.randrange(40)
        found = run_call(models[which], jobs[which][2][number])
        assert difference([expected[which][number]], [found]) is None
        assert arena.resident_bytes() <= arena.size_bytes + PAGE_BYTES
