"""What needs no ExecuTorch, under the address and undefined behaviour sanitizers."""

from __future__ import annotations

from pathlib import Path

from onearena.engine.description import describe
from onearena.pte import open_pte
from tests.engine.building import Native, native_test
from tests.engine.edits import SEEDS
from tests.native.test_sanitized import pytestmark

__all__ = ["native_test", "pytestmark"]


def test_arena_and_corrupt_descriptions(native_test: Native, tmp_path: Path) -> None:
    descriptions = []
    for path in sorted(SEEDS.glob("*.pte")):
        with open_pte(path) as file:
            descriptions.append(tmp_path / f"{path.stem}.description")
            descriptions[-1].write_bytes(describe(file))
    assert native_test("base", *descriptions).strip() == "ok"
