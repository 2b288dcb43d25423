"""Comparing with files that are committed."""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    """ONEARENA_UPDATE_GOLDEN=1 writes the file instead."""
    path = GOLDEN / name
    if os.environ.get("ONEARENA_UPDATE_GOLDEN"):
        path.write_bytes(text.encode())
    assert text == path.read_bytes().decode()
