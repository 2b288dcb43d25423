"""The programs of the runtime's tests, and a way to call the command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import onearena
from onearena.cli.bundle import add_parser, run
from tests.runtime.conftest import program

__all__ = ["program", "run_cli"]


@pytest.fixture(scope="session")
def bundled(
    program: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, onearena.BundleReport]]:
    """A bundle of a program with three cases per method, made on first use; and its report."""
    directory = tmp_path_factory.mktemp("bundles")

    @cache
    def build(name: str) -> tuple[Path, onearena.BundleReport]:
        path = directory / f"{name}.bpte"
        return path, onearena.bundle(program(name), path, runs=3)

    return build


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs `onearena bundle` as the command line would; returns (exit code, output, errors)."""

    def call(*arguments: Any) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        add_parser(parser.add_subparsers(required=True))
        code = run(parser.parse_args(["bundle", *map(str, arguments)]))
        found = capsys.readouterr()
        return code, found.out, found.err

    return call
