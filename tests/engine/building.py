"""Builds the C++ tests of the runtime with a sanitizer, and runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from onearena.engine.embedding import embed_description
from tests.cases.conftest import Program
from tests.cases.lowering import portable
from tests.engine import shaped
from tests.engine.edits import SEEDS
from tests.native.test_sanitized import CMAKE, CPP, run


@dataclass(frozen=True)
class Flavour:
    """How the tests are compiled and run.

    Attributes:
        name: of the build's folder.
        options: for CMake.
        environment: what the sanitizer needs to know.
    """

    name: str
    options: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


ADDRESS = Flavour("address", ("-DONEARENA_SANITIZE=ON",))
"""Addresses, leaks and undefined behaviour."""
THREAD = Flavour(
    "thread",
    ("-DCMAKE_CXX_FLAGS=-fsanitize=thread",),
    # ExecuTorch and its thread pool are not compiled so: what they do cannot be judged
    {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1 halt_on_error=1 second_deadlock_stack=1"},
)
"""Races and lock orders."""


class Native(Protocol):
    """See the fixture `native_test`."""

    def __call__(self, name: str, *arguments: object, flavour: Flavour = ADDRESS) -> str: ...


@pytest.fixture
def native_test(tmp_path_factory: pytest.TempPathFactory) -> Native:
    """Builds a test of `cpp/runtime/tests` and runs it; the lines that it printed."""
    root = tmp_path_factory.getbasetemp()

    def run_test(name: str, *arguments: object, flavour: Flavour = ADDRESS) -> str:
        build = root / f"runtime_{flavour.name}"
        program = f"onearena_runtime_{name}_test"
        if not (build / "CMakeCache.txt").exists():
            sdk = run(sys.executable, CPP / "runtime" / "python" / "find_sdk.py").strip()
            assert sdk, "no executorch, although the native runtime is there"
            options = ("-DONEARENA_RUNTIME=ON", "-DONEARENA_RUNTIME_TESTS=ON", *flavour.options)
            run(CMAKE, "-S", CPP, "-B", build, f"-Dexecutorch_DIR={sdk}", *options)
        run(CMAKE, "--build", build, "--target", program)
        return _run([build / "runtime" / program, *arguments], flavour)

    return run_test


def _run(command: Sequence[object], flavour: Flavour) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **flavour.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("this machine's address layout is not one that the sanitizer knows")
    # ExecuTorch's own words are many, and say nothing about the fault
    said = re.sub(r"(?m)^[A-Z] \d\d:.*\n", "", done.stderr)
    assert done.returncode == 0, done.stdout + said[-20_000:]
    return done.stdout


class Described(Protocol):
    """See the fixture `described`."""

    def __call__(self, path: Path, *shapes: Sequence[int], name: str | None = None) -> str: ...


@pytest.fixture
def described(tmp_path: Path) -> Described:
    """An argument of the C++ tests: a copy of a program that describes itself, other shapes."""

    def describe(path: Path, *shapes: Sequence[int], name: str | None = None) -> str:
        target = tmp_path / (name or path.name)
        embed_description(path, target)
        sizes = ",".join("x".join(map(str, shape)) for shape in shapes)
        return f"{target}={sizes}" if shapes else str(target)

    return describe


def seed_cases(describe: Described) -> list[str]:
    """All seeds, the dynamic ones at other shapes too."""
    other: dict[str, tuple[tuple[int, ...], ...]] = {"dynamic": ((6, 4),)}
    return [describe(path, *other.get(path.stem, ())) for path in sorted(SEEDS.glob("*.pte"))]


def shaped_cases(program: Program, describe: Described, edge: int = 8) -> list[str]:
    """Programs with dynamic shapes at two of them: images, sequences, and one with state."""
    image = (1, 3, edge, edge + 2)
    return [
        describe(shaped.images(program, shaped.UNet), image),
        describe(shaped.images(program, shaped.Convolutions, portable), image),
        describe(shaped.sequences(program), (1, edge, 16)),
        describe(shaped.recorder(program), (1, 6, 8), (6,)),
    ]
