"""Faults planted in optimized files: all that must go wrong is found, and nothing else is said."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onearena.pipeline import Options
from onearena.pte.container import PteFile
from onearena.pte.schema import Chain, EValue, Tensor
from onearena.record import read_record
from onearena.verification.program import verify_program
from onearena.verification.rewrite import verify_rewrite
from tests.pte.build import Method
from tests.timeline.build import program
from tests.verify.oracle import is_damaged, places
from tests.verify.planting import (
    Offsets,
    Optimized,
    first_plan,
    optimized,
    shifts,
    steps_in,
    violations,
    with_offsets,
    with_plan,
    with_sizes,
)
from tests.verify.programs import BY_HAND, STRAIGHT, Space, random_programs


@pytest.fixture(params=sorted(BY_HAND), name="by_hand")
def optimize_by_hand(request: pytest.FixtureRequest, tmp_path: Path) -> Optimized:
    return optimized(BY_HAND[request.param](), tmp_path)


def plant(pair: Optimized, faults: Iterable[Offsets]) -> tuple[int, list[Offsets]]:
    """Plants each fault; returns how many must do damage, and those that nobody noticed."""
    before = steps_in(pair.result)
    damaging, missed = 0, []
    for offsets in faults:
        changed = with_offsets(pair.result, offsets)
        if is_damaged(before, steps_in(changed), pair.state):
            damaging += 1
            if not violations(pair.original, changed):
                missed.append(offsets)
    return damaging, missed


# -- no false alarms ----------------------------------------------------------------------


def test_stock_and_optimized_files_raise_no_alarm(by_hand: Optimized) -> None:
    assert verify_program(by_hand.original).violations == ()
    assert violations(by_hand.original, by_hand.result) == []
    record = read_record(by_hand.result)
    assert record is not None, "nothing was optimized"


def test_a_file_is_a_rewrite_of_itself(by_hand: Optimized) -> None:
    for file in (by_hand.original, by_hand.result):
        steps = steps_in(file)
        assert verify_rewrite(steps, steps) == ()


@given(random_programs(), st.booleans(), st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_random_programs_raise_no_alarm(file: PteFile, is_open: bool, reorder: bool) -> None:
    assert verify_program(file).violations == ()
    options = Options(open_delegates=is_open, reorder=reorder, time_limit_s=0.0)
    with TemporaryDirectory() as folder:
        pair = optimized(file, Path(folder), options)
    assert violations(pair.original, pair.result) == []


# -- every value somewhere else -----------------------------------------------------------


@pytest.mark.parametrize("name", STRAIGHT)
def test_all_shifts_and_swaps_that_do_damage_are_found(name: str, tmp_path: Path) -> None:
    pair = optimized(BY_HAND[name](), tmp_path)
    faults = list(shifts(pair.result))
    damaging, missed = plant(pair, random.Random(1).sample(faults, min(len(faults), 400)))
    assert missed == []
    assert damaging > 20


@given(random_programs(), st.booleans(), st.integers(0, 1 << 30))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_damage_in_random_programs_is_found(file: PteFile, is_open: bool, seed: int) -> None:
    options = Options(open_delegates=is_open, time_limit_s=0.0)
    with TemporaryDirectory() as folder:
        pair = optimized(file, Path(folder), options)
    faults = list(shifts(pair.result))
    _, missed = plant(pair, random.Random(seed).sample(faults, min(len(faults), 25)))
    assert missed == []


@pytest.mark.parametrize("name", STRAIGHT)
def test_the_comparison_alone_finds_all_wrong_reads(name: str, tmp_path: Path) -> None:
    """Without what the file alone tells: bounds, records, collisions inside one step."""
    pair = optimized(BY_HAND[name](), tmp_path)
    before, good = steps_in(pair.original), steps_in(pair.result)
    record = read_record(pair.result)
    assert record is not None
    order = record.methods["forward"].order
    faults = list(shifts(pair.result))
    damaging = 0
    for offsets in random.Random(2).sample(faults, min(len(faults), 300)):
        bad = steps_in(with_offsets(pair.result, offsets))
        if is_damaged(good, bad, pair.state, clashes=False):
            damaging += 1
            assert verify_rewrite(before, bad, order), offsets
    assert damaging > 20


def test_an_opened_value_that_is_overwritten_is_found_by_the_comparison(tmp_path: Path) -> None:
    pair = optimized(BY_HAND["delegated"](), tmp_path)
    before, good = steps_in(pair.original), steps_in(pair.result)
    record = read_record(pair.result)
    assert record is not None
    method = record.methods["forward"]
    found = places(good)
    messages = set()
    for inner in range(*method.opened):
        for other in range(*method.opened):
            changed = with_offsets(pair.result, {inner: found[other][1]})
            if other != inner and is_damaged(good, steps_in(changed), frozenset(), clashes=False):
                messages |= {
                    v.message for v in verify_rewrite(before, steps_in(changed), method.order)
                }
    assert any("opened value" in message for message in messages)


def test_state_that_does_not_survive_is_found_by_the_comparison(tmp_path: Path) -> None:
    """A temporary over a cache, behind everything that the cache does in this run."""
    pair = optimized(BY_HAND["caches"](), tmp_path)
    before, found = steps_in(pair.original), places(steps_in(pair.result))
    (last,) = first_plan(pair.result).outputs or ()
    kinds = set()
    for cache in pair.state:
        changed = steps_in(with_offsets(pair.result, {last: found[cache][1]}))
        kinds |= {v.kind for v in verify_rewrite(before, changed)}
    assert "state" in kinds


def test_an_output_of_an_unknown_call_over_its_input_is_found(tmp_path: Path) -> None:
    """Nobody reads the input again, so only the call itself can go wrong."""
    method = Method()
    space = Space(method)
    a = space.tensor(8)
    method.input(a)
    b = space.kernel("aten::relu.out", a, dims=(8,))
    first, second = space.tensor(8), space.tensor(8)
    method.call_delegate(method.delegate("Other", 0), b, first, second)
    method.output(space.kernel("test::use.out", first, second, dims=(8,)))
    pair = optimized(program(method), tmp_path)
    found = places(steps_in(pair.result))
    for value in (first, second):
        for distance in (0, 4, -4, 16):
            changed = with_offsets(pair.result, {value: max(found[b][1] + distance, 0)})
            assert violations(pair.original, changed), (value, distance)


# -- one kind of fault after the other ----------------------------------------------------


def test_a_shorter_arena_is_found(by_hand: Optimized) -> None:
    sizes = list(first_plan(by_hand.result).non_const_buffer_sizes or ())
    ends = [end for arena, _, end in places(steps_in(by_hand.result)).values() if arena == 1]
    assert max(ends) <= sizes[1]
    changed = with_sizes(by_hand.result, (sizes[0], max(ends) - 1))
    assert "bounds" in {v.kind for v in verify_program(changed).violations}
    changed = with_sizes(by_hand.result, (0,))
    assert "bounds" in {v.kind for v in verify_program(changed).violations}


def test_a_broken_alias_is_found_by_the_record(by_hand: Optimized) -> None:
    record = read_record(by_hand.result)
    assert record is not None
    (method,) = record.methods.values()
    found = places(steps_in(by_hand.result))
    for first, second, _ in method.aliases:
        for value in (first, second):
            changed = with_offsets(by_hand.result, {value: found[value][1] + 16})
            assert "alias" in {v.kind for v in verify_program(changed).violations}


def test_a_view_away_from_its_base_is_found_without_the_record(tmp_path: Path) -> None:
    pair = optimized(BY_HAND["kernels"](), tmp_path)
    record = read_record(pair.result)
    assert record is not None
    aliases = record.methods["forward"].aliases
    assert len(aliases) >= 3
    program = replace(pair.result.program, named_data=None)
    bare = replace(pair, result=replace(pair.result, program=program))
    found = places(steps_in(bare.result))
    for first, second, _ in aliases:
        for value in (first, second):
            changed = with_offsets(bare.result, {value: found[value][1] + 16})
            assert violations(bare.original, changed), (first, second, value)


@pytest.mark.parametrize("overlap", [0, 4, -4])
def test_a_temporary_that_shares_a_cache_is_found(tmp_path: Path, overlap: int) -> None:
    pair = optimized(BY_HAND["caches"](), tmp_path)
    steps = steps_in(pair.result)
    found = places(steps)
    written = {v for step in steps.steps for v in step.roles.writes} & found.keys()
    assert len(pair.state) == 3
    for cache in pair.state:
        for value in sorted(written - pair.state):
            at = found[cache][1] + overlap if overlap >= 0 else found[cache][2] + overlap
            kinds = {
                v.kind for v in verify_program(with_offsets(pair.result, {value: at})).violations
            }
            assert "state" in kinds, (cache, value)


def test_a_cache_that_moves_onto_something_is_found(tmp_path: Path) -> None:
    pair = optimized(BY_HAND["caches"](), tmp_path)
    found = places(steps_in(pair.result))
    for cache in pair.state:
        for value in found.keys() - {cache}:
            changed = with_offsets(pair.result, {cache: found[value][1]})
            assert violations(pair.original, changed), (cache, value)


def test_an_arena_that_changed_is_found(by_hand: Optimized) -> None:
    plan = first_plan(by_hand.result)
    values = list(plan.values or ())
    value = min(places(steps_in(by_hand.result)))
    tensor = values[value].val
    assert isinstance(tensor, Tensor)
    assert tensor.allocation_info is not None
    place = replace(tensor.allocation_info, memory_id=2)
    values[value] = EValue(replace(tensor, allocation_info=place))
    sizes = (*(plan.non_const_buffer_sizes or ()), 1 << 16)
    changed = with_plan(
        by_hand.result, replace(plan, values=tuple(values), non_const_buffer_sizes=sizes)
    )
    assert any("another arena" in v.message for v in violations(by_hand.original, changed))


@pytest.mark.parametrize("name", ["branches", "loop", "unknown"])
def test_values_alive_together_that_get_one_place_are_found(name: str, tmp_path: Path) -> None:
    """With jumps: every two values of which one is written while the other is needed."""
    pair = optimized(BY_HAND[name](), tmp_path)
    found = places(steps_in(pair.result))
    pairs = {
        "branches": [("before", "b"), ("before", "c"), ("behind", "before"), ("a", "b")],
        "loop": [("weight", "t"), ("weight", "u"), ("one", "t"), ("two", "t"), ("rows", "t")],
        "unknown": [("odd", "c"), ("odd", "d"), ("b", "d"), ("first", "second"), ("d", "first")],
    }[name]
    numbers = {
        "branches": {"a": 0, "condition": 1, "b": 2, "c": 3, "before": 4, "behind": 8},
        "loop": {"a": 0, "weight": 1, "one": 4, "two": 5, "rows": 7, "t": 8, "u": 10},
        "unknown": {"a": 0, "b": 1, "odd": 2, "c": 3, "d": 4, "first": 5, "second": 6},
    }[name]
    for first, second in pairs:
        a, b = numbers[first], numbers[second]
        assert violations(pair.original, with_offsets(pair.result, {b: found[a][1]})), (
            first,
            second,
        )


# -- what is not memory -------------------------------------------------------------------


def _with_chain(pair: Optimized, chain: Chain) -> PteFile:
    return with_plan(pair.result, replace(first_plan(pair.result), chains=(chain,)))


def test_instructions_that_changed_are_found(by_hand: Optimized) -> None:
    (chain,) = first_plan(by_hand.result).chains or ()
    instructions = chain.instructions or ()
    dropped = _with_chain(by_hand, replace(chain, instructions=instructions[:-1]))
    assert violations(by_hand.original, dropped)
    for position in range(len(instructions) - 1):
        one, other = instructions[position : position + 2]
        if one == other:
            continue
        swapped = (*instructions[:position], other, one, *instructions[position + 2 :])
        changed = _with_chain(by_hand, replace(chain, instructions=swapped))
        assert violations(by_hand.original, changed), position


def test_inputs_and_outputs_that_changed_are_found(by_hand: Optimized) -> None:
    plan = first_plan(by_hand.result)
    for changes in ({"inputs": ()}, {"outputs": ()}):
        changed = with_plan(by_hand.result, replace(plan, **changes))  # type: ignore[arg-type]
        assert violations(by_hand.original, changed)


def test_a_size_that_changed_is_found(by_hand: Optimized) -> None:
    plan = first_plan(by_hand.result)
    for value in places(steps_in(by_hand.original)):
        values = list(plan.values or ())
        tensor = values[value].val
        assert isinstance(tensor, Tensor)
        sizes = (*(tensor.sizes or ())[:-1], (tensor.sizes or ())[-1] + 1)
        values[value] = EValue(replace(tensor, sizes=sizes))
        changed = with_plan(by_hand.result, replace(plan, values=tuple(values)))
        assert violations(by_hand.original, changed), value
