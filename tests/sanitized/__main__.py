"""Runs the tests of the planner and the runtime with the sanitizers in both extension modules.

    python -m tests.sanitized [--build DIR] [arguments of pytest]

Builds the modules with AddressSanitizer and UndefinedBehaviorSanitizer, and runs tests/native,
tests/flatbuf and tests/engine (or what the arguments name) with them. What Python itself never
frees is no leak of onearena's, so leaks are not looked for here but in tests/engine/test_faults.py.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g"
FOLDERS = ("tests/native", "tests/flatbuf", "tests/engine")
BUILDS = "tests.native.test_sanitized"
"""Tests that use this module compile C++, with sanitizers of their own."""
NOT_HERE = ("tests/engine/test_memory.py::test_loading_and_unloading_leaves_nothing",)
"""Measure the process: the sanitizers keep what was freed for a while."""


def main() -> int:
    """Returns pytest's exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.sanitized", description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "sanitized")
    options, given = parser.parse_known_args()
    build = options.build.resolve()
    _build(build)
    left_out = [f"--ignore={path}" for path in _that_compile()]
    left_out += [f"--deselect={test}" for test in NOT_HERE]
    names_tests = any((ROOT / argument.partition("::")[0]).exists() for argument in given)
    tests = () if names_tests else FOLDERS
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    command += [*tests, *left_out, *given]
    return subprocess.run(command, cwd=ROOT, env=_environment(build), check=False).returncode


def _build(build: Path) -> None:
    found = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
    if found is None:
        raise SystemExit("tests.sanitized: there is no cmake")
    command = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    options = {
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "CMAKE_CXX_FLAGS": FLAGS,
        "ONEARENA_SANITIZE": "ON",
        "Python_EXECUTABLE": sys.executable,
        "nanobind_DIR": nanobind,
    }
    settings = [f"-D{name}={value}" for name, value in options.items()]
    subprocess.run([found, "-S", ROOT, "-B", build, *settings], check=True)
    cores = str(os.cpu_count() or 1)
    subprocess.run([found, "--build", build, "--parallel", cores], check=True)


def _that_compile() -> list[str]:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("test_*.py"))]
    return [
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.stem == BUILDS.rpartition(".")[2] or BUILDS in path.read_text()
    ]


def _environment(build: Path) -> dict[str, str]:
    """Python itself is not built so: the sanitizers' libraries must be there before it is."""
    compiler = shutil.which("c++") or "g++"
    names = ("libasan.so", "libubsan.so", "libstdc++.so.6")
    libraries = [_library(compiler, name) for name in names]
    paths = [ROOT / "tests" / "sanitized" / "site", ROOT / "src", os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=0:strict_string_checks=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "LD_PRELOAD": " ".join(libraries),
        "ONEARENA_SANITIZED": str(build),
        "PYTHONPATH": os.pathsep.join(str(path) for path in paths if str(path)),
    }


def _library(compiler: str, name: str) -> str:
    command = [compiler, f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(found).is_absolute():
        raise SystemExit(f"tests.sanitized: {compiler} has no {name}; GCC does")
    return found


if __name__ == "__main__":
    sys.exit(main())
