"""What cannot be loaded or run is refused in one line that says what and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from onearena.engine import native
from onearena.engine.description import describe
from onearena.engine.errors import UsageError
from onearena.engine.model import Model
from onearena.engine.runtime import Runtime
from onearena.engine.trial import run_trial
from onearena.errors import (
    AnalysisError,
    ExecutionError,
    FormatError,
    OnearenaError,
    RuntimeUnavailableError,
    UnsupportedError,
)
from onearena.pte import open_pte
from onearena.pte.schema import DelegateCall, EValue, ExecutionPlan, Tensor
from tests.engine.edits import (
    SEEDS,
    broken_payload,
    changed,
    endless,
    other_backend,
    other_operator,
    short_arena,
)

CONVNET = SEEDS / "convnet.pte"
STATEFUL = SEEDS / "stateful.pte"


def message(error: pytest.ExceptionInfo[OnearenaError]) -> str:
    """The text, which must be one line."""
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("source", "change", "kind", "words"),
    [
        (CONVNET, other_backend, UnsupportedError, ["delegate 0 (AbsentBackend)", "registered"]),
        (STATEFUL, other_operator, UnsupportedError, ["instruction 0 (absent::operator", "kernel"]),
        (STATEFUL, endless, ExecutionError, ["instruction 0", "does not end"]),
        (STATEFUL, short_arena, AnalysisError, ["arena"]),
    ],
)
def test_programs_that_cannot_run(
    tmp_path: Path,
    source: Path,
    change: Callable[[ExecutionPlan], ExecutionPlan],
    kind: type[OnearenaError],
    words: list[str],
) -> None:
    path = changed(source, tmp_path / "changed.pte", change)
    with pytest.raises(kind) as error:
        run_with_zeros(Runtime().load(path))
    text = message(error)
    assert str(path) in text
    assert "method 'forward'" in text
    for word in words:
        assert word in text


def test_a_delegate_that_fails_to_start(tmp_path: Path) -> None:
    path = broken_payload(CONVNET, tmp_path / "broken.pte")
    model = Runtime().load(path)
    with pytest.raises(ExecutionError, match=r"delegate 0 \(XnnpackBackend\): initialisation") as e:
        model.method("forward")
    message(e)
    run_with_zeros(Runtime().load(CONVNET))  # and the process is as it was


def run_with_zeros(model: Model) -> Any:
    """Runs `forward` on zeros of the largest sizes."""
    method = model.method("forward")
    return method.run(*(zeros(info) for info in method._inputs))


def zeros(info: Any) -> Any:
    """An input of zeros, for what the native side says about it."""
    if not isinstance(info, tuple):
        return info
    names = {6: np.float32, 4: np.int64, 3: np.int32, 11: np.bool_}
    return np.zeros(info[1], names[info[0]])


def test_inputs_that_do_not_fit() -> None:
    method = Runtime().load(CONVNET).method("forward")
    ((_, sizes, _, _),) = method._inputs
    good = np.ones(sizes, np.float32)
    shape = r"\[" + ", ".join(map(str, sizes)) + r"\]"
    bad: list[tuple[tuple[Any, ...], str]] = [
        ((), "takes 1 inputs, 0 were given"),
        ((good, good), "takes 1 inputs, 2 were given"),
        ((good.astype(np.float64),), "is float64 .* the method takes float32 " + shape),
        ((good[..., :-1],), "the method takes float32 " + shape),
        ((good[0],), "the method takes float32 " + shape),
        ((np.array(["text"]),), "no input can be"),
        ((good.astype(">f4"),), "no input can be"),
        ((3,), "is no tensor, the method takes float32"),
        ((1 << 70,), "a number of 64 bits"),
        ((object(),), "is object, not a tensor"),
    ]
    for inputs, pattern in bad:
        with pytest.raises(UsageError, match=pattern) as error:
            method.run(*inputs)
        assert "method 'forward'" in message(error)
    assert method.run(good)[0].dtype == np.float32


def test_a_shape_beyond_the_bound() -> None:
    method = Runtime().load(SEEDS / "dynamic.pte").method("forward")
    larger = [torch.zeros(tuple(2 * n for n in info[1])) for info in method._inputs]
    with pytest.raises(UsageError, match=r"the method takes float32 .* at most"):
        method.run(*larger)


def test_names_that_do_not_exist(tmp_path: Path) -> None:
    runtime = Runtime()
    with pytest.raises(UsageError, match="no method 'backward', it has: forward"):
        runtime.load(CONVNET).method("backward")
    with pytest.raises(FormatError, match="no such file"):
        runtime.load(tmp_path / "absent.pte")
    with pytest.raises(FormatError, match=r"absent\.ptd"):
        runtime.load(CONVNET, data_files=[tmp_path / "absent.ptd"])


def test_a_description_of_another_file(tmp_path: Path) -> None:
    with open_pte(CONVNET) as file:
        description = describe(file)
    arena = Runtime().arena
    module = native.native_module()
    with pytest.raises(FormatError, match="is of a file of"):
        module.load(str(STATEFUL), description, arena.native, [])
    empty = tmp_path / "empty.pte"
    empty.touch()
    with pytest.raises(FormatError, match="empty"):
        module.load(str(empty), description, arena.native, [])


def test_another_version_of_executorch(monkeypatch: pytest.MonkeyPatch) -> None:
    native.native_module.cache_clear()
    monkeypatch.setattr(native, "version", lambda name: "1.6.0")
    try:
        with pytest.raises(RuntimeUnavailableError, match=r"needs executorch 1\.5\.1, .* 1\.6\.0"):
            Runtime()
    finally:
        native.native_module.cache_clear()


def test_without_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name)

    native.native_module.cache_clear()
    monkeypatch.setattr(native, "import_module", absent)
    try:
        with pytest.raises(RuntimeUnavailableError, match="pip install") as error:
            Runtime()
        message(error)
    finally:
        native.native_module.cache_clear()


@pytest.mark.parametrize("kind", ["broadcast array", "broadcast tensor", "tensor without data"])
def test_inputs_that_cannot_be_read(kind: str) -> None:
    inputs: dict[str, Callable[[], Any]] = {
        "broadcast array": lambda: np.broadcast_to(np.float32(1), (1 << 20, 1 << 20, 1 << 10)),
        "broadcast tensor": lambda: torch.zeros(1).expand(1 << 20, 1 << 20, 1 << 10),
        "tensor without data": lambda: torch.zeros(3, device="meta"),
    }
    model = Runtime().load(SEEDS / "convnet.pte")
    with pytest.raises(UsageError, match=r"input 0 cannot be read: \S"):
        model(inputs[kind]())


def test_calls_with_too_few_arguments_and_tensors_without_memory(tmp_path: Path) -> None:
    """The stock runtime dies of some of these."""

    def fewer(plan: ExecutionPlan) -> ExecutionPlan:
        (chain,) = plan.chains or ()
        instructions = tuple(
            replace(i, instr_args=replace(i.instr_args, args=()))
            if isinstance(i.instr_args, DelegateCall)
            else i
            for i in chain.instructions or ()
        )
        return replace(plan, chains=(replace(chain, instructions=instructions),))

    def orderless(plan: ExecutionPlan) -> ExecutionPlan:
        values = tuple(
            EValue(replace(v.val, dim_order=None)) if isinstance(v.val, Tensor) else v
            for v in plan.values or ()
        )
        return replace(plan, values=values)

    for change, text in (
        (fewer, r"takes \d+ arguments, a call gives it 0"),
        (orderless, "has no dimension order"),
    ):
        with pytest.raises(AnalysisError, match=text):
            Runtime().load(changed(CONVNET, tmp_path / "spoiled.pte", change))


def test_a_seed_without_sense() -> None:
    for seed in (-1, 1 << 63):
        with pytest.raises(UsageError, match="the seed must be from 0"):
            run_trial(str(CONVNET), seed=seed)
