"""The first load of a program: its delegates are initialised while it is analysed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import onearena.engine.runtime
from onearena.engine.description import describe, outline
from onearena.engine.native import native_module
from onearena.engine.runtime import Planning, Runtime
from onearena.errors import OnearenaError
from onearena.pte import open_pte
from onearena.pte.container import PteFile
from tests.cases.running import difference
from tests.engine.decoder import decode
from tests.engine.edits import SEEDS, broken_payload, changed, other_backend
from tests.engine.test_seeds import random_runs

CONVNET, DYNAMIC, INT8 = (SEEDS / f"{name}.pte" for name in ("convnet", "dynamic", "int8"))


class Watched:
    """The native module, with what is asked of it first."""

    def __init__(self) -> None:
        self.outlines: list[bytes] = []
        self.was_used: list[bool] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(native_module(), name)

    def initialise_early(self, path: str, outline: bytes, files: list[str], mode: int) -> Any:
        self.outlines.append(outline)
        return native_module().initialise_early(path, outline, files, mode)

    def load(self, *args: Any) -> Any:
        self.was_used.append(args[-1] is not None)
        return native_module().load(*args)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """On a machine with two processors."""
    found = Watched()
    monkeypatch.setattr(onearena.engine.runtime, "native_module", lambda: found)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    return found


def _twice(file: PteFile) -> PteFile:
    """The program with a second method, which does the same."""
    (plan,) = file.program.execution_plan or ()
    plans = (plan, replace(plan, name="second"))
    return file.with_program(replace(file.program, execution_plan=plans), file.segments)


def _results(path: Path, planning: Planning = "auto") -> list[Any]:
    model = Runtime().load(path, planning=planning, use_cache=False)
    return [model.method(call.method).run(*call.inputs) for call in random_runs(path)]


@pytest.mark.parametrize("path", [CONVNET, DYNAMIC, INT8], ids=lambda path: path.stem)
@pytest.mark.parametrize("planning", ["auto", "static"])
def test_results_are_the_same_with_one_processor(
    path: Path, planning: Planning, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = _results(path, planning)
    assert watched.was_used == [True]
    assert [len(decode(data).methods) for data in watched.outlines] == [1]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    late = _results(path, planning)
    assert watched.was_used == [True, False]
    assert difference(late, early) is None


def test_only_where_it_is_known_what_will_be_used(watched: Watched, tmp_path: Path) -> None:
    without_delegates = SEEDS / "stateful.pte"
    other = changed(CONVNET, tmp_path / "other.pte", other_backend)
    for path in (without_delegates, other):
        Runtime().load(path, use_cache=False)
        with open_pte(path) as file:
            assert outline(file) is None
    assert watched.outlines == []
    with open_pte(CONVNET) as file:
        assert outline(file) is not None
        assert outline(_twice(file)) is None


def test_what_fails_early_fails_again_with_the_same_words(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, words = broken_payload(CONVNET, tmp_path / "broken.pte"), []
    for processors in ({0, 1}, {0}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, found=processors: found)
        with pytest.raises(OnearenaError) as caught:
            _ = Runtime().load(path, use_cache=False).default
        words.append(str(caught.value))
    assert watched.was_used == [True, False]
    assert words[0] == words[1]


def test_nobody_has_to_use_what_was_initialised(watched: Watched) -> None:
    for _ in range(20):
        Runtime().load(CONVNET, use_cache=False)
        with open_pte(CONVNET) as file:
            native_module().initialise_early(str(CONVNET), outline(file), [], 0)
    assert len(watched.outlines) == 20


def test_an_outline_of_another_file_is_refused() -> None:
    with open_pte(CONVNET) as file:
        found = outline(file)
    assert found is not None
    for bad, path in ((found, DYNAMIC), (found[:-1], CONVNET), (found[:-1] + b"\xff", CONVNET)):
        with pytest.raises(OnearenaError):
            native_module().initialise_early(str(path), bad, [], 0)
    with open_pte(CONVNET) as file:
        several = describe(_twice(file))
    with pytest.raises(OnearenaError, match="one method"):
        native_module().initialise_early(str(CONVNET), several, [], 0)


def test_workspaces_are_predicted_for_the_plan_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the program was loaded, and its description kept, for other plans before."""
    monkeypatch.setenv("ONEARENA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("onearena.engine.description_cache._SETTLED_NS", 0)
    with open_pte(CONVNET) as file:
        assert len(describe(file)) == len(describe(file, False))
        assert describe(file) != describe(file, False)
    for _ in range(2):
        assert Runtime().load(CONVNET).memory().workspace_bytes == 0
        assert Runtime().load(CONVNET, planning="static").memory().workspace_bytes > 0
    assert len(list(tmp_path.iterdir())) == 2
