"""Builds sdist and wheel as they are released, and tries the wheel: `python -m tools.wheel`.

The wheel is built from the sdist, so that nothing is missing there; it is installed into a fresh
environment that sees neither the repository nor other packages, and a program is optimized with it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from tools import ROOT

CHECK = ROOT / "tests" / "release" / "installed.py"
PROGRAM = ROOT / "tests" / "fuzz" / "seeds" / "convnet.pte"


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds and tries; the exit code is 1 when either fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheel", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    out: Path = parser.parse_args(arguments).out.resolve()
    try:
        sdist = build_sdist(out)
        wheel = build_wheel(sdist, out)
        print(try_wheel(wheel))
    except subprocess.CalledProcessError as error:
        print(f"{error}\n{error.stdout}", file=sys.stderr)
        return 1
    print(f"{sdist}\n{wheel}")
    return 0


def build_sdist(out: Path) -> Path:
    """The source archive of the repository as it stands.

    Raises:
        subprocess.CalledProcessError: with what was printed in `stdout`.
    """
    _run([sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(out), "."])
    return _newest(out, "*.tar.gz")


def build_wheel(sdist: Path, out: Path) -> Path:
    """The wheel of a source archive, without the runtime, which needs executorch to be built.

    Raises:
        subprocess.CalledProcessError: with what was printed in `stdout`.
    """
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
        define = "--config-setting=cmake.define.ONEARENA_WITHOUT_RUNTIME=ON"
        command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", define]
        _run([*command, "--outdir", str(out), str(source)])
    return _newest(out, "*.whl")


def try_wheel(wheel: Path) -> str:
    """Installs a wheel into an environment of its own and optimizes a program there.

    Returns:
        What the check says, one line.

    Raises:
        subprocess.CalledProcessError: with what was printed in `stdout`.
    """
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        _run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)])
        return _run([python, "-I", str(CHECK), str(PROGRAM)], folder).strip()


def _run(command: list[str], folder: str | Path = ROOT) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    found = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return found.stdout


def _newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime)


if __name__ == "__main__":
    sys.exit(main())
