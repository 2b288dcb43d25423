"""Huge, zero, overflowing and invented sizes are refused in words, wherever they come from."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onearena.engine.arena import Arena
from onearena.engine.description import describe
from onearena.engine.errors import ArenaLimitError, FormatError, UsageError
from onearena.engine.native import native_module
from onearena.engine.runtime import Runtime
from onearena.errors import OnearenaError
from onearena.pte import open_pte
from onearena.pte.schema import AllocationDetails, EValue, ExecutionPlan, Tensor
from tests.cases.conftest import Program
from tests.engine.edits import SEEDS, changed
from tests.engine.shaped import UNet, images
from tests.engine.test_errors import message, run_with_zeros

STATEFUL = SEEDS / "stateful.pte"
FLOAT = 6


def with_arenas(sizes: Sequence[int], used: int) -> Any:
    """A change of a program: these arenas, with all planned tensors in the one that is used."""

    def moved(value: EValue) -> EValue:
        tensor = value.val
        if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
            return value
        place = AllocationDetails.at(used, tensor.allocation_info.offset)
        return replace(value, val=replace(tensor, allocation_info=place))

    def change(plan: ExecutionPlan) -> ExecutionPlan:
        values = tuple(moved(value) for value in plan.values or ())
        return replace(plan, values=values, non_const_buffer_sizes=tuple(sizes))

    return change


def test_arenas_whose_sum_overflows(tmp_path: Path) -> None:
    """Together they have 2^64 bytes and a few: the sum alone looks small."""
    sizes = [0, *[1 << 48] * 65_536, 64]
    path = changed(STATEFUL, tmp_path / "many.pte", with_arenas(sizes, used=1000))
    with pytest.raises(FormatError, match="impossible arenas") as error:
        Runtime().load(path)
    assert str(path) in message(error)


def test_an_arena_larger_than_any_machine(tmp_path: Path) -> None:
    path = changed(STATEFUL, tmp_path / "large.pte", with_arenas([0, 1 << 48], used=1))
    model = Runtime().load(path)
    with pytest.raises(ArenaLimitError, match=r"the machine has no \d+ bytes for the arena"):
        run_with_zeros(model)
    run_with_zeros(Runtime().load(STATEFUL))


def test_an_alignment_that_is_none() -> None:
    with open_pte(STATEFUL) as file:
        description, file_bytes = describe(file), file.source.size_bytes
    check = native_module().check_description
    check(description, file_bytes)
    # a buffer of 32 bytes: value, size, alignment, flags
    good = [struct.pack("<QI", 32, alignment) for alignment in (16, 32, 64)]
    (found,) = [bytes_ for bytes_ in good if bytes_ in description]
    for alignment in (0, 3, 48, (1 << 32) - 1):
        bad = description.replace(found, struct.pack("<QI", 32, alignment))
        with pytest.raises(FormatError, match="impossible alignment"):
            check(bad, file_bytes)


CHILD = """
import resource
import sys

from onearena.engine.errors import ArenaLimitError
from onearena.engine.runtime import Runtime
from tests.engine.test_errors import run_with_zeros

run_with_zeros(Runtime().load(sys.argv[1]))
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * 4096 + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
runtime = Runtime()
run_with_zeros(runtime.load(sys.argv[1]))
try:
    run_with_zeros(runtime.load(sys.argv[2]))
except ArenaLimitError as error:
    print(error)
run_with_zeros(runtime.load(sys.argv[1]))
print("ok")
"""


def test_little_address_space(tmp_path: Path) -> None:
    """Less than an arena reserves at first: it takes what is needed. More than there is is refused,
    and what fits runs on."""
    path = changed(STATEFUL, tmp_path / "large.pte", with_arenas([0, 1 << 33], used=1))
    command = [sys.executable, "-c", CHILD, str(STATEFUL), str(path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, last = done.stdout.splitlines()
    assert f"{path}: method 'forward': the machine has no {(1 << 33) + 64} bytes" in said
    assert last == "ok"


def test_reserving_more_than_there_is() -> None:
    run_with_zeros(Runtime(Arena(reserve_bytes=1 << 47)).load(STATEFUL))
    native = native_module()
    for reserve, limit in ((1 << 48, 0), ((1 << 64) - 1, 0), (1, (1 << 64) - 1)):
        with pytest.raises(UsageError, match=r"cannot have more than 2\^47 bytes"):
            native.Arena(reserve, limit)
    native.Arena(0, 0)


class Raw:
    """A method, with whatever a careless caller of the native side says about an input."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.method = Runtime().load(path, **options).default._native
        self.data = np.ones((1, 3, 8, 8), np.float32)

    def run(
        self,
        sizes: Sequence[int] = (1, 3, 8, 8),
        *,
        address: int | None = None,
        size_bytes: int | None = None,
        dtype: int = FLOAT,
        known: Any = None,
    ) -> Any:
        where = self.data.ctypes.data if address is None else address
        size = 4 * int(np.prod(sizes, dtype=object)) if size_bytes is None else size_bytes
        return self.method.run([(dtype, tuple(sizes), where, size)], True, known)


def test_inputs_that_claim_nonsense(program: Program) -> None:
    for unbounded in (False, True):
        raw = Raw(images(program, UNet), unbounded=unbounded)
        expected = raw.run()[0][3]
        huge = (1 << 31) - 1
        claims: list[tuple[dict[str, Any], str]] = [
            ({"address": 0}, "has no data"),
            ({"size_bytes": 1 << 63}, "which is not 9223372036854775808 bytes"),
            ({"size_bytes": 0}, "which is not 0 bytes"),
            ({"sizes": (1, 3, -8, 8), "size_bytes": 0}, "the method takes"),
            ({"sizes": (huge,) * 4, "size_bytes": 64}, "the method takes|needs more than"),
            ({"sizes": (1, 3, huge, huge), "size_bytes": 64}, "which is not|needs more than|takes"),
            ({"sizes": (huge, huge, huge, 0), "size_bytes": 0}, "the method takes|failed"),
            ({"sizes": (), "size_bytes": 4}, "the method takes"),
            ({"sizes": (1,) * 20, "size_bytes": 4}, "the method takes"),
            ({"dtype": 99}, "is of an unknown type"),
            ({"dtype": -1}, "is of an unknown type"),
        ]
        for claim, words in claims:
            with pytest.raises(OnearenaError, match=words) as error:
                raw.run(**claim)
            assert "\n" not in str(error.value)
            assert np.array_equal(raw.run()[0][3], expected), claim


@pytest.mark.parametrize("size", [0, 1, 1 << 45, (1 << 64) - 1])
@pytest.mark.parametrize("shape", [[], [-1, 5, 0, 7], [(1 << 31) - 1] * 4])
def test_sizes_that_are_said_to_be_known(program: Program, size: int, shape: list[int]) -> None:
    """Wrong ones make a plan of no use, never a wrong result."""
    path = images(program, UNet)
    expected = Raw(path).run()[0][3]
    raw = Raw(path)
    values = range(200)
    for _ in range(2):
        try:
            found = raw.run(known=lambda: [(value, size, shape) for value in values])
        except ArenaLimitError as error:
            assert "needs more than 2^46 bytes" in str(error)  # noqa: PT017
        else:
            assert np.array_equal(found[0][3], expected)
    assert np.array_equal(raw.run()[0][3], expected)


def test_an_error_of_the_callers_passes_through(program: Program) -> None:
    raw = Raw(images(program, UNet))

    def known() -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        raw.run(known=known)
    raw.run()
