"""Descriptions say what the file says; corrupt ones are refused, whatever they hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from onearena.engine.description import describe
from onearena.engine.native import native_module
from onearena.errors import FormatError, OnearenaError, UnsupportedError
from onearena.flatbuf.data import ByteSource
from onearena.program import analyse_method
from onearena.pte import PteFile, open_pte
from onearena.pte.reader import read_pte
from onearena.pte.schema import DelegateCall, KernelCall, Tensor
from onearena.pte.tensors import tensor_bytes
from tests.engine.decoder import DecodedMethod, decode
from tests.engine.edits import SEEDS
from tests.fuzz.mutate_bytes import mutate_bytes
from tests.fuzz.seeds import load_seeds

PATHS = sorted(SEEDS.glob("*.pte"))
BY_NAME = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
MUTATIONS = 1500
"""Of each seed."""


def described(path: Path) -> bytes:
    """The description of a file."""
    with open_pte(path) as file:
        return describe(file)


@BY_NAME
def test_everything_arrives(path: Path) -> None:
    program = decode(described(path))
    with open_pte(path) as file:
        plans = file.program.execution_plan or ()
        assert program.file_bytes == path.stat().st_size
        assert set(program.named) == {n.key for n in file.program.named_data or ()}
        for plan, method in zip(plans, program.methods, strict=True):
            analysed = analyse_method(file, plan)
            assert method.name == plan.name
            assert method.arena_bytes == plan.non_const_buffer_sizes
            assert (method.inputs, method.outputs) == (plan.inputs, plan.outputs)
            assert len(method.instructions) == len(analysed.steps.instructions)
            for found, wanted in zip(method.instructions, analysed.steps.instructions, strict=True):
                if isinstance(wanted, KernelCall):
                    assert found == (0, wanted.op_index, *(wanted.args or ()))
                elif isinstance(wanted, DelegateCall):
                    assert found == (1, wanted.delegate_index, *(wanted.args or ()))
            storage = analysed.timeline.storage
            _same_values(method, [entry.val for entry in plan.values or ()])
            lives = {
                value: tuple((i.start, i.end) for i in life)
                for value, life in storage.lifetimes.items()
            }
            assert {value: life for value, _, _, life in method.buffers} == lives
            state = {value for value, _, flags, _ in method.buffers if flags & 1}
            assert state == storage.state
            groups = {frozenset(method.buffers[b][0] for b, _ in g) for g in method.groups}
            assert groups == set(map(frozenset, storage.groups))


def _same_values(method: DecodedMethod, values: list[object]) -> None:
    assert len(method.values) == len(values)
    for found, wanted in zip(method.values, values, strict=True):
        if not isinstance(wanted, Tensor):
            continue
        assert found["sizes"] == (wanted.sizes or ())
        assert found["bytes"] == tensor_bytes(wanted)
        info = wanted.allocation_info
        if info is not None:
            assert (found["arena"], found["offset"]) == (info.memory_id, info.offset)


def test_state_has_blocks_of_its_own() -> None:
    program = decode(described(SEEDS / "stateful.pte"))
    (method,) = program.methods
    tensors = [v for v in method.values if isinstance(v, dict) and v["kind"] == 0]
    state = [t for t in tensors if t["block"] != 0xFFFFFFFF]
    assert state
    for tensor in state:
        _, start, size = program.state[tensor["block"]]
        assert tensor["offset"] == start + tensor["delta"]
        assert tensor["delta"] + tensor["bytes"] <= size


@BY_NAME
def test_the_native_side_accepts_it(path: Path) -> None:
    check = native_module().check_description
    data, size = described(path), path.stat().st_size
    check(data, size)
    with pytest.raises(FormatError, match="of a file of"):
        check(data, size + 1)
    with pytest.raises(FormatError, match="behind its end"):
        check(data + b"\0", size)
    with pytest.raises(UnsupportedError, match="version 4"):
        check(data[:8] + b"\4" + data[9:], size)
    for length in range(0, len(data), 37):
        with pytest.raises(FormatError):
            check(data[:length], size)


@BY_NAME
def test_corrupt_descriptions_are_refused(path: Path) -> None:
    """Or are valid by chance: nothing else happens."""
    check = native_module().check_description
    data, size, random = described(path), path.stat().st_size, Random(7)
    other = described(PATHS[0])
    refused = 0
    for _ in range(MUTATIONS):
        try:
            check(mutate_bytes(data, other, random), size)
        except (FormatError, UnsupportedError):
            refused += 1
    assert refused > MUTATIONS / 4


def test_corrupt_programs_are_refused_or_described() -> None:
    random, check = Random(11), native_module().check_description
    seeds = load_seeds()
    described_count = 0
    for number in range(800):
        seed, other = seeds[number % len(seeds)], random.choice(seeds)
        data = mutate_bytes(seed.data, other.data, random)
        try:
            with read_pte(ByteSource.from_bytes(data, "mutated.pte")) as file:
                description = describe(file)
                has_small_arenas = _has_small_arenas(file)
        except OnearenaError:
            continue
        if has_small_arenas:
            check(description, len(data))
        described_count += 1
    assert described_count > 50


def _has_small_arenas(file: PteFile) -> bool:
    """False when it has arenas that the runtime refuses, see the next test."""
    plans = file.program.execution_plan or ()
    return all(size < 1 << 48 for plan in plans for size in plan.non_const_buffer_sizes or ())


def test_sizes_at_the_edge_are_refused(tmp_path: Path) -> None:
    """An arena of more than 2^48 bytes, which no offset arithmetic may meet."""
    with open_pte(SEEDS / "stateful.pte") as file:
        (plan,) = file.program.execution_plan or ()
        huge = replace(plan, non_const_buffer_sizes=(0, (1 << 63) - 1))
        program = replace(file.program, execution_plan=(huge,))
        description = describe(file.with_program(program, file.segments))
        size = file.source.size_bytes
    with pytest.raises(FormatError, match="impossible arena"):
        native_module().check_description(description, size)
