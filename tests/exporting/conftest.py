"""The tests here export with the installed ExecuTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the tests export with torch")
pytest.importorskip("executorch", reason="the tests export with executorch")


@pytest.fixture(autouse=True)
def same_weights() -> None:
    """Random weights are the same in every session."""
    torch.manual_seed(0)
