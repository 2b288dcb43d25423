"""Faults planted in real programs, exported by the installed executorch and optimized."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from onearena.pipeline import Options
from onearena.record import read_record
from onearena.verification.program import verify_program
from tests.pte.build import read_bytes
from tests.verify.exported import EXPORTS
from tests.verify.oracle import places
from tests.verify.planting import Optimized, optimized, shifts, steps_in, violations, with_offsets
from tests.verify.test_rewrite import plant

Exported = Callable[[str], Path]
NAMES = sorted(EXPORTS)
FAULTS = 120


@pytest.fixture(scope="session", name="exported")
def export_programs(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Exports a program on first use; returns its path."""
    pytest.importorskip("executorch", reason="exports with executorch")
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("exported")

    def build(name: str) -> Path:
        path: Path = folder / f"{name}.pte"
        if not path.exists():
            path.write_bytes(EXPORTS[name]())
        return path

    return build


@pytest.fixture(scope="session", name="opened")
def optimize_programs(
    exported: Exported, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Optimized]:
    """Optimizes a program on first use."""
    pairs: dict[str, Optimized] = {}

    def build(name: str) -> Optimized:
        if name not in pairs:
            pairs[name] = optimized(exported(name), tmp_path_factory.mktemp(name))
        return pairs[name]

    return build


@pytest.mark.parametrize("name", NAMES)
def test_stock_exports_raise_no_alarm(exported: Exported, name: str) -> None:
    assert verify_program(read_bytes(exported(name).read_bytes())).violations == ()


@pytest.mark.parametrize("name", NAMES)
def test_optimized_exports_raise_no_alarm(opened: Callable[[str], Optimized], name: str) -> None:
    pair = opened(name)
    assert verify_program(pair.result).violations == ()
    assert violations(pair.original, pair.result) == []


@pytest.mark.parametrize("options", [Options(open_delegates=False), Options(reorder=False)])
@pytest.mark.parametrize("name", NAMES)
def test_other_options_raise_no_alarm(
    exported: Exported, tmp_path: Path, name: str, options: Options
) -> None:
    pair = optimized(exported(name), tmp_path, options)
    assert violations(pair.original, pair.result) == []


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_found(opened: Callable[[str], Optimized], name: str) -> None:
    pair = opened(name)
    faults = list(shifts(pair.result))
    damaging, missed = plant(pair, random.Random(3).sample(faults, min(len(faults), FAULTS)))
    assert missed == []
    assert damaging > 0


def test_a_broken_alias_is_found(opened: Callable[[str], Optimized]) -> None:
    broken = 0
    for name in ("attention", "lookup", "portable"):
        pair = opened(name)
        record = read_record(pair.result)
        found = places(steps_in(pair.result))
        for first, second, _ in record.methods["forward"].aliases if record else ():
            for value in (first, second):
                changed = with_offsets(pair.result, {value: found[value][1] + 64})
                assert "alias" in {v.kind for v in verify_program(changed).violations}
                broken += 1
    assert broken > 0


def test_nothing_shares_the_cache(opened: Callable[[str], Optimized]) -> None:
    pair = opened("cache")
    (cache,) = pair.state
    found = places(steps_in(pair.result))
    steps = steps_in(pair.result).steps
    touched = {v for s in steps for v in (*s.roles.reads, *s.roles.writes)} & found.keys()
    for value in sorted(touched - {cache}):
        changed = with_offsets(pair.result, {value: found[cache][1]})
        kinds = {v.kind for v in verify_program(changed).violations}
        assert kinds & {"state", "alias"}, value


def test_real_programs_become_smaller_through_opening(opened: Callable[[str], Optimized]) -> None:
    """Otherwise the tests above would look at copies of the originals."""
    for name in ("attention", "chain", "network", "unet"):
        record = read_record(opened(name).result)
        assert record is not None, name
        first, last = record.methods["forward"].opened
        assert last > first, name
