"""Small programs, exported once per session by the installed executorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.models import EXPORTS


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Exports a model of tests/runtime/models.py on first use; returns its path."""
    pytest.importorskip("executorch", reason="exports with executorch")
    pytest.importorskip("torch")
    directory = tmp_path_factory.mktemp("programs")

    def build(name: str) -> Path:
        path = directory / f"{name}.pte"
        if not path.exists():
            data: bytes = EXPORTS[name]()
            path.write_bytes(data)
        return path

    return build


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Runs `onearena compare` as the command line would; returns (exit code, output)."""
    import argparse

    from onearena.cli.compare import add_parser, run

    def call(*arguments: Any) -> tuple[int, str]:
        parser = argparse.ArgumentParser()
        add_parser(parser.add_subparsers(required=True))
        code = run(parser.parse_args(["compare", *map(str, arguments)]))
        return code, capsys.readouterr().out

    return call
