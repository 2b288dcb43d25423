"""Programs, exported once per session by the installed executorch."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

torch = pytest.importorskip("torch", reason="the cases are exported with torch")
pytest.importorskip("executorch", reason="the cases run on the stock runtime")

CACHE = "ONEARENA_CASES_CACHE"
"""A directory that keeps exported programs between sessions, for those who write cases."""


class Program(Protocol):
    """See the fixture `program`."""

    def __call__(self, make: Callable[[], bytes], name: str | None = None) -> Path: ...


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session's programs are."""
    return tmp_path_factory.mktemp("cases")


@pytest.fixture(autouse=True)
def same_weights() -> None:
    """Random weights are the same in every session."""
    torch.manual_seed(0)


@pytest.fixture
def program(directory: Path, request: pytest.FixtureRequest) -> Program:
    """Makes a program and returns its path.

    A program that several tests use has a name, and is made by the first of them.
    """

    def build(make: Callable[[], bytes], name: str | None = None) -> Path:
        stem = name or re.sub(r"\W+", "_", request.node.name)
        path = directory / f"{stem}.pte"
        if name is None or not path.exists():
            path.write_bytes(_cached(make, stem, inspect.getsource(request.module)))
        return path

    return build


def _cached(make: Callable[[], bytes], stem: str, source: str) -> bytes:
    kept = os.environ.get(CACHE)
    if not kept:
        return make()
    path = Path(kept) / f"{stem}-{hashlib.sha256(source.encode()).hexdigest()[:16]}.bin"
    if not path.exists():
        path.write_bytes(make())
    return path.read_bytes()
