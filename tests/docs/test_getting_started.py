"""Somebody who follows docs/getting-started.md gets what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import ROOT

import onearena
from tests.docs.blocks import reader


def test_getting_started(tmp_path: Path) -> None:
    pytest.importorskip("executorch")
    somebody = reader(tmp_path / "project")
    somebody.follow(ROOT / "docs" / "getting-started.md")
    assert len(somebody.ran) == 6
    before, after = (
        onearena.inspect(somebody.folder / name).methods[0].before.total_bytes
        for name in ("model.pte", "small.pte")
    )
    assert after < 0.6 * before, "the page says: about half"
