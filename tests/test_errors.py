"""Messages are one line that fits on a screen, whatever a file makes them quote."""

from __future__ import annotations

import pytest

from onearena import errors
from onearena.errors import FormatError, InfeasibleError, OnearenaError


def test_messages_are_kept() -> None:
    assert str(FormatError("model.pte: is empty")) == "model.pte: is empty"
    assert str(InfeasibleError("no", (1, 2))) == "no"
    assert InfeasibleError("no", (1, 2)).buffers == (1, 2)


@pytest.mark.parametrize("error", [OnearenaError, FormatError, InfeasibleError])
def test_long_ones_keep_place_and_reason(error: type[OnearenaError]) -> None:
    text = str(error(f"model.pte: value 3: sizes {list(range(5000))} are too many"))
    assert len(text) < 1000
    assert text.startswith("model.pte: value 3: sizes [0, 1, ")
    assert text.endswith("4999] are too many")


def test_every_error_is_ours() -> None:
    found = [e for e in vars(errors).values() if isinstance(e, type)]
    assert len(found) > 10
    assert all(issubclass(error, OnearenaError) for error in found)
