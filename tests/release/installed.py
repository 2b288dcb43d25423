"""Tries an installed onearena: `python tests/release/installed.py PROGRAM`.

It needs nothing but a wheel in a fresh environment, so it imports nothing of the repository.
cibuildwheel runs it with every wheel, `tools/wheel.py` with the one that it has built.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

_WANTED = (
    "onearena/py.typed",
    "onearena/_core.pyi",
    "onearena/report/html/assets/main.js",
    "licenses/LICENSE",
    "licenses/THIRD_PARTY_NOTICES.md",
)
_UNWANTED = ("tests/", "benchmarks/", "examples/", "tools/", "docs/")


def main(program: str) -> None:
    """Ends with an AssertionError that says what is wrong."""
    import onearena

    place = Path(sysconfig.get_paths()["platlib"]).resolve()
    here = Path(onearena.__file__).resolve()
    assert here.is_relative_to(place), f"onearena is imported from {here}, not from the wheel"
    _check_files()
    with tempfile.TemporaryDirectory() as folder:
        _check_commands(Path(program).resolve(), Path(folder))
    print(f"onearena {onearena.__version__} works as installed in {place}")


def _check_files() -> None:
    found = distribution("onearena")
    names = [path.as_posix() for path in found.files or ()]
    missing = [name for name in _WANTED if not any(path.endswith(name) for path in names)]
    assert not missing, f"the wheel lacks {missing}"
    surplus = [path for path in names if path.startswith(_UNWANTED)]
    assert not surplus, f"the wheel holds {surplus[:3]}"
    required = [line for line in found.requires or () if "extra ==" not in line]
    assert not required, f"the core has no dependencies, the wheel names {required}"


def _check_commands(program: Path, folder: Path) -> None:
    """A program is optimized, verified and reported on, by the installed command."""
    small = folder / "small.pte"
    method = json.loads(_run("optimize", str(program), "-o", str(small), "--json"))["methods"][0]
    before, after = (method[side]["total_bytes"] for side in ("before", "after"))
    assert after < before, f"{before} bytes became {after}"
    _run("verify", str(small))
    page = folder / "report.html"
    _run("report", str(small), "-o", str(page))
    assert "<html" in page.read_text(encoding="utf-8")


def _run(*arguments: str) -> str:
    command: list[Any] = [Path(sysconfig.get_path("scripts")) / "onearena", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"onearena {arguments[0]}: {found.stderr.strip()}"
    return found.stdout


if __name__ == "__main__":
    main(sys.argv[1])
