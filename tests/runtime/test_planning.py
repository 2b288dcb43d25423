"""Deciding inputs when trial runs crash the child: no runtime needed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from onearena.errors import RuntimeUnavailableError
from onearena.runtime import bindings, planning
from onearena.runtime.inputplan import InputPlan
from onearena.runtime.inputs import Strategy
from onearena.runtime.jobs import CrashError

PLAN = InputPlan("forward", (((1, 8),), ((1, 4),)), Strategy.INFERRED, seed=0)


class _Child:
    """Stands in for the probing child: dies in some trials, as a real one would."""

    def __init__(self, trials: dict[str, str | None]) -> None:
        self.trials = trials  # None: crashes
        self.starts = 0

    def __call__(self, kind: str, job: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        assert kind == "probe"
        self.starts += 1
        with open(job["ledger"], "a", encoding="utf-8") as ledger:
            for key, verdict in self.trials.items():
                if key in job["verdicts"]:
                    continue
                ledger.write(json.dumps({"trying": key}) + "\n")
                if verdict is None:
                    raise CrashError(f"crashed in {key}")
                ledger.write(json.dumps({"key": key, "verdict": verdict}) + "\n")
        self.verdicts = job["verdicts"]
        return {"plans": [PLAN.to_json()]}


def test_a_crash_is_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    child = _Child({"one": "", "two": None, "three": "refused", "four": None, "five": ""})
    monkeypatch.setattr(planning, "run_job", child)
    assert planning._probe("x.pte", ["forward"], 0, 60) == [PLAN]
    assert child.starts == 3
    assert child.verdicts["two"] == "crashed in two"
    assert child.verdicts["one"] == ""


def test_a_child_that_always_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "run_job", _Child({str(n): None for n in range(100)}))
    with pytest.raises(CrashError):
        planning._probe("x.pte", ["forward"], 0, 60)

    def dies_at_once(*args: Any, **options: Any) -> dict[str, Any]:
        raise CrashError("at once")

    monkeypatch.setattr(planning, "run_job", dies_at_once)
    with pytest.raises(CrashError, match="at once"):
        planning._probe("x.pte", ["forward"], 0, 60)


def test_given_values_become_files(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    pytest.importorskip("torch")
    given = [tmp_path / "x.npy", np.zeros(2), 3]
    with planning.input_files(given) as files:
        assert files is not None
        assert files[0] == str(tmp_path / "x.npy")
        assert [Path(file).suffix for file in files] == [".npy", ".npy", ".pt"]
        assert all(Path(file).exists() for file in files[1:])
    assert not any(Path(file).exists() for file in files)
    with planning.input_files(None) as nothing:
        assert nothing is None


def test_a_missing_runtime_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "executorch", None)
    pytest.importorskip("torch")
    bindings.runtime_module.cache_clear()
    with pytest.raises(RuntimeUnavailableError, match=r"pip install 'onearena\[run\]'"):
        bindings.runtime_module()
    bindings.runtime_module.cache_clear()
