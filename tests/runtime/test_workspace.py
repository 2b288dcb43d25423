"""The workspace of the XNNPACK delegate, measured."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from onearena.errors import UsageError
from onearena.runtime import elfhook
from onearena.runtime.workspace import measure_workspace
from tests.runtime import hostile

Program = Callable[[str], Path]

linux = pytest.mark.skipif(
    elfhook.unsupported_reason() is not None, reason="needs Linux on a known processor"
)


@linux
def test_the_hidden_tensor_is_in_the_workspace(program: Program) -> None:
    found = measure_workspace(program("chain"))
    assert found.reason is None
    assert found.bytes is not None
    # relu(conv) and conv stay inside one delegate call: at least one 1x8x32x32 float tensor
    assert found.bytes >= 8 * 32 * 32 * 4
    assert found.heap_growth_bytes is None or found.heap_growth_bytes >= found.bytes


@linux
def test_no_delegate_no_workspace(program: Program) -> None:
    assert measure_workspace(program("scalars")).bytes == 0


def test_a_crash_is_a_reason_not_a_number(program: Program, tmp_path: Path) -> None:
    from onearena.pte import open_pte
    from onearena.runtime.inputplan import MethodFacts
    from onearena.runtime.workspace import measure_planned

    bad = hostile.rewritten(program("lookup"), tmp_path / "bad.pte", hostile.crashing)
    with open_pte(bad) as file:
        facts = MethodFacts.of(file, (file.program.execution_plan or ())[0])
    found = measure_planned(str(bad), [facts.default_plan(0)], timeout_s=300)
    assert found.bytes is None
    assert "crashed" in (found.reason or "")


def test_bad_requests_are_errors(program: Program) -> None:
    with pytest.raises(UsageError, match="no method"):
        measure_workspace(program("scalars"), method="absent")


@linux
@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF images")
def test_imports_of_loaded_libraries_are_found() -> None:
    slots = elfhook.find_slots(frozenset({"malloc", "no_such_function_anywhere"}))
    assert slots
    assert {slot.symbol for slot in slots} == {"malloc"}
    addresses = {elfhook.function_address(slot) for slot in slots}
    assert None not in addresses


@linux
def test_a_patched_import_reaches_python() -> None:
    """In a child: a wrong write must not hurt this process."""
    import subprocess

    script = """
import ctypes, ctypes.util, zlib
from onearena.runtime import elfhook
slots = [s for s in elfhook.find_slots(frozenset({"crc32"})) if "zlib" in s.library]
if not slots:
    raise SystemExit(77)
signature = ctypes.CFUNCTYPE(ctypes.c_ulong, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_uint)
callback = signature(lambda start, data, size: 12345)
for slot in slots:
    assert elfhook.function_address(slot)
    assert elfhook.patch(slot, ctypes.cast(callback, ctypes.c_void_p).value)
assert zlib.crc32(b"abc") == 12345
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    if done.returncode == 77:
        pytest.skip("this Python's zlib module imports no crc32")
    assert done.returncode == 0, done.stderr
