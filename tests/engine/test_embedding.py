"""A description in the program's own file: found, used, and never one of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import onearena.engine.runtime
from onearena.engine.description import describe
from onearena.engine.embedding import embed_description, find_description
from onearena.engine.runtime import Runtime
from onearena.errors import FormatError, UsageError
from onearena.pipeline import optimize
from onearena.pte import open_pte
from onearena.runtime.session import Session
from tests.cases.running import difference
from tests.engine.agreeing import agree
from tests.engine.edits import SEEDS
from tests.engine.test_seeds import random_runs

PATHS = sorted(SEEDS.glob("*.pte"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_program_that_describes_itself(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "described.pte"
    assert embed_description(path, target) == target.stat().st_size
    with open_pte(target) as file:
        assert find_description(target) == describe(file)

    def analysed(*_: Any) -> None:
        raise AssertionError("analysed although the description is there")

    monkeypatch.setattr(onearena.engine.runtime, "describe", analysed)
    calls = random_runs(path)
    expected = agree(target, calls)
    with Session(path) as session:
        original = [session.run(call.method, call.inputs) for call in calls]
    assert difference(original, expected) is None


def test_what_is_not_of_this_program_is_not_used(tmp_path: Path) -> None:
    source, target = PATHS[0], tmp_path / "described.pte"
    assert find_description(source) is None
    embed_description(source, target)
    with pytest.raises(UsageError, match="has a description already"):
        embed_description(target, tmp_path / "again.pte")
    good = target.read_bytes()
    changed = bytearray(good)
    changed[200] ^= 1  # in the FlatBuffer
    for data in (bytes(changed), good[:-1], good + b"\0", good[-28:], good[-10:]):
        target.write_bytes(data)
        assert find_description(target) is None
    target.write_bytes(b"")
    with pytest.raises(FormatError, match="empty"):
        find_description(target)


def test_it_can_be_loaded_without_the_original(tmp_path: Path) -> None:
    target = tmp_path / "described.pte"
    embed_description(PATHS[0], target)
    assert Runtime().load(target).methods == ("forward",)


def test_one_of_another_version_is_not_used(tmp_path: Path) -> None:
    target = tmp_path / "described.pte"
    embed_description(PATHS[0], target)
    description = find_description(target)
    assert description is not None
    data = target.read_bytes()
    start = data.index(description)
    target.write_bytes(data[: start + 8] + b"\1" + data[start + 9 :])
    assert find_description(target) is None
    agree(target, random_runs(PATHS[0]))
    again = tmp_path / "again.pte"
    assert embed_description(target, again) == len(data)
    assert again.read_bytes() == data


def test_an_optimized_program_is_described_anew(tmp_path: Path) -> None:
    described, optimized, target = (tmp_path / f"{name}.pte" for name in "abc")
    embed_description(SEEDS / "convnet.pte", described)
    optimize(described, optimized)
    assert find_description(optimized) is None
    embed_description(optimized, target)
    with open_pte(target) as file:
        assert find_description(target) == describe(file)
    agree(target, random_runs(target))


def test_a_damaged_description_is_not_used(tmp_path: Path) -> None:
    target = tmp_path / "described.pte"
    embed_description(PATHS[0], target)
    description = find_description(target)
    assert description is not None
    data = target.read_bytes()
    start = data.index(description)
    for position in range(start, start + len(description), 101):
        spoiled = bytearray(data)
        spoiled[position] ^= 1
        target.write_bytes(spoiled)
        assert find_description(target) is None
