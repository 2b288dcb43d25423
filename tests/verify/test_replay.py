"""Optimized programs read what their originals read, on every path and run after run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onearena.pipeline import Options
from onearena.pte.container import PteFile
from onearena.record import KEY, read_record
from onearena.timeline.storage import analyse_storage
from onearena.verification.program import verify_program
from tests.pte.build import file_bytes, read_bytes
from tests.verify.oracle import places
from tests.verify.planting import Optimized, optimized, steps_in, violations, with_offsets
from tests.verify.programs import BY_HAND, random_flows, random_programs
from tests.verify.replay import assert_same_runs, random_paths

slow = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def replay(pair: Optimized, seed: int) -> None:
    record = read_record(pair.result)
    order = record.methods["forward"].order if record else ()
    before, after = steps_in(pair.original), steps_in(pair.result)
    state = analyse_storage(before, frozenset()).state
    assert_same_runs(before, after, order, state, seed)


def rewritten(file: PteFile, options: Options) -> Optimized:
    with TemporaryDirectory() as folder:
        return optimized(file, Path(folder), options)


def without_record(file: PteFile) -> PteFile:
    """The file as if its exporter had packed it like this."""
    names = [entry for entry in file.program.named_data or () if entry.key != KEY]
    program = replace(file.program, named_data=tuple(names) or None)
    return read_bytes(file_bytes(file.with_program(program, file.segments)), "packed.pte")


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_programs_by_hand(name: str) -> None:
    pair = rewritten(BY_HAND[name](), Options(time_limit_s=0.02, strips=False))
    for seed in range(4):
        replay(pair, seed)


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_the_replay_notices_damage(name: str) -> None:
    """Every value on the place of every other one: much of that must show."""
    pair = rewritten(BY_HAND[name](), Options(time_limit_s=0.0, strips=False))
    found = places(steps_in(pair.result))
    noticed = 0
    for value in found:
        for other in found:
            if other != value and found[value][1] != found[other][1]:
                changed = with_offsets(pair.result, {value: found[other][1]})
                try:
                    replay(Optimized(pair.original, changed), 1)
                except AssertionError:
                    noticed += 1
                    assert violations(pair.original, changed), (value, other)
    assert noticed > 10


@given(random_programs(), st.booleans(), st.integers(0, 99))
@slow
def test_random_programs(file: PteFile, is_open: bool, seed: int) -> None:
    replay(rewritten(file, Options(open_delegates=is_open, time_limit_s=0.0, strips=False)), seed)


@given(random_flows(), st.booleans(), st.integers(0, 99))
@slow
def test_random_flows(file: PteFile, is_open: bool, seed: int) -> None:
    assert verify_program(file).violations == ()
    pair = rewritten(file, Options(open_delegates=is_open, time_limit_s=0.0, strips=False))
    assert violations(pair.original, pair.result) == []
    replay(pair, seed)


@given(random_flows(), st.integers(0, 99))
@slow
def test_packed_files_are_understood_like_loose_ones(file: PteFile, seed: int) -> None:
    """A packed file gives every byte to many values: what is a view, what is state, and what
    just follows, must still be told apart."""
    first = rewritten(file, Options(time_limit_s=0.0, strips=False))
    packed = without_record(first.result)
    assert verify_program(packed).violations == ()
    second = rewritten(packed, Options(time_limit_s=0.0, strips=False))
    assert violations(second.original, second.result) == []
    replay(second, seed)


def test_paths_are_paths() -> None:
    pair = rewritten(BY_HAND["loop"](), Options(strips=False))
    steps = steps_in(pair.original)
    lengths = set()
    for path in random_paths(steps, 20, 5):
        lengths.add(len(path))
        for here, there in zip(path, (*path[1:], steps.flow.count), strict=True):
            assert there in steps.flow.successors[here]
    assert len(lengths) > 1
