"""Programs loaded in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onearena.errors import ExecutionError, UsageError
from onearena.runtime.session import Session

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

Program = Callable[[str], Path]


def test_outputs_are_copies(program: Program) -> None:
    with Session(program("network")) as session:
        assert session.methods == ("forward",)
        (first,) = session.run("forward", [torch.zeros(1, 3, 16, 16)])
        kept = first.clone()
        session.run("forward", [torch.ones(1, 3, 16, 16)])
        assert torch.equal(first, kept)


def test_numpy_inputs_and_numbers_as_outputs(program: Program) -> None:
    np = pytest.importorskip("numpy")
    with Session(program("network")) as session:
        zeros = np.zeros((1, 3, 16, 16), np.float32)
        outputs, seconds = session.run_timed("forward", [zeros])
        assert seconds > 0
        assert torch.equal(outputs[0], session.run("forward", [torch.from_numpy(zeros)])[0])
    with Session(program("several")) as session:
        assert session.run("count", []) == (42,)
        assert session.run("rate", []) == (1.5,)


def test_runtime_messages_stay_in_the_error(
    program: Program, capfd: pytest.CaptureFixture[str]
) -> None:
    with Session(program("network")) as session:
        with pytest.raises(ExecutionError, match="static tensor") as caught:
            session.run("forward", [torch.zeros(1, 3, 8, 8)])
        assert "\n" not in str(caught.value)
        assert session.run("forward", [torch.zeros(1, 3, 16, 16)])  # still usable
        with pytest.raises(UsageError, match="no method"):
            session.run("absent", [])
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""
